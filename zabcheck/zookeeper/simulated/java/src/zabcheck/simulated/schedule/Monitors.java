package zabcheck.simulated.schedule;

import java.util.IdentityHashMap;

/** The monitors of objects: {@code synchronized}, {@code wait} and {@code notify}. */
public final class Monitors {
    private final Scheduler scheduler;
    private final IdentityHashMap<Object, Monitor> monitors = new IdentityHashMap<>();

    private static final class Monitor {
        Task owner;
        int count;
        int claims;
        final Waiters entering = new Waiters();
        final Waiters waiting = new Waiters();
    }

    Monitors(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    public void enter(Object object) {
        Task me = Task.living();
        Monitor monitor = monitors.get(object);
        if (monitor != null && monitor.owner == me) {
            monitor.count++;
            return;
        }
        scheduler.point();
        acquire(me, object, 1);
    }

    private void acquire(Task me, Object object, int count) {
        while (true) {
            Monitor monitor = monitors.computeIfAbsent(object, absent -> new Monitor());
            if (monitor.owner == null) {
                monitor.owner = me;
                monitor.count = count;
                return;
            }
            scheduler.blockFor(monitor.entering, Timed.NEVER);
        }
    }

    public void leave(Object object) {
        Task me = Task.current();
        if (me.node.isDead()) {
            return;
        }
        Monitor monitor = owned(me, object);
        if (--monitor.count == 0) {
            free(object, monitor);
        }
    }

    private void free(Object object, Monitor monitor) {
        monitor.owner = null;
        scheduler.wakeAll(monitor.entering);
        if (monitor.claims == 0) {
            monitors.remove(object);
        }
    }

    public void await(Object object, long milliseconds) throws InterruptedException {
        Task me = Task.living();
        Monitor monitor = owned(me, object);
        if (scheduler.takeInterrupt(me)) {
            throw new InterruptedException();
        }
        int count = monitor.count;
        monitor.claims++;
        free(object, monitor);
        InterruptedException interrupted = null;
        try {
            scheduler.block(monitor.waiting, scheduler.deadline(milliseconds));
        } catch (InterruptedException exception) {
            interrupted = exception;
        } finally {
            monitor.claims--;
        }
        acquire(me, object, count);
        if (interrupted != null) {
            throw interrupted;
        }
    }

    public void signal(Object object) {
        Monitor monitor = owned(Task.living(), object);
        scheduler.wakeOne(monitor.waiting);
    }

    public void signalAll(Object object) {
        Monitor monitor = owned(Task.living(), object);
        scheduler.wakeAll(monitor.waiting);
    }

    /** Returns the task that has the monitor; null if none has. */
    public Task owner(Object object) {
        Monitor monitor = monitors.get(object);
        return monitor == null ? null : monitor.owner;
    }

    private Monitor owned(Task me, Object object) {
        Monitor monitor = monitors.get(object);
        if (monitor == null || monitor.owner != me) {
            throw new IllegalMonitorStateException("current thread is not owner");
        }
        return monitor;
    }

    /** Forgets the monitors that tasks of a dead node have. */
    void forget(Node node) {
        monitors.values().removeIf(monitor -> monitor.owner != null && monitor.owner.node == node);
    }
}
