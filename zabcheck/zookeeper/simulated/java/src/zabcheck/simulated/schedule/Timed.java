package zabcheck.simulated.schedule;

/** An entry of the scheduler's agenda: something that happens at a moment of virtual time. */
abstract class Timed implements Comparable<Timed> {
    static final long NEVER = -1;

    /** Nanoseconds of virtual time, or {@link #NEVER}. */
    long deadline = NEVER;

    /** Decides between entries of the same moment: the lower one comes first. */
    final long order;

    Timed(long order) {
        this.order = order;
    }

    /** Does what is due now. */
    abstract void fall();

    @Override
    public int compareTo(Timed other) {
        return deadline != other.deadline ? Long.compare(deadline, other.deadline) : Long.compare(order, other.order);
    }
}
