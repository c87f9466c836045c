package zabcheck.simulated.host;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import zabcheck.simulated.schedule.Scheduler;

/** The lines that this process writes: JSON objects, events first, then the reply to a command. */
public final class Output {
    private final PrintStream out;
    private final StringBuilder lines = new StringBuilder();

    public Output(PrintStream out) {
        this.out = out;
    }

    /** Adds an event at the present moment. */
    void event(String kind, String fields) {
        lines.append("{\"record\":\"").append(kind).append("\",\"time\":").append(micros());
        if (!fields.isEmpty()) {
            lines.append(',').append(fields);
        }
        lines.append("}\n");
    }

    /** Writes all events, and a last line. */
    public void reply(String line) {
        lines.append(line).append('\n');
        byte[] bytes = lines.toString().getBytes(StandardCharsets.UTF_8);
        lines.setLength(0);
        out.write(bytes, 0, bytes.length);
        out.flush();
    }

    /** Returns microseconds since 1970, in virtual time. */
    static long micros() {
        return Scheduler.EPOCH * 1000 + Scheduler.get().now() / 1000;
    }

    /** Returns a text as a JSON string. */
    public static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else if (c < ' ') {
                quoted.append(String.format("\\u%04x", (int) c));
            } else {
                quoted.append(c);
            }
        }
        return quoted.append('"').toString();
    }
}
