package zabcheck.simulated.concurrent;

import zabcheck.simulated.hooks.Hooks;

/** See {@link java.util.Timer}; each task has a thread of its own. */
public class Timer {
    private final String name;
    private boolean cancelled;

    public Timer() {
        this("Timer");
    }

    public Timer(boolean daemon) {
        this("Timer");
    }

    public Timer(String name) {
        this.name = name;
    }

    public Timer(String name, boolean daemon) {
        this(name);
    }

    public void schedule(TimerTask task, long delay) {
        schedule(task, delay, 0);
    }

    public void schedule(TimerTask task, long delay, long period) {
        Hooks.start(
                new Thread(
                        () -> {
                            try {
                                Hooks.sleep(delay);
                                while (!cancelled && !task.cancelled) {
                                    task.run();
                                    if (period <= 0) {
                                        return;
                                    }
                                    Hooks.sleep(period);
                                }
                            } catch (InterruptedException interrupted) {
                                // nobody does that to the thread of a timer
                            }
                        },
                        name));
    }

    public void scheduleAtFixedRate(TimerTask task, long delay, long period) {
        schedule(task, delay, period);
    }

    public void cancel() {
        cancelled = true;
    }
}
