package zabcheck.simulated.schedule;

import java.util.ArrayList;
import java.util.List;

/**
 * A process of the simulation: one incarnation of a server, or the clients, which are node 0.
 *
 * <p>It owns tasks, and resources of the network that close when it dies.
 */
public class Node {
    public final int id;
    public final ClassLoader loader;
    final ArrayList<Task> tasks = new ArrayList<>();
    private final ArrayList<Runnable> atDeath = new ArrayList<>();
    private volatile boolean dead;
    private boolean paused;
    private int unnamed;
    final ArrayList<Task> suspended = new ArrayList<>();

    public Node(int id, ClassLoader loader) {
        this.id = id;
        this.loader = loader;
    }

    public boolean isDead() {
        return dead;
    }

    public boolean isPaused() {
        return paused;
    }

    void setPaused(boolean paused) {
        this.paused = paused;
    }

    /** Returns the tasks that have not ended. */
    public List<Task> tasks() {
        return tasks;
    }

    /** Returns the number of the next thread that has no name of its own. */
    public int nextUnnamed() {
        return unnamed++;
    }

    /** Registers what closes a resource when this node dies. */
    public void onDeath(Runnable close) {
        atDeath.add(close);
    }

    /** Forgets a resource that was closed before. */
    public void closed(Runnable close) {
        atDeath.remove(close);
    }

    void die() {
        dead = true;
        for (Runnable close : new ArrayList<>(atDeath)) {
            close.run();
        }
        atDeath.clear();
    }
}
