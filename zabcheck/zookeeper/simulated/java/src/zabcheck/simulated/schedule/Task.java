package zabcheck.simulated.schedule;

import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread of the simulation. {@code logical} is the thread object that the servers' code has in hand; it is never
 * started, and its {@code run} is executed by a {@link Carrier}.
 */
public final class Task extends Timed {
    private static final int MOST_DEATHS = 300;

    public final Thread logical;
    public final Node node;
    volatile Thread carrier;
    private volatile boolean resumed;
    private volatile boolean ended;

    /** The depth of class initialisers that it is in: it is not interrupted there by other tasks. */
    private int initialising;

    boolean blocked;
    boolean timedOut;
    boolean interruptible;
    boolean interrupted;
    Waiters waitsIn;
    /** The rank for the strategy of priorities; higher goes first. */
    long priority;

    final Waiters joiners = new Waiters();
    private int deaths;
    private final Scheduler scheduler;

    /** Its name in {@link Decisions}. */
    final String name;
    /** The decisions that are given for it, by number. */
    final Map<Integer, Integer> given;
    /** The number of moments in its life at which something could be decided. */
    int moments;

    Task(Scheduler scheduler, long order, Thread logical, Node node, String name) {
        super(order);
        this.scheduler = scheduler;
        this.logical = logical;
        this.node = node;
        this.name = name;
        given = scheduler.decisions().of(name);
    }

    /** Returns the present task; null in a thread that is none of the simulation's. */
    public static Task current() {
        return Carrier.currentTask();
    }

    /** Returns the present task. Throws {@link Death} if its node is dead. */
    static Task living() {
        Task me = current();
        if (me == null) {
            throw new IllegalStateException("no task of the simulation: " + Thread.currentThread().getName());
        }
        if (me.node.isDead()) {
            me.die();
        }
        return me;
    }

    public boolean hasEnded() {
        return ended;
    }

    public boolean isInitialising() {
        return initialising > 0;
    }

    public void beginInitialiser() {
        initialising++;
    }

    public void endInitialiser() {
        initialising--;
    }

    /** Unwinds the thread; one that catches everything, for ever, stays parked instead. */
    void die() {
        if (initialising > 0) {
            return; // a class whose initialiser failed could never be used again
        }
        if (++deaths > MOST_DEATHS) {
            ended = true;
            while (true) {
                LockSupport.park(this);
            }
        }
        throw new Death();
    }

    void resume() {
        resumed = true;
        LockSupport.unpark(carrier);
    }

    void awaitResume() {
        while (!resumed) {
            LockSupport.park(this);
        }
        resumed = false;
    }

    /** Runs the whole life of the thread. */
    void live() {
        awaitResume();
        try {
            if (!node.isDead()) {
                logical.run();
            }
        } catch (Death death) {
            // its server was killed
        } catch (LinkageError error) {
            scheduler.unsupported(error);
        } catch (Throwable thrown) {
            if (isOfSimulation(thrown)) {
                scheduler.unsupported(thrown);
            } else if (!node.isDead()) {
                uncaught(thrown);
            }
        }
    }

    /** Returns true if the simulation itself has refused a call. */
    private static boolean isOfSimulation(Throwable thrown) {
        StackTraceElement[] calls = thrown.getStackTrace();
        return thrown instanceof UnsupportedOperationException
                && calls.length > 0
                && calls[0].getClassName().startsWith("zabcheck.simulated.");
    }

    /** Returns the calls that its real thread is in, the innermost first; none if it has no thread any more. */
    public StackTraceElement[] calls() {
        Thread thread = carrier;
        return thread == null ? new StackTraceElement[0] : thread.getStackTrace();
    }

    /** Ends the task, after its carrier is free: the next task may want it. */
    void leave() {
        ended = true;
        scheduler.ended(this);
    }

    private void uncaught(Throwable thrown) {
        Thread.UncaughtExceptionHandler handler = logical.getUncaughtExceptionHandler();
        try {
            if (handler != null && !(handler instanceof ThreadGroup)) {
                handler.uncaughtException(logical, thrown);
            } else {
                scheduler.uncaught(this, thrown);
            }
        } catch (Death death) {
            // the handler ended the server
        }
    }

    @Override
    void fall() {
        scheduler.wake(this, true);
    }
}
