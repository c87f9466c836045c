package zabcheck.simulated.schedule;

import static zabcheck.simulated.Tests.begin;
import static zabcheck.simulated.Tests.check;
import static zabcheck.simulated.Tests.drawn;
import static zabcheck.simulated.Tests.given;
import static zabcheck.simulated.Tests.node;
import static zabcheck.simulated.Tests.run;
import static zabcheck.simulated.Tests.same;

import java.util.concurrent.TimeUnit;
import zabcheck.simulated.hooks.Hooks;

/** One thread at a time, in virtual time, as the decisions have it. */
public final class SchedulerTest {
    private static final int HOUR = 3_600_000;

    private SchedulerTest() {}

    /** Returns the order in which two threads come to their points. */
    private static String order(Scheduler scheduler) {
        StringBuilder order = new StringBuilder();
        Node node = node(1);
        for (String name : new String[] {"a", "b"}) {
            begin(
                    scheduler,
                    node,
                    name,
                    () -> {
                        for (int i = 0; i < 6; i++) {
                            order.append(name);
                            scheduler.point();
                        }
                    });
        }
        run(scheduler, 10_000);
        return order.toString();
    }

    public static void byDefaultAThreadRunsOn() {
        Scheduler scheduler = given("");
        same("aaaaaabbbbbb", order(scheduler));
        same("", scheduler.decisions().toString());
    }

    public static void aDecisionLetsAnotherGoOn() {
        Scheduler scheduler = given("1/a@2:1");
        same("aabbbbbbaaaa", order(scheduler));
        same("1/a@2:1", scheduler.decisions().toString());
    }

    public static void aDecisionThatIsLeftOutChangesTheNumbersOfNoOtherThread() {
        same("aabbaaaabbbb", order(given("1/a@2:1,1/b@1:1")));
        same("aaaaaabbbbbb", order(given("1/b@1:1")));
        same("aabbbbbbaaaa", order(given("1/a@2:1,2/b@1:1,1/b.2@1:1,1.2/b@1:1")));
    }

    public static void decisionsNumberedThroughTheWholeRunAreReadToo() {
        Scheduler scheduler = given("2:1");
        same("aabbbbbbaaaa", order(scheduler));
        same("1/a@2:1", scheduler.decisions().toString());
    }

    public static void inTurnAThreadRunsUntilItStandsStill() {
        for (int seed = 0; seed < 10; seed++) {
            same("aaaaaabbbbbb", order(new Scheduler(Decisions.drawn(seed), Strategy.fifo(0), seed)));
        }
        Scheduler often = new Scheduler(Decisions.drawn(1), Strategy.fifo(500_000), 1);
        order(often);
        for (String decision : often.decisions().toString().split(",")) {
            check(Integer.parseInt(decision.substring(decision.indexOf(':') + 1)) >= 1000, decision);
        }
    }

    public static void aThreadIsNamedByServerStartKindAndNumber() {
        Scheduler scheduler = given("");
        Node first = node(1);
        begin(scheduler, first, "a", () -> {});
        Node second = node(1);
        begin(scheduler, second, "a", () -> {});
        same("1/a.2", first.nameOf(new Thread("a")));
        same("1.2/a.2", second.nameOf(new Thread("a")));
        same("1.2/client3writes", second.nameOf(new Thread("client 3 writes")));
        same("1.2/Named", second.nameOf(new Named()));
    }

    private static final class Named extends Thread {}

    public static void theSameSeedGivesTheSameOrderAndItsDecisionsDoToo() {
        Scheduler first = drawn(7, 500);
        String order = order(first);
        same(order, order(drawn(7, 500)));
        same(order, order(given(first.decisions().toString())));
        check(!order.equals(order(drawn(8, 500))), order);
    }

    public static void theHighestPriorityGoesFirst() {
        for (int seed = 0; seed < 10; seed++) {
            String order = order(new Scheduler(Decisions.drawn(seed), Strategy.priorities(0, 0), seed));
            check(order.equals("aaaaaabbbbbb") || order.equals("bbbbbbaaaaaa"), order);
        }
    }

    public static void aStallLetsAThreadStandStill() {
        Scheduler scheduler = given("1/a@1:1003");
        same("abbbbbbaaaaa", order(scheduler));
    }

    public static void timeJumpsWhenAllWait() {
        Scheduler scheduler = given("");
        long real = System.nanoTime();
        long[] woken = {0, 0};
        begin(scheduler, node(1), "long", () -> {
            Hooks.sleep(2 * HOUR);
            woken[0] = Hooks.currentTimeMillis();
        });
        begin(scheduler, node(2), "short", () -> {
            Hooks.sleep(HOUR);
            woken[1] = Hooks.currentTimeMillis();
        });
        run(scheduler, 3 * HOUR);
        same((long) HOUR, woken[0] - woken[1]);
        check(System.nanoTime() - real < TimeUnit.MINUTES.toNanos(1), System.nanoTime() - real);
    }

    public static void killUnwindsEveryThreadAndNothingRunsAnyMore() {
        Scheduler scheduler = given("");
        Node node = node(1);
        int[] counted = {0, 0};
        for (int i = 0; i < 3; i++) {
            begin(scheduler, node, "t" + i, () -> {
                try {
                    while (true) {
                        counted[0]++;
                        Hooks.sleep(1000);
                    }
                } finally {
                    counted[1]++;
                }
            });
        }
        run(scheduler, 2500);
        same(9, counted[0]);
        scheduler.kill(node);
        same(3, counted[1]);
        same(0, scheduler.leaked());
        run(scheduler, 5000);
        same(9, counted[0]);
    }

    public static void aThreadThatCatchesEverythingStaysParked() {
        Scheduler scheduler = given("");
        Node node = node(1);
        begin(scheduler, node, "stubborn", () -> {
            while (true) {
                try {
                    Hooks.sleep(1000);
                } catch (Throwable caught) {
                    // goes on
                }
            }
        });
        run(scheduler, 10);
        scheduler.kill(node);
        run(scheduler, 5000);
    }

    public static void whatIsPausedStandsStillWhileTimeGoesOn() {
        Scheduler scheduler = given("");
        Node node = node(1);
        int[] counted = {0};
        begin(scheduler, node, "counts", () -> {
            while (true) {
                counted[0]++;
                Hooks.sleep(1000);
            }
        });
        run(scheduler, 2500);
        scheduler.pause(node);
        run(scheduler, 10_000);
        same(3, counted[0]);
        scheduler.resume(node);
        run(scheduler, 1500);
        same(5, counted[0]);
    }

    public static void whatNobodyCaughtIsToldWithItsThread() {
        Scheduler scheduler = given("");
        begin(scheduler, node(3), "main", () -> {
            throw new IllegalStateException("broken");
        });
        scheduler.runUntil(scheduler.now() + 1000);
        same("thread main of 3: java.lang.IllegalStateException: broken", scheduler.uncaught());
        same("", scheduler.unsupported());
    }
}
