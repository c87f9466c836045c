package zabcheck.simulated.control;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import zabcheck.simulated.host.Ensemble;
import zabcheck.simulated.host.Output;
import zabcheck.simulated.load.ClassPath;
import zabcheck.simulated.load.Place;
import zabcheck.simulated.load.Rewriter;
import zabcheck.simulated.load.RewritingLoader;

/**
 * Simulates ensembles, one run after another, as its standard input says: a command a line, its words separated by
 * spaces. The answer to each is a number of events, a JSON object a line, and a last line, the reply.
 *
 * <p>Arguments: the class path of ZooKeeper; a file with the named points, {@code point class method descriptor byte},
 * a place a line; and the seconds of real time after which a thread that comes to no point counts as stuck.
 */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err); // what servers print must not come between the lines
        List<Place> places = new ArrayList<>();
        Map<String, Set<String>> methods = new HashMap<>();
        for (String line : Files.readAllLines(Paths.get(arguments[1]))) {
            String[] words = line.split(" ");
            places.add(new Place(words[0], words[1], words[2], words[3], Integer.parseInt(words[4])));
            methods.computeIfAbsent(words[0], name -> new HashSet<>())
                    .add(words[1] + "." + words[2] + words[3]);
        }
        ClassPath classes = new ClassPath(arguments[0]);
        Rewriter rewriter = new Rewriter(classes, places);
        Ensemble.Loaders loaders = new Ensemble.Loaders(() -> new RewritingLoader(classes, rewriter), methods);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        new Commands(in, new Output(out), loaders, Integer.parseInt(arguments[2])).execute();
        out.flush();
        Runtime.getRuntime().halt(0); // threads that could not be unwound must not keep it
    }
}
