import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * A node that zabcheck single-steps: a subclass takes a step for each line. docs/any-language.md says what each means.
 *
 * <p>Maps are linked: a HashMap of objects without a hash code of their own has another order each time.
 */
abstract class Node {
    String id = "node";
    List<String> ids;
    Map<String, Long> weights;
    String mutant;
    long seed, incarnation, counterLimit;
    private final StringBuilder out = new StringBuilder();
    private final Map<Long, Runnable> waiting = new HashMap<>(); // by the number of a sync
    private long syncs;

    abstract Map<String, Object> knows();

    abstract void init(Map<String, Object> disk, boolean intact);

    abstract void handle(String src, String type, Map<String, Object> body);

    /** Reads lines and answers them until the standard input is closed; `start` makes a node as it is at first. */
    static void run(Supplier<Node> start) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream to = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Node node = start.get();
        for (String text = in.readLine(); text != null; text = in.readLine()) {
            Map<String, Object> line = map(Json.parse(text));
            Map<String, Object> body = map(line.get("body"));
            Map<String, Object> end = fields("in_reply_to", line.get("id"));
            String kind = "done";
            switch ((String) body.get("type")) {
                case "reset" -> {
                    node = start.get();
                    kind = "reset_ok";
                }
                case "init" -> {
                    node.start(body);
                    kind = "init_ok";
                    end.put("reset", true);
                    end.putAll(node.knows());
                }
                case "synced" -> node.waiting.remove((Long) body.get("in_reply_to")).run();
                default -> node.handle((String) line.get("src"), (String) body.get("type"), body);
            }
            node.send("zabcheck", kind, end);
            to.append(node.out).flush();
            node.out.setLength(0);
        }
    }

    @SuppressWarnings("unchecked")
    private void start(Map<String, Object> body) {
        id = (String) body.get("node_id");
        ids = (List<String>) body.get("node_ids");
        weights = (Map<String, Long>) body.get("weights");
        mutant = (String) body.get("mutant");
        seed = (Long) body.get("seed");
        incarnation = (Long) body.get("incarnation");
        counterLimit = (Long) body.get("counter_limit");
        init(map(body.get("disk")), (Boolean) body.get("intact"));
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> map(Object value) {
        return (Map<String, Object>) value;
    }

    /** The fields of a body: fields("epoch", 1, "zxid", zxid). */
    static Map<String, Object> fields(Object... namesAndValues) {
        Map<String, Object> found = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) found.put((String) namesAndValues[i], namesAndValues[i + 1]);
        return found;
    }

    // What a step can do.

    /** Sends a message to a node, which may be this one. */
    void send(String to, String type, Map<String, Object> fields) {
        Map<String, Object> body = fields("type", type);
        body.putAll(fields);
        Json.write(out, fields("src", id, "dest", to, "body", body));
        out.append('\n');
    }

    /** An event, to be told with a write, once that is durable. */
    static Map<String, Object> what(String event, Object... namesAndValues) {
        Map<String, Object> found = fields("type", "event", "event", event);
        found.putAll(fields(namesAndValues));
        return found;
    }

    /** Tells zabcheck what happened: broadcast, deliver, ready, … */
    void event(String event, Object... namesAndValues) {
        send("zabcheck", "event", what(event, namesAndValues));
    }

    /** Writes these fields, all or none, and asks for them to be synced; `then` is run once they are. */
    void write(Map<String, Object> fields, List<?> events, Runnable then) {
        waiting.put(++syncs, then);
        send("disk", "write", fields("fields", fields, "events", events));
        send("disk", "sync", fields("msg_id", syncs));
    }

    /** Closes every connection, and waits for the oracle. */
    void giveUp(String reason) {
        send("zabcheck", "give_up", fields("reason", reason));
    }

    /** Whether these nodes have more than half of the weight. */
    boolean isQuorum(Iterable<String> members) {
        long sum = 0, all = 0;
        for (String each : members) sum += weights.get(each);
        for (long each : weights.values()) all += each;
        return 2 * sum > all;
    }
}
