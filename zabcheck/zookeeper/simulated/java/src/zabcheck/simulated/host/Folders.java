package zabcheck.simulated.host;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/** Copies of folders. */
final class Folders {
    private Folders() {}

    /** Copies a folder and all that is in it. */
    static void copy(Path from, Path to) throws IOException {
        Files.walkFileTree(
                from,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes)
                            throws IOException {
                        Files.createDirectories(to.resolve(from.relativize(folder)));
                        return FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                        try {
                            Files.copy(file, to.resolve(from.relativize(file)));
                        } catch (NoSuchFileException gone) {
                            // removed meanwhile
                        }
                        return FileVisitResult.CONTINUE;
                    }
                });
    }
}
