package zabcheck.simulated.net;

import java.nio.channels.CancelledKeyException;

/** See {@link java.nio.channels.SelectionKey}. */
public final class SelectionKey {
    public static final int OP_READ = 1;
    public static final int OP_WRITE = 4;
    public static final int OP_CONNECT = 8;
    public static final int OP_ACCEPT = 16;

    private final Selector selector;
    private final SelectableChannel channel;
    private Object attachment;
    private int interest;
    private int ready;
    private boolean cancelled;

    SelectionKey(Selector selector, SelectableChannel channel, int interest) {
        this.selector = selector;
        this.channel = channel;
        this.interest = interest;
    }

    /** Notes which of the wanted operations would not wait now. Returns whether any would not. */
    boolean update() {
        ready = channel.isOpen() ? channel.ready() & interest : 0;
        return ready != 0;
    }

    public SelectableChannel channel() {
        return channel;
    }

    public Selector selector() {
        return selector;
    }

    public boolean isValid() {
        return !cancelled && channel.isOpen();
    }

    public void cancel() {
        if (!cancelled) {
            cancelled = true;
            selector.remove(this);
        }
    }

    public int interestOps() {
        valid();
        return interest;
    }

    public SelectionKey interestOps(int operations) {
        valid();
        interest = operations;
        return this;
    }

    public int readyOps() {
        valid();
        return ready;
    }

    public boolean isReadable() {
        return (readyOps() & OP_READ) != 0;
    }

    public boolean isWritable() {
        return (readyOps() & OP_WRITE) != 0;
    }

    public boolean isConnectable() {
        return (readyOps() & OP_CONNECT) != 0;
    }

    public boolean isAcceptable() {
        return (readyOps() & OP_ACCEPT) != 0;
    }

    private void valid() {
        if (!isValid()) {
            throw new CancelledKeyException();
        }
    }

    public Object attach(Object object) {
        Object before = attachment;
        attachment = object;
        return before;
    }

    public Object attachment() {
        return attachment;
    }
}
