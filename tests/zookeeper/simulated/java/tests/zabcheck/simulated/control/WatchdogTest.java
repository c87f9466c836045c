package zabcheck.simulated.control;

import static zabcheck.simulated.Tests.begin;
import static zabcheck.simulated.Tests.check;
import static zabcheck.simulated.Tests.given;
import static zabcheck.simulated.Tests.node;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import zabcheck.simulated.schedule.Scheduler;

/** A thread that waits in earnest is found, and told with its calls. */
public final class WatchdogTest {
    private WatchdogTest() {}

    private static void blockInEarnest() {
        while (true) {
            LockSupport.park();
        }
    }

    public static void aThreadThatBlocksIsToldWithItsCalls() throws Exception {
        LinkedBlockingQueue<String> told = new LinkedBlockingQueue<>();
        Watchdog watchdog = new Watchdog(1, told::add);
        watchdog.start();
        Thread control =
                new Thread(
                        () -> {
                            Scheduler scheduler = given("");
                            watchdog.watch(scheduler);
                            begin(scheduler, node(2), "hangs", WatchdogTest::blockInEarnest);
                            scheduler.runUntil(Long.MAX_VALUE);
                        });
        control.setDaemon(true);
        control.start();
        String report = told.poll(30, TimeUnit.SECONDS);
        check(report != null && report.startsWith("stuck: thread hangs of 2\n"), report);
        check(report.contains("zabcheck.simulated.control.WatchdogTest.blockInEarnest(WatchdogTest.java:"), report);
    }

    public static void whileNothingRunsNothingIsStuck() throws Exception {
        LinkedBlockingQueue<String> told = new LinkedBlockingQueue<>();
        Watchdog watchdog = new Watchdog(1, told::add);
        watchdog.watch(given(""));
        watchdog.start();
        String report = told.poll(4, TimeUnit.SECONDS);
        check(report == null, report);
    }
}
