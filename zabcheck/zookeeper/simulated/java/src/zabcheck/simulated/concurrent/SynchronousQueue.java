package zabcheck.simulated.concurrent;

/** See {@link java.util.concurrent.SynchronousQueue}: here it only marks an executor that keeps no task waiting. */
public class SynchronousQueue<E> extends LinkedBlockingQueue<E> {}
