#!/bin/bash
# bench-agent: what the agent costs an application, in CPU time and in memory.
#
# usage: bench/agent.sh [--fetch] BUILD [SECTION...]     sections, about twenty minutes together:
#
#   javac   the compiler on the 1857 sources of the module java.xml
#   h2      a database in memory: transfers and reports (tests/bench/java/H2Load.java)
#   lucene  a search engine in memory: indexing and searching (tests/bench/java/LuceneLoad.java)
#   null    h2 without the agent on either side: what the method sees where nothing is
#   share   the same from within: which part of those loads' CPU is the agent's, by `perf record`
#   memory  the agent's own resident memory after a minute of the h2 load
#   idle    resident memory above a JVM without the agent, both idle (by bench/memory.sh)
#
# javac, h2, lucene, null: user and system CPU seconds of the whole process from start to end, heap
# fixed and touched, in PAIRS (20) pairs without and with the agent. The two of a pair run side by
# side, each on a processor of its own, and change places in each second pair: so both meet the same
# neighbours. Their compilers do not work in the background (-Xbatch), which makes what they compile
# depend on counts and not on time. Where there is one processor the two run one after the other.
# The interval is that of the sign test: the median ratio lies in it with 95 % whatever the noise
# looks like; it takes six pairs to have one. MINUTES: start no further pairs after so many.
# INTERVAL (10ms): that of the agent's samples. OPTIONS: further ones of the agent, such as
# ",timer=perf".
#
# share sees more in less time, RUNS (1) for a load. It does not see what the kernel does for a
# sample with interrupts off, and nothing of what the hypervisor does.
#
# --fetch first gets what is missing of the three applications into build/tools/bench, from Debian's
# packages and without installing them: openjdk-17-source would upgrade the JDK with it. A section
# whose application is not there is named and skipped. A goal that is not met is no error: exit
# status 1 means that a measurement failed. The last line is the result as JSON, and
# BUILD/bench/agent-samples holds every sample.

. "$(dirname "$0")/../../tests/tap.sh" # spawn, wait_for, kill_jvm, SCRATCH; we are in the root now

fetch=false
if [ "${1-}" = --fetch ]; then
    fetch=true
    shift
fi
build=${1:-build}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- javac h2 lucene null share memory idle
nmtwatch=$build/nmtwatch
agent=$PWD/$build/libnmtagent.so
case $build in /*) agent=$build/libnmtagent.so ;; esac
tools=build/tools/bench
classes=$build/bench/java
samples=$build/bench/agent-samples
interval=${INTERVAL:-10ms}
pairs=${PAIRS:-20}
perf_hz=1499
goal=1.01 # CPU with the agent over CPU without
own_goal=14680064 # 14 MB
idle_goal=4194304
heap=(-XX:+UseSerialGC -XX:+AlwaysPreTouch -XX:NativeMemoryTracking=off)
failed=0
claims=()
declare -A seen # load -> what its runs printed, which is the same for all

broken() { # SENTENCE
    echo "  failed: $1"
    failed=1
    false
}

# A verdict in a line for people and in JSON.
verdict() { # CLAIM GOAL VERDICT JSON
    claims+=("$(jq -cn --arg claim "$1" --arg goal "$2" --arg verdict "$3" --argjson more "$4" \
        '{claim: $claim, goal: $goal} + $more + {verdict: $verdict}')")
}

unmeasured() { # WHAT WHY; fails, so that a caller may go on elsewhere
    printf '%-8s not measured: %s\n' "$1" "$2"
    verdict "$1" "" "not measured" "$(jq -cn --arg reason "$2" '{reason: $reason}')"
    false
}

# --- the applications -------------------------------------------------------------------------------

unpacked() { # PACKAGE: its files in $SCRATCH/PACKAGE
    mkdir -p "$SCRATCH/$1"
    (cd "$SCRATCH/$1" && apt-get -qq download "$1" && dpkg-deb -x "$1"_*.deb .) \
        >"$SCRATCH/fetch.log" 2>&1 && return
    echo "bench-agent: the package $1 is not to be had: $(tail -n 1 "$SCRATCH/fetch.log")"
    false
}

fetch_all() {
    mkdir -p $tools
    if [ ! -e $tools/java.xml ] && unpacked openjdk-17-source; then
        # Complete, or not there at all.
        (cd "$SCRATCH" && "$jdk/bin/jar" xf openjdk-17-source/usr/lib/jvm/*/lib/src.zip java.xml) &&
            mv "$SCRATCH/java.xml" $tools/
    fi
    if [ ! -e $tools/h2.jar ] && unpacked libh2-java; then
        cp -L "$SCRATCH/libh2-java/usr/share/java/h2.jar" $tools/
    fi
    if [ ! -e $tools/lucene-core.jar ] && unpacked liblucene8-java; then
        cp "$SCRATCH"/liblucene8-java/usr/share/java/lucene-core-8*.jar $tools/lucene-core.jar
    fi
}

