/**
 * The network of the simulation, and classes that take the place of those of {@code java.net} and
 * {@code java.nio.channels}, with the methods that ZooKeeper's server calls.
 */
package zabcheck.simulated.net;
