package zabcheck.simulated.host;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Reads fields of a server's objects, along a way such as {@code leader.zk.hzxid.value}.
 *
 * <p>The ways are those of real Java, where a queue has {@code count.value} and an atomic number {@code value}; both
 * are read by methods here, as are the sizes of other collections.
 */
final class Fields {
    /** The fields that were looked up, of each class: those of one server's loader go with it. */
    private static final ClassValue<Map<String, Optional<Field>>> KNOWN = new ClassValue<>() {
        @Override
        protected Map<String, Optional<Field>> computeValue(Class<?> type) {
            return new ConcurrentHashMap<>();
        }
    };

    private Fields() {}

    /** Returns the number at the end of the way; null if there is none. */
    static Long number(Object from, String way) {
        Object at = follow(from, way);
        if (at instanceof Boolean) {
            return (Boolean) at ? 1L : 0L;
        }
        if (at instanceof Collection) {
            return (long) ((Collection<?>) at).size();
        }
        return at instanceof Number ? (Long) ((Number) at).longValue() : null;
    }

    /** Sets an {@link AtomicLong} to which the way leads, but for its last step. Returns the value before, or null. */
    static Long replace(Object from, String way, long value) {
        Object at = follow(from, way.substring(0, way.lastIndexOf('.')));
        return at instanceof AtomicLong ? (Long) ((AtomicLong) at).getAndSet(value) : null;
    }

    static Object follow(Object from, String way) {
        Object at = from;
        for (String name : way.split("\\.")) {
            if (at == null) {
                return null;
            }
            at = step(at, name);
        }
        return at;
    }

    private static Object step(Object at, String name) {
        if (at instanceof Collection && (name.equals("count") || name.equals("value"))) {
            return name.equals("count") ? ((Collection<?>) at).size() : at;
        }
        if (at instanceof Map && name.equals("baseCount")) {
            return ((Map<?, ?>) at).size();
        }
        if (at instanceof Number && name.equals("value")) {
            return at;
        }
        if (at instanceof AtomicReference && name.equals("value")) {
            return ((AtomicReference<?>) at).get();
        }
        if (at instanceof Enum && name.equals("ordinal")) {
            return ((Enum<?>) at).ordinal();
        }
        Field field = fieldOf(at.getClass(), name);
        try {
            return field == null ? null : field.get(at);
        } catch (IllegalAccessException error) {
            return null;
        }
    }

    private static Field fieldOf(Class<?> type, String name) {
        return KNOWN.get(type).computeIfAbsent(name, absent -> Optional.ofNullable(find(type, name))).orElse(null);
    }

    private static Field find(Class<?> type, String name) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (field.getName().equals(name) && !Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        return null;
    }

}
