#!/bin/bash
# bench-plan: what the formulas of `nmtwatch plan` rest on.
#
# usage: bench/plan.sh BUILD [SECTION...]     sections, about a minute and a half together:
#
#   classes   bytes a class by NMT, CLASSES (10000) generated ones of 1, 15 and 40 methods, in one loader
#             and in a loader each; and of the JDK's own modules
#   threads   bytes a thread, idle and 200 frames deep
#   gc        what a collector holds beside heaps of 256 MB, 1 GB and 2 GB
#
# Serial collector, C1 only, but for gc. JDKS (17 25) are those of /usr/lib/jvm.

. "$(dirname "$0")/../../tests/tap.sh" # spawn, wait_for, kill_jvm, SCRATCH; we are in the root now

build=${1:-build}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- classes threads gc
nmtwatch=$build/nmtwatch
classes=${CLASSES:-10000}
failed=0

sample() { # PID
    "$nmtwatch" check --json "$1" | jq -c .sample
}

# A workload that moves on at each line: its samples before and after, its output in $SCRATCH/out.
difference() { # JDK CLASS ARGUMENT...
    local home
    home=$(jdk_home "$1")
    shift
    rm -f "$SCRATCH/in"
    mkfifo "$SCRATCH/in"
    exec 7<>"$SCRATCH/in" # both ends: to open one alone would wait for the other
    # Its input is named inside: a background command of a script reads nothing else.
    spawn env IN="$SCRATCH/in" bash -c 'exec "$@" <"$IN" 7>&-' - "$home/bin/java" -Xms512m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -XX:NativeMemoryTracking=summary -cp "$SCRATCH/classes" "$@" \
        >"$SCRATCH/out" 2>&1
    wait_for 60 grep -q '^ready' "$SCRATCH/out" && before=$(sample "$SPAWNED") && echo >&7 &&
        wait_for 120 grep -q '^loaded' "$SCRATCH/out" && after=$(sample "$SPAWNED")
    local result=$?
    exec 7>&-
    kill_jvm "$SPAWNED"
    [ $result = 0 ] || { echo "  failed: $*" && failed=1 && false; }
}

per() { # COUNT_FILTER: bytes for each, by category; what is below 8 is left out
    jq -rn --argjson a "$before" --argjson b "$after" "
        ($1) as \$n | [\$b.nmt | keys[] as \$k |
            {k: \$k, d: ((\$b.nmt[\$k].committed_bytes - (\$a.nmt[\$k].committed_bytes // 0)) / \$n | round)} |
            select(.d > 8 or .d < -8) | \"\(.k) \(.d)\"] |
        \"\(\$n): \" + join(\", \") + \"; RSS \((\$b.rss_bytes - \$a.rss_bytes) / \$n | round)\" +
        \"; Metaspace used \((\$b.metaspace_used_bytes - \$a.metaspace_used_bytes) / \$n | round)\""
}

classes() { # JDK
    local methods loaders
    for methods in 1 15 40; do
        for loaders in one each; do
            difference "$1" workloads.ManyClasses "$classes" $methods $loaders || continue
            echo "JDK $1, $methods methods, $loaders loader: $(per "$classes")"
        done
    done
    difference "$1" workloads.ModuleClasses "$classes" || return
    echo "JDK $1, of modules, $(grep '^methods' "$SCRATCH/out"): $(per \
        '$b.classes_loaded - $a.classes_loaded')"
}

threads() { # JDK
    local depth
    for depth in 5 200; do
        difference "$1" workloads.ParkedThreads 500 $depth || continue
        echo "JDK $1, threads $depth deep: $(per 500)"
    done
}

gc() { # JDK
    local home collector heap
    home=$(jdk_home "$1")
    for collector in Serial Parallel G1 Z; do
        printf 'JDK %s, %s, MB at 256 MB, 1 GB, 2 GB:' "$1" "$collector"
        for heap in 256m 1g 2g; do
            "$home/bin/java" -Xms$heap -Xmx$heap "-XX:+Use${collector}GC" \
                -XX:NativeMemoryTracking=summary -XX:+UnlockDiagnosticVMOptions \
                -XX:+PrintNMTStatistics -version 2>/dev/null | awk '
                /^- *GC \(/ { match($0, /committed=[0-9]+/)
                    printf " %.2f", substr($0, RSTART + 10, RLENGTH - 10) / 1048576 }'
        done
        echo
    done
}

home=$(jdk_home 17) || home=$(jdk_home "")
mkdir -p "$SCRATCH/classes"
"$home/bin/javac" --release 17 -d "$SCRATCH/classes" tests/workloads/{ManyClasses,ClassBytes}.java \
    tests/workloads/{DefiningLoader,ModuleClasses,ParkedThreads}.java || exit 1
for section in "$@"; do
    for jdk in ${JDKS:-17 25}; do
        [ -n "$(jdk_home "$jdk")" ] && "$section" "$jdk"
    done
done
exit $failed
