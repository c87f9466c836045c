import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.LocalDateTime;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.commons.ClassRemapper;
import org.objectweb.asm.commons.Remapper;

/**
 * Puts ASM, which rewrites classes, under another name, so that it meets no other ASM: this makes {@code asm.jar}.
 *
 * <pre>
 * java -cp asm-9.7.1.jar:asm-commons-9.7.1.jar:asm-tree-9.7.1.jar tools/Relocate.java \
 *     asm-9.7.1.jar:asm-commons-9.7.1.jar LICENSE-asm.txt asm.jar
 * </pre>
 */
public final class Relocate {
    private static final String ASM = "org/objectweb/asm/";
    private static final String OURS = "zabcheck/simulated/asm/";
    private static final LocalDateTime TIME = LocalDateTime.of(2000, 1, 1, 0, 0);

    private Relocate() {}

    public static void main(String[] arguments) throws IOException {
        Map<String, byte[]> entries = new TreeMap<>();
        for (String path : arguments[0].split(":")) {
            try (JarFile jar = new JarFile(path)) {
                for (JarEntry entry : jar.stream().collect(Collectors.toList())) {
                    if (isNeeded(entry.getName())) {
                        byte[] bytes = jar.getInputStream(entry).readAllBytes();
                        entries.put(entry.getName().replace(ASM, OURS), renamed(bytes));
                    }
                }
            }
        }
        entries.put("META-INF/LICENSE.txt", Files.readAllBytes(Paths.get(arguments[1])));
        write(entries, Paths.get(arguments[2]));
    }

    /** Of ASM's commons only what renames is needed. */
    private static boolean isNeeded(String name) {
        boolean isOfCommons = name.startsWith(ASM + "commons/");
        return name.startsWith(ASM) && name.endsWith(".class") && (!isOfCommons || name.contains("Remapper"));
    }

    private static byte[] renamed(byte[] bytes) {
        ClassWriter writer = new ClassWriter(0);
        Remapper remapper =
                new Remapper() {
                    @Override
                    public String map(String name) {
                        return name.startsWith(ASM) ? OURS + name.substring(ASM.length()) : name;
                    }
                };
        new ClassReader(bytes).accept(new ClassRemapper(writer, remapper), ClassReader.SKIP_DEBUG);
        return writer.toByteArray();
    }

    private static void write(Map<String, byte[]> entries, Path jar) throws IOException {
        try (OutputStream out = Files.newOutputStream(jar);
                ZipOutputStream zip = new ZipOutputStream(out)) {
            for (Map.Entry<String, byte[]> each : entries.entrySet()) {
                byte[] bytes = each.getValue();
                CRC32 sum = new CRC32();
                sum.update(bytes);
                ZipEntry entry = new ZipEntry(each.getKey());
                entry.setMethod(ZipEntry.STORED); // a compressor of another version would give other bytes
                entry.setSize(bytes.length);
                entry.setCrc(sum.getValue());
                entry.setTimeLocal(TIME);
                zip.putNextEntry(entry);
                zip.write(bytes);
                zip.closeEntry();
            }
        }
    }
}
