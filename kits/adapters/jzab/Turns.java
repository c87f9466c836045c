package com.github.zk1931.jzab;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;

/**
 * The threads of one server, which take turns: one runs at a time, until it waits for a queue, a thread or the disk.
 *
 * <p>Of those that need not wait any longer the one that was started first goes on, so each run is the same.
 */
final class Turns {
    private static Turns current = new Turns();
    private final List<Runner> runners = new ArrayList<>(); // in the order in which they were started
    private final Semaphore waits = new Semaphore(0); // that the thread whose turn it is waits, or is over
    private volatile boolean stopped;

    /** Ends a thread that waits, when nobody needs it any more. */
    static final class Stopped extends Error {}

    /** A thread that runs when it is its turn. */
    final class Runner extends Thread {
        private final Callable<?> what;
        private final Semaphore turn = new Semaphore(0);
        private BooleanSupplier enough;
        boolean over;
        Object result;
        Throwable error;

        private Runner(Callable<?> what, BooleanSupplier enough) {
            this.what = what;
            this.enough = enough;
            setDaemon(true);
        }

        @Override
        public void run() {
            turn.acquireUninterruptibly();
            try {
                if (!stopped) result = what.call();
            } catch (Throwable thrown) {
                error = thrown;
            } finally {
                over = true;
                waits.release();
            }
        }

        private void pause(BooleanSupplier until) {
            if (!stopped && !until.getAsBoolean()) {
                enough = until;
                waits.release();
                turn.acquireUninterruptibly();
            }
            if (stopped) throw new Stopped();
        }
    }

    static Turns current() {
        return current;
    }

    /** Ends all threads, and begins without any. */
    static void reset() {
        Turns past = current;
        current = new Turns();
        past.stopped = true;
        for (Runner each : past.runners) each.turn.release();
        try {
            for (Runner each : past.runners) each.join();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    /** Starts a thread, whose turn comes when `enough` holds. */
    Runner start(Callable<?> what, BooleanSupplier enough) {
        Runner runner = new Runner(what, enough);
        runners.add(runner);
        runner.start();
        return runner;
    }

    /** Has the thread that calls this wait until `enough` holds. */
    static void pause(BooleanSupplier enough) {
        ((Runner) Thread.currentThread()).pause(enough);
    }

    /** Lets the threads take turns until each of them waits. */
    void run() {
        for (int number = 0; number < runners.size(); number++) {
            Runner next = runners.get(number);
            if (next.over || !next.enough.getAsBoolean()) continue;
            next.turn.release();
            waits.acquireUninterruptibly();
            number = -1;
        }
        runners.removeIf(each -> each.over);
    }
}
