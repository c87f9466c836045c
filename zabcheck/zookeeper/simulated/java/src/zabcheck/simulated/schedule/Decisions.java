package zabcheck.simulated.schedule;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.IntSupplier;

/**
 * The decisions of a run, each a small number: 0 is what happens by default, so a run is its schedule and the decisions
 * that are not 0. They are drawn from a seed, or given, which is how a run is executed again, or shortened.
 *
 * <p>A decision is named by its thread and numbered within that thread's life, {@code 2/SyncRequestProcessor@153:1003}:
 * so one that is left out changes the numbers of no other. Decisions that are numbered through the whole run, {@code
 * 12:1}, are read, too.
 */
public final class Decisions {
    private static final Map<Integer, Integer> NONE = Map.of();
    private static final String SERVERS = "org.apache.zookeeper.";
    private static final int MOST_PLACES = 20;

    private final Random random;
    /** By thread, and then by number; "" is the whole run. Null if they are drawn. */
    private final Map<String, Map<Integer, Integer>> given;
    private final Map<Integer, Integer> ofRun;
    private final StringBuilder made = new StringBuilder();
    private final ArrayList<String> places = new ArrayList<>();
    private int next;

    private Decisions(Random random, Map<String, Map<Integer, Integer>> given) {
        this.random = random;
        this.given = given;
        ofRun = given == null ? NONE : given.getOrDefault("", NONE);
    }

    public static Decisions drawn(long seed) {
        return new Decisions(new Random(seed), null);
    }

    /** Reads decisions as {@link #toString} writes them: {@code thread@number:decision,…}. */
    public static Decisions given(String text) {
        Map<String, Map<Integer, Integer>> given = new HashMap<>();
        for (String each : text.split(",")) {
            int colon = each.indexOf(':');
            if (colon > 0) {
                int at = each.indexOf('@');
                String thread = each.substring(0, Math.max(at, 0));
                int number = Integer.parseInt(each.substring(at + 1, colon));
                given.computeIfAbsent(thread, any -> new HashMap<>())
                        .put(number, Integer.valueOf(each.substring(colon + 1)));
            }
        }
        return new Decisions(new Random(0), given);
    }

    /** Returns the given decisions of a thread, by number. */
    Map<Integer, Integer> of(String thread) {
        return given == null ? NONE : given.getOrDefault(thread, NONE);
    }

    /** Takes the next decision about a thread: the given one, or one that is drawn. */
    int take(Task task, IntSupplier draw) {
        int number = task.moments++;
        int decision = given == null ? draw.getAsInt() : given(task, number);
        next++;
        if (decision != 0) {
            made.append(made.length() == 0 ? "" : ",").append(task.name).append('@').append(number);
            made.append(':').append(decision);
            if (given != null && places.size() <= MOST_PLACES) {
                places.add(task == Task.current() ? placeOf(new Throwable().getStackTrace()) : "");
            }
        }
        return decision;
    }

    /** Returns the innermost call of the servers' code, {@code class.method:line}, or "". */
    private static String placeOf(StackTraceElement[] calls) {
        for (StackTraceElement call : calls) {
            String type = call.getClassName();
            if (type.startsWith(SERVERS)) {
                String simple = type.substring(type.lastIndexOf('.') + 1);
                int line = call.getLineNumber();
                return simple + "." + call.getMethodName() + (line > 0 ? ":" + line : "");
            }
        }
        return "";
    }

    /** Returns where in the servers' code each given decision was taken; none if they are drawn, or many. */
    public List<String> places() {
        return places.size() <= MOST_PLACES ? places : List.of();
    }

    private int given(Task task, int number) {
        Integer decision = task.given.get(number);
        return decision != null ? decision : ofRun.getOrDefault(next, 0);
    }

    int below(int bound) {
        return random.nextInt(bound);
    }

    /** Returns the number of decisions so far, those for the default included. */
    public long count() {
        return next;
    }

    @Override
    public String toString() {
        return made.toString();
    }
}
