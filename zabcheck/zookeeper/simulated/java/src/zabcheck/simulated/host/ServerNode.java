package zabcheck.simulated.host;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import zabcheck.simulated.hooks.Exiting;
import zabcheck.simulated.hooks.Stopping;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Task;

/** One incarnation of a server: its threads, folder and log, and the stops at points in it. */
final class ServerNode extends Node implements Exiting, Stopping {
    private static final String PEER = "org.apache.zookeeper.server.quorum.QuorumPeer";
    private static final long NEVER = -1;
    /** Characters that an incarnation logs at most; drawn runs have up to two million. */
    static final long MOST_LOGGED = 10_000_000;

    final Path data;
    final Path logFile;
    final StringBuilder log = new StringBuilder();
    private final Ensemble ensemble;
    private final Map<String, Stop> stops = new TreeMap<>();
    private Task peer;
    private long written;

    ServerNode(Ensemble ensemble, int id, ClassLoader loader, Path data, Path logFile) {
        super(id, loader);
        this.ensemble = ensemble;
        this.data = data;
        this.logFile = logFile;
    }

    /** Returns what it has logged since this was asked last. */
    String takeLog() {
        String text = log.toString();
        written += text.length();
        log.setLength(0);
        return text;
    }

    /** Ends the run if the server logs more than one does that gets on. */
    void logged() {
        if (written + log.length() > MOST_LOGGED) {
            ensemble.logsWithoutEnd(this);
        }
    }

    /** Returns the server's main thread, which is its QuorumPeer; null if it is not there. */
    Task peer() {
        if (peer == null || peer.hasEnded()) {
            peer = null;
            for (Task task : tasks()) {
                if (task.logical.getClass().getName().equals(PEER)) {
                    peer = task;
                }
            }
        }
        return peer;
    }

    /** Returns "mode epoch" if it serves clients, else "". */
    String served() {
        Task main = peer();
        Object server = main == null ? null : Fields.follow(main.logical, "cnxnFactory.zkServer");
        if (server == null || !"RUNNING".equals(String.valueOf(Fields.follow(server, "state")))) {
            return "";
        }
        String type = server.getClass().getSimpleName();
        String mode = type.startsWith("Leader") ? "leader" : type.startsWith("Follower") ? "follower" : "observer";
        Long zxid = Fields.number(server, "zkDb.dataTree.lastProcessedZxid");
        return zxid == null ? "" : mode + " " + (zxid >>> 32);
    }

    @Override
    public void exit(int code) {
        ensemble.exited(this, code);
    }

    void add(Stop stop) {
        stops.put(stop.point, stop);
    }

    Stop stop(String point) {
        return stops.get(point);
    }

    /** Lets a thread that is held go on, and holds none there any more. */
    void go(String point) {
        Stop stop = stops.remove(point);
        if (stop != null) {
            stop.holding = false;
            Scheduler.get().wakeAll(stop.waiters);
        }
    }

    /** Lets a thread that is held go on to the next line of its method. */
    void step(String point) {
        Stop stop = stops.get(point);
        stop.stepping = true;
        stop.holding = false;
        Scheduler.get().wakeAll(stop.waiters);
    }

    @Override
    public void at(Task task, String point) throws IOException {
        ensemble.watch(this, task, point);
        Stop stop = stops.get(point);
        if (stop == null || stop.task != null || ++stop.count < stop.nth) {
            return;
        }
        stop.task = task;
        ensemble.reached(this, stop);
        if (stop.act.equals("failed")) {
            throw new IOException("No space left on device");
        }
        if (stop.act.equals("held")) {
            hold(stop);
        } else {
            Scheduler.get().pointWithoutChoice(); // it was killed
        }
    }

    @Override
    public void line(Task task, String method) {
        for (Stop stop : stops.values()) {
            if (stop.stepping && stop.task == task && ensemble.isIn(stop.point, method)) {
                stop.stepping = false;
                hold(stop);
                return;
            }
        }
    }

    private void hold(Stop stop) {
        stop.holding = true;
        ensemble.changed();
        while (stop.holding) {
            Scheduler.get().blockFor(stop.waiters, NEVER);
        }
    }
}
