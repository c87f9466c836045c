package org.apache.zookeeper.server.quorum;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.LockSupport;

/**
 * In place of a server: it does what its configuration says, which is a folder and a word. With any other configuration
 * it blocks, if the class path has a file of that name, or else calls something that is not simulated.
 */
public final class QuorumPeerMain {
    private QuorumPeerMain() {}

    public static void main(String[] arguments) throws Exception {
        String[] words = new String(Files.readAllBytes(Paths.get(arguments[0])), StandardCharsets.UTF_8).split("\n");
        Path file = Paths.get(words[0], "log");
        switch (words[1]) {
            case "writes":
                while (true) {
                    Files.write(file, new byte[] {'x'}, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                    try {
                        Thread.sleep(1000);
                    } finally {
                        Files.write(file, new byte[] {'!'}, StandardOpenOption.APPEND); // as it unwinds, too
                    }
                }
            case "exits":
                System.exit(7);
                break;
            default:
                if (QuorumPeerMain.class.getClassLoader().getResource("blocks") != null) {
                    LockSupport.park();
                }
                org.apache.zookeeper.sample.Unknown.drained();
        }
    }
}
