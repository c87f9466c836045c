package zabcheck.simulated.hooks;

/** A node that a thread of its own can end, as {@link System#exit} does. */
public interface Exiting {
    void exit(int code);
}
