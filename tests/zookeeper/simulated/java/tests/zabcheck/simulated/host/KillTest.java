package zabcheck.simulated.host;

import static zabcheck.simulated.Tests.check;
import static zabcheck.simulated.Tests.given;
import static zabcheck.simulated.Tests.same;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import zabcheck.simulated.load.ClassPath;
import zabcheck.simulated.load.Rewriter;
import zabcheck.simulated.load.RewritingLoader;
import zabcheck.simulated.schedule.Scheduler;

/** What becomes of a server that is killed, or that ends by itself, and of its folder. */
public final class KillTest {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final Output output = new Output(new PrintStream(bytes));
    private final Scheduler scheduler = given("");
    private final Path folder = Files.createTempDirectory("kill");
    private final Path data = Files.createDirectory(folder.resolve("server-1"));
    private final Ensemble ensemble;

    private KillTest(String does) throws Exception {
        ClassPath classes = new ClassPath(System.getProperty("servers"));
        Rewriter rewriter = new Rewriter(classes, List.of());
        ensemble =
                new Ensemble(
                        output,
                        scheduler,
                        new Ensemble.Loaders(() -> new RewritingLoader(classes, rewriter), Map.of()),
                        (server, thread, point) -> {});
        Path configuration = folder.resolve("configuration");
        Files.write(configuration, (data + "\n" + does).getBytes(StandardCharsets.UTF_8));
        ensemble.start(1, configuration, data, folder.resolve("log"));
    }

    private void run(long milliseconds) {
        long until = scheduler.now() + Scheduler.nanos(milliseconds);
        while (scheduler.now() < until && ensemble.fault().isEmpty() && ensemble.unsupported().isEmpty()) {
            scheduler.runUntil(until);
        }
    }

    private String recorded() {
        output.reply("");
        return new String(bytes.toByteArray(), StandardCharsets.UTF_8);
    }

    private static String content(Path file) throws Exception {
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }

    /** Its threads write while they unwind, which real ones cannot: into the folder that nobody looks at any more. */
    public static void theFolderIsCopiedAsItWasAtThatInstant() throws Exception {
        KillTest test = new KillTest("writes");
        test.run(2500);
        test.ensemble.kill(1, "killed");
        same("x!x!x", content(test.folder.resolve("server-1~1/log")));
        same("x!x!x!", content(test.data.resolve("log")));
        test.run(5000);
        same("x!x!x", content(test.folder.resolve("server-1~1/log")));
        check(test.recorded().contains("\"record\":\"killed\""), test.recorded());
        same(0, test.scheduler.leaked());
    }

    public static void aServerThatExitsIsRecordedWithItsCode() throws Exception {
        KillTest test = new KillTest("exits");
        test.run(1000);
        check(test.recorded().contains("\"record\":\"exited\""), test.recorded());
        check(test.recorded().contains("\"code\":7"), test.recorded());
        same("", test.ensemble.fault());
    }

    /** As one does that cannot read a record of its log, reads it again at once, and logs that each time. */
    public static void aServerThatLogsWithoutEndEndsTheRun() throws Exception {
        KillTest test = new KillTest("writes");
        ServerNode server = new ServerNode(test.ensemble, 2, null, test.data, test.folder.resolve("log-2"));
        server.log.append("x".repeat(6_000_000));
        server.logged();
        same(6_000_000, server.takeLog().length());
        same("", test.ensemble.fault());
        server.log.append("x".repeat(6_000_000));
        server.logged();
        same("server 2 has logged 10 MB, and tries the same again without end", test.ensemble.fault());
    }

    public static void aCallThatIsNotSimulatedIsNoFaultOfTheServer() throws Exception {
        KillTest test = new KillTest("calls");
        test.run(1000);
        check(test.ensemble.unsupported().contains("sample.Unknown.drained"), test.ensemble.unsupported());
        same("", test.ensemble.fault());
    }
}
