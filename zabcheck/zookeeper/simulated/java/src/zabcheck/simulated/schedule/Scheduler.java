package zabcheck.simulated.schedule;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs one task at a time, in virtual time.
 *
 * <p>A task runs until it comes to a point at which another may take its place (a monitor, a queue, a socket, a clock
 * that is waited for), where the {@link Strategy} decides. When none can run, time jumps to the next deadline. The
 * control thread, which executes the schedule, is none of the tasks: it gets its turn at the moment it has asked for,
 * or as soon as something {@link #attend needs its attention}; that is no decision, so how often it looks changes
 * nothing.
 *
 * <p>Everything here is called by the one thread that runs, so nothing is synchronised.
 */
public final class Scheduler {
    /** Milliseconds since 1970 at which virtual time begins. */
    public static final long EPOCH = 1_700_000_000_000L;

    private static final long STEP = 1000;
    private static final long BEGINNING = 1_000_000_000L;
    private static final long UNWINDING = 2_000_000_000L;

    private static volatile Scheduler present;

    public final Monitors monitors = new Monitors(this);
    private final Decisions decisions;
    private final Strategy strategy;
    private final Random entropy;
    private final Thread control = Thread.currentThread();
    private final ArrayList<Task> runnable = new ArrayList<>();
    private final TreeSet<Timed> agenda = new TreeSet<>();
    private long now = BEGINNING;
    private long until = BEGINNING;
    private boolean attention;
    private long orders;
    private volatile Task current;
    /** The task that runs, or ran last. */
    private Task last;
    private final HashMap<Integer, Integer> incarnations = new HashMap<>();
    private Task first;
    private volatile boolean controlTurn = true;
    private volatile long steps;
    private long switches;
    private int leaked;
    private String uncaught = "";
    private String unsupported = "";

    public Scheduler(Decisions decisions, Strategy strategy, long seed) {
        this.decisions = decisions;
        this.strategy = strategy;
        entropy = new Random(seed);
        present = this;
    }

    /** Returns the scheduler of the present run. */
    public static Scheduler get() {
        return present;
    }

    // The clock.

    /** Returns nanoseconds of virtual time. */
    public long now() {
        return now;
    }

    public static long nanos(long milliseconds) {
        return milliseconds * 1_000_000L;
    }

    /** Returns the moment at which a time-out of so many milliseconds ends; NEVER for 0. */
    public long deadline(long milliseconds) {
        return milliseconds <= 0 ? Timed.NEVER : now + nanos(milliseconds);
    }

    public long steps() {
        return steps;
    }

    public long switches() {
        return switches;
    }

    /** Returns how many threads could not be unwound. */
    public int leaked() {
        return leaked;
    }

    public Decisions decisions() {
        return decisions;
    }

    /** Returns a seed for a source of randomness of the servers. */
    public long seed() {
        return entropy.nextLong();
    }

    /** Returns the task that runs, or ran last; for a look from outside. */
    public Task running() {
        return current;
    }

    // Control.

    /** Lets the tasks run until this moment, or until something needs attention. Called by the control thread. */
    public void runUntil(long moment) {
        until = moment;
        attention = false;
        Task next = next();
        if (next == null) {
            return;
        }
        controlTurn = false;
        current = next;
        last = next;
        next.resume();
        while (!controlTurn) {
            LockSupport.park(this);
        }
    }

    /** Gives the control thread its turn as soon as the running task comes to a point. */
    public void attend() {
        attention = true;
    }

    /** Adds a thread of a node, which begins to run later. */
    public void begin(Thread logical, Node node) {
        logical.setContextClassLoader(node.loader);
        if (!node.isNumbered()) {
            node.number(incarnations.merge(node.id, 1, Integer::sum));
        }
        Task task = new Task(this, orders++, logical, node, node.nameOf(logical));
        strategy.begins(decisions, task);
        node.tasks.add(task);
        Carrier.carry(task);
        makeRunnable(task);
    }

    /** Does something at a moment of virtual time. */
    public void at(long moment, Runnable action) {
        agenda.add(
                new Timed(orders++) {
                    {
                        deadline = Math.max(moment, now);
                    }

                    @Override
                    void fall() {
                        action.run();
                    }
                });
    }

    /**
     * Ends a node: nothing of it runs any more, and its resources close. Its threads are unwound now; if the running
     * task is one of them, it unwinds when it comes to its next point.
     */
    public void kill(Node node) {
        if (node.isDead()) {
            return;
        }
        node.die();
        Task me = Task.current();
        ArrayList<Task> tasks = new ArrayList<>(node.tasks);
        tasks.remove(me);
        for (Task task : tasks) {
            forget(task);
        }
        monitors.forget(node);
        unwind(tasks);
        node.tasks.clear();
        if (me != null && me.node == node) {
            node.tasks.add(me);
        }
    }

    private void unwind(ArrayList<Task> tasks) {
        for (Task task : tasks) {
            task.resume();
        }
        long end = System.nanoTime() + UNWINDING;
        for (Task task : tasks) {
            while (!task.hasEnded() && System.nanoTime() < end) {
                Thread.yield();
            }
            if (!task.hasEnded()) {
                leaked++;
            }
        }
    }

    private void forget(Task task) {
        if (task.blocked) {
            unblock(task);
        }
        runnable.remove(task);
        task.node.suspended.remove(task);
        if (first == task) {
            first = null;
        }
    }

    /** Lets a node stand still: its tasks do not run, while its connections stay open and time goes on. */
    public void pause(Node node) {
        node.setPaused(true);
        for (Task task : node.tasks) {
            if (runnable.remove(task)) {
                node.suspended.add(task);
            }
        }
    }

    /** Lets a node go on. */
    public void resume(Node node) {
        node.setPaused(false);
        runnable.addAll(node.suspended);
        node.suspended.clear();
    }

    // The running task.

    /** A point at which the running task may be interrupted by another. */
    public void point() {
        Task me = Task.living();
        steps++;
        now += STEP;
        if (me.isInitialising()) {
            return;
        }
        if (attention || now >= until) {
            me.moments++;
            first = me;
            makeRunnable(me);
            handOver(me, null);
            return;
        }
        due();
        int decision = decisions.take(me, () -> strategy.atPoint(decisions, me, runnable));
        if (decision >= Strategy.STALL) {
            int stall = Strategy.STALLS[(decision - Strategy.STALL) % Strategy.STALLS.length];
            blockFor(null, now + nanos(stall));
        } else if (decision > 0 && !runnable.isEmpty()) {
            Task next = runnable.remove((decision - 1) % runnable.size());
            makeRunnable(me);
            handOver(me, next);
        }
    }

    /** Ends the running task, whose node has died, or gives the control thread its turn if that is asked for. */
    public void pointWithoutChoice() {
        Task me = Task.living();
        if (attention && !me.isInitialising()) {
            first = me;
            makeRunnable(me);
            handOver(me, null);
        }
    }

    /**
     * Blocks the running task until it is woken, or until the deadline. Returns true if it was woken before.
     *
     * @param waiters where others find it; may be null
     * @param deadline a moment of virtual time, or NEVER
     */
    public boolean block(Waiters waiters, long deadline) throws InterruptedException {
        Task me = Task.living();
        if (me.interrupted) {
            me.interrupted = false;
            throw new InterruptedException();
        }
        me.interruptible = true;
        boolean woken = blockNow(me, waiters, deadline);
        if (woken && me.interrupted) {
            me.interrupted = false;
            throw new InterruptedException();
        }
        return woken;
    }

    /** Blocks like {@link #block}, and no interrupt ends it. */
    public boolean blockFor(Waiters waiters, long deadline) {
        Task me = Task.living();
        me.interruptible = false;
        return blockNow(me, waiters, deadline);
    }

    private boolean blockNow(Task me, Waiters waiters, long deadline) {
        steps++;
        now += STEP;
        me.waitsIn = waiters;
        me.timedOut = false;
        me.blocked = true;
        if (waiters != null) {
            waiters.tasks.add(me);
        }
        if (deadline != Timed.NEVER) {
            me.deadline = deadline;
            agenda.add(me);
        }
        handOver(me, next());
        return !me.timedOut;
    }

    /**
     * Returns true in a thread that unwinds beside the one that runs: nothing that it still does may be seen, nor touch
     * what the others use.
     */
    public boolean isOutOfTurn() {
        Task me = Task.current();
        return me != null && me != current;
    }

    /** Wakes all of these. */
    public void wakeAll(Waiters waiters) {
        if (isOutOfTurn()) {
            return;
        }
        while (!waiters.isEmpty()) {
            wake(waiters.tasks.get(0), false);
        }
    }

    /** Wakes one of these; which one is a decision. */
    public void wakeOne(Waiters waiters) {
        if (isOutOfTurn()) {
            return;
        }
        int size = waiters.size();
        if (size > 0) {
            int index = size == 1 ? 0 : decisions.take(lastRun(), () -> decisions.below(size)) % size;
            wake(waiters.tasks.get(index), false);
        }
    }

    void wake(Task task, boolean timedOut) {
        if (task.blocked) {
            unblock(task);
            task.timedOut = timedOut;
            makeRunnable(task);
        }
    }

    public void interrupt(Task task) {
        if (isOutOfTurn()) {
            return;
        }
        task.interrupted = true;
        if (task.blocked && task.interruptible) {
            wake(task, false);
        }
    }

    /** Takes the mark of an interrupt away, and returns whether there was one. */
    public boolean takeInterrupt(Task task) {
        boolean was = task.interrupted;
        task.interrupted = false;
        return was;
    }

    public boolean isInterrupted(Task task) {
        return task.interrupted;
    }

    /** Waits for the end of a task. */
    public void join(Task task, long deadline) throws InterruptedException {
        while (!task.hasEnded() && (deadline == Timed.NEVER || now < deadline)) {
            block(task.joiners, deadline);
        }
    }

    private void unblock(Task task) {
        if (task.waitsIn != null) {
            task.waitsIn.tasks.remove(task);
            task.waitsIn = null;
        }
        if (task.deadline != Timed.NEVER) {
            agenda.remove(task);
            task.deadline = Timed.NEVER;
        }
        task.blocked = false;
    }

    private void makeRunnable(Task task) {
        if (!task.node.isDead()) {
            (task.node.isPaused() ? task.node.suspended : runnable).add(task);
        }
    }

    private void due() {
        while (!agenda.isEmpty() && agenda.first().deadline <= now) {
            Timed entry = agenda.pollFirst();
            entry.fall();
        }
    }

    /** Returns the task that goes on, and takes it from the runnable ones; null if it is the control thread's turn. */
    private Task next() {
        due();
        while (!attention && now < until && runnable.isEmpty()) {
            long next = agenda.isEmpty() ? Long.MAX_VALUE : agenda.first().deadline;
            now = Math.max(now, Math.min(next, until));
            due();
        }
        if (attention || now >= until || runnable.isEmpty()) {
            return null;
        }
        if (first != null && runnable.remove(first)) {
            Task task = first;
            first = null;
            return task;
        }
        first = null;
        int size = runnable.size();
        int index = size == 1 ? 0 : decisions.take(lastRun(), () -> strategy.pick(decisions, runnable)) % size;
        return runnable.remove(index);
    }

    /** Returns the task that runs, or ran last; before any did, the one that has waited longest. */
    private Task lastRun() {
        return last == null ? runnable.get(0) : last;
    }

    private void handOver(Task me, Task next) {
        if (next == me) {
            return;
        }
        giveTurn(next);
        me.awaitResume();
        if (me.node.isDead()) {
            me.die();
        }
    }

    private void giveTurn(Task next) {
        switches++;
        current = next;
        if (next == null) {
            controlTurn = true;
            LockSupport.unpark(control);
        } else {
            last = next;
            next.resume();
        }
    }

    /** Called by a task that has ended, as the last thing it does. */
    void ended(Task task) {
        if (task != current) {
            return; // it was unwound, while another one waits for that
        }
        task.node.tasks.remove(task);
        wakeAll(task.joiners);
        giveTurn(next());
    }

    // Faults.

    void uncaught(Task task, Throwable thrown) {
        uncaught = "thread " + task.logical.getName() + " of " + task.node.id + ": " + thrown;
    }

    /** Notes that a class cannot be executed here; only the first one counts. */
    void unsupported(Throwable thrown) {
        if (unsupported.isEmpty()) {
            String caller = "";
            for (StackTraceElement call : thrown.getStackTrace()) {
                if (caller.isEmpty() && !call.getClassName().startsWith("zabcheck.") && !isOfJava(call)) {
                    caller = call + ": ";
                }
            }
            unsupported = (caller + thrown).replaceAll("\\s+", " ");
            attend();
        }
    }

    private static boolean isOfJava(StackTraceElement call) {
        return call.getClassName().startsWith("java.") || call.getClassName().startsWith("jdk.");
    }

    /** Returns the class and the call in it that cannot be executed here, and why; "" if none was met. */
    public String unsupported() {
        return unsupported;
    }

    /** Returns what a thread has thrown that nobody caught; "" if none has. */
    public String uncaught() {
        return uncaught;
    }
}
