package zabcheck.simulated.concurrent;

import zabcheck.simulated.schedule.Scheduler;

/** See {@link java.util.concurrent.ThreadLocalRandom}: here one for all threads, which draws from the run's seed. */
public final class ThreadLocalRandom extends java.util.Random {
    private static final long serialVersionUID = 1L;
    private static final ThreadLocalRandom ONLY = new ThreadLocalRandom();

    private ThreadLocalRandom() {}

    public static ThreadLocalRandom current() {
        return ONLY;
    }

    @Override
    protected int next(int bits) {
        Scheduler scheduler = Scheduler.get();
        return scheduler == null ? 0 : (int) (scheduler.seed() >>> (64 - bits));
    }

    public long nextLong(long bound) {
        return Math.floorMod(nextLong(), bound);
    }

    public long nextLong(long origin, long bound) {
        return origin + nextLong(bound - origin);
    }

    public int nextInt(int origin, int bound) {
        return origin + nextInt(bound - origin);
    }
}
