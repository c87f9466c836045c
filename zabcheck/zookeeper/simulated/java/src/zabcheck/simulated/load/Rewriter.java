package zabcheck.simulated.load;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import zabcheck.simulated.asm.ClassReader;
import zabcheck.simulated.asm.ClassVisitor;
import zabcheck.simulated.asm.ClassWriter;
import zabcheck.simulated.asm.Label;
import zabcheck.simulated.asm.MethodVisitor;
import zabcheck.simulated.asm.Opcodes;
import zabcheck.simulated.asm.Type;
import zabcheck.simulated.asm.commons.ClassRemapper;
import zabcheck.simulated.asm.commons.Remapper;

/**
 * Rewrites classes of ZooKeeper, each once. The shape of the code stays, so its stack maps do: every replaced
 * instruction takes and leaves what it did before, and the verifier checks the result.
 */
public final class Rewriter {
    private static final String OBJECT = "java/lang/Object";
    private static final String THREAD = "java/lang/Thread";
    private static final String HASH_FIELD = "zabcheck$hash";

    /** JMX beans would be one registry for all servers; nothing here reads them. */
    private static final String BEANS = "org/apache/zookeeper/jmx/MBeanRegistry";

    private final ClassPath classes;
    private final Map<String, List<Place>> places = new HashMap<>();
    private final Map<String, byte[]> rewritten = new ConcurrentHashMap<>();
    private final Map<String, String> parents = new ConcurrentHashMap<>();
    private final Map<String, Set<String>> methods = new ConcurrentHashMap<>();

    public Rewriter(ClassPath classes, List<Place> places) {
        this.classes = classes;
        for (Place place : places) {
            this.places.computeIfAbsent(place.className, name -> new ArrayList<>()).add(place);
        }
    }

    byte[] rewritten(String name, byte[] original) {
        return rewritten.computeIfAbsent(name, absent -> rewrite(name, original));
    }

    private byte[] rewrite(String name, byte[] original) {
        OffsetReader reader = new OffsetReader(original);
        ClassWriter writer = new ClassWriter(0);
        Remapper remapper =
                new Remapper() {
                    @Override
                    public String map(String type) {
                        return Replacements.type(type);
                    }
                };
        List<Place> here = places.getOrDefault(name, List.of());
        try {
            ClassVisitor calls = new Calls(new ClassRemapper(writer, remapper), reader);
            reader.accept(here.isEmpty() ? calls : new Points(calls, reader, here), ClassReader.EXPAND_FRAMES);
        } catch (RuntimeException error) {
            String where = name.replace('/', '.') + reader.place();
            throw new ClassFormatError(where + " cannot be rewritten: " + error);
        }
        return writer.toByteArray();
    }

    private String parentOf(String name) {
        return parents.computeIfAbsent(
                name,
                absent -> {
                    byte[] bytes = classes.read(name);
                    String parent = bytes == null ? null : new ClassReader(bytes).getSuperName();
                    return parent == null ? "" : parent;
                });
    }

    private boolean declares(String name, String method) {
        return methods.computeIfAbsent(name, absent -> declaredBy(name)).contains(method);
    }

    private Set<String> declaredBy(String name) {
        Set<String> declared = new HashSet<>();
        byte[] bytes = classes.read(name);
        if (bytes != null) {
            ClassVisitor visitor =
                    new ClassVisitor(Opcodes.ASM9) {
                        @Override
                        public MethodVisitor visitMethod(
                                int access, String method, String descriptor, String signature, String[] exceptions) {
                            declared.add(method + descriptor);
                            return null;
                        }
                    };
            new ClassReader(bytes).accept(visitor, ClassReader.SKIP_CODE);
        }
        return declared;
    }

    /** Returns true if this method, called on this class, is the one of Thread. */
    private boolean isOfThread(String owner, String method) {
        String name = owner;
        while (!name.isEmpty() && !name.equals(OBJECT)) {
            if (name.equals(THREAD)) {
                return true;
            }
            if (declares(name, method)) {
                return false;
            }
            name = parentOf(name);
        }
        return false;
    }

    /** Replaces calls, monitors, and hashes that would depend on where an object lies in memory. */
    private final class Calls extends ClassVisitor {
        private final OffsetReader reader;
        private String name;
        private boolean needsHash;

