package zabcheck.simulated.host;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import zabcheck.simulated.hooks.Hooks;
import zabcheck.simulated.load.RewritingLoader;
import zabcheck.simulated.net.Network;
import zabcheck.simulated.net.Recorder;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Task;

/** The servers and clients of one run. Its methods are called while no task runs, but those of {@link Recorder}. */
public final class Ensemble implements Recorder {
    private static final String MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

    /** Asks whoever executes the schedule to look at a folder while a thread stands still, and waits for the answer. */
    public interface Watcher {
        void reached(int server, long thread, String point);
    }

    public final Network network;
    private final Output output;
    private final Scheduler scheduler;
    private final Loaders loaders;
    private final Watcher watcher;
    private final Node outside = new Node(0, Ensemble.class.getClassLoader());
    private final Map<Integer, ServerNode> servers = new TreeMap<>();
    private final Map<Integer, Integer> deaths = new HashMap<>();
    private final Map<Integer, Client> clients = new TreeMap<>();
    private final Set<String> watched = new HashSet<>();
    private boolean noted;
    private boolean over;
    private String fault = "";

    /** The class loaders of servers, which are used again in later runs. */
    public static final class Loaders {
        private final ArrayDeque<ClassLoader> free = new ArrayDeque<>();
        private final ArrayList<ClassLoader> used = new ArrayList<>();
        private final java.util.function.Supplier<RewritingLoader> make;
        private final Map<String, Set<String>> methodsOfPoints;

        /** @param methodsOfPoints the methods in which each point is */
        public Loaders(java.util.function.Supplier<RewritingLoader> make, Map<String, Set<String>> methodsOfPoints) {
            this.make = make;
            this.methodsOfPoints = methodsOfPoints;
        }

        ClassLoader take() {
            ClassLoader loader = free.isEmpty() ? make.get() : free.poll();
            used.add(loader);
            return loader;
        }

        /** Makes all of them free again: the run is over. */
        public void giveBack(boolean again) {
            if (again) {
                free.addAll(used);
            }
            used.clear();
        }
    }

    public Ensemble(Output output, Scheduler scheduler, Loaders loaders, Watcher watcher) {
        this.output = output;
        this.scheduler = scheduler;
        this.loaders = loaders;
        this.watcher = watcher;
        network = new Network(this);
        Hooks.resetHashes();
    }

    // What is seen of it.

    @Override
    public void record(String kind, String fields) {
        if (!scheduler.isOutOfTurn()) {
            output.event(kind, fields);
        }
    }

    /** Records an event for which the schedule may wait. */
    void note(String kind, String fields) {
        record(kind, fields);
        changed();
    }

    @Override
    public void changed() {
        noted = true;
        scheduler.attend();
    }

    @Override
    public void sprung(int victim) {
        kill(victim, "killed");
    }

    /** Returns whether anything was noted since the last call. */
    public boolean takeNoted() {
        boolean was = noted;
        noted = false;
        return was;
    }

    /** Returns the state of all servers and clients, as the inside of a JSON object. */
    public String status() {
        StringBuilder status = new StringBuilder("\"servers\":{");
        for (Map.Entry<Integer, ServerNode> each : servers.entrySet()) {
            ServerNode server = each.getValue();
            String served = server.isDead() ? null : server.isPaused() ? "" : server.served();
            status.append(status.charAt(status.length() - 1) == '{' ? "" : ",").append('"').append(each.getKey())
                    .append("\":").append(served == null ? "null" : Output.quoted(served));
        }
        status.append("},\"open\":[");
        boolean first = true;
        for (Client client : clients.values()) {
            if (client.isOpen()) {
                status.append(first ? "" : ",").append(client.number);
                first = false;
            }
        }
        return status.append(']').toString();
    }

    /** Returns what went wrong in the simulation itself; "" if nothing has. */
    public String fault() {
        return fault.isEmpty() ? scheduler.uncaught() : fault;
    }

    /** Returns the class and the call in it that cannot be simulated, and why; "" if none was met. */
    public String unsupported() {
        return scheduler.unsupported();
    }

    // Servers.

    /** Starts the next incarnation of a server that is down. */
    public void start(int id, Path configuration, Path data, Path logFile) {
        ClassLoader loader = loaders.take();
        ServerNode server = new ServerNode(this, id, loader, data, logFile);
        servers.put(id, server);
        Thread main = new Thread(() -> main(server, configuration), "main");
        scheduler.begin(main, server);
    }

