package zabcheck.simulated.net;

import java.util.ArrayList;

/** Everything that goes from one server to another, over all their connections. */
final class Link {
    final int sender;
    final int receiver;
    boolean cut;
    /** The kind of packet that does not pass, nor does what is behind it; null if all pass. */
    String hold;
    /** The kind of packet at which a server is killed, once; null if there is no trap. */
    String trap;

    int victim;
    /** True if packets of Zab, and ends of connections, pass only when they are let through. */
    boolean gated;
    /** True if nothing passes that belongs to an election. */
    boolean apart;
    /** Nanoseconds. */
    long delay;

    final ArrayList<Pipe> pipes = new ArrayList<>();

    Link(int sender, int receiver) {
        this.sender = sender;
        this.receiver = receiver;
    }

    boolean isHeld() {
        return pipes.stream().anyMatch(Pipe::isHeld);
    }

    void pump() {
        for (Pipe pipe : new ArrayList<>(pipes)) {
            pipe.pump();
        }
    }
}
