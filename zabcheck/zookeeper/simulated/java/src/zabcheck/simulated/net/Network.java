package zabcheck.simulated.net;

import java.net.ConnectException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Task;

/**
 * The network between servers: the links that a schedule cuts, holds, delays, or gates, and the connections over them.
 *
 * <p>As behind the proxy of real processes, a server's connection to another one is made at once, and reaches that one
 * as soon as it listens and no link between the two is cut. Clients reach a server only while it listens.
 */
public final class Network {
    private static final int FIRST_EPHEMERAL = 40_000;
    private static final int EPHEMERAL = 20_000;

    private static volatile Network present;

    final Recorder recorder;
    private final Map<Integer, Port> ports = new TreeMap<>();
    private final Map<Integer, ServerSocket> listeners = new TreeMap<>();
    private final Map<Integer, Link> links = new TreeMap<>();
    private final List<Connection> open = new ArrayList<>();
    private int connections;
    private int sockets;
    private long packets;

    /** A port of a server: "quorum", "election" or "client". */
    static final class Port {
        final int number;
        final int server;
        final String kind;

        Port(int number, int server, String kind) {
            this.number = number;
            this.server = server;
            this.kind = kind;
        }
    }

    public Network(Recorder recorder) {
        this.recorder = recorder;
        present = this;
    }

    static Network get() {
        return present;
    }

    /** Declares a server; links lead from it to all that were declared before, and back. */
    public void declare(int server, int quorum, int election, int client) {
        for (Port port : new ArrayList<>(ports.values())) {
            if (port.server != server) {
                link(port.server, server);
                link(server, port.server);
            }
        }
        ports.put(quorum, new Port(quorum, server, "quorum"));
        ports.put(election, new Port(election, server, "election"));
        ports.put(client, new Port(client, server, "client"));
    }

    Link link(int sender, int receiver) {
        return links.computeIfAbsent(sender * 1000 + receiver, key -> new Link(sender, receiver));
    }

    long nextPacket() {
        return ++packets;
    }

    // Sockets.

    End connect(int to) throws ConnectException {
        Node me = Task.current().node;
        Port port = ports.get(to);
        boolean isClients = port == null || port.kind.equals("client") || me.id == 0;
        ServerSocket listener = listeners.get(to);
        if (isClients && listener == null) {
            throw new ConnectException("Connection refused");
        }
        int number = isClients ? 0 : ++connections;
        Port target = port == null ? new Port(to, listener.node().id, "client") : port;
        Connection connection =
                new Connection(this, number, me, target, FIRST_EPHEMERAL + sockets++ % EPHEMERAL);
        open.add(connection);
        if (connection.isElection() && link(me.id, target.server).apart) {
            connection.reset();
        } else {
            attach(connection);
        }
        return connection.clientEnd();
    }

    void listen(int port, ServerSocket listener) {
        listeners.put(port, listener);
        attachAll();
    }

    boolean isTaken(int port) {
        return listeners.containsKey(port);
    }

    void stopListening(int port, ServerSocket listener) {
        listeners.remove(port, listener);
    }

    private void attachAll() {
        for (Connection connection : new ArrayList<>(open)) {
            attach(connection);
        }
    }

    private void attach(Connection connection) {
        ServerSocket listener = listeners.get(connection.port.number);
        if (listener == null || !connection.isPending()) {
            return;
        }
        boolean between = connection.number > 0;
        if (between && (link(connection.client, connection.port.server).cut
                || link(connection.port.server, connection.client).cut)) {
            return;
        }
        listener.enqueue(connection.attach(listener.node()));
    }

    void over(Connection connection) {
        open.remove(connection);
    }

    // What a schedule does to links.

    public void cut(int sender, int receiver) {
        link(sender, receiver).cut = true;
    }

    public void mend(int sender, int receiver) {
        link(sender, receiver).cut = false;
        link(sender, receiver).pump();
        attachAll();
    }

    public void hold(int sender, int receiver, String kind) {
        link(sender, receiver).hold = kind;
        link(sender, receiver).pump();
    }

    public void release(int sender, int receiver) {
        hold(sender, receiver, null);
    }

    public void trap(int sender, int receiver, String kind, int victim) {
        link(sender, receiver).trap = kind;
        link(sender, receiver).victim = victim;
    }

    public void delay(int sender, int receiver, long nanoseconds) {
        link(sender, receiver).delay = nanoseconds;
        link(sender, receiver).pump();
    }

    public void reset(int one, int other) {
        for (Connection connection : new ArrayList<>(open)) {
            if (connection.number > 0 && connection.isBetween(one, other)) {
                connection.reset();
            }
        }
    }

    /** Lets every link work, and closes the connections that were broken. */
    public void heal() {
        for (Link link : links.values()) {
            link.cut = false;
            link.hold = null;
            link.trap = null;
            link.delay = 0;
            link.gated = false;
            link.apart = false;
        }
        for (Connection connection : new ArrayList<>(open)) {
            if (connection.isBroken()) {
                connection.reset();
            }
        }
        for (Link link : links.values()) {
            link.pump();
        }
        attachAll();
    }

    /** Lets packets of Zab pass one by one from here on, and nobody elect. */
    public void gate() {
        for (Link link : links.values()) {
            link.gated = true;
        }
        meet(List.of(), 0);
    }

    /** Lets these servers elect one of them, and nobody else; each hears only {@code around}, unless that is 0. */
    public void meet(Collection<Integer> servers, int around) {
        for (Link link : links.values()) {
            boolean both = servers.contains(link.sender) && servers.contains(link.receiver);
            link.apart = !(both && (around == 0 || around == link.sender || around == link.receiver));
        }
        for (Connection connection : new ArrayList<>(open)) {
            if (connection.isElection() && link(connection.client, connection.port.server).apart) {
                connection.reset();
            }
        }
        links.values().forEach(Link::pump);
    }

    /** Returns the packets that wait at the gate of a link, in the newest connection that this server has opened. */
    public String underWay(int sender, int receiver, int client) {
        Pipe pipe = newest(sender, receiver, client);
        return pipe == null ? "[]" : pipe.atGate();
    }

    public boolean letThrough(int sender, int receiver, int client) {
        Pipe pipe = newest(sender, receiver, client);
        return pipe != null && pipe.letThrough();
    }

    private Pipe newest(int sender, int receiver, int client) {
        Connection newest = null;
        for (Connection connection : between(sender, receiver)) {
            newest = connection.client == client ? connection : newest;
        }
        return newest == null || newest.isBroken() ? null : newest.from(sender);
    }

    public boolean closeEnds(int server, int peer, boolean ended) {
        boolean any = false;
        for (Connection connection : between(server, peer)) {
            any |= connection.closeEnd(server, ended);
        }
        return any;
    }

    public void lose(int one, int other) {
        between(one, other).forEach(Connection::lose);
    }

    private List<Connection> between(int one, int other) {
        List<Connection> found = new ArrayList<>();
        for (Connection connection : open) {
            if (connection.isQuorum() && connection.number > 0 && connection.isBetween(one, other)) {
                found.add(connection);
            }
        }
        return found;
    }

    /** Returns the links that are cut, or at whose hold a packet stands, as JSON; only the latter if {@code held}. */
    public String blocked(boolean held) {
        StringBuilder found = new StringBuilder("[");
        for (Link link : links.values()) {
            if (link.isHeld() || link.cut && !held) {
                found.append(found.length() > 1 ? "," : "").append('[').append(link.sender).append(',')
                        .append(link.receiver).append(']');
            }
        }
        return found.append(']').toString();
    }
}