        Calls(ClassVisitor next, OffsetReader reader) {
            super(Opcodes.ASM9, next);
            this.reader = reader;
        }

        @Override
        public void visit(
                int version, int access, String name, String signature, String parent, String[] interfaces) {
            this.name = name;
            boolean isClass = (access & Opcodes.ACC_INTERFACE) == 0;
            needsHash = isClass && (OBJECT.equals(parent) || THREAD.equals(parent)) && !declares(name, "hashCode()I");
            super.visit(version, access, name, signature, parent, interfaces);
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String method, String descriptor, String signature, String[] exceptions) {
            reader.begin(method + descriptor);
            MethodVisitor next =
                    super.visitMethod(
                            access & ~Opcodes.ACC_SYNCHRONIZED, method, descriptor, signature, exceptions);
            if ((access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) != 0) {
                return next;
            }
            boolean isRegistry = name.equals(BEANS) && (method.equals("register") || method.startsWith("unregister"));
            if (isRegistry && descriptor.endsWith(")V")) {
                return empty(next, descriptor);
            }
            return new MethodCalls(next, name, access, method);
        }

        /** Writes the body of a method that does nothing. */
        private MethodVisitor empty(MethodVisitor next, String descriptor) {
            next.visitCode();
            next.visitInsn(Opcodes.RETURN);
            next.visitMaxs(0, Type.getArgumentsAndReturnSizes(descriptor) >> 2);
            next.visitEnd();
            return null;
        }

        @Override
        public void visitEnd() {
            if (needsHash) {
                addHash();
            }
            super.visitEnd();
        }

        /** {@code int hashCode() { return (int) (hash = Hooks.hash(this, hash)); }} */
        private void addHash() {
            int access = Opcodes.ACC_PRIVATE | Opcodes.ACC_TRANSIENT | Opcodes.ACC_SYNTHETIC;
            super.visitField(access, HASH_FIELD, "J", null, null).visitEnd();
            MethodVisitor body = super.visitMethod(Opcodes.ACC_PUBLIC, "hashCode", "()I", null, null);
            body.visitCode();
            body.visitVarInsn(Opcodes.ALOAD, 0);
            body.visitVarInsn(Opcodes.ALOAD, 0);
            body.visitVarInsn(Opcodes.ALOAD, 0);
            body.visitFieldInsn(Opcodes.GETFIELD, name, HASH_FIELD, "J");
            body.visitMethodInsn(
                    Opcodes.INVOKESTATIC, Replacements.HOOKS, "hash", "(Ljava/lang/Object;J)J", false);
            body.visitInsn(Opcodes.DUP2_X1);
            body.visitFieldInsn(Opcodes.PUTFIELD, name, HASH_FIELD, "J");
            body.visitInsn(Opcodes.L2I);
            body.visitInsn(Opcodes.IRETURN);
            body.visitMaxs(6, 1);
            body.visitEnd();
        }
    }

    /** Replaces the calls of one method. A synchronised one enters and leaves by calls, as a class initialiser does. */
    private final class MethodCalls extends MethodVisitor {
        private final String owner;
        private final boolean isStatic;
        private final boolean isSynchronised;
        private final boolean isInitialiser;
        private final Label start = new Label();
        private final Label end = new Label();

        MethodCalls(MethodVisitor next, String owner, int access, String method) {
            super(Opcodes.ASM9, next);
            this.owner = owner;
            isStatic = (access & Opcodes.ACC_STATIC) != 0;
            isSynchronised = (access & Opcodes.ACC_SYNCHRONIZED) != 0;
            isInitialiser = method.equals("<clinit>");
        }

        private void hook(String method, String descriptor) {
            super.visitMethodInsn(Opcodes.INVOKESTATIC, Replacements.HOOKS, method, descriptor, false);
        }

        private void begin() {
            if (isSynchronised) {
                loadMonitor();
                hook("enter", "(Ljava/lang/Object;)V");
            } else if (isInitialiser) {
                hook("beginInitialiser", "()V");
            }
        }

        private void leave() {
            if (isSynchronised) {
                loadMonitor();
                hook("leave", "(Ljava/lang/Object;)V");
            } else if (isInitialiser) {
                hook("endInitialiser", "()V");
            }
        }

