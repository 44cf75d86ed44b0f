import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/** One owner of memory grows at a constant pace: `Incident KIND KB_PER_S SECONDS`. */
public class Incident {
    static final List<Object> KEPT = new ArrayList<>();
    static final int PAGE = 4096, PAGES = 16, BUFFER = 65536;
    static volatile Object garbage;
    static MappedByteBuffer map;

    static void open(String folder) throws Exception {
        Path file = Files.createTempFile(Path.of(folder), "incident", "");
        map = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)
                      .map(FileChannel.MapMode.READ_WRITE, 0, 1L << 30);
        Files.delete(file);
    }

    /** Returns about how many bytes came. */
    static int grow(String kind, double sofar) {
        switch (kind) {
            case "heap":
                KEPT.add(new byte[PAGE]);
                return PAGE;
            case "direct":
                ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
                for (int at = 0; at < BUFFER; at += PAGE)
                    buffer.put(at, (byte) 1);
                KEPT.add(buffer);
                return BUFFER;
            case "threads":
                Thread thread = new Thread(() -> {
                    try {
                        Thread.sleep(Long.MAX_VALUE);
                    } catch (InterruptedException e) {
                        return;
                    }
                });
                thread.setDaemon(true);
                thread.start();
                return 100 * 1024;
            case "zip":
                Deflater deflater = new Deflater();
                deflater.setInput(new byte[1000]);
                deflater.deflate(new byte[1000]);
                KEPT.add(deflater);
                return 90_000;
            case "shared":
            case "mapped":
                for (int page = 0; page < PAGES; page++)
                    map.put((int) sofar + page * PAGE, (byte) 1);
                return PAGES * PAGE;
            default:
                return Integer.MAX_VALUE;
        }
    }

    public static void main(String[] arguments) throws Exception {
        String kind = arguments[0];
        double perSecond = Double.parseDouble(arguments[1]) * 1024, sofar = 0;
        long from = System.nanoTime(), seconds = Long.parseLong(arguments[2]);
        if (kind.equals("shared") || kind.equals("mapped"))
            open(kind.equals("shared") ? "/dev/shm" : "/tmp");
        for (double now = 0; now < seconds; now = (System.nanoTime() - from) / 1e9) {
            while (sofar < now * perSecond)
                sofar += grow(kind, sofar);
            for (int i = 0; i < 2000; i++)
                garbage = new byte[1024];
            Thread.sleep(20);
        }
    }
}
