package com.github.zk1931.jzab;

import com.github.zk1931.jzab.proto.ZabMessage;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A server of jzab as a node that zabcheck single-steps. docs/notes/found-elsewhere.md says what is left out.
 *
 * <pre>build.sh SOURCES PROGRAM && zabcheck run --exec PROGRAM --processes 3</pre>
 *
 * <p>It is in jzab's package, as nothing of what it needs is public. Its Leader, Follower and processors run as they are, in
 * threads that take turns (Turns); their queues are those of the adapter (LinkedBlockingQueue). The loop of Zab.MainThread
 * that calls them is here, as well as the transport and the election.
 */
final class Server extends Node {
    private static final List<String> KINDS = List.of("PROPOSED_EPOCH", "NEW_EPOCH", "ACK_EPOCH", "PULL_TXN_REQ", "DIFF",
            "TRUNCATE", "PROPOSAL", "SYNC_END", "NEW_LEADER", "ACK", "COMMIT");
    private static boolean syncsEpochs; // of the command line
    private static Server last;

    private final LinkedBlockingQueue<MessageTuple> messages = new LinkedBlockingQueue<>();
    private final Links links = new Links();
    private final Disk disk = new Disk();
    private final List<Runnable> early = new ArrayList<>(); // what came before the server has listened to its oracle
    private Folder folder;
    private Participant participant;
    private String phase = "election", oracle, leader;
    private int elections;
    private boolean begun;
    private Map<String, Object> stored = Map.of(), remembered;

    public static void main(String[] arguments) throws IOException {
        syncsEpochs = arguments.length > 0 && arguments[0].equals("--sync-epochs");
        Folder.clear();
        Runtime.getRuntime().addShutdownHook(new Thread(Server::end));
        run(Server::new);
    }

    Server() {
        end(); // of the one before: there is one server at a time
        last = this;
    }

    private static void end() {
        Turns.reset();
        try {
            if (last != null && last.folder != null) last.folder.delete();
        } catch (IOException gone) {
            throw new UncheckedIOException(gone);
        }
    }

    @Override
    Map<String, Object> knows() {
        return fields("kinds", KINDS);
    }

    @Override
    void init(Map<String, Object> survived, boolean intact) {
        Turns.current().start(() -> serve(survived), () -> true);
        step();
    }

    @Override
    void handle(String src, String type, Map<String, Object> body) {
        switch (type) {
            case "elected" -> onElected((String) body.get("leader"));
            case "request" -> onRequest((String) body.get("value"));
            case "timed_out" -> messages.timedOut(leader != null);
            case "lost" -> soon(() -> links.lose((String) body.get("peer")));
            default -> soon(() -> links.receive(src, (String) body.get("link"), Text.message(type, body)));
        }
        step();
    }

    private void onElected(String named) {
        oracle = named;
        early.clear();
        links.open.clear();
        messages.timedOut(true); // back to the election, which it leaves at once
    }

    private void onRequest(String value) {
        try {
            participant.send(ByteBuffer.wrap(value.getBytes(StandardCharsets.UTF_8)), null);
        } catch (ZabException.InvalidPhase | ZabException.TooManyPendingRequests refused) {
            // As its client is told.
        }
    }

    private void soon(Runnable what) {
        if (oracle == null) what.run();
        else early.add(what);
    }

    // A step.

    /** Lets the threads of jzab go on until each of them waits, and tells what they have done. */
    private void step() {
        Turns.current().run();
        while (oracle == null && !early.isEmpty()) {
            early.remove(0).run();
            Turns.current().run();
        }
        links.flush();
        disk.flush();
        look();
        Map<String, Object> now = fields("phase", phase, "leader", leader);
        now.putAll(stored);
        if (!now.equals(remembered)) send("zabcheck", "state", fields("variables", now));
        remembered = now;
    }

    /** Reads what is on the disk, for reports, if it has changed. */
    private void look() {
        if (folder == null || !folder.isNews()) return;
        try {
            List<Object> log = new ArrayList<>();
            for (Transaction each : folder.transactions()) log.add(told(each.getZxid(), each.getBody()));
            stored = fields("f.p", epoch(folder.getProposedEpoch()), "f.a", epoch(folder.getAckEpoch()), "log", log);
        } catch (IOException gone) {
            throw new UncheckedIOException(gone);
        }
    }

    private static Object epoch(long epoch) {
        return epoch < 0 ? null : (Object) (epoch + 1);
    }

    private static Map<String, Object> told(Zxid zxid, ByteBuffer body) {
        String value = StandardCharsets.UTF_8.decode(body.duplicate()).toString();
        return fields("zxid", Text.zxid(zxid), "value", value);
    }

    // What Zab.MainThread does.

    private Void serve(Map<String, Object> survived) {
        try {
            folder = Folder.of(survived, disk, syncsEpochs);
            if (folder.getLastSeenConfig() == null) {
                folder.setLastSeenConfig(new ClusterConfiguration(new Zxid(0, -1), ids, id));
            } else {
                folder.cleanupClusterConfigFiles();
            }
            begun = true;
            ParticipantState state = new State();
            ZabConfig config = new ZabConfig();
            config.setTimeoutMs(Text.NEVER);
            while (true) {
                String elected = state.getElection().electLeader();
                if (elected.equals(id)) {
                    Leader leads = new Leader(state, new Machine(), config);
                    participant = leads;
                    leads.lead();
                } else {
                    Follower follows = new Follower(state, new Machine(), config);
                    participant = follows;
                    follows.follow(elected);
                }
            }
        } catch (Exception stops) {
            phase = "stopped";
            abandon("the server stops: " + stops.getMessage());
            return null;
        }
    }

