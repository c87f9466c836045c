package zabcheck.simulated.net;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.util.LinkedHashSet;
import java.util.Set;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Task;
import zabcheck.simulated.schedule.Waiters;

/** See {@link java.nio.channels.Selector}. Keys are kept in the order in which they came. */
public final class Selector implements Closeable {
    private final Set<SelectionKey> keys = new LinkedHashSet<>();
    private final Set<SelectionKey> selected = new LinkedHashSet<>();
    private final Waiters waiting = new Waiters();
    private boolean wokenUp;
    private boolean closed;

    private Selector() {}

    public static Selector open() throws IOException {
        return new Selector();
    }

    void add(SelectionKey key) {
        keys.add(key);
    }

    void remove(SelectionKey key) {
        keys.remove(key);
        selected.remove(key);
    }

    /** A channel may have become ready. */
    void changed() {
        Scheduler.get().wakeAll(waiting);
    }

    public int select() throws IOException {
        return select(0);
    }

    public int select(long milliseconds) throws IOException {
        Scheduler scheduler = Scheduler.get();
        scheduler.point();
        long deadline = scheduler.deadline(milliseconds);
        while (true) {
            if (closed) {
                throw new ClosedSelectorException();
            }
            int count = collect();
            if (count > 0 || wokenUp || scheduler.isInterrupted(Task.current())
                    || deadline >= 0 && scheduler.now() >= deadline) {
                wokenUp = false;
                return count;
            }
            scheduler.blockFor(waiting, deadline);
        }
    }

    public int selectNow() throws IOException {
        Scheduler.get().point();
        wokenUp = false;
        return collect();
    }

    private int collect() {
        int count = 0;
        for (SelectionKey key : keys) {
            if (key.update()) {
                selected.add(key);
                count++;
            }
        }
        return count;
    }

    public Selector wakeup() {
        wokenUp = true;
        Scheduler.get().wakeAll(waiting);
        return this;
    }

    public Set<SelectionKey> keys() {
        return keys;
    }

    public Set<SelectionKey> selectedKeys() {
        return selected;
    }

    public boolean isOpen() {
        return !closed;
    }

    @Override
    public void close() throws IOException {
        closed = true;
        keys.clear();
        selected.clear();
        Scheduler.get().wakeAll(waiting);
    }
}