# The command of a load is left in $command; fails with a sentence in $why.
prepare() { # LOAD FOLDER
    case $1 in
    javac)
        why="the source of java.xml is not in $tools: make bench-agent"
        [ -d $tools/java.xml ] || return
        [ -e "$SCRATCH/sources" ] || find $tools/java.xml -name '*.java' | sort >"$SCRATCH/sources"
        command=(-Xms768m -Xmx768m -m jdk.compiler/com.sun.tools.javac.Main -proc:none -nowarn
            -Xlint:none --patch-module "java.xml=$tools/java.xml" -d "$2"
            "@$SCRATCH/sources")
        ;;
    h2 | null) jar_load h2.jar H2Load "${ROUNDS:-50}" ;;
    lucene) jar_load lucene-core.jar LuceneLoad "${ROUNDS:-2}" ;;
    *)
        why="there is no such section"
        false
        ;;
    esac
}

jar_load() { # JAR CLASS ROUNDS
    why="$1 is not in $tools: make bench-agent"
    [ -e "$tools/$1" ] || return
    mkdir -p "$classes"
    why="$2.java does not compile"
    [ "$classes/$2.class" -nt "tests/bench/java/$2.java" ] ||
        "$jdk/bin/javac" --release 17 -nowarn -cp "$tools/$1" -d "$classes" "tests/bench/java/$2.java" ||
        return
    command=(-Xms512m -Xmx512m -cp "$classes:$tools/$1" "$2" "$3")
}

# --- CPU time ---------------------------------------------------------------------------------------

# One run. FOLDER is given its CPU seconds, its output and, in "did", what it came to.
run_side() { # FOLDER PROCESSOR LOAD [AGENT_FLAG]
    local TIMEFORMAT='%3U %3S'
    rm -rf "$1"
    mkdir "$1"
    prepare "$3" "$1/compiled"
    { time taskset -c "$2" "$jdk/bin/java" "${heap[@]}" -Xbatch ${4:+"$4"} "${command[@]}" \
        >"$1/out" 2>&1; } 2>"$1/time" || return
    awk '{ print $1 + $2 }' "$1/time" >"$1/cpu"
    if [ "$3" = javac ]; then
        find "$1/compiled" -name '*.class' | wc -l >"$1/did"
    else
        sed -n 's/^checksum //p' "$1/out" >"$1/did"
    fi
}

# What a run came to must be the same as for the others of the load.
checked() { # FOLDER LOAD
    local did
    did=$(cat "$1/did" 2>/dev/null)
    if [ ! -s "$1/cpu" ] || [ -z "$did" ]; then
        broken "$2: $(tail -n 1 "$1/out")"
        return
    fi
    [ -n "${seen[$2]-}" ] || seen[$2]=$did
    [ "$did" = "${seen[$2]}" ] || broken "$2: came to '$did', the run before to '${seen[$2]}'"
}

