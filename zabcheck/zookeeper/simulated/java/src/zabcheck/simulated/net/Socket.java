package zabcheck.simulated.net;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import zabcheck.simulated.schedule.Scheduler;

/** See {@link java.net.Socket}. */
public class Socket implements Closeable {
    private End end;
    private boolean closed;
    private int timeout;
    private InetSocketAddress remote;
    private InetSocketAddress local;

    public Socket() {}

    protected Socket(SocketImpl implementation) {}

    Socket(End end) {
        accepted(end);
    }

    final void accepted(End accepted) {
        end = accepted;
        InetAddress here = InetAddress.getLoopbackAddress();
        local = new InetSocketAddress(here, end.port);
        remote = new InetSocketAddress(here, end.remotePort);
    }

    End end() throws SocketException {
        if (closed) {
            throw new SocketException("Socket is closed");
        }
        if (end == null) {
            throw new SocketException("Socket is not connected");
        }
        return end;
    }

    public void bind(SocketAddress address) throws IOException {}

    public void connect(SocketAddress address) throws IOException {
        connect(address, 0);
    }

    public void connect(SocketAddress address, int milliseconds) throws IOException {
        Scheduler.get().point();
        if (closed) {
            throw new SocketException("Socket is closed");
        }
        accepted(Network.get().connect(((InetSocketAddress) address).getPort()));
        end.timeout = timeout;
    }

    public InputStream getInputStream() throws IOException {
        End from = end();
        return new InputStream() {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return from.read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
            }

            @Override
            public int read(byte[] bytes, int offset, int length) throws IOException {
                return from.read(bytes, offset, length);
            }

            @Override
            public int available() throws IOException {
                return from.available();
            }

            @Override
            public void close() throws IOException {
                Socket.this.close();
            }
        };
    }

    public OutputStream getOutputStream() throws IOException {
        End to = end();
        return new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                to.write(new byte[] {(byte) one}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                to.write(bytes, offset, length);
            }

            @Override
            public void close() throws IOException {
                Socket.this.close();
            }
        };
    }

    @Override
    public void close() throws IOException {
        Scheduler.get().point();
        closed = true;
        if (end != null) {
            end.close();
        }
    }

    /** Closes it from outside: no task is at a point. */
    public void abandon() {
        closed = true;
        if (end != null) {
            end.close();
        }
    }

    public void shutdownOutput() throws IOException {
        end().finish();
    }

    public void shutdownInput() throws IOException {
        end().stopReading();
    }

    public boolean isClosed() {
        return closed;
    }

    public boolean isConnected() {
        return end != null;
    }

    public boolean isBound() {
        return end != null;
    }

    public boolean isInputShutdown() {
        return false;
    }

    public boolean isOutputShutdown() {
        return false;
    }

    public InetAddress getInetAddress() {
        return remote == null ? null : remote.getAddress();
    }

    public InetAddress getLocalAddress() {
        return InetAddress.getLoopbackAddress();
    }

    public int getPort() {
        return remote == null ? 0 : remote.getPort();
    }

    public int getLocalPort() {
        return local == null ? -1 : local.getPort();
    }

    public SocketAddress getRemoteSocketAddress() {
        return remote;
    }

    public SocketAddress getLocalSocketAddress() {
        return local;
    }


    public SocketChannel getChannel() {
        return null;
    }

    public void setSoTimeout(int milliseconds) throws SocketException {
        open();
        timeout = milliseconds;
        if (end != null) {
            end.timeout = milliseconds;
        }
    }

    public int getSoTimeout() {
        return timeout;
    }

    private void open() throws SocketException {
        if (closed) {
            throw new SocketException("Socket is closed");
        }
    }

    // Options that change nothing here. As the real ones they fail where the socket is closed.

    public void setTcpNoDelay(boolean value) throws SocketException {
        open();
    }

    public boolean getTcpNoDelay() {
        return true;
    }

    public void setKeepAlive(boolean value) throws SocketException {
        open();
    }

    public boolean getKeepAlive() {
        return false;
    }

    public void setSoLinger(boolean value, int seconds) throws SocketException {
        open();
    }

    public int getSoLinger() {
        return -1;
    }

    public void setReuseAddress(boolean value) throws SocketException {
        open();
    }

    public boolean getReuseAddress() {
        return false;
    }

    public void setOOBInline(boolean value) {}

    public boolean getOOBInline() {
        return false;
    }

    public void sendUrgentData(int data) {}

    public void setSendBufferSize(int size) {}

    public int getSendBufferSize() {
        return 1 << 16;
    }

    public void setReceiveBufferSize(int size) {}

    public int getReceiveBufferSize() {
        return 1 << 16;
    }

    public void setTrafficClass(int value) {}

    public int getTrafficClass() {
        return 0;
    }

    public void setPerformancePreferences(int time, int latency, int bandwidth) {}

    @Override
    public String toString() {
        return end == null
                ? "Socket[unconnected]"
                : "Socket[addr=/127.0.0.1,port=" + getPort() + ",localport=" + getLocalPort() + "]";
    }
}
