package zabcheck.simulated.control;

import java.util.Map;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Task;

/**
 * Ends this process if no thread comes to a point for long: one waits in earnest, or never ends. Only here real time is
 * looked at.
 */
final class Watchdog extends Thread {
    private static final int STUCK = 4;
    private static final int PATIENCE = 60;
    private static final long SECOND = 1000;

    private volatile Scheduler watched;

    Watchdog() {
        super("watchdog");
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
            boolean runs = scheduler != null && scheduler.running() != null;
            same = runs && scheduler.steps() == steps ? same + 1 : 0;
            steps = runs ? scheduler.steps() : -1;
            if (same > PATIENCE) {
                report(scheduler.running());
                Runtime.getRuntime().halt(STUCK);
            }
        }
    }

    private static void report(Task task) {
        System.err.println("stuck: thread " + task.logical.getName() + " of " + task.node.id);
        for (Map.Entry<Thread, StackTraceElement[]> each : Thread.getAllStackTraces().entrySet()) {
            if (each.getKey().getName().equals("carrier")) {
                System.err.println(each.getKey());
                for (StackTraceElement frame : each.getValue()) {
                    System.err.println("    " + frame);
                }
            }
        }
        System.err.flush();
    }
}