    private void main(ServerNode server, Path configuration) {
        try {
            Class<?> type = server.loader.loadClass(MAIN);
            String[] arguments = {configuration.toString()};
            type.getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof Error) {
                throw (Error) error.getCause();
            }
            throw new IllegalStateException(error.getCause());
        } catch (ReflectiveOperationException error) {
            throw new NoClassDefFoundError("no ZooKeeper on the class path: " + error);
        }
    }

    public ServerNode server(int id) {
        return servers.get(id);
    }

    private ServerNode up(int id) {
        ServerNode server = servers.get(id);
        return server == null || server.isDead() ? null : server;
    }

    /** kill -9: the folder stays as it is at this moment. */
    public void kill(int id, String kind) {
        ServerNode server = up(id);
        if (server != null) {
            note(kind, "\"server\":" + id);
            end(server);
        }
    }

    void exited(ServerNode server, int code) {
        note("exited", "\"server\":" + server.id + ",\"code\":" + code);
        end(server);
    }

    /**
     * Ends a server. Its folder is copied for the next incarnation, since its threads may still write into their own
     * while they unwind: nobody sees that.
     */
    private void end(ServerNode server) {
        int number = deaths.merge(server.id, 1, Integer::sum);
        try {
            Folders.copy(server.data, Paths.get(server.data.toString().replaceFirst("(~\\d+)?$", "~" + number)));
        } catch (IOException error) {
            fault = "the folder of server " + server.id + " cannot be copied: " + error;
        }
        writeLog(server);
        scheduler.kill(server);
    }

    public void pause(int id) {
        scheduler.pause(servers.get(id));
    }

    public void resume(int id) {
        scheduler.resume(servers.get(id));
    }

    /** Writes what servers have logged to their files. */
    public void writeLogs() {
        servers.values().forEach(this::writeLog);
    }

    private void writeLog(ServerNode server) {
        if (server.log.length() > 0) {
            try {
                String folder = server.data.getParent() + "/";
                String text = server.takeLog().replace(folder, "./"); // the same wherever the run is
                Files.write(
                        server.logFile,
                        text.getBytes(StandardCharsets.UTF_8),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.APPEND);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
    }

    void logsWithoutEnd(ServerNode server) {
        fault = "server " + server.id + " has logged " + ServerNode.MOST_LOGGED / 1_000_000
                + " MB, and tries the same again without end";
        scheduler.attend();
    }

    // Stops.

    /** Watches the forces of servers: the watcher is asked each time a thread comes to one of these points. */
    public void watch(Collection<String> points) {
        watched.addAll(points);
    }

    void watch(ServerNode server, Task task, String point) {
        if (watched.contains(point)) {
            watcher.reached(server.id, task.logical.getId(), point);
        }
    }

    public void stop(int id, String point, int nth, String act) {
        servers.get(id).add(new Stop(point, nth, act));
    }

    void reached(ServerNode server, Stop stop) {
        note(
                "reached",
                "\"server\":" + server.id + ",\"point\":" + Output.quoted(stop.point) + ",\"thread\":"
                        + Output.quoted(stop.task.logical.getName()) + ",\"what\":\"" + stop.act + "\"");
        if (stop.act.equals("killed") || stop.act.equals("lost")) {
            kill(server.id, "killed");
        }
    }

    boolean isIn(String point, String method) {
        return loaders.methodsOfPoints.getOrDefault(point, Set.of()).contains(method);
    }

    /** Returns whether a thread is held at the point. */
    public boolean isHeld(int id, String point) {
        ServerNode server = up(id);
        Stop stop = server == null ? null : server.stop(point);
        return stop != null && stop.holding;
    }

    public void step(int id, String point) {
        servers.get(id).step(point);
    }

    public void go(int id, String point) {
        ServerNode server = up(id);
        if (server != null) {
            server.go(point);
        }
    }

    /** Interrupts the main thread of a server. */
    public void interrupt(int id) {
        ServerNode server = up(id);
        Task peer = server == null ? null : server.peer();
        if (peer != null) {
            scheduler.interrupt(peer);
        }
    }

    /** Reads a field by the first of these ways that leads to one, as JSON. */
    public String field(int id, List<String> ways) {
        ServerNode server = up(id);
        Task peer = server == null ? null : server.peer();
        for (String way : ways) {
            Long value = peer == null ? null : Fields.number(peer.logical, way);
            if (value != null) {
                return value.toString();
            }
        }
        return "null";
    }

    /** Sets a number at the end of a way; returns the one before, as JSON. */
    public String replace(int id, String way, long value) {
        ServerNode server = up(id);
        Task peer = server == null ? null : server.peer();
        Long before = peer == null ? null : Fields.replace(peer.logical, way, value);
        return before == null ? "null" : before.toString();
    }

    // Clients.

    public void client(int number, int port, int timeout, int pingAfter, int patience, int retry, boolean renews) {
        Client client = new Client(this, number, port, timeout, pingAfter, patience, retry, renews);
        clients.put(number, client);
        client.begin(outside);
    }

    public Client client(int number) {
        return clients.get(number);
    }

    public void send(int number, byte[] message) {
        clients.get(number).send(message);
    }

    public void move(int number, int port) {
        clients.get(number).move(port);
    }

    public void want(int number) {
        clients.get(number).want();
    }

    public void fallSilent(int number, int milliseconds) {
        clients.get(number).fallSilent(milliseconds);
    }

    public void forgetSession(int number) {
        clients.get(number).forgetSession();
    }

    /** Ends everything. */
    public void close() {
        if (!over) {
            over = true;
            for (int id : servers.keySet()) {
                kill(id, "stopped");
            }
            scheduler.kill(outside);
            loaders.giveBack(true);
        }
    }
}
