#!/bin/bash
# bench-alloc-compare: what profiling allocations costs, side by side in one run: no profiler, ours and
# async-profiler, at 16 MB and at 512 KB.
#
# usage: bench/alloc-compare.sh [BUILD]     ROUNDS_OF_ALL (7), WORK (600), JDK (17),
#                                           ASYNC_PROFILER (path of libasyncProfiler.so)
#
# The load is tests/bench/java/Scrabble.java: streams, boxing, lambdas. Each round runs every variant once,
# one after the other on one processor, beginning with another one each time; CPU seconds of the whole
# process over those without a profiler of the same round, median and extremes. Stacks are collected by all,
# CPU is not sampled. Without ASYNC_PROFILER its rows are left out; nothing is fetched.
# Exit status 1: a measurement failed. The last line is the result as JSON.

. "$(dirname "$0")/../../tests/tap.sh" # SCRATCH; we are in the root now

build=${1:-build}
agent=$(realpath -m "$build/libnmtagent.so")
rounds=${ROUNDS_OF_ALL:-7} work=${WORK:-600}
jdk=$(JDK=${JDK:-17} scripts/workloads.sh jdk) || exit 1
classes=$build/bench/java
heap=(-Xms256m -Xmx256m -XX:+UseSerialGC -XX:+AlwaysPreTouch -Xbatch)
declare -A flag=([none]='' [ours-16M]="-agentpath:$agent=start,alloc=16M,cpu=0,file=$SCRATCH/ours-16M.jfr"
    [ours-512K]="-agentpath:$agent=start,alloc=512K,cpu=0,file=$SCRATCH/ours-512K.jfr")
variants=(none ours-16M ours-512K)
if [ -z "${ASYNC_PROFILER-}" ]; then
    echo "async-profiler: skipped, ASYNC_PROFILER names no libasyncProfiler.so"
elif [ ! -r "$ASYNC_PROFILER" ]; then
    echo "bench-alloc-compare: $ASYNC_PROFILER cannot be read" >&2
    exit 1
else
    for interval in 16m 512k; do
        name=async-profiler-${interval^^}
        variants+=("$name")
        flag[$name]="-agentpath:$(realpath "$ASYNC_PROFILER")=start,event=alloc,alloc=$interval,jfr,file=$SCRATCH/$name.jfr"
    done
fi
mkdir -p "$classes"
"$jdk/bin/javac" --release 17 -nowarn -d "$classes" tests/bench/java/Scrabble.java || exit 1

run() { # VARIANT: a line "VARIANT SECONDS ROUND"
    local TIMEFORMAT='%3U %3S'
    { time taskset -c 0 "$jdk/bin/java" "${heap[@]}" ${flag[$1]:+"${flag[$1]}"} -cp "$classes" Scrabble \
        "$work" >"$SCRATCH/out" 2>&1; } 2>"$SCRATCH/time"
    [ "$(grep '^checksum' "$SCRATCH/out" | tee "$SCRATCH/sum")" = "${sum:-$(<"$SCRATCH/sum")}" ] &&
        [ -s "$SCRATCH/sum" ] || {
        echo "bench-alloc-compare: $1: $(tail -n 1 "$SCRATCH/out")" >&2
        exit 1
    }
    sum=$(<"$SCRATCH/sum")
    awk -v name="$1" -v round="$2" '{ print name, $1 + $2, round }' "$SCRATCH/time" >>"$SCRATCH/times"
}

sum=
for ((round = 0; round < rounds; round++)); do
    for ((i = 0; i < ${#variants[@]}; i++)); do
        run "${variants[(i + round) % ${#variants[@]}]}" $round
    done
done
echo "$(date +%F), $("$jdk/bin/java" -version 2>&1 | sed -n 2p), $rounds rounds"
printf '%-24s %9s %8s %8s %8s %9s\n' "" "CPU, s" ratio least most samples
for name in "${variants[@]}"; do
    samples=0
    [ ! -e "$SCRATCH/$name.jfr" ] || samples=$("$jdk/bin/jfr" summary "$SCRATCH/$name.jfr" |
        awk '$1 ~ /^jdk.ObjectAllocation(Sample|InNewTLAB|OutsideTLAB)$/ { n += $2 } END { print n + 0 }')
    awk -v name="$name" -v samples="$samples" '
        $1 == "none" { base[$3] = $2 }
        $1 == name { took[$3] = $2; all += $2; n++ }
        END { for (round in took) print took[round] / base[round], all / n, samples }' "$SCRATCH/times" |
        sort -g | awk -v name="$name" '
            { ratio[NR] = $1; cpu = $2; samples = $3 }
            END {
                m = NR % 2 ? ratio[(NR + 1) / 2] : (ratio[NR / 2] + ratio[NR / 2 + 1]) / 2
                printf "%-24s %9.2f %8.3f %8.3f %8.3f %9d\n", name, cpu, m, ratio[1], ratio[NR], samples
            }'
done | tee "$SCRATCH/table"
jq -Rcn '[inputs | split(" +"; "") | {variant: .[0], cpu_s: (.[1] | tonumber), ratio: (.[2] | tonumber),
    least: (.[3] | tonumber), most: (.[4] | tonumber), samples: (.[5] | tonumber)}]' <"$SCRATCH/table"
