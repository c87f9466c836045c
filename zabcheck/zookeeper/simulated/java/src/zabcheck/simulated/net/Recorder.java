package zabcheck.simulated.net;

/** Takes what the recording of a run consists of. */
public interface Recorder {
    /** Records an event: its kind, and its fields as the inside of a JSON object ({@code "server":1,"code":0}). */
    void record(String kind, String fields);

    /** A packet that a trap waited for was read; this server is to be killed, now. */
    void sprung(int victim);

    /** Something changed for which the control thread may wait. */
    void changed();
}
