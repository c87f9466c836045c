package zabcheck.simulated.net;

import zabcheck.simulated.schedule.Node;

/** A connection from a node to a port of a server, which may not be listening yet. */
final class Connection {
    final int number;
    final Network.Port port;
    private final Network network;
    final int client;
    private final End clientEnd;
    private final Pipe there;
    private final Pipe back;
    private End serverEnd;
    private String by = "";
    private boolean over;
    /** True if nothing more passes, although neither end has been told. */
    private boolean broken;

    /** @param number 0 for the connection of a client, which is not recorded */
    Connection(Network network, int number, Node client, Network.Port port, int clientPort) {
        this.network = network;
        this.number = number;
        this.client = client.id;
        this.port = port;
        boolean recorded = number > 0;
        there = new Pipe(network, recorded ? network.link(client.id, port.server) : null, this);
        back = new Pipe(network, recorded ? network.link(port.server, client.id) : null, this);
        clientEnd = new End(client, this, clientPort, port.number);
        clientEnd.writesTo(there);
        back.leadTo(clientEnd);
        if (recorded) {
            network.recorder.record(
                    "opened",
                    "\"connection\":" + number + ",\"client\":" + this.client + ",\"server\":" + port.server
                            + ",\"port\":\"" + port.kind + "\"");
        }
    }

    boolean isQuorum() {
        return port.kind.equals("quorum");
    }

    boolean isElection() {
        return port.kind.equals("election");
    }

    End clientEnd() {
        return clientEnd;
    }

    boolean isPending() {
        return serverEnd == null && !over;
    }

    boolean isBetween(int one, int other) {
        return client == one && port.server == other || client == other && port.server == one;
    }

    boolean isBroken() {
        return broken;
    }

    /** Returns the pipe from this server. */
    Pipe from(int server) {
        return server == client ? there : back;
    }

    /** Connects the server's end, which a listener then accepts. */
    End attach(Node server) {
        serverEnd = new End(server, this, port.number, clientEnd.port);
        serverEnd.writesTo(back);
        there.leadTo(serverEnd);
        there.pump();
        return serverEnd;
    }

    boolean isOtherClosed(End end) {
        End other = end == clientEnd ? serverEnd : clientEnd;
        return other != null && other.isLost();
    }

    void closedBy(End end) {
        if (by.isEmpty()) {
            by = end == clientEnd ? "client" : "server";
        }
    }

    /** An end is closed: what is under way to it is lost, and the connection is over when both are. */
    void endClosed(End end) {
        (end == clientEnd ? back : there).lose();
        boolean bothLost = clientEnd.isLost() && (serverEnd == null || serverEnd.isLost());
        if (bothLost && !over) {
            over = true;
            there.remove();
            back.remove();
            network.over(this);
            if (number > 0) {
                network.recorder.record("closed", "\"connection\":" + number + ",\"by\":\"" + by + "\"");
            }
        }
    }

    /** Breaks both ends off at once; what is under way is lost. */
    void reset() {
        if (by.isEmpty()) {
            by = "proxy";
        }
        if (serverEnd != null) {
            serverEnd.abort();
        }
        clientEnd.abort();
    }

    /** Loses what is under way, and lets nothing pass any more, while both ends stay open. */
    void lose() {
        broken = true;
        there.lose();
        back.lose();
        there.leadTo(null);
        back.leadTo(null);
    }

    /** Breaks the end of one server off; if {@code ended}, only if the other is lost. Returns whether it was open. */
    boolean closeEnd(int server, boolean ended) {
        End mine = server == client ? clientEnd : serverEnd;
        End other = server == client ? serverEnd : clientEnd;
        if (mine == null || mine.isLost() || ended && !(broken || other == null || other.isLost())) {
            return false;
        }
        mine.abort();
        return true;
    }
}
