package zabcheck.simulated.schedule;

import java.util.List;

/**
 * Draws decisions of the scheduler.
 *
 * <p>At a point of a running task: 0 lets it go on; {@code 1 + i} lets the runnable task number i go on in its place;
 * {@code STALL + i} lets it stand still for {@code STALLS[i]}. When a task is to be picked: its index.
 */
public abstract class Strategy {
    /** Milliseconds for which a thread can stand still, as on a machine that is busy. */
    static final int[] STALLS = {5, 100, 500, 2500};
    static final int STALL = 1000;

    /** Of so many points one is a stall, about; 0 if none is. */
    private final int stallsPerMillion;

    Strategy(int stallsPerMillion) {
        this.stallsPerMillion = stallsPerMillion;
    }

    /** Every runnable task is as likely as any other; of 1000 points, so many are switches. */
    public static Strategy uniform(int switchesPerThousand, int stallsPerMillion) {
        return new Uniform(switchesPerThousand, stallsPerMillion);
    }

    /** The task that has waited longest goes on, whenever the running one cannot; nothing happens but stalls. */
    public static Strategy fifo(int stallsPerMillion) {
        return new Fifo(stallsPerMillion);
    }

    /**
     * The task with the highest priority runs; priorities are drawn as tasks begin, and of a million points so many
     * take the running task's away (after PCT, Burckhardt et al., ASPLOS 2010).
     */
    public static Strategy priorities(int changesPerMillion, int stallsPerMillion) {
        return new Priorities(changesPerMillion, stallsPerMillion);
    }

    final int atPoint(Decisions decisions, Task me, List<Task> runnable) {
        if (stallsPerMillion > 0 && me.node.id > 0 && decisions.below(1_000_000) < stallsPerMillion) {
            return STALL + decisions.below(STALLS.length);
        }
        return runnable.isEmpty() ? 0 : switchTo(decisions, me, runnable);
    }

    abstract int switchTo(Decisions decisions, Task me, List<Task> runnable);

    abstract int pick(Decisions decisions, List<Task> runnable);

    void begins(Decisions decisions, Task task) {}

    private static final class Uniform extends Strategy {
        private final int switchesPerThousand;

        Uniform(int switchesPerThousand, int stallsPerMillion) {
            super(stallsPerMillion);
            this.switchesPerThousand = switchesPerThousand;
        }

        @Override
        int switchTo(Decisions decisions, Task me, List<Task> runnable) {
            return decisions.below(1000) < switchesPerThousand ? 1 + decisions.below(runnable.size()) : 0;
        }

        @Override
        int pick(Decisions decisions, List<Task> runnable) {
            return decisions.below(runnable.size());
        }
    }

    private static final class Fifo extends Strategy {
        Fifo(int stallsPerMillion) {
            super(stallsPerMillion);
        }

        @Override
        int switchTo(Decisions decisions, Task me, List<Task> runnable) {
            return 0;
        }

        @Override
        int pick(Decisions decisions, List<Task> runnable) {
            return 0;
        }
    }

    private static final class Priorities extends Strategy {
        private final int changesPerMillion;
        private long lowest;

        Priorities(int changesPerMillion, int stallsPerMillion) {
            super(stallsPerMillion);
            this.changesPerMillion = changesPerMillion;
        }

        @Override
        void begins(Decisions decisions, Task task) {
            task.priority = 1 + decisions.below(1_000_000);
        }

        @Override
        int switchTo(Decisions decisions, Task me, List<Task> runnable) {
            if (decisions.below(1_000_000) < changesPerMillion) {
                me.priority = --lowest;
            }
            int best = pick(decisions, runnable);
            return runnable.get(best).priority > me.priority ? 1 + best : 0;
        }

        @Override
        int pick(Decisions decisions, List<Task> runnable) {
            int best = 0;
            for (int i = 1; i < runnable.size(); i++) {
                if (runnable.get(i).priority > runnable.get(best).priority) {
                    best = i;
                }
            }
            return best;
        }
    }
}
