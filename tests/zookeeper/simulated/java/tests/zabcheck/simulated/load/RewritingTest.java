package zabcheck.simulated.load;

import static zabcheck.simulated.Tests.begin;
import static zabcheck.simulated.Tests.check;
import static zabcheck.simulated.Tests.drawn;
import static zabcheck.simulated.Tests.same;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import zabcheck.simulated.hooks.Hooks;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Scheduler;

/** Classes that know nothing of the simulation run in it as they would without. */
public final class RewritingTest {
    private static final String SERVERS = System.getProperty("servers");
    private static final String CONSTRUCTS = "org.apache.zookeeper.sample.Constructs";
    private static final long DAY = 86_400_000;

    private RewritingTest() {}

    private static RewritingLoader loader(String path) throws Exception {
        ClassPath classes = new ClassPath(path);
        return new RewritingLoader(classes, new Rewriter(classes, List.of()));
    }

    /** Calls a method in a thread of the simulation, and returns what it says. */
    private static String said(Scheduler scheduler, ClassLoader loader, String type, String method) {
        Hooks.resetHashes();
        String[] said = {"it did not end"};
        begin(scheduler, new Node(1, loader), "main", () -> {
            try {
                said[0] = (String) loader.loadClass(type).getMethod(method).invoke(null);
            } catch (InvocationTargetException failed) {
                if (failed.getCause() instanceof Error) {
                    throw (Error) failed.getCause();
                }
                said[0] = failed.getCause().toString();
            }
        });
        long until = scheduler.now() + Scheduler.nanos(DAY);
        while (scheduler.now() < until && scheduler.unsupported().isEmpty()) {
            scheduler.runUntil(until);
        }
        same("", scheduler.uncaught());
        return said[0];
    }

    private static void says(String expected, String method) throws Exception {
        for (int seed = 0; seed < 5; seed++) {
            Scheduler scheduler = drawn(seed, 300);
            same(expected, said(scheduler, loader(SERVERS), CONSTRUCTS, method));
            same("", scheduler.unsupported());
        }
    }

    public static void synchronizedMethod() throws Exception {
        says("2", "synchronizedMethod");
    }

    public static void synchronizedStaticMethod() throws Exception {
        says("2", "synchronizedStaticMethod");
    }

    public static void synchronizedBlock() throws Exception {
        says("left false", "synchronizedBlockIsLeftByAnException");
    }

    public static void waitAndNotify() throws Exception {
        says("1 hour", "waitAndNotify");
    }

    public static void sleepAndClocks() throws Exception {
        says("1 hour", "sleepAndClocks");
    }

    public static void interrupt() throws Exception {
        says("interrupted false false", "interrupt");
    }

    public static void queues() throws Exception {
        says("123 null 0", "queues");
    }

    public static void latchesAndSemaphores() throws Exception {
        says("true false", "latchesAndSemaphores");
    }

    public static void locks() throws Exception {
        says("2 false", "locks");
    }

    public static void timersAndPools() throws Exception {
        says("pool [timer, later]", "timersAndPools");
    }

    public static void classInitialiser() throws Exception {
        says("begunbegun", "classInitialiser");
    }

    public static void whatIsArbitraryIsTheSeeds() throws Exception {
        String first = said(drawn(1, 0), loader(SERVERS), CONSTRUCTS, "arbitrary");
        same(first, said(drawn(1, 0), loader(SERVERS), CONSTRUCTS, "arbitrary"));
        check(!first.equals(said(drawn(2, 0), loader(SERVERS), CONSTRUCTS, "arbitrary")), first);
    }

    public static void aCallThatIsNotSimulatedIsToldWithItsPlace() throws Exception {
        Scheduler scheduler = drawn(1, 0);
        said(scheduler, loader(SERVERS), "org.apache.zookeeper.sample.Unknown", "drained");
        String told = scheduler.unsupported();
        check(told.startsWith("org.apache.zookeeper.sample.Unknown.drained(Unknown.java:10): "), told);
        check(told.contains("NoSuchMethodError") && told.contains("Semaphore.drainPermits()"), told);
    }

    /** Of {@code return 12345}, the instruction that loads the number is none of Java's any more. */
    public static void anInstructionThatCannotBeReadIsToldWithItsClassAndMethod() throws Exception {
        Path folder = Files.createTempDirectory("rewriting");
        String name = "org/apache/zookeeper/sample/Broken";
        byte[] bytes = Files.readAllBytes(Paths.get(SERVERS, name + ".class"));
        List<Integer> at = new ArrayList<>();
        for (int i = 0; i + 2 < bytes.length; i++) {
            if (bytes[i] == 0x11 && bytes[i + 1] == 0x30 && bytes[i + 2] == 0x39) {
                at.add(i);
            }
        }
        same(1, at.size());
        bytes[at.get(0)] = (byte) 0xfe;
        Files.createDirectories(folder.resolve("org/apache/zookeeper/sample"));
        Path file = Files.write(folder.resolve(name + ".class"), bytes);
        Scheduler scheduler = drawn(1, 0);
        said(scheduler, loader(folder.toString()), "org.apache.zookeeper.sample.Broken", "number");
        String told = scheduler.unsupported();
        check(told.contains("org.apache.zookeeper.sample.Broken.number()Ljava/lang/String;, byte "), told);
        check(told.contains("cannot be rewritten"), told);
        Files.delete(file);
    }
}
