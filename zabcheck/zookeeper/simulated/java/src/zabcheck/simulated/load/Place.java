package zabcheck.simulated.load;

/** Where a named point is: before the instruction at byte {@code at} of a method's code. */
public final class Place {
    final String point;
    final String className;
    final String method;
    final String descriptor;
    final int at;

    public Place(String point, String className, String method, String descriptor, int at) {
        this.point = point;
        this.className = className;
        this.method = method;
        this.descriptor = descriptor;
        this.at = at;
    }
}
