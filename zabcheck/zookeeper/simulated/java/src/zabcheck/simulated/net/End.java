package zabcheck.simulated.net;

import java.io.IOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.Arrays;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Waiters;

/** One end of a connection, in the hands of a node. */
final class End {
    final Node node;
    final int port;
    final int remotePort;
    private final Connection connection;
    private final ArrayDeque<byte[]> inbox = new ArrayDeque<>();
    private final Waiters readers = new Waiters();
    private final Runnable atDeath = this::close;
    private int read;
    private boolean ended;
    private boolean reset;
    private boolean closed;
    private Pipe out;
    private Selector selector;
    int timeout;

    End(Node node, Connection connection, int port, int remotePort) {
        this.node = node;
        this.connection = connection;
        this.port = port;
        this.remotePort = remotePort;
        node.onDeath(atDeath);
    }

    void writesTo(Pipe pipe) {
        out = pipe;
    }

    void watchedBy(Selector watcher) {
        selector = watcher;
    }

    /** Returns true if nothing can reach it any more. */
    boolean isLost() {
        return closed || reset;
    }

    boolean isClosed() {
        return closed;
    }

    void write(byte[] bytes, int offset, int length) throws IOException {
        Scheduler.get().point();
        if (closed) {
            throw new SocketException("Socket closed");
        }
        if (reset || ended && connection.isOtherClosed(this)) {
            throw new SocketException("Broken pipe");
        }
        if (length > 0) {
            out.write(Arrays.copyOfRange(bytes, offset, offset + length));
            Scheduler.get().pointWithoutChoice();
        }
    }

    int read(byte[] bytes, int offset, int length) throws IOException {
        Scheduler scheduler = Scheduler.get();
        scheduler.point();
        long deadline = scheduler.deadline(timeout);
        while (true) {
            int count = readNow(bytes, offset, length);
            if (count != 0 || length == 0) {
                return count;
            }
            if (deadline >= 0 && scheduler.now() >= deadline) {
                throw new SocketTimeoutException("Read timed out");
            }
            scheduler.blockFor(readers, deadline);
        }
    }

    /** Reads what is there: 0 bytes if there are none yet, -1 at the end. */
    int readNow(byte[] bytes, int offset, int length) throws IOException {
        if (closed) {
            throw new SocketException("Socket closed");
        }
        if (reset) {
            throw new SocketException("Connection reset");
        }
        byte[] next = inbox.peek();
        if (next == null) {
            return ended ? -1 : 0;
        }
        int count = Math.min(length, next.length - read);
        System.arraycopy(next, read, bytes, offset, count);
        read += count;
        if (read == next.length) {
            inbox.poll();
            read = 0;
        }
        return count;
    }

    /** Returns true if a read would not wait. */
    boolean isReadable() {
        return !inbox.isEmpty() || ended || reset || closed;
    }

    int available() throws IOException {
        if (closed) {
            throw new SocketException("Socket closed");
        }
        return inbox.stream().mapToInt(each -> each.length).sum() - read;
    }

    void receive(Piece piece) {
        if (piece.isEnd()) {
            ended = true;
        } else {
            inbox.add(piece.data);
        }
    }

    void wake() {
        Scheduler.get().wakeAll(readers);
        if (selector != null) {
            selector.changed();
        }
    }

    /** Sends no more, and reads on. */
    void finish() {
        Scheduler.get().pointWithoutChoice();
        out.end();
    }

    /** Reads no more. */
    void stopReading() {
        Scheduler.get().pointWithoutChoice();
        ended = true;
        inbox.clear();
        wake();
    }

    void close() {
        if (!closed && !Scheduler.get().isOutOfTurn()) {
            closed = true;
            node.closed(atDeath);
            connection.closedBy(this);
            if (out != null) {
                out.end();
            }
            connection.endClosed(this);
            wake();
        }
    }

    /** Breaks it off from outside: its node sees a reset, the other end the end of the connection. */
    void abort() {
        if (!isLost()) {
            reset = true;
            out.end();
            connection.endClosed(this);
            wake();
        }
    }
}
