package zabcheck.simulated.net;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Splits the bytes of one direction of a quorum connection into packets (jute's QuorumPacket), while they are written.
 *
 * <p>SNAP is followed by a snapshot of any length, which servers flush after its signature; so it ends with the first
 * write that ends with the signature.
 */
final class PacketSplitter {
    private static final int ACK = 3;
    private static final int SNAP = 15;
    private static final long COUNTER = 0xffffffffL;
    private static final String FIRST_ACK = "ACK-LD";

    /** The path that ends the nodes of a snapshot, and its signature, both with their lengths. */
    private static final byte[] SNAPSHOT_END =
            "\0\0\0\1/\0\0\0\12BenWasHere".getBytes(StandardCharsets.ISO_8859_1);

    private static final Map<Integer, String> KINDS =
            Map.ofEntries(
                    Map.entry(1, "REQUEST"),
                    Map.entry(2, "PROPOSAL"),
                    Map.entry(ACK, "ACK"),
                    Map.entry(4, "COMMIT"),
                    Map.entry(5, "PING"),
                    Map.entry(6, "REVALIDATE"),
                    Map.entry(7, "SYNC"),
                    Map.entry(8, "INFORM"),
                    Map.entry(9, "COMMITANDACTIVATE"),
                    Map.entry(10, "NEWLEADER"),
                    Map.entry(11, "FOLLOWERINFO"),
                    Map.entry(12, "UPTODATE"),
                    Map.entry(13, "DIFF"),
                    Map.entry(14, "TRUNC"),
                    Map.entry(SNAP, "SNAP"),
                    Map.entry(16, "OBSERVERINFO"),
                    Map.entry(17, "LEADERINFO"),
                    Map.entry(18, "ACKEPOCH"),
                    Map.entry(19, "INFORMANDACTIVATE"));

    private byte[] waiting = new byte[0];
    private byte[] snap;
    private int snapSize;
    private boolean acknowledged;

    /** Takes bytes, and returns the pieces that can be passed on: none is added, and none left out. */
    List<Piece> feed(byte[] bytes) {
        waiting = joined(waiting, bytes);
        List<Piece> pieces = new ArrayList<>();
        while (waiting.length > 0) {
            Piece piece = snap == null ? packet() : partOfSnapshot();
            if (piece == null) {
                break;
            }
            pieces.add(piece);
            waiting = Arrays.copyOfRange(waiting, piece.data.length, waiting.length);
        }
        return pieces;
    }

    /** Returns the packet at the beginning of what waits; null if it is not whole. */
    private Piece packet() {
        ByteBuffer buffer = ByteBuffer.wrap(waiting);
        if (waiting.length < 16) {
            return null;
        }
        int type = buffer.getInt();
        long zxid = buffer.getLong();
        if (!skipBuffer(buffer) || buffer.remaining() < 4) {
            return null;
        }
        int identities = buffer.getInt();
        for (int i = 0; i < 2 * identities; i++) {
            if (!skipBuffer(buffer)) {
                return null;
            }
        }
        byte[] data = Arrays.copyOf(waiting, buffer.position());
        String kind = KINDS.getOrDefault(type, String.valueOf(type));
        if (type == SNAP) {
            snap = data;
            snapSize = data.length;
            return new Piece(data, kind, zxid, null, 0);
        }
        if (type == ACK && (zxid & COUNTER) == 0 && !acknowledged) {
            acknowledged = true;
            kind = FIRST_ACK;
        }
        return new Piece(data, kind, zxid, data, data.length);
    }

    private static boolean skipBuffer(ByteBuffer buffer) {
        if (buffer.remaining() < 4) {
            return false;
        }
        int length = Math.max(buffer.getInt(), 0);
        if (buffer.remaining() < length) {
            return false;
        }
        buffer.position(buffer.position() + length);
        return true;
    }

    private Piece partOfSnapshot() {
        byte[] data = waiting;
        snapSize += data.length;
        if (!endsSnapshot(data)) {
            return new Piece(data, null, 0, null, 0);
        }
        Piece last = new Piece(data, null, ByteBuffer.wrap(snap).getLong(4), snap, snapSize);
        snap = null;
        return last;
    }

    private static boolean endsSnapshot(byte[] data) {
        int from = data.length - SNAPSHOT_END.length;
        return from >= 0 && Arrays.equals(Arrays.copyOfRange(data, from, data.length), SNAPSHOT_END);
    }

    private static byte[] joined(byte[] first, byte[] second) {
        byte[] all = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, all, first.length, second.length);
        return all;
    }
}
