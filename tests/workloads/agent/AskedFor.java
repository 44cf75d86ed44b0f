import java.io.IOException;
import java.io.InputStream;
import org.unknown.maker.Maker;

/** An application that asks a library for classes, fifty a second, until it is killed. */
public final class AskedFor {
    public static void main(String[] args) throws Exception {
        byte[] bytes;
        try (InputStream in = AskedFor.class.getResourceAsStream("/ChurnVictim_0000000.class")) {
            bytes = in.readAllBytes();
        }
        System.out.println("ready");
        for (;;) {
            rule(bytes);
            Thread.sleep(20);
        }
    }

    private static void rule(byte[] bytes) throws IOException {
        if (Maker.make(bytes) == null) {
            throw new IOException();
        }
    }
}
