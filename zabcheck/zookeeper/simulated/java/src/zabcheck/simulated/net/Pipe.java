package zabcheck.simulated.net;

import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Iterator;
import java.util.Set;
import zabcheck.simulated.schedule.Scheduler;

/** One direction of a connection: what is written at one end waits until the link and the other end let it pass. */
final class Pipe {
    /** The packets that a gate does not hold: requests, sessions and reads. */
    private static final Set<String> NOT_OF_ZAB = Set.of("REQUEST", "PING", "REVALIDATE", "SYNC");

    private static final String FIRST_ACK = "ACK-LD";

    private final Network network;
    private final Link link;
    private final Connection connection;
    private final PacketSplitter splitter;
    private final ArrayDeque<Piece> waiting = new ArrayDeque<>();
    private End to;
    private boolean ended;
    private boolean timed;

    /** @param link null for the connection of a client */
    Pipe(Network network, Link link, Connection connection) {
        this.network = network;
        this.link = link;
        this.connection = connection;
        splitter = connection.isQuorum() ? new PacketSplitter() : null;
        if (link != null) {
            link.pipes.add(this);
        }
    }

    void leadTo(End end) {
        to = end;
    }

    void write(byte[] data) {
        if (splitter == null) {
            append(new Piece(data, null, 0, null, 0));
        } else {
            for (Piece piece : splitter.feed(data)) {
                append(piece);
            }
        }
        pump();
    }

    /** The sender sends no more. */
    void end() {
        if (!ended) {
            ended = true;
            append(Piece.end());
            pump();
        }
    }

    private void append(Piece piece) {
        piece.written = Scheduler.get().now();
        if (piece.packet != null) {
            piece.number = network.nextPacket();
            network.recorder.record(
                    "packet",
                    "\"packet\":" + piece.number + ",\"connection\":" + connection.number + ",\"sender\":" + link.sender
                            + ",\"receiver\":" + link.receiver + ",\"size\":" + piece.size + ",\"data\":\""
                            + Base64.getEncoder().encodeToString(piece.packet) + "\"");
        }
        waiting.add(piece);
        if (link != null && piece.begins != null && piece.begins.equals(link.trap)) {
            link.trap = null;
            network.recorder.sprung(link.victim);
        }
    }

    /** Passes on everything that may pass. */
    void pump() {
        if (to != null && to.isLost()) {
            lose();
        }
        boolean passed = false;
        while (!waiting.isEmpty() && mayPass(waiting.peek())) {
            pass(waiting.poll());
            passed = true;
        }
        if (passed) {
            to.wake();
        }
        if (isHeld()) {
            network.recorder.changed();
        }
    }

    private void pass(Piece piece) {
        if (piece.number > 0) {
            network.recorder.record("passed", "\"packet\":" + piece.number);
        }
        to.receive(piece);
    }

    private boolean mayPass(Piece piece) {
        if (to == null || to.isLost()) {
            return false;
        }
        if (link == null) {
            return true;
        }
        if (link.cut || isGated(piece) || piece.begins != null && piece.begins.equals(link.hold)) {
            return false;
        }
        long due = piece.written + link.delay;
        if (due <= Scheduler.get().now()) {
            return true;
        }
        if (!timed) {
            timed = true;
            Scheduler.get()
                    .at(
                            due,
                            () -> {
                                timed = false;
                                pump();
                            });
        }
        return false;
    }

    private boolean isGated(Piece piece) {
        if (!connection.isQuorum()) {
            return link.apart;
        }
        return link.gated && (piece.isEnd() || piece.begins != null && !NOT_OF_ZAB.contains(piece.begins));
    }

    boolean isHeld() {
        Piece first = waiting.peek();
        return first != null && first.begins != null && first.begins.equals(link == null ? null : link.hold);
    }

    /** Returns the packets of Zab that wait, as JSON: their kinds and zxids, null for a SNAP that is not yet whole. */
    String atGate() {
        StringBuilder found = new StringBuilder("[");
        for (Piece piece : waiting) {
            if (piece.begins != null && !NOT_OF_ZAB.contains(piece.begins)) {
                String kind = piece.begins.equals(FIRST_ACK) ? "ACK" : piece.begins;
                boolean whole = piece.packet != null || isWholeLater(piece);
                found.append(found.length() > 1 ? "," : "").append("[\"").append(kind).append("\",")
                        .append(whole ? String.valueOf(piece.zxid) : "null").append(']');
            }
        }
        return found.append(']').toString();
    }

    private boolean isWholeLater(Piece begun) {
        Iterator<Piece> all = waiting.iterator();
        while (all.next() != begun) {
            // up to the piece
        }
        while (all.hasNext()) {
            if (all.next().packet != null) {
                return true;
            }
        }
        return false;
    }

    /** Passes the packet that stands at the gate, and what may follow it. Returns false if none can pass. */
    boolean letThrough() {
        if (to == null || to.isLost() || waiting.isEmpty() || !isGated(waiting.peek())) {
            return false;
        }
        pass(waiting.poll());
        to.wake();
        pump();
        return true;
    }

    /** Drops what waits: it will never pass. */
    void lose() {
        for (Piece piece : waiting) {
            if (piece.number > 0) {
                network.recorder.record("lost", "\"packet\":" + piece.number);
            }
        }
        waiting.clear();
    }

    void remove() {
        lose();
        if (link != null) {
            link.pipes.remove(this);
        }
    }
}
