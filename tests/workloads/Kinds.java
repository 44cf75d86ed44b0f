package workloads;

/** Name of a kind -> its class. By reflection: a kind whose library is absent was not compiled. */
final class Kinds {
    private static final String[][] TABLE = {
        {"groovy", "GroovyEval"},
        {"groovy-new-shell", "GroovyEval$NewShell"},
        {"cglib", "CglibProxy"},
        {"bytebuddy", "ByteBuddySubclass"},
        {"javassist", "JavassistProxy"},
        {"proxy", "JdkProxy"},
        {"lambda", "LambdaSpinning"},
        {"hidden", "HiddenClass"},
        {"xslt", "XsltCompile"},
        {"reflect", "ReflectAccessor"},
        {"reflect-serial", "ReflectAccessor$Serialization"},
        {"loader", "PluginRedeploy"},
        {"numbered", "UnknownGenerator"},
        {"random", "UnknownGenerator$RandomTail"},
        {"idle", "Idle"},
    };

    static Kind create(String name) throws Throwable {
        for (String[] row : TABLE) {
            if (row[0].equals(name)) {
                Class<?> kind = Class.forName("workloads.kinds." + row[1]);
                return (Kind) kind.getDeclaredConstructor().newInstance();
            }
        }
        throw new IllegalArgumentException("unknown kind " + name);
    }

    private Kinds() {
    }
}
