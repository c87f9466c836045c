package zabcheck.simulated.concurrent;

import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import zabcheck.simulated.schedule.Death;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Waiters;

/** The result of a task that an executor was given. */
final class Promise<V> implements RunnableFuture<V>, ScheduledFuture<V> {
    private final Callable<V> body;
    private final Waiters waiting = new Waiters();
    private V value;
    private Throwable failure;
    private boolean done;
    private boolean cancelled;

    Promise(Callable<V> body) {
        this.body = body;
    }

    @Override
    public void run() {
        if (cancelled) {
            return;
        }
        try {
            value = body.call();
        } catch (Death death) {
            throw death;
        } catch (Throwable thrown) {
            failure = thrown;
        }
        done = true;
        Scheduler.get().wakeAll(waiting);
    }

    @Override
    public boolean cancel(boolean interrupt) {
        if (done) {
            return false;
        }
        cancelled = true;
        done = true;
        Scheduler.get().wakeAll(waiting);
        return true;
    }

    @Override
    public boolean isCancelled() {
        return cancelled;
    }

    @Override
    public boolean isDone() {
        return done;
    }

    @Override
    public V get() throws InterruptedException, ExecutionException {
        while (!done) {
            Scheduler.get().block(waiting, -1);
        }
        return result();
    }

    @Override
    public V get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        Scheduler scheduler = Scheduler.get();
        long deadline = scheduler.now() + unit.toNanos(timeout);
        while (!done) {
            if (scheduler.now() >= deadline) {
                throw new TimeoutException();
            }
            scheduler.block(waiting, deadline);
        }
        return result();
    }

    private V result() throws ExecutionException {
        if (failure != null) {
            throw new ExecutionException(failure);
        }
        return value;
    }

    @Override
    public long getDelay(TimeUnit unit) {
        return 0;
    }

    @Override
    public int compareTo(Delayed other) {
        return 0;
    }
}
