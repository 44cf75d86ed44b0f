#!/bin/bash
# bench: what watching costs, measured against the goals and against the usual tools, side by side.
#
# usage: bench.sh BUILD [SECTION...]     sections, about five minutes together:
#
#   poll        CPU of one NMT poll: our client, jcmd, jattach, in turn
#   safepoints  what the cheap tiers add to the target's safepoint log
#   watch       CPU and memory of `nmtwatch watch` with one JVM at 1 Hz for a minute
#   fleet       the same with twenty (fake) JVMs
#   sources     hsperfdata and /proc, the parsers, bytes a watched JVM costs us
#   reader      how long an application stands still when a client stops reading (JDK 25)
#   expensive        pauses of the commands that need a safepoint, with CLASSES classes (20000)
#   mem         what the agent's memory account adds to malloc and free
#   agent       CPU of applications under the agent, AGENT_PAIRS (2) pairs: `make bench-agent` for
#               more of them, and for the applications, without which this is skipped
#
# CPU time, not wall time: the machine may be busy. Of every figure minimum, median and maximum.
# What cannot be measured here is named; that is no error. A goal that is not met is no error
# either: exit status 1 means that a measurement failed. The last line is the result as JSON, and
# BUILD/bench/samples holds every sample.

. "$(dirname "$0")/../../tests/tap.sh" # spawn, wait_for, SCRATCH; we are in the root of the tree now

build=${1:-build}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- poll safepoints watch fleet sources reader expensive mem agent
sections=" $* "
nmtwatch=$build/nmtwatch
bench=$build/bench
samples=$bench/samples
claims=() # JSON
table=()  # the same for people
failed=0
declare -A JVM WATCHER # name -> pid

# --- figures ----------------------------------------------------------------------------------------

# Runs a measuring program; its samples get a prefix that tells where they come from.
measure() { # PREFIX COMMAND...
    local prefix=$1
    shift
    if ! "$@" >"$SCRATCH/out" 2>"$SCRATCH/err"; then
        failed=1
        echo "  failed: $* ($(head -n 1 "$SCRATCH/err"))"
    fi
    awk -v prefix="$prefix" 'NF == 2 { print prefix $1, $2 }' "$SCRATCH/out" >>"$samples"
}

sample() { # NAME VALUE; no value, no sample
    [ -z "$2" ] || echo "$1 $2" >>"$samples"
}

values() { # NAME
    awk -v name="$1" '$1 == name { print $2 }' "$samples" | sort -g
}

