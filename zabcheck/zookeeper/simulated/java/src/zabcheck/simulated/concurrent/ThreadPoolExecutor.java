package zabcheck.simulated.concurrent;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import zabcheck.simulated.hooks.Hooks;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Task;
import zabcheck.simulated.schedule.Waiters;

/** See {@link java.util.concurrent.ThreadPoolExecutor}. */
public class ThreadPoolExecutor extends AbstractExecutorService {
    private static final long NEVER = -1;

    private final int most;
    private final boolean keepsNoneWaiting;
    final ThreadFactory factory;
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    final ArrayList<Thread> threads = new ArrayList<>();
    private final Waiters idle = new Waiters();
    private final Waiters ending = new Waiters();
    private int workers;
    boolean stopped;

    public ThreadPoolExecutor(
            int core, int most, long keepAlive, TimeUnit unit, BlockingQueue<Runnable> queue, ThreadFactory factory) {
        keepsNoneWaiting = queue instanceof SynchronousQueue;
        this.most = keepsNoneWaiting ? most : Math.max(core, 1);
        this.factory = factory;
    }

    public ThreadPoolExecutor(int core, int most, long keepAlive, TimeUnit unit, BlockingQueue<Runnable> queue) {
        this(core, most, keepAlive, unit, queue, Executors.defaultThreadFactory());
    }

    public void allowCoreThreadTimeOut(boolean value) {}

    @Override
    public void execute(Runnable task) {
        Scheduler.get().point();
        if (stopped) {
            throw new RejectedExecutionException();
        }
        tasks.add(task);
        if (tasks.size() <= idle.size()) {
            Scheduler.get().wakeOne(idle);
        } else if (workers < most) {
            workers++;
            begin(factory.newThread(this::work));
        } else if (keepsNoneWaiting) {
            tasks.remove(task);
            throw new RejectedExecutionException();
        }
    }

    void begin(Thread thread) {
        threads.add(thread);
        Hooks.start(thread);
    }

    private void work() {
        try {
            while (true) {
                while (tasks.isEmpty()) {
                    if (stopped) {
                        return;
                    }
                    try {
                        Scheduler.get().block(idle, NEVER);
                    } catch (InterruptedException interrupted) {
                        // looks whether it is stopped
                    }
                }
                tasks.poll().run();
            }
        } finally {
            if (!Task.current().node.isDead()) {
                workers--;
                Scheduler.get().wakeAll(ending);
            }
        }
    }

    @Override
    public void shutdown() {
        stopped = true;
        Scheduler.get().wakeAll(idle);
        Scheduler.get().point();
    }

    @Override
    public List<Runnable> shutdownNow() {
        List<Runnable> left = new ArrayList<>(tasks);
        tasks.clear();
        stopped = true;
        Scheduler.get().wakeAll(idle);
        for (Thread thread : new ArrayList<>(threads)) {
            Hooks.interrupt(thread);
        }
        return left;
    }

    @Override
    public boolean isShutdown() {
        return stopped;
    }

    @Override
    public boolean isTerminated() {
        return stopped && workers == 0;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
        Scheduler scheduler = Scheduler.get();
        scheduler.point();
        long deadline = scheduler.now() + unit.toNanos(timeout);
        while (!isTerminated()) {
            if (scheduler.now() >= deadline) {
                return false;
            }
            scheduler.block(ending, deadline);
        }
        return true;
    }

    public int getActiveCount() {
        return workers - idle.size();
    }

    public int getPoolSize() {
        return workers;
    }

    public long getCompletedTaskCount() {
        return 0;
    }

    @Override
    protected <V> RunnableFuture<V> newTaskFor(Callable<V> body) {
        return new Promise<>(body);
    }

    @Override
    protected <V> RunnableFuture<V> newTaskFor(Runnable body, V value) {
        return new Promise<>(
                () -> {
                    body.run();
                    return value;
                });
    }

    @Override
    public <V> List<Future<V>> invokeAll(Collection<? extends Callable<V>> bodies) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <V> V invokeAny(Collection<? extends Callable<V>> bodies) {
        throw new UnsupportedOperationException();
    }
}
