package zabcheck.simulated.load;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The names of what is replaced in a server's classes: types by types, and calls by calls of {@code Hooks}. */
final class Replacements {
    static final String HOOKS = "zabcheck/simulated/hooks/Hooks";
    static final String LOGS = "zabcheck/simulated/host/Logs";

    private static final String CONCURRENT = "zabcheck/simulated/concurrent/";
    private static final String NET = "zabcheck/simulated/net/";
    private static final Map<String, String> TYPES = new HashMap<>();

    static {
        replace(
                "java/util/concurrent/",
                CONCURRENT,
                "LinkedBlockingQueue",
                "ArrayBlockingQueue",
                "SynchronousQueue",
                "CountDownLatch",
                "Semaphore",
                "ThreadPoolExecutor",
                "ScheduledThreadPoolExecutor",
                "Executors",
                "ThreadLocalRandom");
        replace(
                "java/util/concurrent/locks/",
                CONCURRENT,
                "ReentrantLock",
                "ReentrantReadWriteLock",
                "ReentrantReadWriteLock$ReadLock",
                "ReentrantReadWriteLock$WriteLock");
        replace("java/util/", CONCURRENT, "Timer", "TimerTask", "Random");
        replace("java/net/", NET, "Socket", "ServerSocket");
        replace(
                "java/nio/channels/",
                NET,
                "Selector",
                "SelectionKey",
                "SelectableChannel",
                "SocketChannel",
                "ServerSocketChannel");
        TYPES.put("javax/net/ssl/SSLSocket", NET + "SslSocket");
    }

    private static void replace(String from, String to, String... names) {
        for (String name : names) {
            TYPES.put(from + name, to + name);
        }
    }

    /** Calls of static methods, by owner, name and descriptor. */
    private static final Map<String, String> STATIC =
            Map.ofEntries(
                    Map.entry("java/lang/System.currentTimeMillis()J", "currentTimeMillis"),
                    Map.entry("java/lang/System.nanoTime()J", "nanoTime"),
                    Map.entry("java/lang/System.exit(I)V", "exit"),
                    Map.entry("java/lang/Thread.sleep(J)V", "sleep"),
                    Map.entry("java/lang/Thread.yield()V", "yieldNow"),
                    Map.entry("java/lang/Thread.interrupted()Z", "interrupted"),
                    Map.entry("java/lang/Thread.holdsLock(Ljava/lang/Object;)Z", "holdsLock"),
                    Map.entry("java/lang/Thread.currentThread()Ljava/lang/Thread;", "currentThread"),
                    Map.entry("java/util/Collections.shuffle(Ljava/util/List;)V", "shuffle"),
                    Map.entry("java/lang/Math.random()D", "random"));

    /** Methods of Object, whoever's they are. */
    private static final Map<String, String> OF_OBJECTS =
            Map.of(
                    "wait()V", "await",
                    "wait(J)V", "await",
                    "wait(JI)V", "await",
                    "notify()V", "signal",
                    "notifyAll()V", "signalAll");

    /** Methods of Thread, unless a subclass has its own. */
    private static final Set<String> OF_THREADS =
            Set.of("start()V", "join()V", "join(J)V", "interrupt()V", "isInterrupted()Z", "isAlive()Z");

    private static final Map<String, String> OF_OTHERS =
            Map.of(
                    "java/nio/channels/FileChannel.force(Z)V", "force",
                    "java/io/FileDescriptor.sync()V", "sync");

    private Replacements() {}

    static String type(String name) {
        return TYPES.getOrDefault(name, name);
    }

    static String ofStatic(String owner, String method) {
        return STATIC.get(owner + "." + method);
    }

    static String ofObject(String method) {
        return OF_OBJECTS.get(method);
    }

    static boolean isOfThreads(String method) {
        return OF_THREADS.contains(method);
    }

    static String ofOther(String owner, String method) {
        return OF_OTHERS.get(owner + "." + method);
    }
}
