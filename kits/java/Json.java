import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON, which Java's standard library has not: maps, lists, strings, longs, booleans and null. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object parse(String text) {
        return new Json(text).value();
    }

    private char next() {
        while (Character.isWhitespace(text.charAt(at))) at++;
        return text.charAt(at);
    }

    private Object value() {
        char c = next();
        if (c == '{') {
            Map<String, Object> found = new LinkedHashMap<>();
            at++;
            while (next() != '}') {
                if (text.charAt(at) == ',') at++;
                next();
                String name = string();
                next();
                at++; // the colon
                found.put(name, value());
            }
            at++;
            return found;
        }
        if (c == '[') {
            List<Object> found = new ArrayList<>();
            at++;
            while (next() != ']') {
                if (text.charAt(at) == ',') at++;
                found.add(value());
            }
            at++;
            return found;
        }
        if (c == '"') return string();
        int start = at;
        while (at < text.length() && ",]} \n".indexOf(text.charAt(at)) < 0) at++;
        String word = text.substring(start, at);
        return switch (word) {
            case "null" -> null;
            case "true" -> true;
            case "false" -> false;
            default -> Long.valueOf(word);
        };
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        at++;
        for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
            if (c != '\\') {
                found.append(c);
                continue;
            }
            c = text.charAt(at++);
            if (c == 'u') {
                found.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                at += 4;
            } else {
                int known = "nrtbf".indexOf(c);
                found.append(known < 0 ? c : "\n\r\t\b\f".charAt(known));
            }
        }
        return found.toString();
    }

    static void write(StringBuilder out, Object value) {
        if (value instanceof Map<?, ?> map) {
            String before = "{";
            for (Map.Entry<?, ?> each : map.entrySet()) {
                out.append(before);
                write(out, each.getKey());
                out.append(':');
                write(out, each.getValue());
                before = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> list) {
            String before = "";
            out.append('[');
            for (Object each : list) {
                out.append(before);
                write(out, each);
                before = ",";
            }
            out.append(']');
        } else if (value instanceof String text) {
            out.append('"');
            for (char c : text.toCharArray()) {
                if (c == '"' || c == '\\') out.append('\\').append(c);
                else if (c < ' ') out.append(String.format("\\u%04x", (int) c));
                else out.append(c);
            }
            out.append('"');
        } else {
            out.append(value);
        }
    }
}
