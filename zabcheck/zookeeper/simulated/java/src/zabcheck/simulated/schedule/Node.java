package zabcheck.simulated.schedule;

import java.util.ArrayList;
import java.util.HashMap;
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
    private int incarnation;
    private final HashMap<String, Integer> begun = new HashMap<>();
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

    /** Numbers this incarnation among those of its server, from 1. */
    void number(int incarnation) {
        this.incarnation = incarnation;
    }

    boolean isNumbered() {
        return incarnation > 0;
    }

    /**
     * Returns the name of a thread that begins, among all of a run: the server (and its incarnation, from the second
     * on), the kind of thread, and its number (from the second of its kind on), {@code 2.3/LearnerHandler.2}.
     */
    String nameOf(Thread thread) {
        String kind = kindOf(thread);
        int number = begun.merge(kind, 1, Integer::sum);
        return numbered(String.valueOf(id), incarnation) + "/" + numbered(kind, number);
    }

    private static String numbered(String name, int number) {
        return number == 1 ? name : name + "." + number;
    }

    /** Returns the name of the thread's class; that of the thread if it has no class of its own. */
    private static String kindOf(Thread thread) {
        String type = thread.getClass().getName();
        String simple = type.substring(1 + Math.max(type.lastIndexOf('.'), type.lastIndexOf('$')));
        boolean isPlain = simple.equals("Thread") || Character.isDigit(simple.charAt(0));
        return (isPlain ? thread.getName() : simple).replaceAll("[^A-Za-z0-9_-]", "");
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
