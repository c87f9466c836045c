package zabcheck.simulated.concurrent;

/** See {@link java.util.TimerTask}. */
public abstract class TimerTask implements Runnable {
    boolean cancelled;

    public boolean cancel() {
        boolean was = cancelled;
        cancelled = true;
        return !was;
    }
}
