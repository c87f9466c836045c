package com.github.zk1931.jzab;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The files of jzab, which are real ones, and what zabcheck has to know of them: what is written, and when it is synced.
 *
 * <p>A file is a field of zabcheck's disk, and so is a folder, whose name ends in a slash; null is one that was deleted. What jzab forces to the disk waits until
 * zabcheck has synced it. Files that nothing reads after a crash are left out.
 */
final class Folder extends PersistentState {
    /** What zabcheck's disk does. */
    interface Disk {
        void write(Map<String, Object> fields);

        void sync();
    }

    private static final String PREFIX = "jzab-", TEMPORARY = "tmp_data";
    private static final Path PARENT = // in memory, if that can be: nothing needs to survive this program
            Files.isWritable(Path.of("/dev/shm")) ? Path.of("/dev/shm") : Path.of(System.getProperty("java.io.tmpdir"));
    private final Path root;
    private final Disk disk;
    private final boolean syncsEpochs; // unlike jzab: a log before the epoch in which it is accepted, and that epoch
    private Map<String, String> known;
    private boolean news = true;

    private Folder(Path root, Map<String, String> known, Disk disk, boolean syncsEpochs) throws IOException {
        super(root.toFile());
        this.root = root;
        this.known = known;
        this.disk = disk;
        this.syncsEpochs = syncsEpochs;
    }

    /** Makes a folder with what has survived on the disk. */
    static Folder of(Map<String, Object> survived, Disk disk, boolean syncsEpochs) throws IOException {
        Path root = Files.createTempDirectory(PARENT, PREFIX + ProcessHandle.current().pid() + "-");
        Map<String, String> known = new TreeMap<>();
        for (Map.Entry<String, Object> each : survived.entrySet()) {
            if (each.getValue() == null) continue;
            known.put(each.getKey(), (String) each.getValue());
            Path file = root.resolve(each.getKey());
            Files.createDirectories(each.getKey().endsWith("/") ? file : file.getParent());
            if (!each.getKey().endsWith("/")) Files.writeString(file, (String) each.getValue(), StandardCharsets.ISO_8859_1);
        }
        return new Folder(root, known, disk, syncsEpochs);
    }

    /** Deletes what was left behind by programs that were killed. */
    static void clear() throws IOException {
        try (Stream<Path> found = Files.list(PARENT)) {
            for (Path each : found.toList()) {
                String[] name = each.getFileName().toString().split("-");
                if (!(name[0] + "-").equals(PREFIX) || name.length != 3) continue;
                if (ProcessHandle.of(Long.parseLong(name[1])).isPresent()) continue;
                try {
                    delete(each);
                } catch (IOException | UncheckedIOException gone) {
                    // By another program that starts.
                }
            }
        }
    }

    void delete() throws IOException {
        delete(root);
    }

    private static void delete(Path root) throws IOException {
        try (Stream<Path> found = Files.walk(root)) {
            for (Path each : found.sorted(Comparator.reverseOrder()).toList()) Files.delete(each);
        }
    }

    /**
     * Tells what has changed since the last call.
     *
     * <p>As on Linux's ext4: names and lengths of files, and the files that replace others, reach the disk in their order,
     * and all of them with each sync; what was appended to a log reaches it when that log is synced.
     */
    private void told(boolean appended) throws IOException {
        Map<String, String> found = new TreeMap<>();
        try (Stream<Path> files = Files.walk(root)) {
            for (Path each : files.toList()) {
                String name = root.relativize(each).toString();
                if (each.equals(root) || name.startsWith(TEMPORARY)) continue;
                if (Files.isDirectory(each)) {
                    found.put(name + "/", ""); // an empty one says that there is no log
                    continue;
                }
                String text = text(each), before = known.get(name);
                boolean waits = !appended && isAppended(name, before, text);
                if (!waits) found.put(name, text);
                else if (before != null) found.put(name, before);
            }
        }
        Map<String, Object> changed = new TreeMap<>();
        found.forEach((name, text) -> {
            if (!text.equals(known.get(name))) changed.put(name, text);
        });
        for (String name : known.keySet()) {
            if (!found.containsKey(name)) changed.put(name, null);
        }
        known = found;
        news = true;
        if (!changed.isEmpty()) disk.write(changed);
    }

    private static boolean isAppended(String name, String before, String text) {
        return name.contains("/transaction.") && text.startsWith(before == null ? "" : before);
    }

    /** What is in a file, but for the lines that Properties writes with the time. */
    private static String text(Path file) throws IOException {
        String text = Files.readString(file, StandardCharsets.ISO_8859_1);
        return file.getFileName().toString().startsWith("cluster_config") ? text.replaceAll("#.*\n", "") : text;
    }

    /** Whether something was written since the last call. */
    boolean isNews() {
        boolean found = news;
        news = false;
        return found;
    }

    /** What is in the log, as the server reads it. */
    List<Transaction> transactions() throws IOException {
        List<Transaction> found = new ArrayList<>();
        try (Log.LogIterator each = getLog().getIterator(Zxid.ZXID_NOT_EXIST)) {
            while (each.hasNext()) found.add(each.next());
        }
        return found;
    }

    @Override
    void setAckEpoch(long epoch) throws IOException {
        if (syncsEpochs) getLog().sync();
        super.setAckEpoch(epoch); // which syncs nothing
        told(false);
        if (syncsEpochs) disk.sync();
    }

    @Override
    void fsyncDirectory() throws IOException {
        told(false);
        disk.sync();
    }

    @Override
    Log createLog(File folder) throws IOException {
        return new Told(super.createLog(folder));
    }

    /** A log that tells what is written to it. */
    private final class Told implements Log {
        private final Log log;

        Told(Log log) {
            this.log = log;
        }

        @Override
        public void append(Transaction txn) throws IOException {
            log.append(txn);
            news = true;
        }

        @Override
        public void truncate(Zxid zxid) throws IOException {
            log.truncate(zxid);
            told(false);
        }

        @Override
        public void sync() throws IOException {
            log.sync();
            told(true);
            disk.sync();
        }

        @Override
        public Zxid getLatestZxid() throws IOException {
            return log.getLatestZxid();
        }

        @Override
        public LogIterator getIterator(Zxid zxid) throws IOException {
            return log.getIterator(zxid);
        }

        @Override
        public DivergingTuple firstDivergingPoint(Zxid zxid) throws IOException {
            return log.firstDivergingPoint(zxid);
        }

        @Override
        public void trim(Zxid zxid) throws IOException {
            log.trim(zxid);
        }

        @Override
        public void close() throws IOException {
            log.close();
        }
    }
}
