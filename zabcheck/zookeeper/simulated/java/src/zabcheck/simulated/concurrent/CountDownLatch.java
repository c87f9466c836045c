package zabcheck.simulated.concurrent;

import java.util.concurrent.TimeUnit;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Waiters;

/** See {@link java.util.concurrent.CountDownLatch}. */
public class CountDownLatch {
    private static final long NEVER = -1;

    private final Waiters waiting = new Waiters();
    private long count;

    public CountDownLatch(int count) {
        this.count = count;
    }

    public void countDown() {
        Scheduler.get().point();
        if (count > 0 && --count == 0) {
            Scheduler.get().wakeAll(waiting);
        }
    }

    public void await() throws InterruptedException {
        while (count > 0) {
            Scheduler.get().block(waiting, NEVER);
        }
    }

    public boolean await(long timeout, TimeUnit unit) throws InterruptedException {
        Scheduler scheduler = Scheduler.get();
        long deadline = scheduler.now() + unit.toNanos(timeout);
        while (count > 0 && scheduler.now() < deadline) {
            scheduler.block(waiting, deadline);
        }
        return count == 0;
    }

    public long getCount() {
        return count;
    }
}
