import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;

/**
 * Classes that get new methods while their old ones run, and a frame that shows by itself whether it is
 * named rightly.
 *
 * <pre>
 * -javaagent:redefine.jar Redefinitions STYLE CLASSES ROUNDS PAUSE_MS    runs
 * Redefinitions check FILE                                               prints "frames N names N lines N strays N"
 * </pre>
 *
 * STYLE: redefine or retransform (bodies differ), addDelete (with -XX:+AllowRedefinitionToAddDeleteMethods:
 * the names differ as well). A line number encodes class, method and version; the version moves the place
 * of the call in the method, so that a line of another version does not fit the frame's bytecode index.
 */
public final class Redefinitions {
    private static final int METHODS = 4;
    private static final int VERSIONS = 200; // 40 classes x 4 x 200 x 2 lines are a u2
    private static final int PADS = 50;
    private static volatile long sink;

    /** What the generated classes are called by. */
    public interface Entry {
        long enter(long value);
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("check")) {
            check(Path.of(args[1]));
            return;
        }
        String style = args[0];
        int classes = Integer.parseInt(args[1]);
        int rounds = Integer.parseInt(args[2]);
        long pauseMs = Long.parseLong(args[3]);
        boolean names = style.equals("addDelete");
        Loader loader = new Loader();
        Entry[] entries = new Entry[classes];
        for (int c = 0; c < classes; c++) {
            entries[c] = (Entry) loader.define(c, bytes(c, 0, names)).getDeclaredConstructor().newInstance();
        }
        AtomicBoolean over = new AtomicBoolean();
        Thread[] threads = new Thread[2];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                for (int c = 0; !over.get(); c = (c + 1) % classes) {
                    try {
                        sink = entries[c].enter(sink);
                    } catch (NoSuchMethodError e) {
                        continue; // an old version calls one that was deleted meanwhile
                    }
                }
            }, "caller-" + t);
            threads[t].start();
        }
        Instrumentation instrumentation = Redefine.instrumentation;
        byte[][] next = new byte[1][];
        Class<?>[] wanted = new Class<?>[1];
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader of, String name, Class<?> before, ProtectionDomain domain,
                                    byte[] bytes) {
                return before != null && before == wanted[0] ? next[0] : null;
            }
        }, true);
        Stage.ready();
        for (int version = 1; version <= rounds; version++) {
            for (int c = 0; c < classes; c++) {
                Class<?> target = entries[c].getClass();
                next[0] = bytes(c, version, names);
                if (style.equals("retransform")) {
                    wanted[0] = target;
                    instrumentation.retransformClasses(target);
                    wanted[0] = null;
                } else {
                    instrumentation.redefineClasses(new ClassDefinition(target, next[0]));
                }
                LockSupport.parkNanos(pauseMs * 1_000_000);
            }
        }
        over.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        Stage.result(rounds * classes);
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(Redefinitions.class.getClassLoader());
        }

        Class<?> define(int c, byte[] bytes) {
            return defineClass("Redefined" + c, bytes, 0, bytes.length);
        }
    }

    // --- class files ----------------------------------------------------------------------------

    private static final int LOOP = 2; // bytes from the pad to the instructions
    private static final int JUMP = 16;
    private static final int CALL = 25;

    private static int pad(int version) {
        return version % PADS;
    }

    private static int line(int c, int method, int version) {
        return 1 + 2 * ((c * METHODS + method) * VERSIONS + version % VERSIONS);
    }

    private static String name(int method, int version, boolean names) {
        return names ? "m" + method + "_v" + version : "m" + method;
    }

    /** Version 49: no stack maps are needed. */
    private static byte[] bytes(int c, int version, boolean names) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeShort(0);
        out.writeShort(49);
        // 1 this, 3 Object, 5 Entry, 7 Code, 8 LineNumberTable, 9 "<init>", 10 "()V", 11 "enter", 12 "(J)J"
        // 13 Object.<init>, 15 + 3m: name of method m, its name and type, its reference
        // 30 a long, 32 another; 34 "(JI)J"
        out.writeShort(35);
        constantClass(out, 2);
        utf8(out, "Redefined" + c);
        constantClass(out, 4);
        utf8(out, "java/lang/Object");
        constantClass(out, 6);
        utf8(out, "Redefinitions$Entry");
        utf8(out, "Code");
        utf8(out, "LineNumberTable");
        utf8(out, "<init>");
        utf8(out, "()V");
        utf8(out, "enter");
        utf8(out, "(J)J");
        pair(out, 10, 3, 14);
        pair(out, 12, 9, 10);
        for (int m = 0; m < METHODS; m++) {
            utf8(out, name(m, version, names));
            pair(out, 12, 15 + 3 * m, 34);
            pair(out, 10, 1, 16 + 3 * m);
        }
        for (int unused = 27; unused < 30; unused++) {
            utf8(out, "-");
        }
        number(out, 6364136223846793005L);
        number(out, 1442695040888963407L);
        utf8(out, "(JI)J");
        out.writeShort(0x21);
        out.writeShort(1);
        out.writeShort(3);
        out.writeShort(1);
        out.writeShort(5);
        out.writeShort(0);
        out.writeShort(2 + METHODS);
        method(out, 1, 9, 10, new byte[] {0x2a, (byte) 0xb7, 0, 13, (byte) 0xb1}, 0, 0, 0);
        // lload_1, sipush 300, invokestatic m0, lreturn
        method(out, 1, 11, 12, new byte[] {0x1f, 0x11, 1, 44, (byte) 0xb8, 0, 17, (byte) 0xad}, 0, 0, 0);
        for (int m = 0; m < METHODS; m++) {
            method(out, 0x0a, 15 + 3 * m, 34, body(m, version), line(c, m, version), pad(version) + CALL, 1);
        }
        out.writeShort(0);
        return bytes.toByteArray();
    }

    /** value mixed count times, and then in the next method. */
    private static byte[] body(int m, int version) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        for (int i = 0; i < pad(version); i++) {
            out.writeByte(0); // nop
        }
        out.write(new byte[] {0x1c, 0x3e});                       //  0: iload_2, istore_3
        out.write(new byte[] {0x1e, 0x14, 0, 30, 0x69});          //  2: lload_0, ldc2_w, lmul
        out.write(new byte[] {0x14, 0, 32, 0x61, 0x3f});          //  7: ldc2_w, ladd, lstore_0
        out.write(new byte[] {(byte) 0x84, 3, (byte) -1});        // 12: iinc 3 -1
        out.write(new byte[] {0x1d, (byte) 0x9d, -1, (byte) -14}); // 15: iload_3, ifgt 2
        out.write(new byte[] {0, 0});                             // 19
        out.write(new byte[] {0x1e, 0x1c, 0, 0});                 // 21: lload_0, iload_2
        if (m + 1 < METHODS) {
            out.write(new byte[] {(byte) 0xb8, 0, (byte) (17 + 3 * (m + 1))}); // 25: invokestatic
        } else {
            out.write(new byte[] {0x57, 0, 0});                   // pop
        }
        for (int i = pad(version); i < PADS; i++) {
            out.writeByte(0); // all of one size, so that one may lie where another one was
        }
        out.writeByte(0xad); // lreturn
        return bytes.toByteArray();
    }

    private static void method(DataOutputStream out, int flags, int name, int type, byte[] code, int line,
                               int callBci, int lines) throws IOException {
        int table = lines == 0 ? 0 : 6 + 2 + 8;
        out.writeShort(flags);
        out.writeShort(name);
        out.writeShort(type);
        out.writeShort(1);
        out.writeShort(7);
        out.writeInt(12 + code.length + table);
        out.writeShort(6);
        out.writeShort(4);
        out.writeInt(code.length);
        out.write(code);
        out.writeShort(0);
        out.writeShort(lines);
        if (lines != 0) {
            out.writeShort(8);
            out.writeInt(2 + 8);
            out.writeShort(2);
            out.writeShort(0);
            out.writeShort(line);
            out.writeShort(callBci);
            out.writeShort(line + 1);
        }
    }

    private static void utf8(DataOutputStream out, String text) throws IOException {
        out.writeByte(1);
        out.writeUTF(text);
    }

    private static void constantClass(DataOutputStream out, int name) throws IOException {
        out.writeByte(7);
        out.writeShort(name);
    }

    private static void pair(DataOutputStream out, int tag, int first, int second) throws IOException {
        out.writeByte(tag);
        out.writeShort(first);
        out.writeShort(second);
    }

    private static void number(DataOutputStream out, long value) throws IOException {
        out.writeByte(5);
        out.writeLong(value);
    }

    // --- truth ----------------------------------------------------------------------------------

    private static void check(Path file) throws IOException {
        long frames = 0;
        long names = 0;
        long lines = 0;
        long strays = 0;
        try (RecordingFile recording = new RecordingFile(file)) {
            while (recording.hasMoreEvents()) {
                RecordedEvent event = recording.readEvent();
                RecordedStackTrace stack = event.getStackTrace();
                if (stack == null || !event.getEventType().getName().equals("jdk.ExecutionSample")) {
                    continue;
                }
                boolean top = true;
                for (RecordedFrame frame : stack.getFrames()) {
                    String type = frame.getMethod().getType().getName();
                    String name = frame.getMethod().getName();
                    if (type.startsWith("Redefined") && !type.startsWith("Redefinitions")
                            && !name.equals("enter") && !name.equals("<init>")) {
                        int wrong = wrong(Integer.parseInt(type.substring(9)), name, frame, top);
                        frames++;
                        names += wrong & 1;
                        lines += wrong >> 1 & 1;
                        strays += wrong >> 2;
                        if (wrong != 0 && names + lines + strays <= 5) {
                            show(stack, frame);
                        }
                        top = false; // above it there may be functions of the JVM
                    }
                }
            }
        }
        System.out.println("frames " + frames + " names " + names + " lines " + lines + " strays " + strays);
    }

    private static void show(RecordedStackTrace stack, RecordedFrame wrong) {
        StringBuilder text = new StringBuilder("# wrong:");
        for (RecordedFrame frame : stack.getFrames()) {
            text.append(frame == wrong ? " ->" : " ").append(frame.getMethod().getType().getName()).append('.')
                    .append(frame.getMethod().getName()).append(':').append(frame.getLineNumber()).append(':')
                    .append(frame.getBytecodeIndex()).append(':').append(frame.getType());
        }
        System.err.println(text);
    }

    /**
     * 1: the name is one of another method or version, 2: so is the line; both added. 4: a frame that is
     * none (left over from a call that ended): it is not at the call, but at the loop, where only the
     * innermost frame can be. 0: right.
     */
    private static int wrong(int c, String name, RecordedFrame frame, boolean top) {
        int line = frame.getLineNumber() - 1;
        int mark = name.indexOf("_v");
        int method = Integer.parseInt(name.substring(1, mark < 0 ? name.length() : mark));
        int bci = frame.getBytecodeIndex();
        boolean afterwards = line % 2 == 1;
        int version = line / 2 % VERSIONS;
        boolean named = mark < 0 || fits(Integer.parseInt(name.substring(mark + 2)), bci, afterwards, top);
        boolean placed = line >= 0 && line / 2 / VERSIONS == c * METHODS + method
                && fits(version, bci, afterwards, top);
        boolean own = line / 2 / VERSIONS == c * METHODS + method
                && (mark < 0 || Integer.parseInt(name.substring(mark + 2)) % VERSIONS == version);
        if (!placed && own && (bci == pad(version) + LOOP || bci == pad(version) + JUMP)) {
            return 4;
        }
        return (named ? 0 : 1) + (placed ? 0 : 2);
    }

    /** A frame that is not the innermost one of the stack is at the call. */
    private static boolean fits(int version, int bci, boolean afterwards, boolean top) {
        int call = pad(version) + CALL;
        return top ? afterwards == bci >= call : afterwards && bci == call;
    }

    private Redefinitions() {
    }
}
