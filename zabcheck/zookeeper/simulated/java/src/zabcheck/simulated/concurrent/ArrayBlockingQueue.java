package zabcheck.simulated.concurrent;

/** See {@link java.util.concurrent.ArrayBlockingQueue}. */
public class ArrayBlockingQueue<E> extends LinkedBlockingQueue<E> {
    public ArrayBlockingQueue(int capacity) {
        super(capacity);
    }
}
