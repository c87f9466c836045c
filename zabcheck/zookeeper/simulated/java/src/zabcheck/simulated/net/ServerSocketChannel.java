package zabcheck.simulated.net;

import java.io.IOException;
import java.net.SocketAddress;
import zabcheck.simulated.schedule.Scheduler;

/** See {@link java.nio.channels.ServerSocketChannel}: one that does not block. */
public final class ServerSocketChannel extends SelectableChannel {
    private final ServerSocket socket;

    private ServerSocketChannel() throws IOException {
        socket = new ServerSocket();
    }

    public static ServerSocketChannel open() throws IOException {
        return new ServerSocketChannel();
    }

    public ServerSocket socket() {
        return socket;
    }

    public SocketAddress getLocalAddress() {
        return socket.getLocalSocketAddress();
    }

    public SocketChannel accept() throws IOException {
        Scheduler.get().point();
        End end = socket.acceptNow();
        return end == null ? null : new SocketChannel(end);
    }

    @Override
    void watchedBy(Selector selector) {
        socket.watchedBy(selector);
    }

    @Override
    int ready() {
        return socket.hasPending() ? SelectionKey.OP_ACCEPT : 0;
    }

    @Override
    void closeNow() throws IOException {
        socket.close();
    }
}
