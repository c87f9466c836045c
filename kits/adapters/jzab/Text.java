package com.github.zk1931.jzab;

import com.github.zk1931.jzab.proto.ZabMessage;
import com.github.zk1931.jzab.proto.ZabMessage.Message.MessageType;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.Message;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The messages of jzab as JSON, and back.
 *
 * <p>Its epochs and the counters of its zxids begin with 0, those of zabcheck with 1. Time-outs are left out.
 */
final class Text {
    static final int NEVER = Integer.MAX_VALUE / 4; // milliseconds

    static List<Long> zxid(Zxid zxid) {
        return List.of(zxid.getEpoch() + 1, zxid.getXid() + 1);
    }

    /** The fields of a message: it is a type, and one message for that type. */
    static Map<String, Object> of(ZabMessage.Message message) {
        return fields((Message) message.getField(inner(message.getType().name())));
    }

    static ZabMessage.Message message(String type, Map<String, Object> body) {
        ZabMessage.Message.Builder builder = ZabMessage.Message.newBuilder().setType(MessageType.valueOf(type));
        FieldDescriptor field = inner(type);
        Message.Builder inner = builder.newBuilderForField(field);
        fill(inner, body);
        return builder.setField(field, inner.build()).build();
    }

    private static FieldDescriptor inner(String type) {
        String name = type.equals("SYNC_END") ? "config" : type.toLowerCase(Locale.ROOT);
        return ZabMessage.Message.getDescriptor().findFieldByName(name);
    }

    private static Map<String, Object> fields(Message message) {
        Map<String, Object> found = new LinkedHashMap<>();
        message.getAllFields().forEach((field, value) -> {
            if (isLeftOut(field)) return;
            if (!field.isRepeated()) {
                found.put(name(field), value(field, value));
                return;
            }
            List<Object> values = new ArrayList<>();
            for (Object each : (List<?>) value) values.add(value(field, each));
            found.put(name(field), values);
        });
        return found;
    }

    private static boolean isLeftOut(FieldDescriptor field) {
        return field.getName().equals("sync_timeout") || field.getJavaType() == JavaType.ENUM;
    }

    private static Object value(FieldDescriptor field, Object value) {
        if (value instanceof ZabMessage.Zxid zxid) return zxid(MessageBuilder.fromProtoZxid(zxid));
        if (value instanceof Message inner) return fields(inner);
        if (value instanceof ByteString bytes) return bytes.toString(StandardCharsets.ISO_8859_1);
        return isEpoch(field) ? (Object) ((Long) value + 1) : value;
    }

    private static void fill(Message.Builder builder, Map<String, Object> from) {
        for (FieldDescriptor field : builder.getDescriptorForType().getFields()) {
            Object json = from.get(name(field));
            if (field.getName().equals("sync_timeout")) {
                builder.setField(field, NEVER);
            } else if (json instanceof List<?> values && field.isRepeated()) {
                for (Object each : values) builder.addRepeatedField(field, each);
            } else if (field.getJavaType() == JavaType.ENUM) {
                builder.setField(field, field.getDefaultValue()); // there are only proposals of clients
            } else if (json != null) {
                builder.setField(field, parsed(builder, field, json));
            }
        }
    }

    private static Object parsed(Message.Builder builder, FieldDescriptor field, Object json) {
        if (json instanceof List<?> pair) {
            return MessageBuilder.toProtoZxid(new Zxid((Long) pair.get(0) - 1, (Long) pair.get(1) - 1));
        }
        if (field.getJavaType() == JavaType.MESSAGE) {
            Message.Builder inner = builder.newBuilderForField(field);
            fill(inner, Node.map(json));
            return inner.build();
        }
        if (field.getJavaType() == JavaType.BYTE_STRING) {
            return ByteString.copyFrom((String) json, StandardCharsets.ISO_8859_1);
        }
        return isEpoch(field) ? (Object) ((Long) json - 1) : json;
    }

    private static boolean isEpoch(FieldDescriptor field) {
        return field.getName().endsWith("epoch") && field.getJavaType() == JavaType.LONG;
    }

    private static String name(FieldDescriptor field) {
        return field.getName().replace("lastZxid", "last_zxid");
    }
}
