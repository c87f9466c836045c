package zabcheck.simulated.schedule;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.function.IntSupplier;

/**
 * The decisions of a run, each a small number: 0 is what happens by default, so a run is its schedule and the decisions
 * that are not 0. They are drawn from a seed, or given by number, which is how a run is executed again, or shortened.
 */
public final class Decisions {
    private final Random random;
    private final Map<Long, Integer> given;
    private final StringBuilder made = new StringBuilder();
    private long next;

    private Decisions(Random random, Map<Long, Integer> given) {
        this.random = random;
        this.given = given;
    }

    public static Decisions drawn(long seed) {
        return new Decisions(new Random(seed), null);
    }

    /** Reads decisions as {@link #toString} writes them: {@code number:decision,…}. */
    public static Decisions given(String text) {
        Map<Long, Integer> given = new HashMap<>();
        for (String each : text.split(",")) {
            int colon = each.indexOf(':');
            if (colon > 0) {
                given.put(Long.valueOf(each.substring(0, colon)), Integer.valueOf(each.substring(colon + 1)));
            }
        }
        return new Decisions(new Random(0), given);
    }

    /** Takes the next decision: the given one, or one that is drawn. */
    int take(IntSupplier draw) {
        long number = next++;
        int decision = given == null ? draw.getAsInt() : given.getOrDefault(number, 0);
        if (decision != 0) {
            made.append(made.length() == 0 ? "" : ",").append(number).append(':').append(decision);
        }
        return decision;
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
