#!/bin/bash
# bench-sample: what a sample costs in CPU time, all told: the kernel's interrupts, the handler, the agent's thread.
#
# usage: bench/sample.sh [BUILD]     SLICE=1 (seconds), ROUNDS=9, LOADS="random scrabble", INTERVALS="1ms 10ms",
#                                    JDK=17, ASYNC_PROFILER (path of libasyncProfiler.so), OTHER_AGENT (of
#                                    another build)
#
# One JVM does the same work again and again (tests/bench/java/SampleCost.java), in each round once under no
# profiler and once at each interval; each profiler has a JVM of its own. The loads: random, stacks of 40
# frames that hardly ever repeat, the worst a storage of stacks can meet, in small loops; scrabble, an
# application with streams and lambdas, whose data take the caches. All on one processor; starting, the
# first half of a slice and stopping are not counted. Prints medians of the rounds, microseconds of CPU a sample:
#   all       the work's CPU time beyond that of the same round without, and that of the profiler's own threads
#   signal    of it the clock, its interrupts and the signal: a sample that does nothing (tests/bench/timer_bench.c)
#   own       of it the profiler's own threads
#   walk      the rest: the walk, storing, the event, and what others then miss in the caches
#   CPU       all, in per cent of the work; and the quartiles of all, which show what the machine's noise is
# Without ASYNC_PROFILER its rows are left out; nothing is fetched. No goal is a condition: exit status
# 1 means that a measurement failed.
. "$(dirname "$0")/../../tests/tap.sh" # SCRATCH; we are in the root now

build=${1:-build}
slice=${SLICE:-1} rounds=${ROUNDS:-9}
read -ra intervals <<<"${INTERVALS:-1ms 10ms}"
jdk=$(JDK=${JDK:-17} scripts/workloads.sh jdk) || exit 1
classes=$build/bench/java
declare -A libraries=([nmtagent]=$(realpath -m "$build/libnmtagent.so")) options=([nmtagent]="start,cpu=")
[ -z "${OTHER_AGENT-}" ] || libraries[other]=$(realpath "$OTHER_AGENT") options[other]="start,cpu="
[ -z "${ASYNC_PROFILER-}" ] ||
    libraries[async]=$(realpath "$ASYNC_PROFILER") options[async]="start,event=cpu,jfr,interval="

make -s BUILD="$build" "$build/bench/timer_bench" || exit 1
mkdir -p "$classes"
"$jdk/bin/javac" --release 17 -nowarn -d "$classes" tests/bench/java/{SampleCost,Scrabble}.java \
    tests/workloads/agent/{RandomStacks,Stage}.java || exit 1

us_of() { # INTERVAL: 1ms, 500us
    case $1 in
    *us) echo "${1%us}" ;;
    *ms) echo $((${1%ms} * 1000)) ;;
    esac
}

quartiles() { # of numbers, a line each: the median, and one of four beyond either
    sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)], v[int((NR + 3) / 4)], v[int((3 * NR + 1) / 4)] }'
}

run() { # LOAD PROFILER: lines "PROFILER INTERVAL ROUND us_all us_own percent"
    local flags=() interval name round took own file
    for interval in "${intervals[@]}"; do
        flags+=("$2/$interval=${libraries[$2]},${options[$2]}$interval")
    done
    rm -rf "$SCRATCH/files"
    mkdir "$SCRATCH/files"
    local java=("$jdk/bin/java" -Xms128m -Xmx128m -XX:+UseSerialGC -XX:+AlwaysPreTouch -Xbatch -cp "$classes")
    taskset -c 0 "${java[@]}" SampleCost "$1" "$slice" "$rounds" "$SCRATCH/files" "${flags[@]}" >"$SCRATCH/out" 2>&1 || {
        echo "bench-sample: $2: $(grep -m 1 -i -E "exception|error" "$SCRATCH/out")" >&2
        exit 1
    }
    grep -E '^(none|[a-z]+/[0-9]+[mu]s) [0-9]+ [0-9]+ [0-9]+$' "$SCRATCH/out" >"$SCRATCH/slices"
    while read -r name round took own; do
        [ "$name" != none ] || continue
        file=$SCRATCH/files/${name/\//-}-$round.jfr
        echo "${name/\// } $round $took $own $(awk -v r="$round" '$1 == "none" && $2 == r { print $3 }' "$SCRATCH/slices")" \
            "$("$jdk/bin/jfr" summary "$file" | awk '$1 == "jdk.ExecutionSample" { print $2 * 2 / 3 }')"
    done < <(cat "$SCRATCH/slices") |
        awk '$7 > 0 { print $1, $2, $3, ($4 - $6 + $5) / 1000 / $7, $5 / 1000 / $7, ($4 - $6 + $5) * 100 / $6 }'
}

echo "$("$jdk/bin/java" -version 2>&1 | sed -n 2p), $(uname -r), $rounds rounds of $slice s, load $(cut -d ' ' -f 1 /proc/loadavg)"
printf '%-9s %-9s %-8s %7s %7s %7s %7s %8s   %s\n' load profiler interval all signal own walk CPU quartiles
for load in ${LOADS:-random scrabble}; do
    for profiler in nmtagent other async; do
        [ -n "${libraries[$profiler]-}" ] || continue
        run "$load" "$profiler" >"$SCRATCH/rows" || exit 1
        for interval in "${intervals[@]}"; do
            signal=-
            [ $profiler = async ] || signal=$(taskset -c 0 "$build/bench/timer_bench" "$(us_of "$interval")" "$rounds" |
                awk '$2 > 0 { print $1 / 1000 / $2 }' | quartiles | cut -d ' ' -f 1)
            read -r all low high < <(awk -v i="$interval" '$2 == i { print $4 }' "$SCRATCH/rows" | quartiles)
            read -r own _ < <(awk -v i="$interval" '$2 == i { print $5 }' "$SCRATCH/rows" | quartiles)
            read -r percent _ < <(awk -v i="$interval" '$2 == i { print $6 }' "$SCRATCH/rows" | quartiles)
            echo "$load $profiler $interval $all $signal $own $percent $low $high" |
                awk '{ walk = $5 == "-" ? "-" : sprintf("%.1f", $4 - $5 - $6)
                    printf "%-9s %-9s %-8s %7.1f %7s %7.1f %7s %7.2f%%   %.1f to %.1f\n", $1, $2, $3, $4,
                        $5 == "-" ? "-" : sprintf("%.1f", $5), $6, walk, $7, $8, $9 }'
        done
    done
done