        private void loadMonitor() {
            if (isStatic) {
                super.visitLdcInsn(Type.getObjectType(owner));
            } else {
                super.visitVarInsn(Opcodes.ALOAD, 0);
            }
        }

        @Override
        public void visitCode() {
            super.visitCode();
            if (isSynchronised || isInitialiser) {
                begin();
                super.visitLabel(start);
            }
        }

        @Override
        public void visitInsn(int opcode) {
            if (opcode == Opcodes.MONITORENTER) {
                hook("enter", "(Ljava/lang/Object;)V");
            } else if (opcode == Opcodes.MONITOREXIT) {
                hook("leave", "(Ljava/lang/Object;)V");
            } else {
                if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
                    leave();
                }
                super.visitInsn(opcode);
            }
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            if (isSynchronised || isInitialiser) {
                super.visitLabel(end);
                Object[] mine = isStatic ? new Object[0] : new Object[] {owner};
                super.visitFrame(Opcodes.F_NEW, mine.length, mine, 1, new Object[] {"java/lang/Throwable"});
                leave();
                super.visitInsn(Opcodes.ATHROW);
                super.visitTryCatchBlock(start, end, end, null);
            }
            super.visitMaxs(stack + 2, locals);
        }

        @Override
        public void visitMethodInsn(int opcode, String type, String method, String descriptor, boolean isInterface) {
            String full = method + descriptor;
            if (opcode == Opcodes.INVOKESTATIC) {
                visitStatic(type, method, descriptor, isInterface);
            } else if (Replacements.ofObject(full) != null) {
                hook(Replacements.ofObject(full), "(Ljava/lang/Object;" + descriptor.substring(1));
            } else if (Replacements.isOfThreads(full) && isOfThread(type, full)) {
                hook(method, "(Ljava/lang/Thread;" + descriptor.substring(1));
            } else if (Replacements.ofOther(type, full) != null) {
                hook(Replacements.ofOther(type, full), "(L" + type + ";" + descriptor.substring(1));
            } else {
                super.visitMethodInsn(opcode, type, method, descriptor, isInterface);
            }
        }

