#!/bin/bash
# bench-histograms: how often the verdict on class histograms errs on real JVMs that do not leak, and how soon it finds one
# that does.
#
# usage: bench/histograms.sh [BUILD]     EVERY (5) seconds between histograms, HISTOGRAMS (40), JDKS ("17 25")
#
# Healthy: streams and boxing (Scrabble), javac again and again, proxies that are dropped, an idle JVM; and one leak of 1 MB/s
# under a hundred times as much garbage (LiveLeak). One recording each; the judge is asked again with a threshold of 100 KB.
# A line for each JVM: histograms, classes whose bytes made a series (at least 8 points), GCs, alerts by severity.

. "$(dirname "$0")/../../tests/tap.sh" # SCRATCH; we are in the root now

build=${1:-build}
NMTWATCH=$build/nmtwatch
. tests/e2e/agent.sh
every=${EVERY:-5} histograms=${HISTOGRAMS:-40} versions=${JDKS:-17 25}
classes=$build/bench/java
mkdir -p "$classes"
"$(agent_jdk 17)/bin/javac" --release 17 -nowarn -d "$classes" tests/bench/java/Scrabble.java || exit 1
scripts/workloads.sh build >"$SCRATCH/build" 2>&1
printf '[thresholds]\nheap_class_bytes = 100K\n' >"$SCRATCH/low.conf"
seconds=$((every * histograms))

recorded() { # NAME PID
    "$NMTWATCH" record "$2" --histogram "${every}s" --for "${seconds}s" --pause-budget 60s/10min --cpu-pressure ignore \
        --observe never --methods never -o "$SCRATCH/$1.rec" >"$SCRATCH/$1.log" 2>&1 &
    observers+=($!)
}
observers=() names=()
for version in $versions; do
    home=$(agent_jdk "$version") || exit 1
    "$home/bin/java" -Xmx64m -cp "$classes" Scrabble 1000000 >/dev/null 2>&1 &
    loads=($!)
    JDK=$version scripts/workloads.sh run javac 1000000 >/dev/null 2>&1 &
    loads+=($!)
    for kind in proxy idle; do
        JDK=$version scripts/workloads.sh run $kind >/dev/null 2>&1 &
        loads+=($!)
    done
    jvm_start "$version" leak -Xmx768m -Dkept=1000000 LiveLeak 1
    loads+=("$JVM_PID")
    all+=("${loads[@]}")
    sleep 3
    kinds=(scrabble javac proxy idle leak)
    for i in "${!kinds[@]}"; do
        recorded "${kinds[i]}-$version" "${loads[i]}"
        names+=("${kinds[i]}-$version")
    done
done
wait "${observers[@]}"
kill "${all[@]}" 2>/dev/null
printf '%-14s %10s %7s %9s  %s\n' JVM histograms series 'GCs' 'alerts (threshold 100 KB)'
for name in "${names[@]}"; do
    zcat "$SCRATCH/$name.rec" >"$SCRATCH/lines"
    "$NMTWATCH" replay --json --config "$SCRATCH/low.conf" "$SCRATCH/$name.rec" >"$SCRATCH/replayed" 2>/dev/null
    printf '%-14s %10s %7s %9s  %s\n' "$name" "$(jq -s 'map(select(.type == "histogram")) | length' "$SCRATCH/lines")" \
        "$(jq -s '[.[] | select(.type == "histogram").rows[].class] | group_by(.) | map(select(length >= 8)) | length' "$SCRATCH/lines")" \
        "$(jq -rs 'map(select(.gc_young)) | "\(.[-1].gc_young - .[0].gc_young)+\(.[-1].gc_old - .[0].gc_old)"' "$SCRATCH/lines")" \
        "$(jq -rs 'map(select(.type == "alert" and .id == "heap-class-growth" and .state == "raised")
            | "\(.severity) \(.evidence.class) after \(.evidence.span_s) s") | join(", ")' "$SCRATCH/replayed")"
done
