#!/bin/bash
# bench-sample: what a sample costs in CPU time, in all: the kernel's interrupts, the handler, the agent's thread.
#
# usage: bench/sample.sh [BUILD]     SLICE=0.1 (seconds), BLOCKS=300, LOADS="random scrabble", INTERVALS="1ms 10ms",
#                                    JDK=17, ASYNC_PROFILER (path of libasyncProfiler.so), OTHER_AGENT (of
#                                    another build)
#
# One JVM for each row does the same work again and again (tests/bench/java/SampleCost.java) in short slices, sampled and
# not, in blocks of four: off on on off, then on off off on. The loads: random, stacks of 40 frames that hardly ever
# repeat, the worst a storage of stacks can meet, in small loops; scrabble, an application with streams and lambdas,
# whose data take the caches. All on one processor; starting, the first block and stopping are not counted; own
# threads are looked at in a last stretch that is sampled throughout. Intervals below
# 5 ms get a fifth of the blocks. Two loads at two intervals take five minutes of CPU for one profiler. Prints
# medians of the blocks, microseconds of CPU a sample:
#   all       the work's CPU time beyond that of the same block without samples, and that of the profiler's own threads
#   signal    of it the clock, its interrupts and the signal: a sample that does nothing (tests/bench/timer_bench.c)
#   own       of it the profiler's own threads
#   walk      the rest: the walk, storing, the event, and what others then miss in the caches
#   CPU       all, in per cent of the work
#   95 %      the interval that holds the median of all with 95 % confidence (order statistics), and of CPU
# Without ASYNC_PROFILER its rows are left out; nothing is fetched. No goal is a condition: exit status
# 1 means that a measurement failed.
. "$(dirname "$0")/../../tests/tap.sh" # SCRATCH; we are in the root now

build=${1:-build}
slice=${SLICE:-0.1} blocks=${BLOCKS:-300}
read -ra intervals <<<"${INTERVALS:-1ms 10ms}"
jdk=$(JDK=${JDK:-17} scripts/workloads.sh jdk) || exit 1
classes=$build/bench/java
declare -A libraries=([nmtagent]=$(realpath -m "$build/libnmtagent.so"))
[ -z "${OTHER_AGENT-}" ] || libraries[other]=$(realpath "$OTHER_AGENT")
[ -z "${ASYNC_PROFILER-}" ] || libraries[async]=$(realpath "$ASYNC_PROFILER")

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

# Of numbers, a line each: the median, and the two that hold it with 95 % confidence.
median() {
    sort -g | awk '{ v[NR] = $1 } END {
        low = int(NR / 2 - 0.98 * sqrt(NR)); if (low < 1) low = 1
        high = NR + 1 - low; print v[int((NR + 1) / 2)], v[low], v[high] }'
}

# Lines "us_all us_own percent" of the blocks.
run() { # LOAD PROFILER INTERVAL BLOCKS
    local library=${libraries[$2]} file=$SCRATCH/samples.jfr samples commands
    case $2 in
    async) commands=("start,event=cpu,interval=$3,jfr,file=$file" "resume,event=cpu,interval=$3,jfr,file=$file" "stop" "stop,file=$file") ;;
    *) commands=("start,cpu=$3,file=$file" "set,cpu=$3" "set,cpu=0" "stop") ;;
    esac
    rm -f "$file"
    taskset -c 0 "$jdk/bin/java" -Xms128m -Xmx128m -XX:+UseSerialGC -XX:+AlwaysPreTouch -Xbatch -cp "$classes" \
        "SampleCost" "$1" "$slice" "$4" "$library" "${commands[@]}" >"$SCRATCH/out" 2>&1 || {
        echo "bench-sample: $2: $(grep -m 1 -i -E "exception|error" "$SCRATCH/out")" >&2
        exit 1
    }
    samples=$("$jdk/bin/jfr" summary "$file" | awk '$1 == "jdk.ExecutionSample" { print $2 }')
    # Every slice does the same work, so each that is sampled has as many samples as another.
    grep -E '^(on|off) -?[0-9]+ [0-9]+ [0-9]+$' "$SCRATCH/out" | awk -v samples="${samples:-0}" -v last="$4" '
        $1 == "on" { slices++ }
        $2 == last { own += $4; own_slices++ }
        { took[$1, $2] += $3 }
        END { if (samples == 0 || own_slices == 0) exit 1
            each = 2 * samples / slices; own = 2 * own / own_slices
            for (b = 0; b < last; b++) {
                more = took["on", b] - took["off", b] + own
                print more / 1000 / each, own / 1000 / each, more * 100 / took["off", b] } }'
}

echo "$("$jdk/bin/java" -version 2>&1 | sed -n 2p), $(uname -r), $blocks blocks of four slices of $slice s, load $(cut -d ' ' -f 1 /proc/loadavg)"
printf '%-9s %-9s %-8s %7s %7s %7s %7s %8s   %s\n' load profiler interval all signal own walk CPU '95 %'
for load in ${LOADS:-random scrabble}; do
    for profiler in nmtagent other async; do
        [ -n "${libraries[$profiler]-}" ] || continue
        for interval in "${intervals[@]}"; do
            some=$blocks
            [ "$(us_of "$interval")" -ge 5000 ] || some=$((blocks / 5))
            run "$load" "$profiler" "$interval" "$some" >"$SCRATCH/rows" || exit 1
            signal=-
            [ $profiler = async ] || signal=$(taskset -c 0 "$build/bench/timer_bench" "$(us_of "$interval")" 9 |
                awk '$2 > 0 { print $1 / 1000 / $2 }' | median | cut -d ' ' -f 1)
            read -r all low high < <(awk '{ print $1 }' "$SCRATCH/rows" | median)
            own=$(awk '{ print $2; exit }' "$SCRATCH/rows")
            read -r percent least most < <(awk '{ print $3 }' "$SCRATCH/rows" | median)
            echo "$load $profiler $interval $all $signal $own $percent $low $high $least $most" |
                awk '{ walk = $5 == "-" ? "-" : sprintf("%.1f", $4 - $5 - $6)
                    printf "%-9s %-9s %-8s %7.1f %7s %7.1f %7s %7.2f%%   %.1f to %.1f, %.2f to %.2f%%\n", $1, $2, $3, $4,
                        $5 == "-" ? "-" : sprintf("%.1f", $5), $6, walk, $7, $8, $9, $10, $11 }'
        done
    done
done
