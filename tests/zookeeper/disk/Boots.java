import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.apache.zookeeper.server.quorum.QuorumPeer;

/** Loads the disk of each directory that it reads, as a server of an ensemble does, and prints what comes of it. */
class Boots {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("zookeeper.admin.enableServer", "false");
        Method load = QuorumPeer.class.getDeclaredMethod("loadDataBase");
        load.setAccessible(true);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            System.out.println("BOOT " + boot(load, new File(line)));
        }
    }

    private static String boot(Method load, File directory) {
        try {
            FileTxnSnapLog files = new FileTxnSnapLog(directory, directory);
            ZKDatabase database = new ZKDatabase(files);
            QuorumPeer peer = new QuorumPeer();
            peer.setTxnFactory(files);
            peer.setZKDatabase(database);
            load.invoke(peer);
            DataTree tree = database.getDataTree();
            return "starts " + tree.lastProcessedZxid + " " + Long.toUnsignedString(tree.getTreeDigest());
        } catch (Throwable error) {
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            return "fails " + cause.toString().replace('\n', ' ');
        }
    }
}
