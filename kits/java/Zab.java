import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The whole of a small Zab, with the numbers of the steps in DSN 2011, IV and V.
 *
 * <pre>javac -encoding UTF-8 -d build *.java; zabcheck run --exec "java -cp build Zab"</pre>
 *
 * <p>With `--bug no-truncation` a follower keeps what the initial history of an epoch has not.
 */
final class Zab extends Node {
    record Zxid(long epoch, long counter) implements Comparable<Zxid> {
        static final Zxid NONE = new Zxid(0, 0);

        static Zxid of(Object json) {
            List<?> pair = (List<?>) json;
            return new Zxid((Long) pair.get(0), (Long) pair.get(1));
        }

        List<Long> json() {
            return List.of(epoch, counter);
        }

        public int compareTo(Zxid other) {
            return epoch != other.epoch ? Long.compare(epoch, other.epoch) : Long.compare(counter, other.counter);
        }
    }

    record Txn(Zxid zxid, String value) {
        static Txn of(Object json) {
            return new Txn(Zxid.of(map(json).get("zxid")), (String) map(json).get("value"));
        }

        Map<String, Object> json() {
            return fields("zxid", zxid.json(), "value", value);
        }
    }

    record Answer(long epoch, List<Txn> history) {}

    private static final List<String> KINDS =
            List.of("CEPOCH", "NEWEPOCH", "ACK-E", "NEWLEADER", "ACK-LD", "COMMIT-LD", "PROPOSE", "ACK", "COMMIT");
    private static String argument; // the bug of the command line

    private String bug, leader, phase;
    private long promised, epoch, iteration, proposing;
    private List<Txn> history = List.of(), delivered = List.of(), proposed;
    private Map<String, Long> promises;
    private Map<String, Answer> answers;
    private Map<String, String> links;
    private Map<String, Zxid> acks;
    private Zxid initial, committed;
    private boolean established, ready;

    public static void main(String[] arguments) throws IOException {
        argument = arguments.length > 1 && arguments[0].equals("--bug") ? arguments[1] : null;
        run(Zab::new);
    }

    Map<String, Object> knows() {
        List<String> groups = List.of("core", "causality", "protocol");
        return fields("kinds", KINDS, "properties", groups, "mutants", List.of("no-truncation"));
    }

    static Zxid last(List<Txn> history) {
        return history.isEmpty() ? Zxid.NONE : history.get(history.size() - 1).zxid;
    }

    static List<Object> json(List<Txn> history) {
        List<Object> found = new ArrayList<>();
        for (Txn each : history) found.add(each.json());
        return found;
    }

    static List<Txn> txns(Object json) {
        List<Txn> found = new ArrayList<>();
        for (Object each : (List<?>) json) found.add(Txn.of(each));
        return found;
    }

    static int common(List<Txn> a, List<Txn> b) {
        int same = 0;
        while (same < Math.min(a.size(), b.size()) && a.get(same).equals(b.get(same))) same++;
        return same;
    }

    static List<Txn> with(List<Txn> history, Txn txn) {
        List<Txn> found = new ArrayList<>(history);
        found.add(txn);
        return found;
    }

    void init(Map<String, Object> disk, boolean intact) {
        bug = mutant != null ? mutant : argument;
        promised = (Long) disk.getOrDefault("f.p", 0L);
        epoch = (Long) disk.getOrDefault("f.a", 0L);
        history = txns(disk.getOrDefault("history", List.of()));
        begin(null, "election");
        if (!intact) event("halt", "reason", "a record on its disk is not what was written");
    }

    private void begin(String leader, String phase) {
        iteration++;
        this.leader = leader;
        this.phase = phase;
        proposing = 0;
        promises = new LinkedHashMap<>();
        answers = new LinkedHashMap<>();
        links = new LinkedHashMap<>();
        acks = new LinkedHashMap<>();
        proposed = null;
        established = ready = false;
        committed = Zxid.NONE;
        tell();
    }

    private void tell() {
        Map<String, Object> variables = fields("phase", phase, "f.p", promised, "f.a", epoch, "h_f", json(history));
        send("zabcheck", "state", fields("variables", variables));
    }

    /** Writes, and does `then` once that is synced, unless this iteration is over by that time. */
    private void durable(Map<String, Object> fields, List<?> events, Runnable then) {
        long now = iteration;
        write(fields, events, () -> {
            if (iteration == now) then.run();
        });
        tell();
    }

    private void abandon(String reason) {
        giveUp(reason);
        begin(null, "election");
    }

