#!/bin/bash
# bench-million: what a million living classes take of a JVM, without an agent and with jmethodIDs for all
# of them, as profilers preallocate them.
#
# usage: bench/million.sh [BUILD]     CLASSES (1000000), METHODS (15), JDK (17), SHAPE (one: one loader)
#
# Takes 5 GB of memory and one to three minutes for each of the two JVMs; it does not begin when there is not
# enough. CLASSES=100000 is a tenth of both. Committed bytes by NMT, resident ones by /proc; what ten
# million would take is ten times that, and called computed. The last line is the result as JSON.

. "$(dirname "$0")/../../tests/tap.sh" # spawn, wait_for, kill_jvm, SCRATCH; we are in the root now

build=${1:-build}
agent=$(realpath -m "$build/libnmtagent.so")
classes=${CLASSES:-1000000} methods=${METHODS:-15} shape=${SHAPE:-one}
jdk=$(JDK=${JDK:-17} scripts/workloads.sh jdk) || exit 1
out=$build/bench/many
results=()

broken() {
    echo "bench-million: $1" >&2
    exit 1
}

needed_kb=$((classes * 5)) # measured: 4.5 KB a class of 15 methods in one loader, with jmethodIDs
free_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
[ "$free_kb" -gt $((needed_kb + 1000000)) ] ||
    broken "$((needed_kb / 1000000)) GB are needed and $((free_kb / 1000000)) are free: CLASSES=100000"
mkdir -p "$out"
"$jdk/bin/javac" --release 17 -nowarn -d "$out" tests/workloads/{ManyClasses,ClassBytes,DefiningLoader}.java ||
    broken "the workload does not compile"

look() { # PID: committed KB of Class, Metaspace, Internal, total; resident KB
    "$jdk/bin/jcmd" "$1" VM.native_memory summary 2>/dev/null | awk '
        /^Total:/ { match($0, /committed=[0-9]+/); total = substr($0, RSTART + 10, RLENGTH - 10) }
        /^- / { name = $2; sub(/^\(?/, "", name); match($0, /committed=[0-9]+/)
            kb[$2 == "Java" ? "Heap" : $2] = substr($0, RSTART + 10, RLENGTH - 10) }
        END { print kb["Class"] + 0, kb["Metaspace"] + 0, kb["Internal"] + 0, total + 0 }' | tr '\n' ' '
    awk '$1 == "Rss:" { print $2 }' "/proc/$1/smaps_rollup"
}

# shellcheck disable=SC2317 # spawn calls it
with_steps() { # COMMAND...
    exec "$@" <"$SCRATCH/steps"
}

measure() { # NAME [AGENT_FLAG]
    local name=$1 pid before after began=$SECONDS
    shift
    rm -f "$SCRATCH/steps"
    mkfifo "$SCRATCH/steps"
    : >"$SCRATCH/log"
    exec 7<>"$SCRATCH/steps"
    spawn with_steps "$jdk/bin/java" -Xms1500m -Xmx1500m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -XX:CompressedClassSpaceSize=3g -XX:NativeMemoryTracking=summary "$@" -cp "$out" \
        workloads.ManyClasses "$classes" "$methods" "$shape" >"$SCRATCH/log" 2>&1
    pid=$SPAWNED
    wait_for 60 grep -q ready "$SCRATCH/log" || broken "$name: $(tail -n 1 "$SCRATCH/log")"
    before=$(look "$pid")
    echo >&7
    wait_for 600 eval "grep -q loaded '$SCRATCH/log' || ! kill -0 $pid 2>/dev/null"
    grep -q loaded "$SCRATCH/log" || broken "$name: $(tail -n 1 "$SCRATCH/log")"
    after=$(look "$pid")
    kill_jvm "$pid"
    exec 7>&-
    # shellcheck disable=SC2046
    set -- $(paste <(tr ' ' '\n' <<<"$before") <(tr ' ' '\n' <<<"$after") | awk 'NF == 2 { print $2 - $1 }')
    printf '%-8s %9s %9s %9s %9s %9s %8s\n' "$name" $(($1 / 1024)) $(($2 / 1024)) $(($3 / 1024)) \
        $(($4 / 1024)) $(($5 / 1024)) $((SECONDS - began))
    results+=("$(jq -cn --arg name "$name" --argjson class $(($1 * 1024)) --argjson metaspace $(($2 * 1024)) \
        --argjson internal $(($3 * 1024)) --argjson total $(($4 * 1024)) --argjson rss $(($5 * 1024)) \
        '{name: $name, class_bytes: $class, metaspace_bytes: $metaspace, internal_bytes: $internal,
            total_bytes: $total, rss_bytes: $rss}')")
}

echo "$classes classes of $methods methods alive, $("$jdk/bin/java" -version 2>&1 | sed -n 2p), $(date +%F); MB:"
printf '%-8s %9s %9s %9s %9s %9s %8s\n' "" Class Metaspace Internal total RSS seconds
measure none
measure ids "-agentpath:$agent=start,engine=agct,jmethodid=all,cpu=0,file=$SCRATCH/million.jfr"
printf '%s\n' "${results[@]}" | jq -cs --argjson classes "$classes" --argjson methods "$methods" '
    (.[1].class_bytes + .[1].internal_bytes - .[0].class_bytes - .[0].internal_bytes) as $ids | {
        classes: $classes, methods: $methods, runs: .,
        ids_bytes_a_class: ($ids / $classes | round),
        computed_ids_bytes_at_10m: ($ids / $classes * 10000000 | round)}'
