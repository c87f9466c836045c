package zabcheck.simulated.hooks;

import java.io.FileDescriptor;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Task;

/**
 * The calls that rewritten classes make in place of {@code synchronized}, of methods of {@link Object} and
 * {@link Thread}, of clocks, of exits and of forces to the disk.
 *
 * <p>A thread that is none of the simulation's has no monitors here: it looks at servers only while they stand still.
 */
public final class Hooks {
    private static final String UNNAMED = "Thread-";

    private Hooks() {}

    // Monitors.

    public static void enter(Object object) {
        if (object == null) {
            throw new NullPointerException();
        }
        if (Task.current() != null) {
            Scheduler.get().monitors.enter(object);
        }
    }

    public static void leave(Object object) {
        if (Task.current() != null) {
            Scheduler.get().monitors.leave(object);
        }
    }

    public static void await(Object object) throws InterruptedException {
        Scheduler.get().monitors.await(object, 0);
    }

    public static void await(Object object, long milliseconds) throws InterruptedException {
        Scheduler.get().monitors.await(object, milliseconds);
    }

    public static void await(Object object, long milliseconds, int nanoseconds) throws InterruptedException {
        Scheduler.get().monitors.await(object, milliseconds + (nanoseconds > 0 ? 1 : 0));
    }

    public static void signal(Object object) {
        Scheduler.get().monitors.signal(object);
    }

    public static void signalAll(Object object) {
        Scheduler.get().monitors.signalAll(object);
    }

    public static boolean holdsLock(Object object) {
        return Scheduler.get().monitors.owner(object) == Task.current();
    }

    // Threads.

    public static Thread currentThread() {
        Task me = Task.current();
        return me == null ? Thread.currentThread() : me.logical;
    }

    public static void start(Thread thread) {
        if (thread.getName().startsWith(UNNAMED)) {
            thread.setName(UNNAMED + Task.current().node.nextUnnamed()); // Java would number those of all servers
        }
        Scheduler.get().begin(thread, Task.current().node);
        Scheduler.get().point();
    }

    public static void join(Thread thread) throws InterruptedException {
        join(thread, 0);
    }

    public static void join(Thread thread, long milliseconds) throws InterruptedException {
        Task task = taskOf(thread);
        if (task != null) {
            Scheduler.get().join(task, Scheduler.get().deadline(milliseconds));
        }
    }

    public static void sleep(long milliseconds) throws InterruptedException {
        Scheduler scheduler = Scheduler.get();
        scheduler.block(null, scheduler.now() + Scheduler.nanos(Math.max(0, milliseconds)));
    }

    public static void yieldNow() {
        Scheduler.get().point();
    }

    public static void interrupt(Thread thread) {
        Task task = taskOf(thread);
        if (task != null) {
            Scheduler.get().interrupt(task);
            Scheduler.get().point();
        }
    }

    public static boolean isInterrupted(Thread thread) {
        Task task = taskOf(thread);
        return task != null && Scheduler.get().isInterrupted(task);
    }

    public static boolean interrupted() {
        return Scheduler.get().takeInterrupt(Task.current());
    }

    public static boolean isAlive(Thread thread) {
        Task task = taskOf(thread);
        return task != null && !task.hasEnded();
    }

    private static Task taskOf(Thread thread) {
        Task me = Task.current();
        if (me.logical == thread) {
            return me;
        }
        for (Task task : me.node.tasks()) {
            if (task.logical == thread) {
                return task;
            }
        }
        return null;
    }

    // Class initialisers, in which no other task may get its turn: it would wait for the class, in earnest.

    public static void beginInitialiser() {
        Task me = Task.current();
        if (me != null) {
            me.beginInitialiser();
        }
    }

    public static void endInitialiser() {
        Task me = Task.current();
        if (me != null) {
            me.endInitialiser();
        }
    }

    // Clocks.

    public static long currentTimeMillis() {
        return Scheduler.EPOCH + Scheduler.get().now() / 1_000_000;
    }

    public static long nanoTime() {
        return Scheduler.get().now();
    }

    // Randomness.

    public static void shuffle(List<?> list) {
        Collections.shuffle(list, new Random(Scheduler.get().seed()));
    }

    public static double random() {
        return new Random(Scheduler.get().seed()).nextDouble();
    }

    // The process and its disk.

    public static void exit(int code) {
        Node node = Task.current().node;
        if (!node.isDead() && node instanceof Exiting) {
            ((Exiting) node).exit(code);
        }
        Scheduler.get().pointWithoutChoice();
    }

    public static void force(FileChannel channel, boolean metadata) {
        Scheduler.get().point();
    }

    public static void sync(FileDescriptor descriptor) {
        Scheduler.get().point();
    }

    /** A point of the catalogue: the thread may be held, or its server killed, or the call fails. */
    public static void at(String point) throws IOException {
        Task me = Task.current();
        if (me != null && me.node instanceof Stopping && !me.node.isDead() && !me.isInitialising()) {
            ((Stopping) me.node).at(me, point);
        }
    }

    /** The beginning of a line of a method in which there are points. */
    public static void line(String method) {
        Task me = Task.current();
        if (me != null && me.node instanceof Stopping && !me.node.isDead() && !me.isInitialising()) {
            ((Stopping) me.node).line(me, method);
        }
    }

    // Hashes: an object's own must not depend on where it lies in memory, nor on what was executed before.

    private static final long FOR_GOOD = 0xffff_ffffL << 32;
    private static long run;
    private static int hashes;

    /** Begins to number objects anew. */
    public static void resetHashes() {
        run = run + (1L << 32) & Long.MAX_VALUE;
        hashes = 0;
    }

    /**
     * Returns the hash of an object, in the lower half, with the run in which it was given in the upper one. An object
     * that lives longer, in a static field, is numbered anew in each run; what a class initialiser has put into a table
     * keeps its hash.
     *
     * @param known what was returned for the object before; 0 the first time
     */
    public static long hash(Object object, long known) {
        long given = known & FOR_GOOD;
        if (given == FOR_GOOD || known != 0 && given == run) {
            return known;
        }
        Task me = Task.current();
        if (me != null && me.isInitialising()) {
            return FOR_GOOD | object.getClass().getName().hashCode() & 0xffff_ffffL;
        }
        hashes++;
        return run | hashes * 0x9E3779B1 & 0xffff_ffffL;
    }
}
