package org.apache.zookeeper.sample;

import java.util.concurrent.Semaphore;

/** Calls something that is not simulated. */
public final class Unknown {
    private Unknown() {}

    public static String drained() {
        return "" + new Semaphore(1).drainPermits();
    }
}
