package zabcheck.simulated.schedule;

/**
 * Ends a thread of a server that was killed: every call of the scheduler throws it then, so the thread unwinds.
 *
 * <p>It carries no stack trace, and is no {@link Exception}: servers must not handle it.
 */
public final class Death extends Error {
    private static final long serialVersionUID = 1L;

    Death() {
        super("killed", null, false, false);
    }
}
