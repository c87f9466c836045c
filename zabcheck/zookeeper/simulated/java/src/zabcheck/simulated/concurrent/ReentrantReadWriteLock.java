package zabcheck.simulated.concurrent;

import java.util.ArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Task;
import zabcheck.simulated.schedule.Waiters;

/** See {@link java.util.concurrent.locks.ReentrantReadWriteLock}. */
public class ReentrantReadWriteLock implements ReadWriteLock {
    private final ReadLock readLock = new ReadLock(this);
    private final WriteLock writeLock = new WriteLock(this);
    private final Waiters entering = new Waiters();
    private final ArrayList<Task> readers = new ArrayList<>();
    private Task writer;
    private int writes;

    public ReentrantReadWriteLock() {}

    public ReentrantReadWriteLock(boolean fair) {}

    @Override
    public ReadLock readLock() {
        return readLock;
    }

    @Override
    public WriteLock writeLock() {
        return writeLock;
    }

    public int getReadHoldCount() {
        Task me = Task.current();
        return (int) readers.stream().filter(reader -> reader == me).count();
    }

    public boolean isWriteLockedByCurrentThread() {
        return writer != null && writer == Task.current();
    }

    private boolean read() {
        if (writer != null && writer != Task.current()) {
            return false;
        }
        readers.add(Task.current());
        return true;
    }

    private boolean write() {
        Task me = Task.current();
        if (writer != me && (writer != null || !readers.isEmpty())) {
            return false;
        }
        writer = me;
        writes++;
        return true;
    }

    /** Either lock. */
    private abstract static class Half implements Lock {
        final ReentrantReadWriteLock both;

        Half(ReentrantReadWriteLock both) {
            this.both = both;
        }

        abstract boolean take();

        abstract void giveBack();

        @Override
        public void lock() {
            Scheduler.get().point();
            while (!take()) {
                Scheduler.get().blockFor(both.entering, -1);
            }
        }

        @Override
        public void lockInterruptibly() throws InterruptedException {
            Scheduler.get().point();
            while (!take()) {
                Scheduler.get().block(both.entering, -1);
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
                scheduler.block(both.entering, deadline);
            }
            return true;
        }

        @Override
        public void unlock() {
            if (!Task.current().node.isDead()) {
                giveBack();
                Scheduler.get().wakeAll(both.entering);
            }
        }

        @Override
        public Condition newCondition() {
            throw new UnsupportedOperationException();
        }
    }

    /** See {@link java.util.concurrent.locks.ReentrantReadWriteLock.ReadLock}. */
    public static class ReadLock extends Half {
        ReadLock(ReentrantReadWriteLock both) {
            super(both);
        }

        @Override
        boolean take() {
            return both.read();
        }

        @Override
        void giveBack() {
            if (!both.readers.remove(Task.current())) {
                throw new IllegalMonitorStateException();
            }
        }
    }

    /** See {@link java.util.concurrent.locks.ReentrantReadWriteLock.WriteLock}. */
    public static class WriteLock extends Half {
        WriteLock(ReentrantReadWriteLock both) {
            super(both);
        }

        @Override
        boolean take() {
            return both.write();
        }

        @Override
        void giveBack() {
            if (both.writer != Task.current()) {
                throw new IllegalMonitorStateException();
            }
            if (--both.writes == 0) {
                both.writer = null;
            }
        }

        public boolean isHeldByCurrentThread() {
            return both.isWriteLockedByCurrentThread();
        }
    }
}
