package workloads;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * The start-up of something large that is no explosion: the Java compiler in its own JVM, then
 * silence. Arguments: seconds to idle afterwards; seconds to go on compiling before that (0).
 */
public final class JavacBurst {
    public static void main(String[] args) throws InterruptedException {
        System.out.println("ready");
        List<JavaFileObject> sources = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            String name = StartupClasses.name(i * 8).replaceAll(".*\\.", "");
            sources.add(source(name, "class " + name + " { java.util.List<String> f(int n) {"
                + " return java.util.stream.IntStream.range(0, n).mapToObj(i -> \"x\" + i).toList();"
                + " } }"));
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavaFileManager sink = new Sink(compiler.getStandardFileManager(null, null, null));
        long end = System.nanoTime() + (args.length > 1 ? Long.parseLong(args[1]) : 0) * 1_000_000_000L;
        do {
            if (!compiler.getTask(null, sink, null, null, null, sources).call()) {
                System.exit(1);
            }
        } while (System.nanoTime() - end < 0);
        Thread.sleep(Long.parseLong(args[0]) * 1000);
        System.out.println("done");
    }

    private static JavaFileObject source(String name, String text) {
        return new SimpleJavaFileObject(URI.create("mem:/" + name + ".java"),
                                        JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return text;
            }
        };
    }

    /** Class files go nowhere. */
    private static final class Sink extends ForwardingJavaFileManager<JavaFileManager> {
        Sink(JavaFileManager manager) {
            super(manager);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location location, String className,
                                                   JavaFileObject.Kind kind, FileObject sibling) {
            return new SimpleJavaFileObject(URI.create("mem:/" + className + ".class"), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return new ByteArrayOutputStream();
                }
            };
        }
    }
}
