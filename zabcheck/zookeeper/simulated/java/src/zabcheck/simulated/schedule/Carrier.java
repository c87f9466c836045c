package zabcheck.simulated.schedule;

import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;

/** A real thread that runs one task after another. They are pooled: a run needs hundreds of tasks, few at a time. */
final class Carrier extends Thread {
    private static final long STACK = 512 << 10;
    private static final ArrayDeque<Carrier> IDLE = new ArrayDeque<>();

    private volatile Task task;

    private Carrier(Task first) {
        super(null, null, "carrier", STACK);
        task = first;
        setDaemon(true);
    }

    /** Returns the task that the present thread carries; null in a thread that is none of the simulation's. */
    static Task currentTask() {
        Thread thread = Thread.currentThread();
        return thread instanceof Carrier ? ((Carrier) thread).task : null;
    }

    /** Gives the task a thread, in which it waits until the scheduler resumes it. */
    static void carry(Task task) {
        Carrier carrier;
        synchronized (IDLE) {
            carrier = IDLE.poll();
        }
        if (carrier == null) {
            carrier = new Carrier(task);
            task.carrier = carrier;
            carrier.setContextClassLoader(task.node.loader);
            carrier.start();
        } else {
            task.carrier = carrier;
            carrier.setContextClassLoader(task.node.loader);
            carrier.task = task;
            LockSupport.unpark(carrier);
        }
    }

    @Override
    public void run() {
        while (true) {
            Task now = task;
            now.live();
            setContextClassLoader(null);
            task = null;
            now.carrier = null;
            synchronized (IDLE) {
                IDLE.add(this);
            }
            now.leave();
            while (task == null) {
                LockSupport.park(this);
            }
        }
    }
}