median() { # NAME
    values "$1" | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

heading() { # TITLE
    printf '\n%-52s %10s %10s %10s  %s\n' "$1" min median max unit
}

row() { # TEXT NAME UNIT
    values "$2" | awk -v text="$1" -v unit="$3" '
        function show(x) { return sprintf(x >= 100 || x == int(x) ? "%.0f" : x >= 10 ? "%.1f" : "%.3g", x) }
        { v[NR] = $1 }
        END {
            if (NR)
                printf "  %-50s %10s %10s %10s  %s\n", text, show(v[1]), show(v[int((NR + 1) / 2)]),
                    show(v[NR]), unit
            else
                printf "  %-50s %10s\n", text, "-"
        }'
}

# One claim: is the measured figure on the right side of its goal?
claim() { # TEXT le|ge GOAL MEASURED UNIT
    local verdict
    if [ -z "$4" ]; then
        unmeasured "$1" "see above"
        failed=1
        return
    fi
    verdict=$(awk -v how="$2" -v goal="$3" -v is="$4" \
        'BEGIN { print (how == "le" ? is <= goal : is >= goal) ? "met" : "NOT MET" }')
    table+=("$(printf '%-52s %2s %-6s %-6s %10.4g  %s' "$1" \
        "$([ "$2" = le ] && echo '<=' || echo '>=')" "$3" "$5" "$4" "$verdict")")
    claims+=("$(jq -cn --arg claim "$1" --arg how "$2" --argjson goal "$3" --argjson measured "$4" \
        --arg unit "$5" --arg verdict "$verdict" \
        '{claim: $claim, goal: "\($how) \($goal)", measured: $measured, unit: $unit,
          verdict: $verdict}')")
}

unmeasured() { # WHAT WHY
    table+=("$(printf '%-52s not measured: %s' "$1" "$2")")
    claims+=("$(jq -cn --arg claim "$1" --arg why "$2" \
        '{claim: $claim, verdict: "not measured", reason: $why}')")
}

# --- JVMs -------------------------------------------------------------------------------------------

jvm() { # NAME JDK KIND ARGS...: the pid is in ${JVM[NAME]}; JVM_FLAGS as in workloads.sh
    local name=$1 log=$SCRATCH/$1.log
    JDK=$2 spawn scripts/workloads.sh run "${@:3}" >"$log" 2>&1
    JVM[$name]=$SPAWNED
    wait_for 60 grep -q ready "$log" && return
    echo "  failed: the JVM $name did not start: $(head -n 1 "$log")"
    failed=1
    false
}

jvm_end() { # NAME...
    local name
    for name in "$@"; do
        kill -KILL "${JVM[$name]}" 2>/dev/null
        wait "${JVM[$name]}" 2>/dev/null
        unset "JVM[$name]"
    done
}

# One for each JDK; safepoints go to $SCRATCH/safepoints-JDK. With as many classes as a large
# application has: its loader statistics are too expensive for a pause budget of 1 ms, so that a watch
# can be kept to its cheap tiers.
idle_jvms() {
    local jdk
    for jdk in "${jdks[@]}"; do
        [ -z "${JVM[idle-$jdk]-}" ] || continue
        JVM_FLAGS="-Xlog:safepoint*=info:file=$SCRATCH/safepoints-$jdk" \
            jvm idle-"$jdk" "$jdk" idle --warmup-classes 20000 --seconds 600
    done
}

# --- sections ---------------------------------------------------------------------------------------

section_poll() {
    local jdk jattach
    idle_jvms
    jattach=$(command -v jattach)
    for jdk in "${jdks[@]}"; do
        measure "poll.$jdk." "$bench/poll_bench" "${JVM[idle-$jdk]}" 8 \
            "$(jdk_home "$jdk")/bin/jcmd" $jattach
        heading "CPU of one NMT poll, JDK $jdk"
        row "nmtwatch, ten a second" "poll.$jdk.poll" us
        row "nmtwatch, back to back" "poll.$jdk.poll_hot" us
        row "jattach (a process each)" "poll.$jdk.jattach" us
        row "jcmd (a JVM each)" "poll.$jdk.jcmd" us
        row "jattach over nmtwatch" "poll.$jdk.jattach_ratio" times
        row "jcmd over nmtwatch" "poll.$jdk.jcmd_ratio" times
        row "the target's own, asked by nmtwatch back to back" "poll.$jdk.target_poll_hot" us
        row "the target's own, asked by jattach" "poll.$jdk.target_jattach" us
        row "the target's own, asked by jcmd" "poll.$jdk.target_jcmd" us
        row "memory of jcmd" "poll.$jdk.jcmd_rss_mb" MB
        claim "jcmd's CPU over ours, JDK $jdk" ge 1000 "$(median "poll.$jdk.jcmd_ratio")" times
        if [ -n "$jattach" ]; then
            claim "jattach's CPU over ours, JDK $jdk" ge 10 "$(median "poll.$jdk.jattach_ratio")" times
        else
            unmeasured "jattach's CPU over ours, JDK $jdk" "jattach is not installed"
        fi
    done
}

# "3 Cleanup": the operations a safepoint log has named since a line.
operations() { # LOG FROM_LINE
    tail -n "+$(($2 + 1))" "$1" | sed -nE 's/.*Safepoint "([^"]+)".*/\1/p' | sort | uniq -c |
        sed -E 's/^ +//'
}

in_a_line() { # LIST
    [ -n "$1" ] && paste -sd ',' <<<"$1" || echo none
}

# Operations of the second list that go beyond the first. "Cleanup" is not among them: the JVM's own
# timer makes one now and then, watched or not. The table shows it.
more_operations() { # BEFORE AFTER
    awk '$2 == "Cleanup" { next }
        NR == FNR { had[$2] = $1; next }
        $1 > had[$2] { n += $1 - had[$2] }
        END { print n + 0 }' <(echo "$1") <(echo "$2")
}

section_safepoints() {
    local jdk log polls pids=() seconds=20
    declare -A line quiet watched more
    idle_jvms
    for jdk in "${jdks[@]}"; do
        pids+=("${JVM[idle-$jdk]}")
        line[$jdk]=$(wc -l <"$SCRATCH/safepoints-$jdk")
    done
    sleep $seconds
    for jdk in "${jdks[@]}"; do
        quiet[$jdk]=$(operations "$SCRATCH/safepoints-$jdk" "${line[$jdk]}")
        line[$jdk]=$(wc -l <"$SCRATCH/safepoints-$jdk")
    done
    "$nmtwatch" watch "${pids[@]}" --no-tap --loaders-interval 1h --pause-budget 1ms/10min \
        --interval 200ms --nmt-interval 1s --for ${seconds}s --json >"$SCRATCH/safepoints.json" \
        2>"$SCRATCH/err"
    for jdk in "${jdks[@]}"; do
        watched[$jdk]=$(operations "$SCRATCH/safepoints-$jdk" "${line[$jdk]}")
        line[$jdk]=$(wc -l <"$SCRATCH/safepoints-$jdk")
    done
    printf '\n%-36s %14s  %s\n' "Safepoints of an idle JVM in $seconds s" \
        "not watched" "watched by the cheap tiers"
    for jdk in "${jdks[@]}"; do
        log=$SCRATCH/safepoints-$jdk
        more[$jdk]=$(more_operations "${quiet[$jdk]}" "${watched[$jdk]}")
        printf '  %-34s %14s  %s\n' "JDK $jdk" "$(in_a_line "${quiet[$jdk]}")" \
            "$(in_a_line "${watched[$jdk]}")"
        polls=$(grep -c "\"pid\":${JVM[idle-$jdk]},.*nmt_committed_bytes" \
            "$SCRATCH/safepoints.json")
        printf '  %-34s %14s  %s\n' "  NMT summaries read" "" "$polls"
        # The log is a witness only if the JVM was asked, and if it sees a command that does need
        # a safepoint.
        "$bench/ask" "${JVM[idle-$jdk]}" VM.classloader_stats >/dev/null
        if [ "$polls" -lt $((seconds - 5)) ]; then
            echo "  failed: only $polls NMT summaries were read ($(head -n 1 "$SCRATCH/err"))"
        elif ! operations "$log" "${line[$jdk]}" | grep -q ClassLoaderStats; then
            echo "  failed: the log does not show a safepoint that was there"
        else
            claim "safepoints from the cheap tiers, JDK $jdk" le 0 "${more[$jdk]}" ""
            continue
        fi
        failed=1
    done
}

watch_begin() { # NAME SECONDS PID...
    local name=$1 seconds=$2
    shift 2
    spawn "$nmtwatch" watch "$@" --interval 1s --nmt-interval 1s --json \
        --for "${seconds}s" >"$SCRATCH/$name.json" 2>"$SCRATCH/$name.err"
    WATCHER[$name]=$SPAWNED
}

# What the kernel says of it: to be called a second before it ends.
watch_look() { # NAME SECONDS
    local proc=/proc/${WATCHER[$1]}
    sample "$1.rss_mb" "$(awk '$1 == "VmHWM:" { print $2 / 1024 }' "$proc/status")"
    sample "$1.cpu_percent" \
        "$(awk -v s=$(($2 - 1)) '{ print $1 / 1e9 / s * 100 }' "$proc/schedstat")"
}

# And what it says itself.
watch_end() { # NAME
    wait "${WATCHER[$1]}"
    jq -r --arg name "$1" 'select(.type == "end") |
        "\($name).cpu_percent_said \(.cost.cpu_ms / .ms * 100)",
        "\($name).pause_ms \(.cost.pause_us / 1000)"' "$SCRATCH/$1.json" >>"$samples"
}

section_watch() {
    local jdk
    idle_jvms
    for jdk in "${jdks[@]}"; do
        watch_begin "watch.$jdk" 60 "${JVM[idle-$jdk]}"
    done
    sleep 59
    for jdk in "${jdks[@]}"; do
        watch_look "watch.$jdk" 60
    done
    for jdk in "${jdks[@]}"; do
        watch_end "watch.$jdk"
        heading "nmtwatch watch, one JVM, all at 1 Hz, 60 s, JDK $jdk"
        row "CPU, start included" "watch.$jdk.cpu_percent" "% of a core"
        row "the same, as its own end line says" "watch.$jdk.cpu_percent_said" "% of a core"
        row "peak resident memory" "watch.$jdk.rss_mb" MB
        row "pauses it caused (VM.classloader_stats)" "watch.$jdk.pause_ms" ms
        claim "watch at 1 Hz: CPU, JDK $jdk" le 0.1 "$(median "watch.$jdk.cpu_percent")" "%"
        claim "watch at 1 Hz: memory, JDK $jdk" le 8 "$(median "watch.$jdk.rss_mb")" MB
    done
}

section_fleet() {
    local i fakes=()
    for i in $(seq 20); do
        spawn "$build/fake_jvm" --for 60 --socket now >"$SCRATCH/fake-$i"
        fakes+=("$SPAWNED")
    done
    for i in $(seq 20); do
        wait_for 10 grep -q ready "$SCRATCH/fake-$i" || failed=1
    done
    watch_begin fleet 15 "${fakes[@]}"
    sleep 14
    watch_look fleet 15
    watch_end fleet
    for i in "${fakes[@]}"; do
        kill "$i"
    done
    heading "nmtwatch watch, twenty JVMs (fake), all at 1 Hz, 15 s"
    row "CPU, start included" fleet.cpu_percent "% of a core"
    row "peak resident memory" fleet.rss_mb MB
}

section_sources() {
    local jdk=${jdks[0]} folder
    idle_jvms
    folder=tests/golden/jdk$jdk
    [ -d "$folder" ] || folder=tests/golden/jdk17
    measure sources. "$bench/source_bench" "${JVM[idle-$jdk]}" 7
    measure sources. "$bench/parse_bench" "$folder" 7
    measure memory. "$bench/watcher_memory" "${JVM[idle-$jdk]}" "$SCRATCH/recording"
    heading "One poll, one parse"
    row "hsperfdata" sources.perfdata us
    row "/proc/PID/stat and statm" sources.proc us
    row "an agent's figures, where there is no agent" sources.agent_figures us
    row "NMT summary to numbers" sources.nmt_summary_us us
    row "NMT summary" sources.nmt_summary MB/s
    row "class-load log, lines to names" sources.class_log MB/s
    row "class-load log, lines to families, captured" sources.census_log "M names/s"
    row "the same, generated names" sources.census_numbered "M names/s"
    heading "Heap that a watched JVM costs nmtwatch"
    row "a watcher after its first look" memory.watcher bytes
    row "  of that: struct watcher" memory.struct_watcher bytes
    row "  judge" memory.judge bytes
    row "  census, empty" memory.census bytes
    row "  hsperfdata buffer" memory.perfdata bytes
    row "  attach client" memory.attach bytes
    row "a census after 20 000 ordinary names" memory.census_names bytes
    row "a census at its worst" memory.census_worst bytes
    row "recorder (--record)" memory.recorder bytes
}

# The largest gap the application saw while a command ran, milliseconds.
gap_of() { # COMMAND...
    rm -f "$SCRATCH/gap" # starts over within a second
    wait_for 5 test -e "$SCRATCH/gap"
    "$@" >/dev/null 2>"$SCRATCH/err" || head -n 1 "$SCRATCH/err" >&2
    sleep 2.5
    cat "$SCRATCH/gap"
}

stopped_jcmd() { # SECONDS PID COMMAND
    "$(jdk_home 25)/bin/jcmd" "$2" "$3" | {
        sleep "$1"
        cat
    }
}

stopped_nmtwatch() { # SECONDS PID COMMAND
    local reader seconds=$1
    shift
    "$bench/ask" --stop "$@" &
    reader=$!
    TAP_PIDS+=("$reader")
    wait_for 5 grep -q '^State:.T' "/proc/$reader/status" || echo "the reader was not stopped" >&2
    sleep "$seconds"
    kill -CONT "$reader"
    wait "$reader"
}

section_reader() {
    local seconds=10 command=VM.class_hierarchy pid
    if [ -z "$(jdk_home 25)" ]; then
        unmeasured "gap made by a stopped reader, JDK 25" "no JDK 25 in /usr/lib/jvm"
        return
    fi
    jvm gap 25 gap-meter --classes 20000 --seconds 200 --out "$SCRATCH/gap" || return
    pid=${JVM[gap]}
    "$bench/ask" "$pid" $command >/dev/null # the first time is slower
    sample reader.none "$(gap_of sleep 5)"
    sample reader.prompt "$(gap_of "$bench/ask" "$pid" $command)"
    sample reader.nmtwatch "$(gap_of stopped_nmtwatch $seconds "$pid" $command)"
    sample reader.jcmd "$(gap_of stopped_jcmd $seconds "$pid" $command)"
    jvm_end gap
    heading "Largest gap of the application, $command, JDK 25"
    row "no reader" reader.none ms
    row "nmtwatch's client asks and reads" reader.prompt ms
    row "it asks and is stopped (SIGSTOP) for $seconds s" reader.nmtwatch ms
    row "jcmd, its reader pauses for $seconds s" reader.jcmd ms
    claim "gap made by a stopped reader, JDK 25" le 500 "$(median reader.nmtwatch)" ms
    sample reader.ratio "$(awk -v a="$(median reader.jcmd)" -v b="$(median reader.nmtwatch)" \
        'BEGIN { print a / (b > 1 ? b : 1) }')"
    row "jcmd over nmtwatch" reader.ratio times
}

has_classes() { # PID COUNT
    "$nmtwatch" list --json | jq -e --argjson pid "$1" --argjson count "$2" \
        'any(.jvms[]; .pid == $pid and .classes_loaded >= $count)'
}

# All pauses a command makes, by the target's own log; three times.
expensive_command() { # NAME JDK COMMAND
    local log=$SCRATCH/expensive-$1 key=expensive.$1.${3// /_} line _
    for _ in 1 2 3; do
        line=$(wc -l <"$log")
        measure "$key." "$bench/ask" "${JVM[$1]}" "$3"
        sample "$key.pause_ms" "$(tail -n "+$((line + 1))" "$log" |
            sed -nE '/Safepoint "Cleanup"/d; s/.*Safepoint ".*Total: +([0-9]+) ns.*/\1/p' |
            awk '{ ns += $1 } END { print ns / 1e6 }')"
    done
    row "$3" "$key.pause_ms" "ms; reply of $(median "$key.reply_bytes") bytes"
}

section_expensive() {
    local jdk name shape classes=${CLASSES:-20000}
    for jdk in "${jdks[@]}"; do
        for shape in one-loader loader-each; do
            name=$jdk-$shape
            export JVM_FLAGS="-Xmx2g -Xlog:safepoint=info:file=$SCRATCH/expensive-$name"
            if [ $shape = one-loader ]; then
                jvm "$name" "$jdk" gap-meter --classes "$classes" --seconds 200 || continue
                heading "Pause, $classes classes in one loader, JDK $jdk"
            else
                jvm "$name" "$jdk" loader --rate $((classes / 2)) --seconds 2 --idle 200 || continue
                wait_for 60 has_classes "${JVM[$name]}" "$classes" || failed=1
                heading "Pause, $classes classes in a loader each, JDK $jdk"
            fi
            unset JVM_FLAGS
            expensive_command "$name" "$jdk" VM.classloader_stats
            [ "$jdk" -lt 22 ] || expensive_command "$name" "$jdk" VM.classes
            expensive_command "$name" "$jdk" VM.class_hierarchy
            expensive_command "$name" "$jdk" "GC.class_histogram -all"
            jvm_end "$name"
        done
    done
}

section_mem() {
    measure "" "$bench/mem_bench" 15
    heading "One free and one allocation, 16 to 512 bytes"
    row "malloc; written and read once" mem_used_ns ns
    row "accounted, level summary, over that" mem_summary_over_used times
    row "accounted, level detail, over that" mem_detail_over_used times
    row "malloc and memset, not used" mem_memset_ns ns
    row "accounted, level summary, over that" mem_summary_over_memset times
    row "accounted, level detail, over that" mem_detail_over_memset times
    row "calloc, not used" mem_bare_ns ns
    row "accounted, level summary, over that" mem_summary_ratio times
    row "the same, two threads" mem_summary_ratio_2 times
    row "accounted, level detail, over that" mem_detail_ratio times
    row "a second thread, against what it costs malloc" mem_summary_scaling times
    claim "accounted block over malloc's, used, level summary" le 1.10 \
        "$(median mem_summary_over_used)" times
    claim "  not used, over malloc and memset" le 1.10 "$(median mem_summary_over_memset)" times
    claim "  not used, over calloc" le 1.10 "$(median mem_summary_ratio)" times
    claim "  a second thread, against malloc" le 1.05 "$(median mem_summary_scaling)" times
}

section_agent() {
    local output
    if [ ! -e "$build/libnmtagent.so" ]; then
        unmeasured "CPU under the agent" "the agent is not built"
    elif [ -z "$(jdk_home 17)" ]; then
        unmeasured "CPU under the agent" "no JDK 17 in /usr/lib/jvm"
    elif [ ! -d build/tools/bench ]; then
        unmeasured "CPU under the agent" "the applications are not there: make bench-agent"
    else
        output=$(PAIRS=${AGENT_PAIRS:-2} scripts/bench/agent.sh "$build" javac h2 lucene) || failed=1
        echo
        sed '$d' <<<"$output"
        mapfile -t -O ${#claims[@]} claims < <(tail -n 1 <<<"$output" | jq -c '.claims[]')
    fi
}

# --- the whole --------------------------------------------------------------------------------------

for needed in "$nmtwatch" "$bench"/{poll_bench,source_bench,parse_bench,ask,watcher_memory,mem_bench}; do
    [ -x "$needed" ] && continue
    echo "bench: $needed is not built: make bench" >&2
    exit 1
done
: >"$samples"
jdks=()
for jdk in 17 25; do
    if [ -n "$(jdk_home $jdk)" ]; then
        jdks+=("$jdk")
    else
        unmeasured "all of JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
    fi
done
if [ ${#jdks[@]} = 0 ]; then
    echo "bench: no JDK, so nothing can be measured: apt-get install openjdk-17-jdk-headless"
    exit 0
fi
scripts/workloads.sh build || exit 1

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
machine="$cpu, $(nproc) cores, Linux $(uname -r), load $(cut -d ' ' -f 1 /proc/loadavg)"
echo "$("$nmtwatch" version | head -n 1), $(date -u +%F), $machine"
for jdk in "${jdks[@]}"; do
    echo "JDK $jdk: $(sed -n 's/^IMPLEMENTOR="\(.*\)"/\1/p; s/^JAVA_RUNTIME_VERSION="\(.*\)"/\1/p' \
        "$(jdk_home "$jdk")/release" | tr '\n' ' ')"
done
for section in poll safepoints watch fleet sources reader expensive mem agent; do
    case $sections in *" $section "*) "section_$section" ;; esac
done

printf '\n%-52s %-16s %10s\n' Claim goal measured
for line in "${table[@]}"; do
    echo "$line"
done
echo "took $SECONDS s; load now $(cut -d ' ' -f 1 /proc/loadavg); every sample: $samples"
printf '%s\n' "${claims[@]}" | jq -cs --arg machine "$machine" --arg date "$(date -u +%FT%TZ)" \
    '{machine: $machine, date: $date, claims: .}'
exit $failed
