#!/bin/bash
# bench-churn-ids: what does a churn of classes cost the JVM because of the agent?
#
# usage: bench/churn-ids.sh [BUILD]      CLASSES (1000000), METHODS (15), JDKS (17 25)
#
# CLASSES classes are loaded, each in a loader of its own, and unloaded again, in a JVM
#
#   none       without the agent
#   vm-none    with engine=vm, jmethodid=none
#   agct-all   with engine=agct, jmethodid=all: what profilers do
#
# and what has stayed by the end is compared: NMT's Internal + Class, and resident memory with a
# fixed heap and what malloc keeps given back. About ten minutes for a million classes on two JDKs.
# A goal that is not met is no error: exit status 1 means that a measurement failed. The last line is
# the result as JSON.

. "$(dirname "$0")/../../tests/tap.sh" # spawn, wait_for, kill_jvm, SCRATCH; we are in the root now

build=${1:-build}
nmtwatch=$build/nmtwatch
agent=$(realpath -m "$build/libnmtagent.so")
classes=${CLASSES:-1000000} methods=${METHODS:-15}
# One compiler, one malloc arena, a fixed heap: all that differs is the agent.
quiet=(-Xms128m -Xmx128m -XX:+AlwaysPreTouch -XX:+UseSerialGC -XX:TieredStopAtLevel=1
    -XX:CICompilerCount=1 -XX:NativeMemoryTracking=summary)
failed=0
claims=()

broken() { # SENTENCE
    echo "  failed: $1"
    failed=1
    false
}

resident() { # PID
    awk '$1 == "Rss:" { print $2 * 1024 }' "/proc/$1/smaps_rollup"
}

# shellcheck disable=SC2317 # spawn calls it
with_steps() { # COMMAND...: its standard input are the steps
    exec "$@" <&5
}

declare -A grown # CONFIG.nmt, CONFIG.rss, CONFIG.kept

look() { # JDK PID: sets nmt and rss
    jcmd "$1" "$2" GC.run >/dev/null
    jcmd "$1" "$2" System.trim_native_heap >/dev/null
    nmt=$(nmt_bytes "$1" "$2") rss=$(resident "$2")
}

churn() { # JDK CONFIG [AGENT_OPTIONS]
    local jdk=$1 config=$2 flag='' nmt rss nmt_before rss_before pid began=$SECONDS out=$SCRATCH/out
    [ -z "${3-}" ] || flag="-agentpath:$agent=start,$3,cpu=10ms,max_size=64M,file=$SCRATCH/c.jfr"
    rm -f "$SCRATCH/steps"
    mkfifo "$SCRATCH/steps"
    exec 5<>"$SCRATCH/steps" # for reading too: opening it does not block
    # shellcheck disable=SC2086
    MALLOC_ARENA_MAX=1 spawn with_steps "$(jdk_home "$jdk")/bin/java" "${quiet[@]}" $flag \
        -cp build/workloads/classes workloads.ManyClasses "$classes" "$methods" churn >"$out" 2>&1
    pid=$SPAWNED
    if ! wait_for 60 grep -q '^ready' "$out"; then
        broken "JDK $jdk, $config: $(head -n 1 "$out")"
        return
    fi
    look "$jdk" "$pid"
    nmt_before=$nmt rss_before=$rss
    echo >&5
    wait_for $((120 + classes / 1000)) eval "grep -q '^loaded' '$out' || ! kill -0 $pid"
    echo >&5
    if ! wait_for 60 grep -q '^unloaded' "$out"; then
        broken "JDK $jdk, $config: $(tail -n 1 "$out")"
        return
    fi
    look "$jdk" "$pid"
    grown[$config.nmt]=$((nmt - nmt_before))
    grown[$config.rss]=$((rss - rss_before))
    grown[$config.kept]=0
    if [ -n "$flag" ]; then
        grown[$config.kept]=$("$nmtwatch" profile "$pid" memory --json |
            jq .jvm.jmethod_ids.kept_after_unload_bytes)
        engine=$("$nmtwatch" profile "$pid" status --json | jq -r .engine)
        [ "$engine" = "${config%-*}" ] || broken "JDK $jdk, $config: the engine is $engine"
    fi
    printf '  JDK %s %-9s %4d s: NMT %+9.2f MB, RSS %+9.2f MB\n' "$jdk" "$config" \
        $((SECONDS - began)) \
        "$(awk "BEGIN { print ${grown[$config.nmt]} / 1048576 }")" \
        "$(awk "BEGIN { print ${grown[$config.rss]} / 1048576 }")"
    exec 5>&-
    kill_jvm "$pid"
}

because_of() { # CONFIG FIGURE: beyond what grows without the agent
    local with=${grown[$1.$2]} without=${grown[none.$2]}
    echo $((with - without))
}

claim() { # TEXT MEASURED LEAST MOST: bytes
    local verdict=met
    if [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then verdict='NOT MET'; fi
    awk -v text="$1" -v is="$2" -v least="$3" -v most="$4" -v verdict="$verdict" 'BEGIN {
        goal = sprintf(least < -1e15 ? "at most %.2f" : "%.2f to %.2f",
            (least < -1e15 ? most : least) / 1048576, most / 1048576)
        printf "%-52s %9.2f MB  (%s)  %s\n", text, is / 1048576, goal, verdict }'
    claims+=("$(jq -cn --arg claim "$1" --argjson measured "$2" --argjson most "$4" \
        --arg verdict "$verdict" \
        '{claim: $claim, measured_bytes: $measured, most_bytes: $most, verdict: $verdict}')")
}

for needed in "$nmtwatch" "$agent"; do
    [ -e "$needed" ] && continue
    echo "bench-churn-ids: $needed is not built" >&2
    exit 1
done
scripts/workloads.sh build || exit 1
anything=-9000000000000000
for jdk in ${JDKS:-17 25}; do
    [ -n "$(jdk_home "$jdk")" ] || continue
    grown=()
    if churn "$jdk" none && churn "$jdk" vm-none engine=vm,jmethodid=none &&
        churn "$jdk" agct-all engine=agct,jmethodid=all; then
        kept=${grown[agct-all.kept]}
        claim "JDK $jdk, vm/none: Internal + Class because of it" "$(because_of vm-none nmt)" \
            $anything 1048576
        claim "JDK $jdk, vm/none: resident memory because of it" "$(because_of vm-none rss)" \
            $anything 8388608
        claim "JDK $jdk, agct/all: Internal + Class because of it" "$(because_of agct-all nmt)" \
            $((kept * 9 / 10)) $((kept * 11 / 10))
    fi
done
echo
printf '%s\n' "${claims[@]}" | jq -cs --arg date "$(date -u +%FT%TZ)" --argjson classes "$classes" \
    --argjson methods "$methods" \
    '{date: $date, classes: $classes, methods: $methods, claims: .}'
exit $failed
