package zabcheck.simulated.concurrent;

import java.util.concurrent.Callable;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import zabcheck.simulated.hooks.Hooks;

/** See {@link java.util.concurrent.ScheduledThreadPoolExecutor}; each task has a thread of its own. */
public class ScheduledThreadPoolExecutor extends ThreadPoolExecutor implements ScheduledExecutorService {
    public ScheduledThreadPoolExecutor(int threads) {
        this(threads, Executors.defaultThreadFactory());
    }

    public ScheduledThreadPoolExecutor(int threads, ThreadFactory factory) {
        super(threads, threads, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
    }

    public void setExecuteExistingDelayedTasksAfterShutdownPolicy(boolean value) {}

    public void setContinueExistingPeriodicTasksAfterShutdownPolicy(boolean value) {}

    public void setRemoveOnCancelPolicy(boolean value) {}

    @Override
    public ScheduledFuture<?> schedule(Runnable body, long delay, TimeUnit unit) {
        return repeated(body, delay, 0, unit);
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> body, long delay, TimeUnit unit) {
        Promise<V> promise = new Promise<>(body);
        repeated(promise, delay, 0, unit);
        return promise;
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable body, long delay, long period, TimeUnit unit) {
        return repeated(body, delay, period, unit);
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable body, long delay, long period, TimeUnit unit) {
        return repeated(body, delay, period, unit);
    }

    private ScheduledFuture<?> repeated(Runnable body, long delay, long period, TimeUnit unit) {
        Promise<Object> promise = new Promise<>(() -> null);
        begin(
                factory.newThread(
                        () -> {
                            try {
                                Hooks.sleep(unit.toMillis(delay));
                                while (!stopped && !promise.isCancelled()) {
                                    body.run();
                                    if (period <= 0) {
                                        return;
                                    }
                                    Hooks.sleep(unit.toMillis(period));
                                }
                            } catch (InterruptedException interrupted) {
                                // shut down
                            }
                        }));
        return promise;
    }
}
