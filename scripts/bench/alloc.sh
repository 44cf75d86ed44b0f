#!/bin/bash
# bench-alloc: what sampling allocations costs an application, and how good its figures are.
#
# usage: bench/alloc.sh BUILD [SECTION...]     sections:
#
#   cpu     CPU seconds of an allocation-heavy load (tests/bench/java/AllocLoad.java, over 2 GB a second)
#           without the agent and with it, at intervals of 16 MB and of 512 KB
#   share   the same from within: which part of the CPU time is the sampling's, by `perf record`
#   truth   a mix from 16 bytes to 4 MB whose truth is known (tests/workloads/agent/AllocMix.java): by
#           class our estimate and its standard error beside count x max(size, interval), the estimate
#           that other tools publish, of the same samples; on each JDK
#
# cpu: PAIRS (10) interleaved pairs for each interval, in turn. The two of a pair run side by side, each
# on a processor of its own, and change places in each second pair; heap fixed and touched, compilers in
# the foreground. ROUNDS (24000) of the load are some fifteen seconds, of which the agent's start takes
# 60 ms. MINUTES: no further pairs after that.
# A goal that is not met is no error: exit status 1 means that a measurement failed. The last line is
# the result as JSON, and BUILD/bench/alloc-samples holds every pair.

. "$(dirname "$0")/../../tests/tap.sh" # spawn, wait_for, SCRATCH; we are in the root now

build=${1:-build}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- cpu share truth
nmtwatch=$build/nmtwatch
agent=$(realpath -m "$build")/libnmtagent.so
classes=$build/bench/java
samples=$build/bench/alloc-samples
pairs=${PAIRS:-10}
rounds=${ROUNDS:-24000}
perf_hz=1499
declare -A goal=([16M]=1.015 [512K]=1.03) # CPU with the agent over CPU without
failed=0
claims=()
checksum=

broken() { # SENTENCE
    echo "  failed: $1"
    failed=1
    false
}

claim() { # CLAIM GOAL VERDICT JSON
    claims+=("$(jq -cn --arg claim "$1" --arg goal "$2" --arg verdict "$3" --argjson more "$4" \
        '{claim: $claim, goal: $goal} + $more + {verdict: $verdict}')")
}

# --- CPU time ---------------------------------------------------------------------------------------

heap=(-Xms256m -Xmx256m -XX:+UseSerialGC -XX:+AlwaysPreTouch)

side() { # FOLDER PROCESSOR [AGENT_FLAG]
    local TIMEFORMAT='%3U %3S'
    rm -rf "$1"
    mkdir "$1"
    { time taskset -c "$2" "$jdk/bin/java" "${heap[@]}" -Xbatch ${3:+"$3"} -cp "$classes" AllocLoad \
        "$rounds" >"$1/out" 2>&1; } 2>"$1/time" || return
    awk '{ print $1 + $2 }' "$1/time" >"$1/cpu"
}

# The same work on each side, and samples on one of them.
sound() { # RECORDING
    local folder said
    for folder in base with; do
        said=$(sed -n 's/^checksum //p' "$SCRATCH/$folder/out")
        checksum=${checksum:-$said}
        [ -n "$said" ] && [ "$said" = "$checksum" ] && [ -s "$SCRATCH/$folder/cpu" ] ||
            broken "the load came to '$said' ($(tail -n 1 "$SCRATCH/$folder/out"))" || return
    done
    [ "$(recorded "$1")" -gt 0 ] || broken "no samples in $1"
}

recorded() { # RECORDING
    "$jdk/bin/jfr" summary "$1" 2>&1 | awk '
        $1 == "jdk.ObjectAllocationSample" { n = $2 } END { print n + 0 }'
}

