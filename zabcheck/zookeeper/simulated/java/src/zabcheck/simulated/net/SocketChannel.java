package zabcheck.simulated.net;

import java.io.IOException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import zabcheck.simulated.schedule.Scheduler;

/** See {@link java.nio.channels.SocketChannel}: one that does not block, of a connection that was accepted. */
public final class SocketChannel extends SelectableChannel {
    private final Socket socket;
    private final End end;

    SocketChannel(End end) {
        this.end = end;
        socket = new Socket(end);
    }

    public Socket socket() {
        return socket;
    }

    public SocketAddress getRemoteAddress() {
        return socket.getRemoteSocketAddress();
    }

    public SocketAddress getLocalAddress() {
        return socket.getLocalSocketAddress();
    }

    public int read(ByteBuffer buffer) throws IOException {
        Scheduler.get().point();
        open();
        byte[] bytes = new byte[buffer.remaining()];
        int count = end.readNow(bytes, 0, bytes.length);
        if (count > 0) {
            buffer.put(bytes, 0, count);
        }
        return count;
    }

    public int write(ByteBuffer buffer) throws IOException {
        open();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        end.write(bytes, 0, bytes.length);
        return bytes.length;
    }

    public long write(ByteBuffer[] buffers) throws IOException {
        long count = 0;
        for (ByteBuffer buffer : buffers) {
            count += buffer.hasRemaining() ? write(buffer) : 0;
        }
        return count;
    }

    private void open() throws ClosedChannelException {
        if (!isOpen() || end.isClosed()) {
            throw new ClosedChannelException();
        }
    }

    @Override
    void watchedBy(Selector selector) {
        end.watchedBy(selector);
    }

    @Override
    int ready() {
        return SelectionKey.OP_WRITE | (end.isReadable() ? SelectionKey.OP_READ : 0);
    }

    @Override
    void closeNow() throws IOException {
        socket.close();
    }
}
