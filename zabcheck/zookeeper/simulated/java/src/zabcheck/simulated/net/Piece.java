package zabcheck.simulated.net;

/** Something that waits in a pipe: bytes that belong together, or the end of the connection. */
final class Piece {
    static final Piece END = new Piece(new byte[0], null, 0, null, 0);

    final byte[] data;
    /** The kind of the packet that begins here; null if none does. */
    final String begins;

    final long zxid;
    /** The packet that ends here, without the snapshot of a SNAP; null if none does. */
    final byte[] packet;
    /** The bytes of that packet, with its snapshot. */
    final int size;

    long number;
    /** The moment at which it was written. */
    long written;

    Piece(byte[] data, String begins, long zxid, byte[] packet, int size) {
        this.data = data;
        this.begins = begins;
        this.zxid = zxid;
        this.packet = packet;
        this.size = size;
    }

    /** Returns a new end of a connection. */
    static Piece end() {
        return new Piece(END.data, null, 0, null, 0);
    }

    boolean isEnd() {
        return data.length == 0;
    }
}
