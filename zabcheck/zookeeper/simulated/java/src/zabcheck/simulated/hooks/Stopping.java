package zabcheck.simulated.hooks;

import java.io.IOException;
import zabcheck.simulated.schedule.Task;

/** A node whose threads can be stopped at points, and go on line by line. */
public interface Stopping {
    void at(Task task, String point) throws IOException;

    void line(Task task, String method);
}
