package zabcheck.simulated.concurrent;

import java.util.concurrent.TimeUnit;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Waiters;

/** See {@link java.util.concurrent.Semaphore}. */
public class Semaphore {
    private static final long NEVER = -1;

    private final Waiters waiting = new Waiters();
    private int permits;

    public Semaphore(int permits) {
        this.permits = permits;
    }

    public Semaphore(int permits, boolean fair) {
        this(permits);
    }

    public boolean tryAcquire() {
        Scheduler.get().point();
        return take(1);
    }

    private boolean take(int wanted) {
        if (permits < wanted) {
            return false;
        }
        permits -= wanted;
        return true;
    }

    public boolean tryAcquire(long timeout, TimeUnit unit) throws InterruptedException {
        Scheduler scheduler = Scheduler.get();
        scheduler.point();
        long deadline = scheduler.now() + unit.toNanos(timeout);
        while (!take(1)) {
            if (scheduler.now() >= deadline) {
                return false;
            }
            scheduler.block(waiting, deadline);
        }
        return true;
    }

    public void acquire() throws InterruptedException {
        acquire(1);
    }

    public void acquire(int wanted) throws InterruptedException {
        Scheduler.get().point();
        while (!take(wanted)) {
            Scheduler.get().block(waiting, NEVER);
        }
    }

    public void release() {
        release(1);
    }

    public void release(int returned) {
        permits += returned;
        Scheduler.get().wakeAll(waiting);
        Scheduler.get().point();
    }

    public int availablePermits() {
        return permits;
    }
}
