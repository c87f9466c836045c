package zabcheck.simulated.control;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.StringJoiner;
import zabcheck.simulated.host.Ensemble;
import zabcheck.simulated.host.Output;
import zabcheck.simulated.schedule.Decisions;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Strategy;

/** The commands by which a schedule is executed. Times are microseconds since 1970, ports and servers are numbers. */
final class Commands {
    /** Nanoseconds of virtual time between two looks at what servers do. */
    private static final long LOOK = 20_000_000L;

    /** The exit code of a process in which a thread is stuck. */
    private static final int STUCK = 4;

    private final BufferedReader in;
    private final Output output;
    private final Ensemble.Loaders loaders;
    private final Watchdog watchdog;
    private Scheduler scheduler;
    private Ensemble ensemble;

    /** @param patience seconds of real time after which a thread counts as stuck */
    Commands(BufferedReader in, Output output, Ensemble.Loaders loaders, int patience) {
        watchdog = new Watchdog(patience, Commands::endStuck);
        this.in = in;
        this.output = output;
        this.loaders = loaders;
        watchdog.start();
    }

    private static void endStuck(String report) {
        System.err.println(report);
        System.err.flush();
        Runtime.getRuntime().halt(STUCK);
    }

    /** Executes commands until the input ends. */
    void execute() throws IOException {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String result;
            String fault = "";
            try {
                result = execute(line.split(" ", -1));
            } catch (RuntimeException error) {
                result = "null";
                fault = line.split(" ")[0] + ": " + error;
            }
            reply(result, fault);
        }
    }

    private void reply(String result, String fault) {
        if (ensemble == null) {
            output.reply("{\"record\":\"reply\",\"time\":0,\"result\":" + result + "}");
            return;
        }
        ensemble.writeLogs();
        String wrong = fault.isEmpty() ? ensemble.fault() : fault;
        output.reply(
                "{\"record\":\"reply\",\"time\":" + now() + ",\"result\":" + result + ",\"fault\":"
                        + Output.quoted(wrong) + ",\"unsupported\":" + Output.quoted(ensemble.unsupported()) + ","
                        + ensemble.status() + "}");
    }

    private long now() {
        return Scheduler.EPOCH * 1000 + scheduler.now() / 1000;
    }

    private String execute(String[] words) {
        switch (words[0]) {
            case "begin":
                begin(words);
                return "null";
            case "run":
                run((Long.parseLong(words[1]) - Scheduler.EPOCH * 1000) * 1000);
                return "null";
            case "end":
                return end();
            case "declare":
                ensemble.network.declare(number(words, 1), number(words, 2), number(words, 3), number(words, 4));
                return "null";
            default:
                break;
        }
        String result = ofServers(words);
        result = result == null ? ofLinks(words) : result;
        result = result == null ? ofClients(words) : result;
        if (result == null) {
            throw new IllegalArgumentException("no such command");
        }
        return result;
    }

    /** {@code begin SEED STRATEGY FIRST SECOND DECISIONS}; the decisions are drawn if the last word is "-". */
    private void begin(String[] words) {
        long seed = Long.parseLong(words[1]);
        int first = number(words, 3);
        int second = number(words, 4);
        Strategy strategy = strategy(words[2], first, second);
        Decisions decisions = words[5].equals("-") ? Decisions.drawn(seed) : Decisions.given(words[5]);
        scheduler = new Scheduler(decisions, strategy, seed);
        ensemble = new Ensemble(output, scheduler, loaders, this::ask);
        watchdog.watch(scheduler);
    }

    private static Strategy strategy(String name, int first, int second) {
        switch (name) {
            case "uniform":
                return Strategy.uniform(first, second);
            case "priorities":
                return Strategy.priorities(first, second);
            case "fifo":
                return Strategy.fifo(second);
            default:
                throw new IllegalArgumentException("no strategy " + name);
        }
    }

    private void run(long until) {
        String before = ensemble.status();
        while (scheduler.now() < until) {
            ensemble.takeNoted();
            scheduler.runUntil(Math.min(until, scheduler.now() + LOOK));
            boolean failed = !ensemble.fault().isEmpty() || !ensemble.unsupported().isEmpty();
            if (ensemble.takeNoted() || failed || !ensemble.status().equals(before)) {
                return;
            }
        }
    }

    private String end() {
        ensemble.close();
        ensemble.writeLogs();
        StringJoiner places = new StringJoiner(",", "[", "]");
        scheduler.decisions().places().forEach(place -> places.add('"' + place + '"'));
        return "{\"decisions\":\"" + scheduler.decisions() + "\",\"places\":"
                + places + ",\"java\":" + Runtime.version().feature()
                + ",\"taken\":" + scheduler.decisions().count()
                + ",\"steps\":" + scheduler.steps() + ",\"switches\":" + scheduler.switches() + ",\"leaked\":"
                + scheduler.leaked() + "}";
    }

    /** Asks who executes the schedule to look at a server's folder now. Called by the thread that runs. */
    private void ask(int server, long thread, String point) {
        output.reply(
                "{\"record\":\"watch\",\"time\":" + now() + ",\"server\":" + server + ",\"number\":" + thread
                        + ",\"point\":\"" + point + "\"}");
        try {
            in.readLine();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private String ofServers(String[] words) {
        switch (words[0]) {
            case "start":
                ensemble.start(
                        number(words, 1),
                        Paths.get(decoded(words[2])),
                        Paths.get(decoded(words[3])),
                        Paths.get(decoded(words[4])));
                return "null";
            case "kill":
                ensemble.kill(number(words, 1), words[2]);
                return "null";
            case "pause":
                ensemble.pause(number(words, 1));
                return "null";
            case "resume":
                ensemble.resume(number(words, 1));
                return "null";
            case "watch":
                ensemble.watch(Arrays.asList(words).subList(1, words.length));
                return "null";
            case "stop":
                ensemble.stop(number(words, 1), words[2], number(words, 3), words[4]);
                return "null";
            case "held":
                return String.valueOf(ensemble.isHeld(number(words, 1), words[2]));
            case "step":
                ensemble.step(number(words, 1), words[2]);
                return "null";
            case "go":
                ensemble.go(number(words, 1), words[2]);
                return "null";
            case "interrupt":
                ensemble.interrupt(number(words, 1));
                return "null";
            case "field":
                return ensemble.field(number(words, 1), Arrays.asList(words).subList(2, words.length));
            case "replace":
                return ensemble.replace(number(words, 1), words[2], Long.parseLong(words[3]));
            default:
                return null;
        }
    }

    private String ofLinks(String[] words) {
        switch (words[0]) {
            case "cut":
                ensemble.network.cut(number(words, 1), number(words, 2));
                return "null";
            case "mend":
                ensemble.network.mend(number(words, 1), number(words, 2));
                return "null";
            case "hold":
                ensemble.network.hold(number(words, 1), number(words, 2), words[3]);
                return "null";
            case "release":
                ensemble.network.release(number(words, 1), number(words, 2));
                return "null";
            case "trap":
                ensemble.network.trap(number(words, 1), number(words, 2), words[3], number(words, 4));
                return "null";
            case "delay":
                ensemble.network.delay(number(words, 1), number(words, 2), Scheduler.nanos(number(words, 3)));
                return "null";
            case "reset":
                ensemble.network.reset(number(words, 1), number(words, 2));
                return "null";
            case "heal":
                ensemble.network.heal();
                return "null";
            case "blocked":
                return ensemble.network.blocked(words[1].equals("held"));
            case "gate":
                ensemble.network.gate();
                return "null";
            case "meet":
                ensemble.network.meet(numbers(words, 2), number(words, 1));
                return "null";
            case "under_way":
                return ensemble.network.underWay(number(words, 1), number(words, 2), number(words, 3));
            case "let_through":
                return String.valueOf(
                        ensemble.network.letThrough(number(words, 1), number(words, 2), number(words, 3)));
            case "close_ends":
                return String.valueOf(
                        ensemble.network.closeEnds(number(words, 1), number(words, 2), words[3].equals("ended")));
            case "lose":
                ensemble.network.lose(number(words, 1), number(words, 2));
                return "null";
            default:
                return null;
        }
    }

    private String ofClients(String[] words) {
        switch (words[0]) {
            case "client":
                ensemble.client(
                        number(words, 1),
                        number(words, 2),
                        number(words, 3),
                        number(words, 4),
                        number(words, 5),
                        number(words, 6),
                        words[7].equals("renews"));
                return "null";
            case "want":
                ensemble.want(number(words, 1));
                return "null";
            case "send":
                for (int at = 2; at < words.length; at++) {
                    ensemble.send(number(words, 1), Base64.getDecoder().decode(words[at]));
                }
                return "null";
            case "move":
                ensemble.move(number(words, 1), number(words, 2));
                return "null";
            case "silent":
                ensemble.fallSilent(number(words, 1), number(words, 2));
                return "null";
            case "forget":
                ensemble.forgetSession(number(words, 1));
                return "null";
            default:
                return null;
        }
    }

    private static int number(String[] words, int at) {
        return Integer.parseInt(words[at]);
    }

    private static List<Integer> numbers(String[] words, int from) {
        List<Integer> numbers = new ArrayList<>();
        for (int at = from; at < words.length; at++) {
            numbers.add(number(words, at));
        }
        return numbers;
    }

    /** Decodes a word that may hold spaces. */
    private static String decoded(String word) {
        return new String(Base64.getDecoder().decode(word), java.nio.charset.StandardCharsets.UTF_8);
    }
}