        private void visitStatic(String type, String method, String descriptor, boolean isInterface) {
            String hook = Replacements.ofStatic(type, method + descriptor);
            if (hook != null) {
                hook(hook, descriptor);
            } else if (type.equals("org/slf4j/LoggerFactory") && method.equals("getLogger")) {
                String logger = "(Ljava/lang/Object;)Ljava/lang/Object;";
                super.visitMethodInsn(Opcodes.INVOKESTATIC, Replacements.LOGS, "logger", logger, false);
                super.visitTypeInsn(Opcodes.CHECKCAST, "org/slf4j/Logger");
            } else {
                super.visitMethodInsn(Opcodes.INVOKESTATIC, type, method, descriptor, isInterface);
            }
        }
    }

    /** Tells the byte of the instruction that is visited. */
    private static final class OffsetReader extends ClassReader {
        int offset;
        private String method = "";

        OffsetReader(byte[] bytes) {
            super(bytes);
        }

        void begin(String method) {
            this.method = method;
            offset = 0;
        }

        /** Returns the method and the byte in it that was read last, behind a dot. */
        String place() {
            return method.isEmpty() ? "" : "." + method + ", byte " + offset;
        }

        @Override
        protected void readBytecodeInstructionOffset(int bytecodeOffset) {
            offset = bytecodeOffset;
        }
    }

    /** Calls {@code Hooks.at} at named points, and {@code Hooks.line} at the lines of methods that have some. */
    private static final class Points extends ClassVisitor {
        private final OffsetReader reader;
        private final List<Place> places;
        private String name;

        Points(ClassVisitor next, OffsetReader reader, List<Place> places) {
            super(Opcodes.ASM9, next);
            this.reader = reader;
            this.places = places;
        }

        @Override
        public void visit(
                int version, int access, String name, String signature, String parent, String[] interfaces) {
            this.name = name;
            super.visit(version, access, name, signature, parent, interfaces);
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String method, String descriptor, String signature, String[] exceptions) {
            MethodVisitor next = super.visitMethod(access, method, descriptor, signature, exceptions);
            Map<Integer, List<String>> here = new HashMap<>();
            for (Place place : places) {
                if (place.method.equals(method) && place.descriptor.equals(descriptor)) {
                    here.computeIfAbsent(place.at, at -> new ArrayList<>()).add(place.point);
                }
            }
            return here.isEmpty() ? next : new PointCalls(next, reader, here, name + "." + method + descriptor);
        }
    }

    private static final class PointCalls extends MethodVisitor {
        private final OffsetReader reader;
        private final Map<Integer, List<String>> points;
        private final String method;
        private final List<Label> labels = new ArrayList<>();
        /** The label of an instruction that creates an object, where a call was put between the two. */
        private final Map<Label, Label> moved = new HashMap<>();

        private boolean lineBegins;

        PointCalls(MethodVisitor next, OffsetReader reader, Map<Integer, List<String>> points, String method) {
            super(Opcodes.ASM9, next);
            this.reader = reader;
            this.points = points;
            this.method = method;
        }

        /** Comes before every instruction, after its label and its frame. */
        private void before() {
            if (lineBegins) {
                lineBegins = false;
                super.visitLdcInsn(method);
                hook("line");
            }
            List<String> here = points.remove(reader.offset);
            if (here != null) {
                for (String point : here) {
                    super.visitLdcInsn(point);
                    hook("at");
                }
            }
            labels.clear();
        }

        @Override
        public void visitLabel(Label label) {
            labels.add(label);
            super.visitLabel(label);
        }

        /** Frames name an object that is not initialised by the label of the instruction that creates it. */
        @Override
        public void visitFrame(int type, int locals, Object[] local, int stack, Object[] stacked) {
            super.visitFrame(type, locals, renamed(local), stack, renamed(stacked));
        }

        private Object[] renamed(Object[] types) {
            Object[] renamed = types == null ? null : types.clone();
            for (int i = 0; renamed != null && i < renamed.length; i++) {
                if (moved.containsKey(renamed[i])) {
                    renamed[i] = moved.get(renamed[i]);
                }
            }
            return renamed;
        }

        private void hook(String name) {
            super.visitMethodInsn(Opcodes.INVOKESTATIC, Replacements.HOOKS, name, "(Ljava/lang/String;)V", false);
        }

        @Override
        public void visitLineNumber(int line, Label start) {
            lineBegins = true;
            super.visitLineNumber(line, start);
        }

        @Override
        public void visitInsn(int opcode) {
            before();
            super.visitInsn(opcode);
        }

        @Override
        public void visitIntInsn(int opcode, int operand) {
            before();
            super.visitIntInsn(opcode, operand);
        }

        @Override
        public void visitVarInsn(int opcode, int index) {
            before();
            super.visitVarInsn(opcode, index);
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            List<Label> here = new ArrayList<>(labels);
            before();
            if (opcode == Opcodes.NEW && !here.isEmpty()) {
                Label created = new Label();
                super.visitLabel(created);
                here.forEach(label -> moved.put(label, created));
            }
            super.visitTypeInsn(opcode, type);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            before();
            super.visitFieldInsn(opcode, owner, name, descriptor);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            before();
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }

        @Override
        public void visitInvokeDynamicInsn(
                String name, String descriptor, zabcheck.simulated.asm.Handle bootstrap, Object... arguments) {
            before();
            super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
        }

        @Override
        public void visitJumpInsn(int opcode, Label label) {
            before();
            super.visitJumpInsn(opcode, label);
        }

        @Override
        public void visitLdcInsn(Object value) {
            before();
            super.visitLdcInsn(value);
        }

        @Override
        public void visitIincInsn(int index, int increment) {
            before();
            super.visitIincInsn(index, increment);
        }

        @Override
        public void visitTableSwitchInsn(int low, int high, Label otherwise, Label... labels) {
            before();
            super.visitTableSwitchInsn(low, high, otherwise, labels);
        }

        @Override
        public void visitLookupSwitchInsn(Label otherwise, int[] keys, Label[] labels) {
            before();
            super.visitLookupSwitchInsn(otherwise, keys, labels);
        }

        @Override
        public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
            before();
            super.visitMultiANewArrayInsn(descriptor, dimensions);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            super.visitMaxs(stack + 1, locals);
        }
    }
}
