#!/bin/bash
# bench-classes: what the class definition profile costs while 1 000 classes a second come and go.
#
# usage: bench/classes.sh [BUILD]       some two minutes
#
# The load is tests/workloads/agent/ClassChurn.java: classes of one kind, each in a loader of its
# own, every fourth one hidden; COUNT (8000) of them at RATE (1000) a second. User and system CPU of
# the whole process, in PAIRS (6) pairs without and with the agent, CPU samples off; the two of a
# pair run side by side, each on a processor of its own, and change places in each second pair.
#
#   counting   the families alone, as they are always counted
#   stacks     classes=true: the stacks that define them as well
#
# The interval is that of the sign test: the median lies in it with 95 %, given six pairs. Exit
# status 1: a measurement failed. The last line is the result as JSON.

. "$(dirname "$0")/../../tests/tap.sh" # SCRATCH; we are in the root now

build=${1:-build}
agent=$(realpath -m "$build/libnmtagent.so")
classes=$build/bench/java
pairs=${PAIRS:-6}
count=${COUNT:-8000}
rate=${RATE:-1000}
jdk=$(JDK=${JDK:-17} scripts/workloads.sh jdk) || exit 1
heap=(-Xms256m -Xmx256m -XX:+UseSerialGC -XX:+AlwaysPreTouch -XX:TieredStopAtLevel=1)
cpus=(0 1)
[ "$(nproc)" -ge 2 ] || cpus=(0 0)
results=()

mkdir -p "$classes"
"$jdk/bin/javac" --release 17 -nowarn -d "$classes" tests/workloads/agent/{Stage,ClassChurn}.java \
    tests/workloads/agent/ChurnVictim_0000000.java || exit 1

side() { # NAME PROCESSOR [AGENT_FLAG]: CPU milliseconds in $SCRATCH/NAME
    local TIMEFORMAT='%3U %3S'
    { time taskset -c "$2" "$jdk/bin/java" "${heap[@]}" ${3:+"$3"} -cp "$classes" ClassChurn \
        "$count" "$rate" >"$SCRATCH/out-$1" 2>&1; } 2>"$SCRATCH/time-$1"
    grep -q "^result $count " "$SCRATCH/out-$1" &&
        awk '{ print ($1 + $2) * 1000 }' "$SCRATCH/time-$1" >"$SCRATCH/$1"
}

# Microseconds a class, from lines of two CPU times.
summary() {
    awk -v count="$count" '{ print ($2 - $1) * 1000 / count, $1 }' "$1" | sort -g | awk '
        { d[NR] = $1; base += $2 }
        END {
            n = NR
            low = n < 6 ? 0 : n < 9 ? 1 : n < 12 ? 2 : 3 # of the sign test
            median = n % 2 ? d[(n + 1) / 2] : (d[n / 2] + d[n / 2 + 1]) / 2
            printf "%.1f %s %s %.0f\n", median, low ? sprintf("%.1f", d[low]) : "null",
                low ? sprintf("%.1f", d[n + 1 - low]) : "null", base / n
        }'
}

measure() { # NAME OPTION
    local pid median low high base
    : >"$SCRATCH/pairs"
    for ((i = 0; i < pairs; i++)); do
        (side base "${cpus[i % 2]}") &
        pid=$!
        (side with "${cpus[1 - i % 2]}" \
            "-agentpath:$agent=start,cpu=0$2,file=$SCRATCH/recording.jfr")
        wait $pid
        if [ ! -s "$SCRATCH/base" ] || [ ! -s "$SCRATCH/with" ]; then
            echo "bench-classes: $(tail -n 1 "$SCRATCH/out-with")"
            exit 1
        fi
        echo "$(cat "$SCRATCH/base") $(cat "$SCRATCH/with")" >>"$SCRATCH/pairs"
        rm -f "$SCRATCH"/{base,with,recording.jfr*}
    done
    read -r median low high base <<<"$(summary "$SCRATCH/pairs")"
    printf '%-9s %6s us of CPU a class (%s to %s), %s %% of a processor at 1 000 classes/s; %d pairs\n' \
        "$1" "$median" "$low" "$high" "$(awk -v us="$median" 'BEGIN { printf "%.2f", us / 10 }')" \
        "$pairs"
    results+=("$(jq -cn --arg mode "$1" --argjson us "$median" --argjson low "$low" \
        --argjson high "$high" --argjson base "$base" --argjson pairs "$pairs" \
        '{mode: $mode, us_per_class: $us, low_us: $low, high_us: $high, base_cpu_ms: $base,
            pairs: $pairs}')")
}

echo "$count classes at $rate/s, JDK $("$jdk/bin/java" -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p')"
measure counting ""
measure stacks ",classes=true"
printf '%s\n' "${results[@]}" | jq -sc "{count: $count, rate_per_s: $rate, classes: .}"
