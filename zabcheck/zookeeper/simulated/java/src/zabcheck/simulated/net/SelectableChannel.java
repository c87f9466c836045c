package zabcheck.simulated.net;

import java.io.Closeable;
import java.io.IOException;

/** See {@link java.nio.channels.SelectableChannel}. */
public abstract class SelectableChannel implements Closeable {
    private SelectionKey key;
    private boolean closed;

    public final SelectableChannel configureBlocking(boolean blocking) throws IOException {
        return this;
    }

    public final SelectionKey register(Selector selector, int operations) {
        return register(selector, operations, null);
    }

    public final SelectionKey register(Selector selector, int operations, Object attachment) {
        key = new SelectionKey(selector, this, operations);
        key.attach(attachment);
        selector.add(key);
        watchedBy(selector);
        return key;
    }

    public final boolean isOpen() {
        return !closed;
    }

    @Override
    public final void close() throws IOException {
        if (!closed) {
            closed = true;
            if (key != null) {
                key.cancel();
            }
            closeNow();
        }
    }

    abstract void watchedBy(Selector selector);

    /** Returns those operations that would not wait. */
    abstract int ready();

    abstract void closeNow() throws IOException;
}
