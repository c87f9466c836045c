package com.github.zk1931.jzab;

import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** In place of java.util.concurrent.Executors: the threads of jzab are those of Turns. */
final class Executors {
    static ExecutorService newSingleThreadExecutor() {
        return new OneThread();
    }

    static ExecutorService newSingleThreadExecutor(ThreadFactory unused) {
        return new OneThread();
    }

    /** Runs what it is given one after the other. */
    private static final class OneThread extends AbstractExecutorService {
        private Turns.Runner last;

        @Override
        public <T> Future<T> submit(Callable<T> task) {
            Turns.Runner before = last;
            last = Turns.current().start(task, () -> before == null || before.over);
            return new Result<>(last);
        }

        @Override
        public void shutdown() {}

        @Override
        public void execute(Runnable task) {
            throw new UnsupportedOperationException();
        }

        @Override
        public List<Runnable> shutdownNow() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isShutdown() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isTerminated() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }
    }

    /** What such a thread returns or throws, for another one that waits for it. */
    private record Result<T>(Turns.Runner runner) implements Future<T> {
        @Override
        @SuppressWarnings("unchecked")
        public T get() throws ExecutionException {
            Turns.pause(() -> runner.over);
            if (runner.error != null) throw new ExecutionException(runner.error);
            return (T) runner.result;
        }

        @Override
        public T get(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isDone() {
            return runner.over;
        }

        @Override
        public boolean cancel(boolean mayInterrupt) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isCancelled() {
            return false;
        }
    }
}
