package zabcheck.simulated.control;

import java.util.function.Consumer;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Task;

/**
 * Notices that no thread comes to a point for long: one waits in earnest, or never ends. Only here real time is looked
 * at.
 */
final class Watchdog extends Thread {
    private static final long SECOND = 1000;

    private final int patience;
    private final Consumer<String> stuck;
    private volatile Scheduler watched;

    /**
     * @param patience seconds that a thread gets from one point to the next
     * @param stuck takes the report on one that took longer: its name, and its calls, a line each
     */
    Watchdog(int patience, Consumer<String> stuck) {
        super("watchdog");
        this.patience = patience;
        this.stuck = stuck;
        setDaemon(true);
    }

    void watch(Scheduler scheduler) {
        watched = scheduler;
    }

    @Override
    public void run() {
        long steps = -1;
        int same = 0;
        while (true) {
            try {
                sleep(SECOND);
            } catch (InterruptedException interrupted) {
                return;
            }
            Scheduler scheduler = watched;
            Task running = scheduler == null ? null : scheduler.running();
            same = running != null && scheduler.steps() == steps ? same + 1 : 0;
            steps = running == null ? -1 : scheduler.steps();
            if (same > patience) {
                same = 0;
                stuck.accept(report(running));
            }
        }
    }

    private static String report(Task task) {
        StringBuilder report =
                new StringBuilder("stuck: thread " + task.logical.getName() + " of " + task.node.id);
        for (StackTraceElement call : task.calls()) {
            report.append("\n    ").append(call);
        }
        return report.toString();
    }
}
