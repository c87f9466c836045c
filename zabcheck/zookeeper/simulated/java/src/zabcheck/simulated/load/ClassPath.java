package zabcheck.simulated.load;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.Manifest;

/**
 * Finds classes in the folders and jars of a class path, in its order. Jars are opened when a class is looked for, and
 * a jar names others as the class path of its manifest does.
 */
public final class ClassPath {
    private final List<Entry> entries = new ArrayList<>();
    private final Map<String, byte[]> found = new HashMap<>();

    private interface Entry {
        byte[] read(String name) throws IOException;

        URL locate(String name) throws IOException;
    }

    /** @param path as {@code java -cp} takes it; a name that ends in {@code *} is all the jars of a folder */
    public ClassPath(String path) throws IOException {
        for (String each : path.split(File.pathSeparator)) {
            if (each.endsWith("*")) {
                addAll(Paths.get(each.substring(0, each.length() - 1)));
            } else if (!each.isEmpty()) {
                add(Paths.get(each));
            }
        }
    }

    private void addAll(Path folder) throws IOException {
        File[] files = folder.toFile().listFiles((within, name) -> name.endsWith(".jar"));
        if (files != null) {
            Arrays.sort(files, Comparator.comparing(File::getName));
            for (File file : files) {
                add(file.toPath());
            }
        }
    }

    private void add(Path path) throws IOException {
        if (Files.isDirectory(path)) {
            entries.add(new Folder(path));
        } else if (Files.exists(path)) {
            JarFile jar = new JarFile(path.toFile(), false);
            entries.add(new Jar(jar, path));
            for (Path other : namedBy(jar, path)) {
                add(other);
            }
        }
    }

    private static List<Path> namedBy(JarFile jar, Path path) throws IOException {
        List<Path> others = new ArrayList<>();
        Manifest manifest = jar.getManifest();
        String names = manifest == null ? null : manifest.getMainAttributes().getValue(Attributes.Name.CLASS_PATH);
        if (names != null) {
            for (String name : names.trim().split("\\s+")) {
                Path other = path.toAbsolutePath().resolveSibling(name);
                if (!name.isEmpty() && !name.contains(":") && Files.isRegularFile(other)) {
                    others.add(other);
                }
            }
        }
        return others;
    }

    /** Returns the bytes of a class ("org/apache/…"); null if there is none. */
    public synchronized byte[] read(String name) {
        if (found.containsKey(name)) {
            return found.get(name);
        }
        byte[] bytes = null;
        for (int i = 0; bytes == null && i < entries.size(); i++) {
            try {
                bytes = entries.get(i).read(name + ".class");
            } catch (IOException error) {
                throw new IllegalStateException(name + ": cannot be read: " + error.getMessage());
            }
        }
        found.put(name, bytes);
        return bytes;
    }

    /** Returns where a resource is; null if there is none. */
    public URL locate(String name) {
        for (Entry entry : entries) {
            try {
                URL url = entry.locate(name);
                if (url != null) {
                    return url;
                }
            } catch (IOException error) {
                return null;
            }
        }
        return null;
    }

    private static final class Folder implements Entry {
        private final Path folder;

        Folder(Path folder) {
            this.folder = folder;
        }

        @Override
        public byte[] read(String name) throws IOException {
            Path file = folder.resolve(name);
            return Files.isRegularFile(file) ? Files.readAllBytes(file) : null;
        }

        @Override
        public URL locate(String name) throws MalformedURLException {
            Path file = folder.resolve(name);
            return Files.exists(file) ? file.toUri().toURL() : null;
        }
    }

    private static final class Jar implements Entry {
        private final JarFile jar;
        private final Path path;

        Jar(JarFile jar, Path path) {
            this.jar = jar;
            this.path = path;
        }

        @Override
        public byte[] read(String name) throws IOException {
            JarEntry entry = jar.getJarEntry(name);
            if (entry == null) {
                return null;
            }
            try (InputStream stream = jar.getInputStream(entry)) {
                return stream.readAllBytes();
            }
        }

        @Override
        public URL locate(String name) throws MalformedURLException {
            return jar.getJarEntry(name) == null ? null : new URL("jar:" + path.toUri() + "!/" + name);
        }
    }
}