pair() { # INTERVAL NUMBER
    local here=${cpus[0]} there=${cpus[1]-${cpus[0]}} pid recording=$SCRATCH/$1.jfr
    local flag=-agentpath:$agent=start,alloc=$1,cpu=0,file=$recording
    if [ $(($2 % 2)) = 0 ]; then
        here=$there
        there=${cpus[0]}
    fi
    if [ ${#cpus[@]} = 2 ]; then
        (side "$SCRATCH/base" "$here") &
        pid=$!
        (side "$SCRATCH/with" "$there" "$flag")
        wait $pid
    else
        (side "$SCRATCH/base" "$here")
        (side "$SCRATCH/with" "$there" "$flag")
    fi
    sound "$recording" &&
        echo "$1 $(cat "$SCRATCH/base/cpu") $(cat "$SCRATCH/with/cpu")" >>"$samples"
}

section_cpu() {
    local interval number count base with ratio low high said taken started=$SECONDS
    : >"$samples"
    for number in $(seq "$pairs"); do
        [ -z "${MINUTES-}" ] || [ $((SECONDS - started)) -lt $((MINUTES * 60)) ] || break
        for interval in 16M 512K; do
            pair "$interval" "$number"
        done
    done
    printf '\n%-8s %5s %8s %8s %7s %16s %9s  %s\n' "CPU, at" pairs "base, s" "with, s" ratio \
        "95 % of ratio" samples goal
    for interval in 16M 512K; do
        grep -q "^$interval " "$samples" || continue
        taken=$(recorded "$SCRATCH/$interval.jfr")
        read -r count base with ratio low high said \
            < <(statistics "$samples" "$interval" "${goal[$interval]}")
        printf '%-8s %5s %8s %8s %7s %16s %9s  <= %s: %s\n' "$interval" "$count" "$base" "$with" \
            "$ratio" "$([ "$low" = null ] && echo - || echo "$low to $high")" "$taken" \
            "${goal[$interval]}" "$said"
        claim "allocations, CPU at $interval" "ratio at most ${goal[$interval]}" "$said" \
            "$(jq -cn --argjson pairs "$count" --argjson base_s "$base" --argjson with_s "$with" \
                --argjson ratio "$ratio" --argjson low "$low" --argjson high "$high" \
                --argjson samples "$taken" '$ARGS.named')"
    done
}

# --- shares -----------------------------------------------------------------------------------------

# Of the stacks perf has seen: how many, and how many are of sampling: our callback; what the JVM does
# around it; chunks, and the thread that writes them.
shares() { # PERF_DATA
    perf script -i "$1" -F comm,ip,sym,dso 2>/dev/null | awk '
        BEGIN { RS = ""; FS = "\n" }
        { n++ }
        $1 ~ /^nmtagent/ || /recording_end_chunk/ { chunks++; next }
        /object_sampled/ { callbacks++; next }
        /ampledObjectAlloc|ampled_object_alloc|ThreadHeapSampler/ { jvm++ }
        END {
            if (n == 0)
                exit 1
            printf "%d %d %d %d\n", n, callbacks, jvm, chunks
        }'
}

section_share() {
    local data=$SCRATCH/perf.data interval counts taken stacks callbacks jvm chunks figures
    if ! perf record -q -o "$data" -e cpu-clock true >/dev/null 2>&1; then
        echo "share: not measured: perf is not there or may not"
        claim "allocations, share of CPU" "" "not measured" '{}'
        return
    fi
    printf '\n%-10s %7s %10s %8s %7s %14s %14s\n' "Share, %" stacks callbacks "the JVM" chunks sum \
        "us a sample"
    for interval in 16M 512K; do
        perf record -q -o "$data" -e cpu-clock -F $perf_hz -g taskset -c "${cpus[0]}" "$jdk/bin/java" \
            "${heap[@]}" "-agentpath:$agent=start,alloc=$interval,cpu=0,file=$SCRATCH/share.jfr" \
            -cp "$classes" AllocLoad "$rounds" >"$SCRATCH/out" 2>&1 ||
            broken "share: $(tail -n 1 "$SCRATCH/out")" || continue
        counts=$(shares "$data") || broken "share: perf script says nothing" || continue
        read -r stacks callbacks jvm chunks <<<"$counts"
        taken=$(recorded "$SCRATCH/share.jfr")
        figures=$(awk -v n="$stacks" -v a="$callbacks" -v b="$jvm" -v c="$chunks" -v taken="$taken" \
            -v hz=$perf_hz 'BEGIN {
                p = (a + b + c) / n
                printf "%.2f %.2f %.2f %.2f %.2f %.1f\n", 100 * a / n, 100 * b / n, 100 * c / n,
                    100 * p, 196 * sqrt(p * (1 - p) / n), (a + b) / hz / taken * 1e6
            }')
        read -r callbacks jvm chunks total sure each <<<"$figures"
        printf '%-10s %7s %10s %8s %7s %14s %14s\n' "$interval" "$stacks" "$callbacks" "$jvm" \
            "$chunks" "$total +- $sure" "$each ($taken)"
        claim "allocations, share of CPU at $interval" "" "measured" \
            "$(jq -cn --argjson stacks "$stacks" --argjson callbacks "$callbacks" --argjson jvm "$jvm" \
                --argjson chunks "$chunks" --argjson sum "$total" --argjson plus_minus "$sure" \
                --argjson us_a_sample "$each" --argjson samples "$taken" '$ARGS.named')"
    done
}

# --- truth ------------------------------------------------------------------------------------------

# {"total", "classes": {name: bytes}} of "result total=1 byte[]=2 ..."
truth_json() { # LOG
    sed -n 's/^result //p' "$1" | tr ' ' '\n' |
        jq -Rn '[inputs | capture("^(?<key>.+)=(?<value>[0-9]+)$") | .value |= tonumber] |
            from_entries | {total: .total, classes: del(.total)}'
}

section_truth() {
    local version home pid
    for version in 17 25; do
        home=$(JDK=$version scripts/workloads.sh jdk 2>/dev/null) || continue
        rm -f "$SCRATCH/leave" "$SCRATCH/log"
        : >"$SCRATCH/log"
        spawn "$home/bin/java" -Xmx300m -Dleave="$SCRATCH/leave" \
            "-agentpath:$agent=start,alloc=512K,cpu=0,file=$SCRATCH/truth.jfr" -cp "$classes" \
            AllocMix "${MEGABYTES:-500}" >"$SCRATCH/log" 2>&1
        pid=$SPAWNED
        wait_for 60 grep -q '^result' "$SCRATCH/log" &&
            "$nmtwatch" profile "$pid" stop --json >"$SCRATCH/stop.json" 2>>"$SCRATCH/log" ||
            broken "truth, JDK $version: $(tail -n 1 "$SCRATCH/log")"
        kill_jvm "$pid"
        truth_json "$SCRATCH/log" >"$SCRATCH/truth.json"
        jq -c --slurpfile truth "$SCRATCH/truth.json" '$truth[0] as $t | {
            total_ratio: (.alloc.total_bytes / $t.total * 1e5 | round / 1e5),
            classes: [.alloc.classes[] | select($t.classes[.class]) | $t.classes[.class] as $of |
                {class, samples, ours: (.bytes / $of * 1000 | round / 1000),
                    se: (.se_bytes / $of * 1000 | round / 1000),
                    counted: (.counted_bytes / $of * 1000 | round / 1000)}]
            }' "$SCRATCH/stop.json" >"$SCRATCH/compared.json" || continue
        printf '\nJDK %s, 512 KB: in all %s of the truth\n%-20s %8s %8s %8s  %s\n' "$version" \
            "$(jq .total_ratio "$SCRATCH/compared.json")" "1 is the truth" samples ours "+-" \
            "count x max(size, interval)"
        jq -r '.classes | sort_by(.class)[] | "\(.class) \(.samples) \(.ours) \(.se) \(.counted)"' \
            "$SCRATCH/compared.json" |
            while read -r name taken ours se counted; do
                printf '%-20s %8s %8s %8s  %s\n' "$name" "$taken" "$ours" "$se" "$counted"
            done
        claim "allocations, JDK $version, against the truth" "total within 0.5 %" \
            "$(jq -r 'if (.total_ratio - 1 | fabs) <= 0.005 then "met" else "NOT MET" end' \
                "$SCRATCH/compared.json")" "$(cat "$SCRATCH/compared.json")"
    done
}

# --- the whole --------------------------------------------------------------------------------------

for needed in "$nmtwatch" "$agent"; do
    [ -e "$needed" ] && continue
    echo "bench-alloc: $needed is not built"
    exit 1
done
jdk=$(JDK=25 scripts/workloads.sh jdk 2>/dev/null) || jdk=$(JDK=17 scripts/workloads.sh jdk) || exit 1
mapfile -t cpus < <(processors)
mkdir -p "$classes"
"$jdk/bin/javac" --release 17 -nowarn -d "$classes" tests/bench/java/AllocLoad.java \
    tests/workloads/agent/{AllocMix,Stage}.java || exit 1
echo "bench-alloc: $("$jdk/bin/java" -version 2>&1 | sed -n 2p), $rounds rounds, processors ${cpus[*]}"
for section in "$@"; do
    case $section in
    cpu | share | truth) section_$section ;;
    *) broken "there is no section $section" ;;
    esac
done
printf '%s\n' "${claims[@]}" | jq -cs '{claims: .}'
exit $failed