    private boolean leads() {
        return id.equals(leader);
    }

    void handle(String src, String type, Map<String, Object> m) {
        switch (type) {
            case "elected" -> { // f.1.1
                begin((String) m.get("leader"), "discovery");
                send(leader, "CEPOCH", fields("epoch", promised));
            }
            case "NEWEPOCH" -> onNewEpoch(src, (Long) m.get("epoch"));
            case "NEWLEADER" -> onNewLeader(src, (Long) m.get("epoch"), txns(m.get("history")));
            case "COMMIT-LD" -> onCommitLd(src, (Long) m.get("epoch"), Zxid.of(m.get("zxid")));
            case "PROPOSE" -> onPropose(src, (Long) m.get("epoch"), Txn.of(m.get("txn")));
            case "COMMIT" -> { // f.3.3
                if (src.equals(leader) && phase.equals("broadcast")) deliverUpTo(Zxid.of(m.get("zxid")));
            }
            case "CEPOCH" -> onCEpoch(src, (Long) m.get("epoch"));
            case "ACK-E" -> {
                Answer answer = new Answer((Long) m.get("current_epoch"), txns(m.get("history")));
                onAckE(src, answer, (Boolean) m.get("counts"));
            }
            case "ACK-LD" -> onAckLd(src, Zxid.of(m.get("zxid")));
            case "request" -> onRequest((String) m.get("value"));
            case "ACK" -> { // l.3.2
                if (leads() && acks.containsKey(src)) {
                    acks.put(src, Zxid.of(m.get("zxid")));
                    commit();
                }
            }
            case "lost" -> onLost((String) m.get("peer"));
            case "timed_out" -> {
                if (!phase.equals("election")) abandon("time-out");
            }
            default -> throw new IllegalArgumentException("no such body: " + type);
        }
    }

    // A follower.

    private void onNewEpoch(String src, long asked) { // f.1.2
        if (!src.equals(leader) || !phase.equals("discovery")) return;
        if (asked < promised) {
            abandon("NEWEPOCH is older than f.p");
            return;
        }
        boolean counts = asked > promised;
        Map<String, Object> answer = fields("current_epoch", epoch, "history", json(history), "counts", counts);
        phase = "synchronization";
        promised = asked;
        if (!counts) {
            tell();
            send(src, "ACK-E", answer);
            return;
        }
        Object promise = what("promise", "epoch", asked, "leader", src);
        durable(fields("f.p", asked), List.of(promise), () -> {
            Object current = answer.get("current_epoch");
            event("ack_epoch", "epoch", asked, "current_epoch", current, "history", answer.get("history"));
            send(src, "ACK-E", answer);
        });
    }

    private void onNewLeader(String src, long asked, List<Txn> accepted) { // f.2.1
        if (!src.equals(leader) || !phase.equals("synchronization")) return;
        if (asked != promised) {
            abandon("NEWLEADER is not of the epoch promised");
            return;
        }
        List<Object> events = new ArrayList<>();
        int same = common(history, accepted);
        Zxid end = last(accepted);
        if (same < history.size()) {
            if ("no-truncation".equals(bug) && same == accepted.size()) accepted = history;
            else events.add(what("truncate", "zxid", last(history.subList(0, same)).json(), "length", same));
        }
        history = accepted;
        epoch = asked;
        events.add(what("adopt", "epoch", asked, "history", json(history)));
        Map<String, Object> answer = fields("epoch", asked, "zxid", end.json());
        durable(fields("f.a", epoch, "history", json(history)), events, () -> send(src, "ACK-LD", answer));
    }

    private void onCommitLd(String src, long asked, Zxid zxid) { // f.2.2 and f.3.1
        if (!src.equals(leader) || !phase.equals("synchronization") || epoch != asked) return;
        phase = "broadcast";
        event("commit_epoch", "epoch", asked);
        if (common(delivered, history) < delivered.size()) delivered = List.of();
        deliverUpTo(zxid);
        if (leads()) {
            ready = true;
            event("ready", "epoch", asked);
        }
        tell();
    }

    private void onPropose(String src, long asked, Txn txn) { // f.3.2
        if (!src.equals(leader) || txn.zxid.compareTo(last(history)) <= 0) return;
        history = with(history, txn);
        List<?> events = List.of(what("accept", "epoch", asked, "txn", txn.json()));
        Map<String, Object> answer = fields("epoch", asked, "zxid", txn.zxid.json());
        durable(fields("history", json(history)), events, () -> send(src, "ACK", answer));
    }

