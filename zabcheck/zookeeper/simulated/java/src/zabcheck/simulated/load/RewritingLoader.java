package zabcheck.simulated.load;

import java.io.IOException;
import java.net.URL;
import java.util.Collections;
import java.util.Enumeration;

/**
 * Loads the classes of one server: those of ZooKeeper rewritten, so that their threads, monitors, clocks, queues and
 * sockets are the simulation's, and all others of the class path as they are.
 */
public final class RewritingLoader extends ClassLoader {
    static {
        registerAsParallelCapable();
    }

    private static final String REWRITTEN = "org/apache/zookeeper/";

    private final ClassPath classes;
    private final Rewriter rewriter;

    public RewritingLoader(ClassPath classes, Rewriter rewriter) {
        super(RewritingLoader.class.getClassLoader());
        this.classes = classes;
        this.rewriter = rewriter;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            if (name.startsWith("java.") || name.startsWith("zabcheck.")) {
                return super.loadClass(name, resolve);
            }
            String path = name.replace('.', '/');
            byte[] bytes = classes.read(path);
            if (bytes == null) {
                return super.loadClass(name, resolve);
            }
            if (path.startsWith(REWRITTEN)) {
                bytes = rewriter.rewritten(path, bytes);
            }
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    @Override
    protected URL findResource(String name) {
        return classes.locate(name);
    }

    @Override
    protected Enumeration<URL> findResources(String name) throws IOException {
        URL url = findResource(name);
        return url == null ? Collections.emptyEnumeration() : Collections.enumeration(Collections.singleton(url));
    }
}
