package zabcheck.simulated.net;

import static zabcheck.simulated.Tests.begin;
import static zabcheck.simulated.Tests.given;
import static zabcheck.simulated.Tests.node;
import static zabcheck.simulated.Tests.run;
import static zabcheck.simulated.Tests.same;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Scheduler;

/** Two servers, a connection, and what a schedule does to the link from one to the other. */
public final class LinksTest {
    private static final int QUORUM = 2;
    private static final int PROPOSAL = 2;
    private static final int COMMIT = 4;

    private final Scheduler scheduler = given("");
    private final List<String> recorded = new ArrayList<>();
    private final List<Integer> sprung = new ArrayList<>();
    private final Network network = new Network(new Recording());
    private final Node sender = node(1);
    private final Node receiver = node(2);
    /** The zxids that came, each with the seconds since the beginning. */
    private final List<String> came = new ArrayList<>();
    private DataOutputStream out;

    private final class Recording implements Recorder {
        @Override
        public void record(String kind, String fields) {
            recorded.add(kind);
        }

        @Override
        public void sprung(int victim) {
            sprung.add(victim);
        }

        @Override
        public void changed() {}
    }

    private LinksTest() {
        for (int server = 1; server <= 2; server++) {
            network.declare(server, 100 * server + QUORUM, 100 * server + 3, 100 * server + 4);
        }
        begin(scheduler, receiver, "receiver", this::receive);
        begin(scheduler, sender, "connects", () -> {
            Socket socket = new Socket();
            socket.connect(new InetSocketAddress("localhost", 202));
            out = new DataOutputStream(socket.getOutputStream());
        });
    }

    private void receive() throws Exception {
        long start = scheduler.now();
        try (ServerSocket listener = new ServerSocket(202); Socket socket = listener.accept()) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            while (true) {
                in.readInt();
                long zxid = in.readLong();
                in.readLong(); // no data, and no identities
                came.add(zxid + "@" + (scheduler.now() - start) / 1_000_000_000);
            }
        }
    }

    /** Sends a packet of Zab. */
    private void send(int type, long zxid) {
        begin(scheduler, sender, "sends", () -> {
            out.writeInt(type);
            out.writeLong(zxid);
            out.writeLong(-1L); // two lengths of -1
            out.flush();
        });
    }

    private void afterASecond(String... expected) {
        run(scheduler, 1000);
        same(List.of(expected), came);
    }

    public static void whatIsSentComesInItsOrder() {
        LinksTest links = new LinksTest();
        links.afterASecond();
        links.send(PROPOSAL, 1);
        links.send(COMMIT, 2);
        links.afterASecond("1@1", "2@1");
        List<String> last = links.recorded.subList(links.recorded.size() - 4, links.recorded.size());
        same(List.of("packet", "passed", "packet", "passed"), last);
    }

    public static void aHoldStopsTheFirstPacketOfItsKindAndAllBehind() {
        LinksTest links = new LinksTest();
        links.afterASecond();
        links.network.hold(1, 2, "COMMIT");
        links.send(PROPOSAL, 1);
        links.send(COMMIT, 2);
        links.send(PROPOSAL, 3);
        links.afterASecond("1@1");
        same("[[1,2]]", links.network.blocked(true));
        links.network.release(1, 2);
        links.afterASecond("1@1", "2@2", "3@2");
    }

    public static void nothingPassesALinkThatIsCut() {
        LinksTest links = new LinksTest();
        links.afterASecond();
        links.network.cut(1, 2);
        links.send(PROPOSAL, 1);
        links.afterASecond();
        same("[[1,2]]", links.network.blocked(false));
        links.network.mend(1, 2);
        links.afterASecond("1@2");
    }

    public static void aConnectionOverALinkThatIsCutIsMadeLater() {
        LinksTest links = new LinksTest();
        links.network.cut(2, 1);
        links.afterASecond();
        links.send(PROPOSAL, 1);
        links.afterASecond();
        links.network.mend(2, 1);
        links.afterASecond("1@2");
    }

    public static void aDelayIsOfVirtualTime() {
        LinksTest links = new LinksTest();
        links.afterASecond();
        links.network.delay(1, 2, Scheduler.nanos(3000));
        links.send(PROPOSAL, 1);
        links.afterASecond();
        links.afterASecond();
        links.afterASecond();
        links.afterASecond("1@4");
    }

    public static void aTrapSpringsOnceAtItsKind() {
        LinksTest links = new LinksTest();
        links.afterASecond();
        links.network.trap(1, 2, "COMMIT", 2);
        links.send(PROPOSAL, 1);
        links.afterASecond("1@1");
        same(List.of(), links.sprung);
        links.send(COMMIT, 2);
        links.send(COMMIT, 3);
        links.afterASecond("1@1", "2@2", "3@2");
        same(List.of(2), links.sprung);
    }

    public static void aGateLetsPacketsPassOneByOne() {
        LinksTest links = new LinksTest();
        links.afterASecond();
        links.network.gate();
        links.send(PROPOSAL, 1);
        links.send(COMMIT, 2);
        links.afterASecond();
        same("[[\"PROPOSAL\",1],[\"COMMIT\",2]]", links.network.underWay(1, 2, 1));
        same(true, links.network.letThrough(1, 2, 1));
        links.afterASecond("1@2");
    }

    public static void aServerThatDiesClosesItsConnections() {
        LinksTest links = new LinksTest();
        links.afterASecond();
        links.scheduler.kill(links.receiver);
        String[] failed = {""};
        begin(links.scheduler, links.sender, "connects again", () -> {
            try {
                new Socket().connect(new InetSocketAddress("localhost", 204));
            } catch (ConnectException refused) {
                failed[0] = refused.getMessage();
            }
        });
        links.afterASecond();
        same("Connection refused", failed[0]);
    }
}
