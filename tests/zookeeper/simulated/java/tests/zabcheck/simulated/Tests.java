package zabcheck.simulated;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Objects;
import zabcheck.simulated.schedule.Decisions;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Strategy;

/** Runs the tests of a class: its static methods that are public, take nothing, and fail by an exception. */
public final class Tests {
    private Tests() {}

    /** @param arguments the class */
    public static void main(String[] arguments) throws Exception {
        int failed = 0;
        for (Method test : Class.forName(arguments[0]).getDeclaredMethods()) {
            if (Modifier.isStatic(test.getModifiers()) && Modifier.isPublic(test.getModifiers())) {
                try {
                    test.invoke(null);
                    System.out.println("passed: " + test.getName());
                } catch (InvocationTargetException failure) {
                    failed++;
                    System.out.println("failed: " + test.getName());
                    failure.getCause().printStackTrace();
                }
            }
        }
        Runtime.getRuntime().halt(failed == 0 ? 0 : 1); // carriers of threads need not end
    }

    /** Fails if the two differ. */
    public static void same(Object expected, Object found) {
        if (!Objects.equals(expected, found)) {
            throw new AssertionError("expected " + expected + ", found " + found);
        }
    }

    /** Fails if this is not so. */
    public static void check(boolean so, Object found) {
        if (!so) {
            throw new AssertionError("found " + found);
        }
    }

    /** Returns a scheduler whose decisions are drawn: another thread goes on at so many of 1000 points. */
    public static Scheduler drawn(long seed, int switches) {
        return new Scheduler(Decisions.drawn(seed), Strategy.uniform(switches, 0), seed);
    }

    /** Returns a scheduler with these decisions. */
    public static Scheduler given(String decisions) {
        return new Scheduler(Decisions.given(decisions), Strategy.uniform(0, 0), 1);
    }

    /** Code of a thread. */
    public interface Code {
        void run() throws Exception;
    }

    /** Starts a thread of the node. */
    public static void begin(Scheduler scheduler, Node node, String name, Code code) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                code.run();
                            } catch (RuntimeException failed) {
                                throw failed;
                            } catch (Exception failed) {
                                throw new IllegalStateException(failed);
                            }
                        },
                        name);
        scheduler.begin(thread, node);
    }

    /** Returns a node without code of its own. */
    public static Node node(int id) {
        return new Node(id, Tests.class.getClassLoader());
    }

    /** Runs everything for so many milliseconds of virtual time. */
    public static void run(Scheduler scheduler, long milliseconds) {
        long until = scheduler.now() + Scheduler.nanos(milliseconds);
        while (scheduler.now() < until) {
            scheduler.runUntil(until);
        }
        same("", scheduler.uncaught());
        same("", scheduler.unsupported());
    }
}
