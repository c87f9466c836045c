package zabcheck.simulated.concurrent;

import zabcheck.simulated.schedule.Scheduler;

/** See {@link java.util.Random}: a seed that nobody gives is the run's. */
public class Random extends java.util.Random {
    private static final long serialVersionUID = 1L;

    public Random() {
        super(Scheduler.get().seed());
    }

    public Random(long seed) {
        super(seed);
    }
}
