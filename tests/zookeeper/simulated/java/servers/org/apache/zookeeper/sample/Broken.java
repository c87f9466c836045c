package org.apache.zookeeper.sample;

/** Has an instruction that a test breaks. */
public final class Broken {
    private Broken() {}

    public static String number() {
        return String.valueOf(12345);
    }
}
