package zabcheck.simulated.host;

import zabcheck.simulated.schedule.Task;
import zabcheck.simulated.schedule.Waiters;

/** A stop at a point: the nth thread that comes there is held, or its server is killed, or the call fails. */
final class Stop {
    final String point;
    final int nth;
    /** "held", "killed", "failed", or "lost" if the server's power fails. */
    final String act;

    final Waiters waiters = new Waiters();
    int count;
    /** The thread that has come; null before. */
    Task task;

    boolean holding;
    boolean stepping;

    Stop(String point, int nth, String act) {
        this.point = point;
        this.nth = nth;
        this.act = act;
    }
}