    private void deliverUpTo(Zxid zxid) {
        int length = 0;
        while (length < history.size() && history.get(length).zxid.compareTo(zxid) <= 0) length++;
        List<Txn> target = history.subList(0, length);
        if (!last(target).equals(zxid) || length <= delivered.size()) return;
        for (Txn each : target.subList(delivered.size(), length)) event("deliver", "txn", each.json());
        delivered = target;
    }

    // A leader.

    private void onCEpoch(String src, long asked) { // l.1.1, and l.3.3 for who comes later
        if (!leads()) return;
        links.put(src, "asked");
        if (proposing > 0) {
            send(src, "NEWEPOCH", fields("epoch", proposing));
            if (proposed != null) proposeHistory(src);
            return;
        }
        promises.put(src, asked);
        if (!isQuorum(promises.keySet())) return;
        for (long each : promises.values()) proposing = Math.max(proposing, each + 1);
        for (String each : promises.keySet()) send(each, "NEWEPOCH", fields("epoch", proposing));
    }

    private void onAckE(String src, Answer answer, boolean counts) { // l.1.2 and l.2.1
        if (!leads() || !"asked".equals(links.get(src))) return;
        links.put(src, "discovered");
        if (proposed != null) {
            proposeHistory(src);
            return;
        }
        if (counts) answers.put(src, answer);
        else if (!answers.containsKey(src)) {
            abandon("a promise of e' was made, and its answer lost");
            return;
        }
        if (!isQuorum(answers.keySet())) return;
        Answer best = null;
        for (String each : ids) { // ties go to the lowest
            Answer found = answers.get(each);
            if (found != null && (best == null || isLater(found, best))) best = found;
        }
        proposed = best.history;
        initial = last(proposed);
        for (String each : ids) if ("discovered".equals(links.get(each))) proposeHistory(each);
    }

    private static boolean isLater(Answer a, Answer b) {
        return a.epoch != b.epoch ? a.epoch > b.epoch : last(a.history).compareTo(last(b.history)) > 0;
    }

    private void proposeHistory(String to) { // l.2.1
        links.put(to, "proposed");
        send(to, "NEWLEADER", fields("epoch", proposing, "history", json(proposed)));
    }

    private void onAckLd(String src, Zxid zxid) { // l.2.2 and l.3.4
        if (!leads() || !"proposed".equals(links.get(src))) return;
        acks.put(src, zxid);
        if (established) {
            commit();
            links.put(src, "synced");
            send(src, "COMMIT-LD", fields("epoch", proposing, "zxid", committed.json()));
            return;
        }
        links.put(src, "synced");
        if (!isQuorum(acks.keySet())) return;
        established = true;
        committed = initial;
        event("establish", "epoch", proposing);
        toAll(List.of("synced"), "COMMIT-LD", fields("epoch", proposing, "zxid", committed.json()));
    }

    private void onRequest(String value) { // l.3.1
        if (!ready) return;
        Zxid end = last(proposed);
        long counter = end.epoch == proposing ? end.counter + 1 : 1;
        if (counter > counterLimit) {
            abandon("the counter would overflow");
            return;
        }
        Txn txn = new Txn(new Zxid(proposing, counter), value);
        proposed = with(proposed, txn);
        event("broadcast", "epoch", proposing, "txn", txn.json());
        toAll(List.of("proposed", "synced"), "PROPOSE", fields("epoch", proposing, "txn", txn.json()));
    }

    private void commit() {
        Zxid highest = committed;
        for (Zxid zxid : acks.values()) {
            List<String> acked = new ArrayList<>();
            acks.forEach((each, its) -> {
                if (its.compareTo(zxid) >= 0) acked.add(each);
            });
            if (zxid.compareTo(highest) > 0 && isQuorum(acked)) highest = zxid;
        }
        if (highest.equals(committed)) return;
        committed = highest;
        toAll(List.of("synced"), "COMMIT", fields("epoch", proposing, "zxid", highest.json()));
    }

    private void toAll(List<String> of, String type, Map<String, Object> fields) {
        links.forEach((each, link) -> {
            if (of.contains(link)) send(each, type, fields);
        });
    }

    // The end of an iteration.

    private void onLost(String peer) {
        if (!leads()) {
            if (peer.equals(leader)) abandon("the leader closed the connection");
            return;
        }
        links.remove(peer);
        if (proposing > 0 && !isQuorum(links.keySet())) abandon("no quorum of followers is left");
    }
}
