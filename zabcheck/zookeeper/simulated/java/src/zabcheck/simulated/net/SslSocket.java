package zabcheck.simulated.net;

/** See {@link javax.net.ssl.SSLSocket}: there is no TLS in the simulation, so nobody has one. */
public abstract class SslSocket extends Socket {}
