package zabcheck.simulated.net;

import java.io.Closeable;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Task;
import zabcheck.simulated.schedule.Waiters;

/** See {@link java.net.ServerSocket}. */
public class ServerSocket implements Closeable {
    private final ArrayDeque<End> backlog = new ArrayDeque<>();
    private final Waiters acceptors = new Waiters();
    private final Runnable atDeath = this::drop;
    private Node node;
    private InetSocketAddress local;
    private Selector selector;
    private boolean closed;
    private int timeout;

    public ServerSocket() throws IOException {}

    public ServerSocket(int port) throws IOException {
        this(port, 0, null);
    }

    public ServerSocket(int port, int backlog) throws IOException {
        this(port, backlog, null);
    }

    public ServerSocket(int port, int backlog, InetAddress address) throws IOException {
        bind(new InetSocketAddress(address == null ? InetAddress.getLoopbackAddress() : address, port));
    }

    Node node() {
        return node;
    }

    public void bind(SocketAddress address) throws IOException {
        Scheduler.get().point();
        local = (InetSocketAddress) address;
        if (Network.get().isTaken(local.getPort())) {
            throw new BindException("Address already in use (Bind failed)");
        }
        node = Task.current().node;
        node.onDeath(atDeath);
        Network.get().listen(local.getPort(), this);
    }

    public void bind(SocketAddress address, int backlog) throws IOException {
        bind(address);
    }

    void watchedBy(Selector watcher) {
        selector = watcher;
    }

    void enqueue(End end) {
        backlog.add(end);
        Scheduler.get().wakeAll(acceptors);
        if (selector != null) {
            selector.changed();
        }
    }

    boolean hasPending() {
        return !backlog.isEmpty();
    }

    /** Returns the next connection; null if there is none. */
    End acceptNow() throws SocketException {
        if (closed) {
            throw new SocketException("Socket closed");
        }
        return backlog.poll();
    }

    public Socket accept() throws IOException {
        Socket socket = new Socket();
        implAccept(socket);
        return socket;
    }

    protected final void implAccept(Socket socket) throws IOException {
        Scheduler scheduler = Scheduler.get();
        scheduler.point();
        long deadline = scheduler.deadline(timeout);
        while (true) {
            End end = acceptNow();
            if (end != null) {
                socket.accepted(end);
                return;
            }
            if (deadline >= 0 && scheduler.now() >= deadline) {
                throw new SocketTimeoutException("Accept timed out");
            }
            scheduler.blockFor(acceptors, deadline);
        }
    }

    @Override
    public void close() throws IOException {
        Scheduler.get().point();
        if (!closed) {
            if (node != null) {
                node.closed(atDeath);
            }
            drop();
        }
    }

    private void drop() {
        if (Scheduler.get().isOutOfTurn()) {
            return;
        }
        closed = true;
        if (local != null) {
            Network.get().stopListening(local.getPort(), this);
        }
        for (End end : new ArrayDeque<>(backlog)) {
            end.close();
        }
        backlog.clear();
        Scheduler.get().wakeAll(acceptors);
    }

    public boolean isClosed() {
        return closed;
    }

    public boolean isBound() {
        return local != null;
    }

    public int getLocalPort() {
        return local == null ? -1 : local.getPort();
    }

    public InetAddress getInetAddress() {
        return local == null ? null : local.getAddress();
    }

    public SocketAddress getLocalSocketAddress() {
        return local;
    }

    public ServerSocketChannel getChannel() {
        return null;
    }

    public void setSoTimeout(int milliseconds) {
        timeout = milliseconds;
    }

    public int getSoTimeout() {
        return timeout;
    }

    public void setReuseAddress(boolean value) {}

    public boolean getReuseAddress() {
        return true;
    }

    public void setReceiveBufferSize(int size) {}

    public int getReceiveBufferSize() {
        return 1 << 16;
    }

    public void setPerformancePreferences(int time, int latency, int bandwidth) {}

    @Override
    public String toString() {
        return local == null ? "ServerSocket[unbound]" : "ServerSocket[addr=" + local + "]";
    }
}