pair() { # LOAD NUMBER
    local recording=$SCRATCH/$1.jfr flag pid here=${cpus[0]} there=${cpus[1]-${cpus[0]}}
    flag=-agentpath:$agent=start,cpu=$interval,file=$recording${OPTIONS-}
    [ "$1" != null ] || flag=
    rm -f "$recording"
    if [ $(($2 % 2)) = 0 ]; then
        here=$there
        there=${cpus[0]}
    fi
    # In shells of their own: a shell's time is that of all its children.
    if [ ${#cpus[@]} = 2 ]; then
        (run_side "$SCRATCH/base" "$here" "$1") &
        pid=$!
        (run_side "$SCRATCH/with" "$there" "$1" "$flag")
        wait $pid
    elif [ $(($2 % 2)) = 0 ]; then
        (run_side "$SCRATCH/with" "$there" "$1" "$flag")
        (run_side "$SCRATCH/base" "$here" "$1")
    else
        (run_side "$SCRATCH/base" "$here" "$1")
        (run_side "$SCRATCH/with" "$there" "$1" "$flag")
    fi
    checked "$SCRATCH/base" "$1" && checked "$SCRATCH/with" "$1" || return
    [ -z "$flag" ] || [ -s "$recording" ] || broken "$1: the agent wrote no recording" || return
    echo "$1 $(cat "$SCRATCH/base/cpu") $(cat "$SCRATCH/with/cpu")" >>"$samples"
}

recorded_samples() { # RECORDING
    "$jdk/bin/jfr" summary "$1" 2>&1 | awk '$1 == "jdk.ExecutionSample" { print $2 }'
}

cpu_row() { # LOAD
    local recorded count base profiled ratio low high said
    grep -q "^$1 " "$samples" || return
    if [ "$1" != null ]; then
        recorded=$(recorded_samples "$SCRATCH/$1.jfr")
        [ "${recorded:-0}" -gt 0 ] || broken "$1: no samples in the recording"
    fi
    read -r count base profiled ratio low high said < <(statistics "$samples" "$1" "$goal")
    printf '%-8s %5s %8s %8s %7s %16s %9s  %s\n' "$1" "$count" "$base" "$profiled" "$ratio" \
        "$([ "$low" = null ] && echo - || echo "$low to $high")" "${recorded:-0}" "$said"
    verdict "CPU, $1" "ratio at most $goal" "$said" "$(jq -cn --argjson pairs "$count" \
        --argjson base_s "$base" --argjson agent_s "$profiled" --argjson ratio "$ratio" \
        --argjson low "$low" --argjson high "$high" --argjson samples "${recorded:-0}" '$ARGS.named')"
}

# The loads in turn, so that a machine that changes changes for all of them.
measure_cpu() { # LOAD...
    local load number loads=() started=$SECONDS
    for load in "$@"; do
        if prepare "$load" "$SCRATCH"; then loads+=("$load"); else unmeasured "$load" "$why"; fi
    done
    for number in $(seq "$pairs"); do
        [ -z "${MINUTES-}" ] || [ $((SECONDS - started)) -lt $((MINUTES * 60)) ] || break
        for load in "${loads[@]}"; do
            pair "$load" "$number"
        done
    done
    [ ${#loads[@]} != 0 ] || return
    printf '\n%-8s %5s %8s %8s %7s %16s %9s  %s\n' "CPU" pairs "base, s" "agent, s" ratio \
        "95 % of ratio" samples "<= $goal"
    for load in "${loads[@]}"; do
        cpu_row "$load"
    done
}

# --- shares -----------------------------------------------------------------------------------------

# Of the stacks perf has seen: how many; and how many are of each part of the agent: chunks (its own
# thread, and the last chunk, which the ending thread writes); its handlers, with the unwinding
# library, whose frames hide their caller; the kernel's sending of signals; callbacks of the JVM
# (classes, threads); start and stop.
shares() { # PERF_DATA...
    local data
    for data in "$@"; do
        perf script -i "$data" -F comm,ip,sym,dso 2>/dev/null
        echo
    done | awk '
        BEGIN { RS = ""; FS = "\n" }
        { n++ }
        $1 ~ /^nmtagent/ || /recording_end_chunk/ { chunks++; next }
        /Agent_On|on_vm_init|commands_/ { ends++; next }
        / (profiler|on)_(class|thread)_/ { callbacks++; next }
        /libnmtagent|libunwind/ { handlers++; next }
        /arch_do_signal|rt_sigreturn|posix_cpu_timers|posixtimer_/ { signals++ }
        END {
            if (n == 0)
                exit 1
            printf "%d %d %d %d %d %d\n", n, chunks, handlers, signals, callbacks, ends
        }'
}

# Its last figure of this name, as the recording says it.
recorded_figure() { # RECORDING EVENT FIELD
    "$jdk/bin/jfr" print --json --events "$2" "$1" |
        jq ".recording.events | last | .values.$3"
}

section_share() {
    local load data=$SCRATCH/perf.data why='' run counts recording samples_count chunk_count classes
    local runs=${RUNS:-1}
    if ! perf record -q -o "$data" -e cpu-clock true >/dev/null 2>&1; then
        unmeasured share "perf is not there or may not"
        return
    fi
    printf '\n%-8s %7s %7s %9s %8s %10s %11s %14s  %s\n' "Share, %" stacks chunks handlers signals \
        callbacks "start, end" sum "<= 1"
    for load in javac h2 lucene; do
        prepare "$load" "$SCRATCH/compiled" || unmeasured "$load" "$why" || continue
        samples_count=0 chunk_count=0 classes=0
        for run in $(seq "$runs"); do
            rm -rf "$SCRATCH/compiled"
            recording=$SCRATCH/share.jfr
            perf record -q -o "$data.$run" -e cpu-clock -F $perf_hz -g \
                "$jdk/bin/java" "${heap[@]}" \
                "-agentpath:$agent=start,cpu=$interval,file=$recording${OPTIONS-}" "${command[@]}" \
                >"$SCRATCH/out" 2>&1 || broken "share: $(tail -n 1 "$SCRATCH/out")" || continue 2
            samples_count=$((samples_count + $(recorded_samples "$recording")))
            chunk_count=$((chunk_count + $("$jdk/bin/jfr" summary "$recording" |
                awk '/^ Chunks:/ { print $2 }')))
            classes=$((classes + $(recorded_figure "$recording" nmtagent.JMethodIds classes)))
        done
        counts=$(shares $(seq -f "$data.%g" "$runs")) ||
            broken "share: perf script says nothing" || continue
        rm -f "$data".*
        share_row "$load" "$samples_count" "$chunk_count" "$classes" $counts
    done
}

share_row() { # LOAD SAMPLES CHUNKS CLASSES STACKS, AND OF EACH PART
    local figures chunk handler signal callback ends total sure us_sample ms_chunk us_class said
    # A stack is 1/HZ of CPU time.
    figures=$(awk -v samples="$2" -v chunks="$3" -v classes="$4" -v n="$5" -v chunk="$6" \
        -v handler="$7" -v signal="$8" -v callback="$9" -v ends="${10}" -v hz=$perf_hz '
        BEGIN {
            p = (chunk + handler + signal + callback + ends) / n
            sure = 1.96 * sqrt(p * (1 - p) / n)
            said = p + sure <= 0.01 ? "met" : p - sure > 0.01 ? "NOT MET" : "cannot tell"
            per = 100 / n
            printf "%.2f %.2f %.2f %.2f %.2f %.2f %.2f %.1f %.1f %.1f %s\n", chunk * per,
                handler * per, signal * per, callback * per, ends * per, p * 100, sure * 100,
                (handler + signal) / hz / samples * 1e6, chunk / hz / chunks * 1e3,
                callback / hz / classes * 1e6, said
        }')
    read -r chunk handler signal callback ends total sure us_sample ms_chunk us_class said \
        <<<"$figures"
    printf '%-8s %7s %7s %9s %8s %10s %11s %14s  %s\n' "$1" "$5" "$chunk" "$handler" "$signal" \
        "$callback" "$ends" "$total +- $sure" "$said"
    printf '%-8s %s us a sample (%s), %s ms a chunk (%s), %s us a class (%s)\n' "" \
        "$us_sample" "$2" "$ms_chunk" "$3" "$us_class" "$4"
    verdict "share of CPU, $1" "at most 1 %" "$said" "$(jq -cn --argjson stacks "$5" \
        --argjson chunks "$chunk" --argjson handlers "$handler" --argjson signals "$signal" \
        --argjson callbacks "$callback" --argjson start_and_end "$ends" --argjson sum "$total" \
        --argjson plus_minus "$sure" --argjson us_a_sample "$us_sample" \
        --argjson ms_a_chunk "$ms_chunk" --argjson us_a_class "$us_class" '$ARGS.named')"
}

# --- memory -----------------------------------------------------------------------------------------

megabytes() { # BYTES
    awk -v b="$1" 'BEGIN { printf "%.2f MB", b / 1048576 }'
}

at_most() { # CLAIM BYTES GOAL_BYTES
    local said=met
    [ "$2" -le "$3" ] || said="NOT MET"
    printf '%s: %s (goal: at most %s): %s\n' "$1" "$(megabytes "$2")" "$(megabytes "$3")" "$said"
    verdict "$1" "at most $3 bytes" "$said" "{\"measured_bytes\":$2}"
}

# CPU time of the agent's own thread, in percent of the whole process.
own_thread_percent() { # PID
    local task own
    for task in /proc/"$1"/task/*; do
        [ "$(cat "$task/comm")" != nmtagent ] || own=$(cut -d ' ' -f 1 "$task/schedstat")
    done
    awk -v own="${own:-0}" -v hz="$(getconf CLK_TCK)" \
        '{ sub(/.*\) /, ""); printf "%.2f", own / (($12 + $13) / hz * 1e9) * 100 }' "/proc/$1/stat"
}

section_memory() {
    local pid answer percent
    ROUNDS=1000000 prepare h2 "$SCRATCH" || unmeasured memory "$why" || return
    spawn "$jdk/bin/java" "${heap[@]}" \
        "-agentpath:$agent=start,cpu=$interval,file=$SCRATCH/memory.jfr" "${command[@]}" \
        >"$SCRATCH/out" 2>&1
    pid=$SPAWNED
    wait_for 30 grep -q ready "$SCRATCH/out"
    sleep 60
    answer=$("$nmtwatch" profile "$pid" memory --json 2>"$SCRATCH/err")
    percent=$(own_thread_percent "$pid" 2>/dev/null)
    kill_jvm "$pid"
    [ -n "$answer" ] || broken "memory: $(cat "$SCRATCH/out" "$SCRATCH/err" | tail -n 1)" || return
    echo
    at_most "own memory after a minute of h2, without jmethodIDs" \
        "$(jq .total.resident_bytes <<<"$answer")" $own_goal
    echo "  jmethodIDs: $(megabytes "$(jq .jvm.jmethod_ids.loaded_bytes <<<"$answer")")"
    echo "  CPU of the agent's own thread: $percent % of the process"
    jq -r '.components | sort_by(-.resident_bytes)[:5][] |
        "  \(.name): \(.resident_bytes / 1048576 * 100 | round / 100) MB"' <<<"$answer"
}

section_idle() {
    local result
    result=$(JDKS=17 PAIRS=5 scripts/bench/memory.sh "$build" idle | tail -n 1 |
        jq '.claims[] | select(.claim == "JDK 17, idle") | .measured_bytes')
    [ -n "$result" ] || broken "idle: bench/memory.sh measured nothing" || return
    at_most "idle, above a JVM without the agent, median of 5 pairs" "$result" $idle_goal
}

# --- the whole --------------------------------------------------------------------------------------

for needed in "$nmtwatch" "$agent"; do
    [ -e "$needed" ] && continue
    echo "bench-agent: $needed is not built: make bench-agent" >&2
    exit 1
done
if ! jdk=$(JDK=17 scripts/workloads.sh jdk 2>/dev/null); then
    echo "bench-agent: there is no JDK 17 in /usr/lib/jvm, so nothing can be measured"
    exit 0
fi
if $fetch; then
    fetch_all
fi
mkdir -p "$build/bench"
mapfile -t cpus < <(processors)
: >"$samples"
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
machine="$cpu, $(nproc) cores, Linux $(uname -r), load $(cut -d ' ' -f 1 /proc/loadavg)"
version=$(sed -n 's/^JAVA_RUNTIME_VERSION="\(.*\)"/\1/p' "$jdk/release")
echo "agent at $interval, JDK ${version:-17}, $(date -u +%F), $machine"
loads=()
others=()
for section in "$@"; do
    case $section in share | memory | idle) others+=("$section") ;; *) loads+=("$section") ;; esac
done
if [ ${#loads[@]} != 0 ]; then
    measure_cpu "${loads[@]}"
fi
for section in "${others[@]}"; do
    "section_$section"
done
echo "took $SECONDS s; load now $(cut -d ' ' -f 1 /proc/loadavg); every sample: $samples"
printf '%s\n' "${claims[@]}" | jq -cs --arg machine "$machine" --arg date "$(date -u +%FT%TZ)" \
    '{machine: $machine, date: $date, claims: .}'
exit $failed
