package zabcheck.simulated.host;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import zabcheck.simulated.schedule.Node;
import zabcheck.simulated.schedule.Task;

/**
 * The log of each server, in the form that zabcheck reads: {@code time [thread] LEVEL class - message}.
 *
 * <p>Loggers are proxies of the slf4j on the class path, of whatever version.
 */
public final class Logs {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSSZ", Locale.ROOT).withZone(ZoneOffset.UTC);
    private static final Set<String> DEBUGGED =
            Set.of(
                    "org.apache.zookeeper.server.FinalRequestProcessor",
                    "org.apache.zookeeper.server.quorum.Leader");
    private static final int FRAMES = 12;

    private static long stamped = -1;
    private static String stamp = "";

    private Logs() {}

    /** Takes the place of {@code LoggerFactory.getLogger}: of a class, or of a name. */
    public static Object logger(Object of) {
        String name = of instanceof Class ? ((Class<?>) of).getName() : String.valueOf(of);
        Task me = Task.current();
        ClassLoader loader = of instanceof Class ? ((Class<?>) of).getClassLoader() : me.node.loader;
        try {
            Class<?> type = Class.forName("org.slf4j.Logger", false, loader);
            return Proxy.newProxyInstance(loader, new Class<?>[] {type}, new Logger(name));
        } catch (ClassNotFoundException absent) {
            throw new NoClassDefFoundError("org/slf4j/Logger");
        }
    }

    private static final class Logger implements InvocationHandler {
        private final String name;
        private final boolean debugged;

        Logger(String name) {
            this.name = name;
            debugged = DEBUGGED.contains(name);
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            switch (method.getName()) {
                case "getName":
                    return name;
                case "isTraceEnabled":
                    return false;
                case "isDebugEnabled":
                    return debugged;
                case "isInfoEnabled":
                case "isWarnEnabled":
                case "isErrorEnabled":
                    return true;
                case "trace":
                    return null;
                case "debug":
                    return debugged ? write("DEBUG", arguments) : null;
                case "info":
                    return write("INFO", arguments);
                case "warn":
                    return write("WARN", arguments);
                case "error":
                    return write("ERROR", arguments);
                case "hashCode":
                    return name.hashCode();
                case "equals":
                    return proxy == arguments[0];
                case "toString":
                    return "Logger[" + name + "]";
                default:
                    throw new UnsupportedOperationException("org.slf4j.Logger." + method.getName());
            }
        }

        /** @param arguments a message, and then its parameters or an array of them, or what was thrown */
        private Object write(String level, Object[] arguments) {
            Task me = Task.current();
            Node node = me == null ? null : me.node;
            if (!(node instanceof ServerNode) || node.isDead() || me.isInitialising()) {
                return null; // a class that was used in an earlier run is not initialised again
            }
            int first = arguments[0] instanceof String || arguments[0] == null ? 0 : 1; // behind a marker
            Object[] parameters = Arrays.copyOfRange(arguments, first + 1, arguments.length);
            if (parameters.length == 1 && parameters[0] instanceof Object[]) {
                parameters = (Object[]) parameters[0];
            }
            StringBuilder line = ((ServerNode) node).log;
            line.append(stamp()).append(" [").append(me.logical.getName()).append("] ").append(level).append(' ')
                    .append(name).append(" - ");
            Throwable thrown = format(line, String.valueOf(arguments[first]), parameters);
            line.append('\n');
            for (int depth = 0; thrown != null && depth < FRAMES; depth++) {
                trace(line, thrown, depth);
                thrown = thrown.getCause();
            }
            ((ServerNode) node).logged();
            return null;
        }
    }

    /** Appends a message with its parameters. Returns the last one if it was thrown and has no place in the message. */
    private static Throwable format(StringBuilder line, String message, Object[] parameters) {
        int from = 0;
        int next = 0;
        while (next < parameters.length) {
            int at = message.indexOf("{}", from);
            if (at < 0) {
                break;
            }
            line.append(message, from, at).append(text(parameters[next++]));
            from = at + 2;
        }
        line.append(message, from, message.length());
        Object last = parameters.length > next ? parameters[parameters.length - 1] : null;
        return last instanceof Throwable ? (Throwable) last : null;
    }

    private static String text(Object parameter) {
        return parameter instanceof Object[] ? Arrays.deepToString((Object[]) parameter) : String.valueOf(parameter);
    }

    private static void trace(StringBuilder line, Throwable thrown, int depth) {
        line.append(depth == 0 ? "" : "Caused by: ").append(thrown).append('\n');
        StackTraceElement[] frames = thrown.getStackTrace();
        for (int i = 0; i < Math.min(FRAMES, frames.length); i++) {
            line.append("\tat ").append(frames[i]).append('\n');
        }
    }

    /** Returns the time in microseconds: many things happen in a millisecond of virtual time. */
    private static String stamp() {
        long micros = Output.micros();
        if (micros != stamped) {
            stamped = micros;
            stamp = TIME.format(Instant.EPOCH.plus(micros, ChronoUnit.MICROS));
        }
        return stamp;
    }
}
