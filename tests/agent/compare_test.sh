#!/bin/bash
# compare: both stack engines at every sample, in the same handler: where AsyncGetCallTrace finds a
# stack, engine vm finds the same one, and where it fails, engine vm finds frames.
#
# AsyncGetCallTrace takes the innermost compiled frame to be at the place after its pc, also where it
# waits for a call into the JVM: then it names what comes after the call (place_after_call), mostly
# another index in the same methods. These are the same once the walker looks there, too; they are
# counted apart, and so are stacks of which AsyncGetCallTrace has only the first frames. In the last instructions
# of a compiled method, where its frame is gone, it takes the caller's for that: there (at_return) it is asked again
# for the place that they lead to, and says the same. Samples of threads that have no Java frame at all are not
# counted.
# In scripts/test/arm64.sh: javac of that arm64 JDK, shortened, and virtual threads; on 21 and 25 with signed return
# addresses (-XX:UseBranchProtection).
# timeout: 600
. "$(dirname "$0")/../tap.sh"

SAME_PERMILLE=997
RESCUED_PERMILLE=850
if emulated; then
    SAME_PERMILLE=990
    build=build/aarch64-linux-gnu classes=3 rounds=2 seconds=400
    cross=(CROSS=aarch64-linux-gnu-) flags=()
    unset MAKEFLAGS MAKELEVEL
    if [ "$ARM64_JDK" != 17 ]; then
        export QEMU_CPU=max # one that can sign
        flags=(-XX:UseBranchProtection=standard) classes=1
    fi
    case $ARM64_JDK in
    17) versions=(17) virtual=() ;;
    21) versions=() virtual=(21) ;;
    *) versions=("$ARM64_JDK") virtual=("$ARM64_JDK") ;;
    esac
    home() { # VERSION
        echo "$JAVA_HOME"
    }
else
    build=build classes=60 rounds=40 seconds=100 versions=(17 25) virtual=(25) cross=() flags=()
    home() { # VERSION
        JDK=$1 scripts/workloads.sh jdk 2>/dev/null
    }
fi
AGENT=$PWD/$build/compare/libnmtagent.so

check "the agent that compares is built" make -s "${cross[@]}" "${AGENT#"$PWD/"}"

figure() { # NAME
    awk -v name="$1" '$1 == name { print $2 }' "$SCRATCH/figures"
}

# At 1 kHz under the agent; then what it found.
compare() { # NAME HOME FLAG-PREFIX COMMAND...
    local name=$1 home=$2 prefix=$3 same methods after cut returning other found lost
    shift 3
    rm -f "$SCRATCH/figures"
    if ! NMTAGENT_COMPARE=$SCRATCH/figures timeout $((seconds * TAP_PATIENCE)) "$home/bin/$1" \
        "${prefix}-agentpath:$AGENT=start,cpu=1ms,engine=agct,file=$SCRATCH/compare.jfr" \
        "${@:2}" >"$SCRATCH/log" 2>&1 || [ ! -s "$SCRATCH/figures" ]; then
        fail "$name: runs under both engines" "$(tail -n 5 "$SCRATCH/log")"
        return
    fi
    same=$(figure identical) methods=$(figure same_methods)
    after=$(figure place_after_call) cut=$(figure agct_cut_short) returning=$(figure at_return)
    other=$(($(figure other_bci) + $(figure other_stack)))
    found=$(($(figure rescued_whole) + $(figure rescued_part))) lost=$(figure lost)
    echo "# $name: of $((same + after + cut + returning + other)) stacks of AGCT $same identical," \
        "$methods in each method, $after but for the place after a call, $returning at the end of a method, $cut where AGCT stops" \
        "early, $other others;" \
        "of $((found + lost)) failures of AGCT $found with frames ($(figure rescued_whole) whole)"
    if [ $((same + after + other)) -lt 100 ]; then
        fail "$name: enough samples" "only $((same + after + other))"
        return
    fi
    if [ $(((same + after) * 1000)) -ge $(((same + after + other) * SAME_PERMILLE)) ]; then
        pass "$name: the stacks of AGCT"
    else
        fail "$name: the stacks of AGCT" "$(sed -n '/^# other/,$p' "$SCRATCH/figures" | head -n 60)"
    fi
    if [ $((found * 1000)) -ge $(((found + lost) * RESCUED_PERMILLE)) ]; then
        pass "$name: frames where AGCT fails"
    else
        fail "$name: frames where AGCT fails" \
            "$(sed -n '/^# lost/,$p' "$SCRATCH/figures" | head -n 40)"
    fi
}

sources() { # FILES: small classes with generics and lambdas
    local i m
    echo "import java.util.*;" >"$SCRATCH/C.java"
    for ((i = 0; i < $1; i++)); do
        echo "class C$i {"
        for ((m = 0; m < 30; m++)); do
            echo "static <T extends Comparable<T>> List<T> m$m(List<T> a, Map<String, List<T>> b) {" \
                "List<T> r = new ArrayList<>(); for (T t : a) { r.add(t); } r.sort((x, y) ->" \
                "x.compareTo(y)); return b.isEmpty() ? r : new ArrayList<>(r.stream().filter(x ->" \
                "x != null).map(x -> x).collect(java.util.stream.Collectors.toList())); }"
        done
        echo "}"
    done >>"$SCRATCH/C.java"
}

# Eight seconds of CPU for each javac, sampled a thousand times a second.
sources $classes
mkdir "$SCRATCH/classes"
for version in "${versions[@]}"; do
    home=$(home "$version")
    if [ -z "$home" ]; then
        skip "JDK $version" "no JDK $version in /usr/lib/jvm"
        continue
    fi
    compare "javac, JDK $version" "$home" -J javac "${flags[@]/#/-J}" -d "$SCRATCH/classes" "$SCRATCH/C.java"
    # Only where `make bench-agent` has fetched it: two more minutes.
    if [ -e build/tools/bench/h2.jar ]; then
        if [ ! -e "$SCRATCH/h2/H2Load.class" ]; then
            "$home/bin/javac" --release 17 -d "$SCRATCH/h2" tests/bench/java/H2Load.java
        fi
        compare "H2, JDK $version" "$home" "" java "${flags[@]}" -Xmx256m -cp "build/tools/bench/h2.jar:$SCRATCH/h2" \
            H2Load $rounds
    fi
done
for version in "${virtual[@]}"; do
    home=$(home "$version")
    [ -n "$home" ] || continue
    # By the emulator JDK 25 ends in two of three runs of them with signed return addresses, without an agent, too.
    [ "$version" = 21 ] || flags=()
    "$(scripts/workloads.sh jdk)/bin/javac" -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC --release 17 -d "$SCRATCH/classes" tests/workloads/agent/VirtualThreads.java
    compare "virtual threads, JDK $version" "$home" "" java "${flags[@]}" -cp "$SCRATCH/classes" VirtualThreads 8
done
done_testing
