package zabcheck.simulated.schedule;

import java.util.ArrayList;

/** The tasks that wait for the same thing, in the order in which they came. */
public final class Waiters {
    final ArrayList<Task> tasks = new ArrayList<>(2);

    public boolean isEmpty() {
        return tasks.isEmpty();
    }

    public int size() {
        return tasks.size();
    }
}
