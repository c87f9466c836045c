package zabcheck.simulated.host;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Base64;
import zabcheck.simulated.hooks.Hooks;
import zabcheck.simulated.net.Socket;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Waiters;

/**
 * The connection of a client: it connects again and again, keeps its session, and sends pings. Requests and answers
 * pass as they are, for who asks outside.
 */
final class Client {
    private static final int EVENT_XID = -1;
    private static final int PING_XID = -2;
    private static final int PING = 11;
    private static final int PASSWORD = 16;
    private static final int LONGEST = 1 << 24;
    private static final long NEVER = -1;

    final int number;
    private final Ensemble ensemble;
    private final int timeout;
    private final int pingAfter;
    private final int patience;
    private final int retry;
    private final boolean renews;
    private final ArrayDeque<byte[]> outbox = new ArrayDeque<>();
    private final Waiters writers = new Waiters();
    private final Waiters starting = new Waiters();
    private int port;
    private boolean wanted;
    private long silentUntil;
    private Socket socket;
    private boolean open;
    private long session;
    private byte[] password = new byte[PASSWORD];
    private long seen;
    /** When the last answer had come as a whole. */
    private long heard;

    /**
     * @param timeout milliseconds of the session
     * @param pingAfter milliseconds of silence after which a ping is sent
     * @param patience milliseconds of silence after which the connection is given up
     * @param retry milliseconds until it connects again
     * @param renews whether a new session begins as soon as one has ended
     */
    Client(
            Ensemble ensemble, int number, int port, int timeout, int pingAfter, int patience, int retry,
            boolean renews) {
        this.ensemble = ensemble;
        this.number = number;
        this.port = port;
        this.timeout = timeout;
        this.pingAfter = pingAfter;
        this.patience = patience;
        this.retry = retry;
        this.renews = renews;
        wanted = renews;
    }

    void begin(Node node) {
        Scheduler.get().begin(new Thread(this::run, "client " + number), node);
        Scheduler.get().begin(new Thread(this::write, "client " + number + " writes"), node);
    }

    boolean isOpen() {
        return open;
    }

    /** Lets a session begin, if there is none. */
    void want() {
        wanted = true;
        Scheduler.get().wakeAll(starting);
    }

    void send(byte[] message) {
        outbox.add(message);
        Scheduler.get().wakeAll(writers);
    }

    /** Goes on at another server. */
    void move(int port) {
        this.port = port;
        disconnect();
    }

    /** Says nothing for so many milliseconds. */
    void fallSilent(int milliseconds) {
        silentUntil = Scheduler.get().now() + Scheduler.nanos(milliseconds);
        disconnect();
    }

    private void disconnect() {
        open = false;
        outbox.clear();
        if (socket != null) {
            socket.abandon();
        }
    }

    private void run() {
        try {
            while (true) {
                long now = Scheduler.get().now();
                if (!wanted) {
                    Scheduler.get().block(starting, NEVER);
                } else if (now < silentUntil) {
                    Scheduler.get().block(null, silentUntil);
                } else {
                    talk();
                    Hooks.sleep(retry);
                }
            }
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }

    private void talk() {
        try {
            socket = new Socket();
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), patience);
            socket.setSoTimeout(patience);
            DataInputStream in = new DataInputStream(new BufferedInputStream(new Answers(socket.getInputStream())));
            OutputStream out = socket.getOutputStream();
            out.write(framed(hello()));
            if (!opened(next(in))) {
                return;
            }
            heard = Scheduler.get().now();
            open = true;
            Scheduler.get().wakeAll(writers);
            socket.setSoTimeout(pingAfter);
            listen(in);
        } catch (IOException lost) {
            // it connects again
        } finally {
            if (open) {
                open = false;
                outbox.clear();
            }
            socket.abandon();
            ensemble.note("disconnected", "\"client\":" + number);
        }
    }

    private void listen(DataInputStream in) throws IOException {
        while (true) {
            byte[] message = next(in);
            heard = Scheduler.get().now();
            ByteBuffer header = ByteBuffer.wrap(message);
            int xid = header.getInt();
            seen = Math.max(seen, header.getLong());
            if (xid >= EVENT_XID) {
                String data = Base64.getEncoder().encodeToString(message);
                ensemble.note("answered", "\"client\":" + number + ",\"data\":\"" + data + "\"");
            }
        }
    }

    /** What comes from the server. A ping is sent after a silence, also while a part of an answer has come. */
    private final class Answers extends FilterInputStream {
        Answers(InputStream in) {
            super(in);
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            while (true) {
                try {
                    return in.read(bytes, offset, length);
                } catch (SocketTimeoutException silent) {
                    if (!open || Scheduler.get().now() > heard + Scheduler.nanos(patience)) {
                        throw silent;
                    }
                    send(framed(ByteBuffer.allocate(8).putInt(PING_XID).putInt(PING).array()));
                }
            }
        }
    }

    /** Takes the first answer. Returns false if the session has ended. */
    private boolean opened(byte[] message) {
        ByteBuffer hello = ByteBuffer.wrap(message);
        hello.getInt();
        int granted = hello.getInt();
        long id = hello.getLong();
        if (granted <= 0) {
            session = 0;
            password = new byte[PASSWORD];
            wanted = renews;
            ensemble.note("expired", "\"client\":" + number);
            return false;
        }
        password = new byte[hello.getInt()];
        hello.get(password);
        session = id;
        ensemble.note("connected", "\"client\":" + number + ",\"session\":" + id);
        return true;
    }

    /** The session was closed by a request: the next one is new. */
    void forgetSession() {
        session = 0;
        password = new byte[PASSWORD];
        wanted = renews;
        disconnect();
    }

    private byte[] hello() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(bytes);
        data.writeInt(0);
        data.writeLong(seen);
        data.writeInt(timeout);
        data.writeLong(session);
        data.writeInt(password.length);
        data.write(password);
        data.writeBoolean(false);
        return bytes.toByteArray();
    }

    private static byte[] framed(byte[] message) {
        return ByteBuffer.allocate(4 + message.length).putInt(message.length).put(message).array();
    }

    private static byte[] next(DataInputStream in) throws IOException {
        int size = in.readInt();
        if (size < 0 || size > LONGEST) {
            throw new IOException("an answer of " + size + " bytes");
        }
        byte[] message = new byte[size];
        in.readFully(message);
        return message;
    }

    private void write() {
        while (true) {
            while (!open || outbox.isEmpty()) {
                Scheduler.get().blockFor(writers, NEVER);
            }
            byte[] message = outbox.poll();
            Socket to = socket; // the client may connect again before the message is written: it is not for that server
            try {
                to.getOutputStream().write(message);
            } catch (IOException lost) {
                if (to == socket) {
                    disconnect();
                }
            }
        }
    }
}
