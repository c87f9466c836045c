package org.apache.zookeeper.sample;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** A method for each construct that the loader rewrites; each says what came of it. Nothing here knows a simulation. */
public final class Constructs {
    private static final long HOUR = 3_600_000;
    private int count;
    private boolean ready;

    private Constructs() {}

    /** Runs this twice at a time, and returns when both have ended. */
    private static void twice(Runnable action) throws InterruptedException {
        Thread other = new Thread(action);
        other.start();
        action.run();
        other.join();
    }

    private synchronized void addSlowly() throws InterruptedException {
        int before = count;
        Thread.sleep(10);
        count = before + 1;
    }

    public static String synchronizedMethod() throws InterruptedException {
        Constructs shared = new Constructs();
        twice(unchecked(shared::addSlowly));
        return "" + shared.count;
    }

    private static int total;

    private static synchronized void addStatically() throws InterruptedException {
        int before = total;
        Thread.sleep(10);
        total = before + 1;
    }

    public static String synchronizedStaticMethod() throws InterruptedException {
        total = 0;
        twice(unchecked(Constructs::addStatically));
        return "" + total;
    }

    public static String synchronizedBlockIsLeftByAnException() throws InterruptedException {
        Object lock = new Object();
        try {
            synchronized (lock) {
                throw new IllegalStateException("left");
            }
        } catch (IllegalStateException left) {
            Thread other = new Thread(() -> { synchronized (lock) { lock.notifyAll(); } });
            other.start();
            other.join();
            return left.getMessage() + " " + Thread.holdsLock(lock);
        }
    }

    private synchronized void prepare() {
        ready = true;
        notifyAll();
    }

    public static String waitAndNotify() throws InterruptedException {
        Constructs shared = new Constructs();
        new Thread(shared::prepare).start();
        synchronized (shared) {
            while (!shared.ready) {
                shared.wait();
            }
            long start = System.nanoTime();
            shared.wait(HOUR);
            return (System.nanoTime() - start) / 3_600_000_000_000L + " hour";
        }
    }

    public static String sleepAndClocks() throws InterruptedException {
        long start = System.currentTimeMillis();
        Thread.sleep(HOUR);
        return (System.currentTimeMillis() - start) / HOUR + " hour";
    }

    public static String interrupt() throws InterruptedException {
        String[] said = {"", ""};
        Thread sleeper = new Thread(() -> {
            try {
                Thread.sleep(HOUR);
            } catch (InterruptedException interrupted) {
                said[0] = "interrupted " + Thread.currentThread().isInterrupted();
            }
        });
        sleeper.start();
        Thread.sleep(1);
        sleeper.interrupt();
        sleeper.join();
        return said[0] + " " + sleeper.isAlive();
    }

    public static String queues() throws InterruptedException {
        LinkedBlockingQueue<Integer> linked = new LinkedBlockingQueue<>();
        ArrayBlockingQueue<Integer> bounded = new ArrayBlockingQueue<>(1);
        new Thread(unchecked(() -> {
            for (int i = 0; i < 3; i++) {
                bounded.put(linked.take());
            }
        })).start();
        linked.addAll(Arrays.asList(1, 2, 3));
        String taken = "" + bounded.take() + bounded.take() + bounded.take();
        return taken + " " + linked.poll(1, TimeUnit.HOURS) + " " + linked.size();
    }

    public static String latchesAndSemaphores() throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(2);
        Semaphore free = new Semaphore(0);
        twice(latch::countDown);
        new Thread(() -> free.release(2)).start();
        free.acquire();
        free.acquire();
        return latch.await(1, TimeUnit.SECONDS) + " " + free.tryAcquire();
    }

    public static String locks() throws InterruptedException {
        ReentrantLock lock = new ReentrantLock();
        ReentrantReadWriteLock both = new ReentrantReadWriteLock();
        int[] counted = {0};
        twice(unchecked(() -> {
            lock.lock();
            both.readLock().lock();
            both.readLock().unlock();
            both.writeLock().lock();
            try {
                int before = counted[0];
                Thread.sleep(5);
                counted[0] = before + 1;
            } finally {
                both.writeLock().unlock();
                lock.unlock();
            }
        }));
        return counted[0] + " " + lock.isLocked();
    }

    public static String timersAndPools() throws Exception {
        List<String> done = Collections.synchronizedList(new ArrayList<>());
        Timer timer = new Timer();
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                done.add("timer");
            }
        }, 2 * HOUR);
        ScheduledThreadPoolExecutor later = new ScheduledThreadPoolExecutor(1);
        later.schedule(() -> done.add("later"), 3, TimeUnit.HOURS);
        ThreadPoolExecutor pool = (ThreadPoolExecutor) Executors.newFixedThreadPool(1);
        String now = pool.submit(() -> "pool").get();
        Thread.sleep(4 * HOUR);
        timer.cancel();
        later.shutdownNow();
        pool.shutdown();
        return now + " " + done;
    }

    /** Hashes, random numbers and names of threads: the same in every run. */
    public static String arbitrary() {
        List<Integer> numbers = new ArrayList<>(Arrays.asList(1, 2, 3, 4, 5, 6, 7, 8));
        Collections.shuffle(numbers);
        int hash = new Constructs().hashCode();
        return hash + " " + new Random().nextInt() + " " + numbers + " " + new Thread(() -> {}).getName().length();
    }

    private static final class Begun {
        static final String HOW = how();

        private static String how() {
            Object lock = new Object();
            synchronized (lock) {
                return "begun";
            }
        }
    }

    public static String classInitialiser() throws InterruptedException {
        String[] seen = {"", ""};
        twice(() -> seen[seen[0].isEmpty() ? 0 : 1] = Begun.HOW);
        return seen[0] + seen[1];
    }

    private interface Action {
        void run() throws InterruptedException;
    }

    private static Runnable unchecked(Action action) {
        return () -> {
            try {
                action.run();
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        };
    }
}
