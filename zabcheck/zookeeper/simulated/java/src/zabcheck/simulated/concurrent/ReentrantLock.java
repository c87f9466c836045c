package zabcheck.simulated.concurrent;

import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Task;
import zabcheck.simulated.schedule.Waiters;

/** See {@link java.util.concurrent.locks.ReentrantLock}. */
public class ReentrantLock implements Lock {
    private static final long NEVER = -1;

    private final Waiters entering = new Waiters();
    private Task owner;
    private int count;

    public ReentrantLock() {}

    public ReentrantLock(boolean fair) {}

    @Override
    public void lock() {
        Scheduler.get().point();
        while (!take()) {
            Scheduler.get().blockFor(entering, NEVER);
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        Scheduler.get().point();
        while (!take()) {
            Scheduler.get().block(entering, NEVER);
        }
    }

    @Override
    public boolean tryLock() {
        Scheduler.get().point();
        return take();
    }

    @Override
    public boolean tryLock(long timeout, TimeUnit unit) throws InterruptedException {
        Scheduler scheduler = Scheduler.get();
        scheduler.point();
        long deadline = scheduler.now() + unit.toNanos(timeout);
        while (!take()) {
            if (scheduler.now() >= deadline) {
                return false;
            }
            scheduler.block(entering, deadline);
        }
        return true;
    }

    private boolean take() {
        Task me = Task.current();
        if (owner != null && owner != me) {
            return false;
        }
        owner = me;
        count++;
        return true;
    }

    @Override
    public void unlock() {
        if (Task.current().node.isDead()) {
            return;
        }
        mine();
        if (--count == 0) {
            free();
        }
    }

    private void free() {
        owner = null;
        Scheduler.get().wakeAll(entering);
    }

    private void mine() {
        if (owner != Task.current()) {
            throw new IllegalMonitorStateException();
        }
    }

    public boolean isHeldByCurrentThread() {
        return owner == Task.current();
    }

    public boolean isLocked() {
        return owner != null;
    }

    public int getWaitQueueLength(Condition condition) {
        return ((OwnCondition) condition).waiting.size();
    }

    public boolean hasWaiters(Condition condition) {
        return getWaitQueueLength(condition) > 0;
    }

    @Override
    public Condition newCondition() {
        return new OwnCondition();
    }

    private final class OwnCondition implements Condition {
        private final Waiters waiting = new Waiters();

        @Override
        public void await() throws InterruptedException {
            await(NEVER);
        }

        @Override
        public long awaitNanos(long nanos) throws InterruptedException {
            long deadline = Scheduler.get().now() + Math.max(nanos, 0);
            await(deadline);
            return deadline - Scheduler.get().now();
        }

        @Override
        public boolean await(long timeout, TimeUnit unit) throws InterruptedException {
            return awaitNanos(unit.toNanos(timeout)) > 0;
        }

        private void await(long deadline) throws InterruptedException {
            mine();
            int held = count;
            count = 0;
            free();
            try {
                Scheduler.get().block(waiting, deadline);
            } finally {
                if (!Task.current().node.isDead()) {
                    while (!take()) {
                        Scheduler.get().blockFor(entering, NEVER);
                    }
                    count = held;
                }
            }
        }

        @Override
        public void awaitUninterruptibly() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean awaitUntil(Date deadline) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void signal() {
            mine();
            Scheduler.get().wakeOne(waiting);
        }

        @Override
        public void signalAll() {
            mine();
            Scheduler.get().wakeAll(waiting);
        }
    }
}
