package zabcheck.simulated.host;

import static zabcheck.simulated.Tests.begin;
import static zabcheck.simulated.Tests.check;
import static zabcheck.simulated.Tests.given;
import static zabcheck.simulated.Tests.node;
import static zabcheck.simulated.Tests.run;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import zabcheck.simulated.hooks.Hooks;
import zabcheck.simulated.net.ServerSocket;
import zabcheck.simulated.net.Socket;
import zabcheck.simulated.schedule.Scheduler;

/** A client, and a server that answers it slowly. */
public final class ClientTest {
    private static final int PORT = 204;
    private static final int PASSWORD = 16;
    private static final byte[] ANSWER = new byte[] {0, 0, 0, 48, 0, 0, 0, 2, 0, 0, 0, 48, 0, 0, 0, 0};

    private ClientTest() {}

    private static void serve() throws Exception {
        try (ServerSocket listener = new ServerSocket(PORT);
                Socket socket = listener.accept()) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            in.readFully(new byte[in.readInt()]);
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(4 + 4 + 8 + 4 + PASSWORD);
            out.writeInt(0);
            out.writeInt(1000);
            out.writeLong(7);
            out.writeInt(PASSWORD);
            out.write(new byte[PASSWORD]);
            out.writeInt(ANSWER.length);
            Hooks.sleep(300);
            out.write(ANSWER, 0, 6);
            Hooks.sleep(300);
            out.write(ANSWER, 6, ANSWER.length - 6);
            Hooks.sleep(1000);
        }
    }

    /** While it waits for the rest it sends pings, as after any silence. */
    public static void anAnswerThatComesInPartsIsTakenInWhole() {
        Scheduler scheduler = given("");
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Output output = new Output(new PrintStream(bytes));
        Ensemble ensemble =
                new Ensemble(
                        output, scheduler, new Ensemble.Loaders(() -> null, Map.of()), (server, thread, point) -> {});
        ensemble.network.declare(1, PORT - 2, PORT - 1, PORT);
        begin(scheduler, node(1), "server", ClientTest::serve);
        ensemble.client(1, PORT, 1000, 100, 700, 50, true);
        run(scheduler, 1000);
        output.reply("");
        String told = new String(bytes.toByteArray(), StandardCharsets.UTF_8);
        check(told.contains("\"data\":\"" + Base64.getEncoder().encodeToString(ANSWER) + "\""), told);
        check(!told.contains("disconnected"), told);
    }
}