    private void abandon(String reason) {
        if (leader == null || oracle != null) return;
        links.flush();
        giveUp(reason);
        leader = null;
    }

    /** The state of a server, whose time-outs are never set. */
    private final class State extends ParticipantState {
        State() throws Exception {
            super(folder, id, links, messages, new Changes(), null, Text.NEVER, new Oracle());
        }

        @Override
        public void setSyncTimeoutMs(int timeout) {}
    }

    /** The election: a server waits for what zabcheck's oracle says, and ignores all other messages. */
    private final class Oracle implements Election {
        @Override
        public String electLeader() {
            phase = "election";
            abandon("it looks for a leader");
            Turns.pause(() -> oracle != null);
            messages.clear();
            messages.timedOut(false);
            leader = oracle;
            oracle = null;
            links.begin(++elections);
            return leader;
        }

        @Override
        public void reply(MessageTuple tuple) {}

        @Override
        public void specifyLeader(String leader) {}
    }

    // Connections.

    /** The transport: its connections are zabcheck's. A follower numbers those that it opens. */
    private final class Links extends Transport {
        private final Map<String, String> open = new LinkedHashMap<>(); // and not yet cleared
        private final Map<String, List<ZabMessage.Message>> sent = new LinkedHashMap<>();
        private String number;

        Links() {
            super(null);
        }

        void begin(int iteration) {
            open.clear();
            number = incarnation + "." + iteration;
            if (!leader.equals(id)) open.put(leader, number);
        }

        void receive(String src, String link, ZabMessage.Message message) {
            if (leader == null) return;
            if (leader.equals(id) && !link.equals(open.get(src))) {
                lose(src); // a new connection is accepted once the one before it was cleared
                Turns.current().run();
                if (leader == null) return;
                open.put(src, link);
            }
            if (open.containsKey(src)) messages.add(new MessageTuple(src, message));
        }

        void lose(String peer) {
            if (open.remove(peer) == null) return;
            messages.add(new MessageTuple(id, MessageBuilder.buildDisconnected(peer)));
        }

        @Override
        public void send(String to, ZabMessage.Message message) {
            if (to.equals(id)) {
                messages.add(new MessageTuple(id, message));
            } else if (open.containsKey(to)) {
                sent.computeIfAbsent(to, unused -> new ArrayList<>()).add(message);
            }
        }

        void flush() {
            for (String to : ids) {
                for (ZabMessage.Message each : sent.getOrDefault(to, List.of())) {
                    Map<String, Object> body = Text.of(each);
                    body.put("link", number);
                    Server.this.send(to, each.getType().name(), body);
                }
            }
            sent.clear();
        }

        @Override
        public void send(String to, File file) {
            throw new UnsupportedOperationException("no snapshot is taken");
        }

        @Override
        public void clear(String peer) {
            open.remove(peer);
        }

        @Override
        public void shutdown() {}
    }

    // The disk.

    private final class Disk implements Folder.Disk {
        private Map<String, Object> last = Map.of(); // what was written, and not yet sent

        @Override
        public void write(Map<String, Object> fields) {
            flush();
            last = fields;
        }

        void flush() {
            if (!last.isEmpty()) send("disk", "write", fields("fields", last));
            last = Map.of();
        }

        @Override
        public void sync() {
            if (!begun) return; // what is written at the start is written again if it gets lost
            boolean[] synced = {false};
            Map<String, Object> fields = last;
            last = Map.of();
            Server.this.write(fields, List.of(), () -> {
                synced[0] = true;
                step();
            });
            Turns.pause(() -> synced[0]);
        }
    }

    // What is told.

    /** The application: it does nothing. */
    private final class Machine implements StateMachine {
        @Override
        public ByteBuffer preprocess(Zxid zxid, ByteBuffer request) {
            event("broadcast", "epoch", zxid.getEpoch() + 1, "txn", told(zxid, request));
            return request;
        }

        @Override
        public void deliver(Zxid zxid, ByteBuffer update, String client, Object context) {
            event("deliver", "txn", told(zxid, update));
        }

        @Override
        public void flushed(Zxid zxid, ByteBuffer request, Object context) {}

        @Override
        public void snapshotDone(String path, Object context) {}

        @Override
        public void removed(String server, Object context) {}

        @Override
        public void save(FileOutputStream to) {}

        @Override
        public void restore(FileInputStream from) {}

        @Override
        public void recovering(PendingRequests pending) {}

        @Override
        public void leading(Set<String> active, Set<String> members) {}

        @Override
        public void following(String leader, Set<String> members) {}
    }

    private final class Changes implements Zab.StateChangeCallback {
        @Override
        public void electing() {}

        @Override
        public void leaderDiscovering(String elected) {
            phase = "discovery";
        }

        @Override
        public void followerDiscovering(String elected) {
            phase = "discovery";
        }

        @Override
        public void initialHistoryOwner(String server, long epoch, Zxid zxid) {}

        @Override
        public void leaderSynchronizing(long epoch) {
            phase = "synchronization";
        }

        @Override
        public void followerSynchronizing(long epoch) {
            phase = "synchronization";
        }

        @Override
        public void leaderBroadcasting(long epoch, List<Transaction> history, ClusterConfiguration config) {
            phase = "broadcast";
            event("ready", "epoch", epoch + 1);
        }

        @Override
        public void followerBroadcasting(long epoch, List<Transaction> history, ClusterConfiguration config) {
            phase = "broadcast";
        }

        @Override
        public void leftCluster() {}

        @Override
        public void commitCop() {}
    }
}
