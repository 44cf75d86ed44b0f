package workloads;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Writes the smallest class files that load: a public class with a constructor and methods. */
public final class ClassBytes {
    private static final int JAVA_8 = 52;
    private static final int ACC_PUBLIC = 1;
    private static final int ACC_STATIC = 8;
    private static final int ACC_SUPER = 0x20;

    /** name: with dots. Methods: public static int m0() ... m(methods-1), returning their number. */
    public static byte[] of(String name, int methods) {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeInt(0xCAFEBABE);
            out.writeInt(JAVA_8);
            out.writeShort(11 + methods); // constants 1..10, then a name for each method
            utf8(out, name.replace('.', '/'));      // 1
            out.writeByte(7); out.writeShort(1);    // 2 this class
            utf8(out, "java/lang/Object");          // 3
            out.writeByte(7); out.writeShort(3);    // 4 its parent
            utf8(out, "<init>");                    // 5
            utf8(out, "()V");                       // 6
            utf8(out, "Code");                      // 7
            out.writeByte(12); out.writeShort(5); out.writeShort(6);  // 8 <init>()V
            out.writeByte(10); out.writeShort(4); out.writeShort(8);  // 9 Object.<init>
            utf8(out, "()I");                       // 10
            for (int i = 0; i < methods; i++) {
                utf8(out, "m" + i);                 // 11 + i
            }
            out.writeShort(ACC_PUBLIC | ACC_SUPER);
            out.writeShort(2);
            out.writeShort(4);
            out.writeShort(0); // interfaces
            out.writeShort(0); // fields
            out.writeShort(1 + methods);
            // aload_0, invokespecial Object.<init>, return
            method(out, ACC_PUBLIC, 5, 6, new byte[] {0x2a, (byte) 0xb7, 0, 9, (byte) 0xb1});
            for (int i = 0; i < methods; i++) {
                // sipush i, ireturn
                method(out, ACC_PUBLIC | ACC_STATIC, 11 + i, 10,
                       new byte[] {0x11, (byte) (i >> 8), (byte) i, (byte) 0xac});
            }
            out.writeShort(0); // attributes
            return bytes.toByteArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void utf8(DataOutputStream out, String text) throws IOException {
        out.writeByte(1);
        out.writeUTF(text);
    }

    private static void method(DataOutputStream out, int access, int name, int type, byte[] code)
        throws IOException {
        out.writeShort(access);
        out.writeShort(name);
        out.writeShort(type);
        out.writeShort(1); // one attribute: Code
        out.writeShort(7);
        out.writeInt(12 + code.length);
        out.writeShort(1); // stack
        out.writeShort(1); // locals
        out.writeInt(code.length);
        out.write(code);
        out.writeShort(0); // handlers
        out.writeShort(0); // attributes
    }

    private ClassBytes() {
    }
}
