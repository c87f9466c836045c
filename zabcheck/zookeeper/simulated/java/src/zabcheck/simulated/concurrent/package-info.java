/**
 * Classes that take the place of those of {@code java.util} and {@code java.util.concurrent} that block, wait or draw
 * numbers. Each has the name and the methods of the one that it replaces, as far as ZooKeeper's server uses them; a
 * call of another method fails with {@link NoSuchMethodError}, which ends the run and names the call.
 */
package zabcheck.simulated.concurrent;
