#!/bin/bash
# bench-memory: is what the agent says of its memory true?
#
# usage: bench/memory.sh BUILD [SECTION...]     sections, about seven minutes together:
#
#   ids    jmethodIDs: the predicted bytes against what NMT says (Internal and Class), JVMs with and
#          without the agent, CLASSES (20000) classes of METHODS (15) methods, loaded and after
#          unloading; SHAPES: in one loader, in a loader each, hidden, hidden and strong (which stay)
#   idle   resident memory: the account (`profile memory`) against the difference between JVMs with
#          and without the agent; PAIRS (5) pairs that start and run side by side, heap fixed and
#          touched
#   load   the same after LOAD_SECONDS (60) of javac at 10 ms, LOAD_PAIRS (3) pairs
#
# A goal that is not met is no error: exit status 1 means that a measurement failed. The last line is
# the result as JSON, BUILD/bench/memory-samples holds every sample.

. "$(dirname "$0")/../../tests/tap.sh" # spawn, wait_for, kill_jvm, SCRATCH; we are in the root now

build=${1:-build}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- ids idle load
nmtwatch=$build/nmtwatch
agent=$PWD/$build/libnmtagent.so
case $build in /*) agent=$build/libnmtagent.so ;; esac
samples=$build/bench/memory-samples
classes=${CLASSES:-20000} methods=${METHODS:-15}
heap=(-Xms256m -Xmx256m -XX:+AlwaysPreTouch -XX:+UseSerialGC)
# Compilers keep megabytes, now more, now less: C1 only, one malloc arena, and what is free is given
# back before a look.
quiet=(-XX:TieredStopAtLevel=1 -XX:CICompilerCount=1)
failed=0
claims=()

# --- figures ----------------------------------------------------------------------------------------

broken() { # SENTENCE
    echo "  failed: $1"
    failed=1
    false
}

sample() { # NAME VALUE
    echo "$1 $2" >>"$samples"
}

median() { # NAME
    awk -v name="$1" '$1 == name { print $2 }' "$samples" | sort -g |
        awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

spread() { # NAME
    awk -v name="$1" '$1 == name { print $2 }' "$samples" | sort -g |
        awk '{ v[NR] = $1 } END { if (NR) printf "%.2f to %.2f", v[1] / 1048576, v[NR] / 1048576 }'
}

# said is right when it is within so many percent of measured, or so many bytes.
claim() { # TEXT SAID MEASURED PERCENT BYTES
    local verdict
    verdict=$(awk -v said="$2" -v is="$3" -v percent="$4" -v bytes="$5" 'BEGIN {
        off = said - is; if (off < 0) off = -off; whole = is < 0 ? -is : is
        print off <= whole * percent / 100 || off <= bytes ? "met" : "NOT MET" }')
    row "$1" "$2" "$3" "$verdict"
    claims+=("$(jq -cn --arg claim "$1" --argjson said "$2" --argjson measured "$3" \
        --arg goal "within $4 % or $5 bytes" --arg verdict "$verdict" \
        '{claim: $claim, goal: $goal, said_bytes: $said, measured_bytes: $measured,
          verdict: $verdict}')")
}

at_most() { # TEXT MEASURED BYTES
    local verdict=met
    [ "$2" -le "$3" ] || verdict='NOT MET'
    printf '%-46s %10s %10.2f %9s  %s\n' "$1" "<= $(($3 >> 20)) MB" \
        "$(awk -v b="$2" 'BEGIN { print b / 1048576 }')" "" "$verdict"
    claims+=("$(jq -cn --arg claim "$1" --argjson measured "$2" --argjson goal "$3" \
        --arg verdict "$verdict" \
        '{claim: $claim, goal: "at most \($goal) bytes", measured_bytes: $measured,
          verdict: $verdict}')")
}

row() { # TEXT SAID MEASURED VERDICT
    awk -v text="$1" -v said="$2" -v is="$3" -v verdict="$4" 'BEGIN {
        printf "%-46s %10.3f %10.3f %8.1f%%  %s\n", text, said / 1048576, is / 1048576,
            is == 0 ? 0 : (said - is) / is * 100, verdict }'
}

heading() { # TITLE SAID MEASURED
    printf '\n%-46s %10s %10s %9s\n' "$1, MB" "$2" "$3" off
}

# --- JVMs -------------------------------------------------------------------------------------------

memory() { # PID FILTER
    "$nmtwatch" profile "$1" memory --json 2>"$SCRATCH/err" | jq -r "$2"
}

resident() { # PID
    awk '$1 == "Rss:" { print $2 * 1024 }' "/proc/$1/smaps_rollup"
}

file_pages() { # PID
    awk '$1 == "Rss:" { all = $2 } $1 == "Anonymous:" { own = $2 } END { print (all - own) * 1024 }' \
        "/proc/$1/smaps_rollup"
}

# --- jmethodIDs -------------------------------------------------------------------------------------

# What runs in the background has no standard input but one it takes itself.
with_steps() { # COMMAND...
    exec "$@" <&5
}

# A JVM that makes the classes; NMT's figure at each step goes to the samples, relative to "ready".
many_classes() { # KEY JDK SHAPE [AGENT_FLAG]
    local key=$1 jdk=$2 shape=$3 flag=${4-} step pid base='' here predicted
    rm -f "$SCRATCH/steps"
    mkfifo "$SCRATCH/steps"
    exec 5<>"$SCRATCH/steps" # for reading too: opening it does not block
    # shellcheck disable=SC2086
    spawn with_steps "$(jdk_home "$jdk")/bin/java" -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -XX:NativeMemoryTracking=summary $flag -cp build/workloads/classes \
        workloads.ManyClasses "$classes" "$methods" "$shape" >"$SCRATCH/$key" 2>&1
    pid=$SPAWNED
    for step in ready loaded unloaded; do
        wait_for 120 grep -q "^$step" "$SCRATCH/$key" ||
            broken "$key: no '$step': $(head -n 1 "$SCRATCH/$key")" || break
        here=$(nmt_bytes "$jdk" "$pid")
        [ -n "$base" ] || base=$here
        sample "$key.$step" $((here - base))
        if [ -n "$flag" ]; then
            predicted=$(memory "$pid" '.jvm.jmethod_ids |
                "\(.loaded_bytes) \(.kept_after_unload_bytes) \(.unloaded_classes)"')
            [ -n "$predicted" ] || broken "$key: $(head -n 1 "$SCRATCH/err")" || break
            sample "$key.predicted_$step" "${predicted%% *}"
            sample "$key.kept_$step" "$(cut -d ' ' -f 2 <<<"$predicted")"
            if [ "$step" = unloaded ] && [ "$shape" != strong ] &&
                [ "${predicted##* }" -lt "$classes" ]; then
                broken "$key: only ${predicted##* } classes were unloaded"
            fi
        fi
        echo >&5
    done
    exec 5>&-
    kill_jvm "$pid"
}

difference() { # A B: of medians
    echo $(($(median "$1") - $(median "$2")))
}

section_ids() {
    local jdk shape name key
    local -A names=([one]="one loader" [each]="a loader each" [hidden]="hidden"
        [strong]="hidden, strong")
    heading "jmethodIDs of $classes classes, $methods methods each" predicted "by NMT"
    for jdk in "${jdks[@]}"; do
        for shape in ${SHAPES:-one each hidden strong}; do
            key=$jdk-$shape
            name="JDK $jdk, ${names[$shape]}"
            many_classes "$key-none" "$jdk" "$shape"
            many_classes "$key-agent" "$jdk" "$shape" \
                "-agentpath:$agent=start,engine=agct,jmethodid=all,cpu=10ms,file=$SCRATCH/ids.jfr"
            [ -n "$(median "$key-agent.kept_unloaded")" ] || continue
            claim "$name, loaded" \
                "$(difference "$key-agent.predicted_loaded" "$key-agent.predicted_ready")" \
                "$(difference "$key-agent.loaded" "$key-none.loaded")" 10 0
            [ "$shape" != strong ] || continue
            claim "$name, after unloading" \
                "$(difference "$key-agent.kept_unloaded" "$key-agent.kept_ready")" \
                "$(difference "$key-agent.unloaded" "$key-none.unloaded")" 10 0
        done
    done
}

# --- resident memory ---------------------------------------------------------------------------------

# One with and one without the agent, side by side: whatever the machine does, it does to both.
pair() { # KEY JDK SECONDS WORKLOAD...
    local key=$1 jdk=$2 seconds=$3 java pids=() pid with
    java=$(jdk_home "$jdk")/bin/java
    for with in "" "-agentpath:$agent=start,cpu=10ms,file=$SCRATCH/$key.jfr"; do
        # shellcheck disable=SC2086
        MALLOC_ARENA_MAX=1 spawn "$java" "${heap[@]}" "${quiet[@]}" $with -cp build/workloads/classes "${@:4}" \
            >"$SCRATCH/out" 2>&1
        pids+=("$SPAWNED")
    done
    sleep "$seconds"
    for pid in "${pids[@]}"; do
        jcmd "$jdk" "$pid" GC.run >/dev/null
        jcmd "$jdk" "$pid" System.trim_native_heap >/dev/null
    done
    if [ -d "/proc/${pids[0]}" ] && [ -d "/proc/${pids[1]}" ]; then
        sample "$key.difference" \
            $(($(resident "${pids[1]}") - $(resident "${pids[0]}")))
        sample "$key.files" $(($(file_pages "${pids[1]}") - $(file_pages "${pids[0]}")))
        sample "$key.own" "$(memory "${pids[1]}" .total.resident_bytes)"
        sample "$key.own_files" "$(memory "${pids[1]}" '[.components[] |
            select(.name == "agent_code" or .name == "unwind_tables") | .resident_bytes] | add')"
        sample "$key.ids" "$(memory "${pids[1]}" .jvm.jmethod_ids.present_bytes)"
    else
        broken "$key: a JVM ended: $(head -n 1 "$SCRATCH/out")"
    fi
    kill_jvm "${pids[0]}"
    kill_jvm "${pids[1]}"
}

resident_claims() { # KEY NAME MOST_BYTES
    local own ids
    own=$(median "$1.own") ids=$(median "$1.ids")
    [ -n "$own" ] && [ -n "$ids" ] || broken "$1: nothing was measured" || return
    claim "$2" $((own + ids)) "$(median "$1.difference")" 15 1048576
    echo "    pairs: $(spread "$1.difference") MB"
    # Beyond what the account has of them: code of libjvm and libc that only the agent calls.
    row "    of that pages of files" "$(median "$1.own_files")" "$(median "$1.files")" ""
    at_most "$2, without jmethodIDs" $(($(median "$1.difference") - ids)) "$3"
}

section_idle() {
    local jdk
    heading "Resident memory of an idle agent" account "RSS diff."
    for jdk in "${jdks[@]}"; do
        for _ in $(seq "${PAIRS:-5}"); do
            pair "idle-$jdk" "$jdk" 5 workloads.Workload idle --seconds 60
        done
        resident_claims "idle-$jdk" "JDK $jdk, idle" 4194304
    done
}

section_load() {
    local jdk seconds=${LOAD_SECONDS:-60}
    heading "Resident memory after $seconds s of javac at 10 ms" account "RSS diff."
    for jdk in "${jdks[@]}"; do
        for _ in $(seq "${LOAD_PAIRS:-3}"); do
            pair "load-$jdk" "$jdk" $((seconds + 5)) workloads.JavacBurst 60 "$seconds"
        done
        resident_claims "load-$jdk" "JDK $jdk, load" 14680064
    done
}

# --- the whole ---------------------------------------------------------------------------------------

for needed in "$nmtwatch" "$agent"; do
    [ -e "$needed" ] && continue
    echo "bench-memory: $needed is not built: make bench-memory" >&2
    exit 1
done
jdks=()
for jdk in ${JDKS:-17 25}; do
    [ -z "$(jdk_home "$jdk")" ] || jdks+=("$jdk")
done
if [ ${#jdks[@]} = 0 ]; then
    echo "bench-memory: neither JDK 17 nor 25 is in /usr/lib/jvm"
    exit 0
fi
scripts/workloads.sh build || exit 1
mkdir -p "$build/bench"
: >"$samples"
for section in "$@"; do
    "section_$section" || failed=1 # a name that is none fails
done
echo
printf '%s\n' "${claims[@]}" | jq -cs --arg date "$(date -u +%FT%TZ)" '{date: $date, claims: .}'
exit $failed
