#!/bin/bash
# bench-agent: what the agent costs an application, in CPU time and in memory.
#
# usage: bench-agent.sh [--fetch] BUILD [SECTION...]     sections, about fifteen minutes together:
#
#   javac   the compiler on the 1857 sources of the module java.xml
#   h2      a database in memory: transfers and reports (tests/bench/java/H2Load.java)
#   lucene  a search engine in memory: indexing and searching (tests/bench/java/LuceneLoad.java)
#   share   the same from within: which part of those loads' CPU is the agent's, by `perf record`
#   memory  the agent's own resident memory after a minute of the h2 load
#   idle    resident memory above a JVM without the agent, both idle (by bench-memory.sh)
#
# javac, h2 and lucene: user and system CPU seconds of the whole process from start to end, heap fixed and
# touched, in PAIRS (10) pairs without and with the agent that run one after the other, the order
# turned in every second pair. The interval is that of the sign test: the median ratio lies in it
# with 95 % whatever the noise looks like; it takes six pairs to have one. MINUTES: start no further
# pairs after so many. INTERVAL (10ms): that of the agent's samples.
#
# share sees more in less time, one run for a load: in the machine's noise a ratio of whole runs
# needs many pairs to tell one percent from none. It does not see what the kernel does for a
# sample outside of the stack it interrupts.
#
# --fetch first gets what is missing of the three applications into build/tools/bench, from Debian's
# packages and without installing them: openjdk-17-source would upgrade the JDK with it. A section
# whose application is not there is named and skipped. A goal that is not met is no error: exit
# status 1 means that a measurement failed. The last line is the result as JSON, and
# BUILD/bench/agent-samples holds every sample.

. "$(dirname "$0")/../tests/tap.sh" # spawn, wait_for, kill_jvm, SCRATCH; we are in the root now

fetch=false
if [ "${1-}" = --fetch ]; then
    fetch=true
    shift
fi
build=${1:-build}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- javac h2 lucene share memory idle
nmtwatch=$build/nmtwatch
agent=$PWD/$build/libnmtagent.so
case $build in /*) agent=$build/libnmtagent.so ;; esac
tools=build/tools/bench
classes=$build/bench/java
samples=$build/bench/agent-samples
interval=${INTERVAL:-10ms}
pairs=${PAIRS:-10}
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
prepare() { # LOAD
    case $1 in
    javac)
        why="the source of java.xml is not in $tools: make bench-agent"
        [ -d $tools/java.xml ] || return
        find $tools/java.xml -name '*.java' | sort >"$SCRATCH/sources"
        command=(-Xms768m -Xmx768m -m jdk.compiler/com.sun.tools.javac.Main -proc:none -nowarn
            -Xlint:none --patch-module "java.xml=$tools/java.xml" -d "$SCRATCH/compiled"
            "@$SCRATCH/sources")
        ;;
    h2) jar_load h2.jar H2Load "${ROUNDS:-50}" ;;
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
    "$jdk/bin/javac" --release 17 -nowarn -cp "$tools/$1" -d "$classes" "tests/bench/java/$2.java" ||
        return
    command=(-Xms512m -Xmx512m -cp "$classes:$tools/$1" "$2" "$3")
}

# --- CPU time ---------------------------------------------------------------------------------------

# One run: its CPU seconds are left in $cpu_s. It must have done the work, and the same as the others.
cpu_of() { # LOAD [AGENT_FLAG]
    local TIMEFORMAT='%3U %3S' did
    rm -rf "$SCRATCH/compiled"
    if ! { time "$jdk/bin/java" "${heap[@]}" ${2:+"$2"} "${command[@]}" >"$SCRATCH/out" \
        2>"$SCRATCH/err"; } 2>"$SCRATCH/time"; then
        broken "$1 ${2:+with the agent}: $(cat "$SCRATCH/out" "$SCRATCH/err" | tail -n 1)"
        return
    fi
    cpu_s=$(awk 'END { print $1 + $2 }' "$SCRATCH/time")
    did=$(sed -n 's/^checksum //p' "$SCRATCH/out")
    [ "$1" != javac ] || did=$(find "$SCRATCH/compiled" -name '*.class' | wc -l)
    [ -n "${seen[$1]-}" ] || seen[$1]=$did
    [ -n "$did" ] && [ "$did" = "${seen[$1]}" ] ||
        broken "$1 ${2:+with the agent}: came to '$did', the run before to '${seen[$1]}'"
}

pair() { # LOAD NUMBER
    local with base profiled recording=$SCRATCH/$1.jfr
    for with in $([ $(($2 % 2)) = 1 ] && echo no yes || echo yes no); do
        if [ $with = no ]; then
            cpu_of "$1" || return
            base=$cpu_s
        else
            rm -f "$recording"
            cpu_of "$1" "-agentpath:$agent=start,cpu=$interval,file=$recording" || return
            profiled=$cpu_s
        fi
    done
    [ -s "$recording" ] || broken "$1: the agent wrote no recording" || return
    echo "$1 $base $profiled" >>"$samples"
}

# Of the samples "LOAD BASE AGENT": pairs, median base, agent and ratio, its interval, the verdict.
statistics() { # LOAD
    awk -v name="$1" -v goal="$goal" '
        function sort(v, n,    i, j, x) {
            for (i = 2; i <= n; i++) {
                x = v[i]
                for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]
                v[j + 1] = x
            }
        }
        function median(v, n) { return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }
        $1 == name { n++; base[n] = $2; agent[n] = $3; ratio[n] = $3 / $2 }
        END {
            sort(base, n); sort(agent, n); sort(ratio, n)
            # The k-th smallest and largest, as far inside as 2.5 % of a fair coin on each side allow.
            term = tail = 1 / 2 ^ n
            for (k = 0; tail <= 0.025; k++) {
                term = term * (n - k) / (k + 1)
                tail += term
            }
            verdict = "cannot tell"
            if (k > 0) {
                low = ratio[k]; high = ratio[n + 1 - k]
                if (high <= goal) verdict = "met"
                if (low > goal) verdict = "NOT MET"
            }
            printf "%d %.3f %.3f %.4f %s %s %s\n", n, median(base, n), median(agent, n),
                median(ratio, n), k ? sprintf("%.4f", low) : "null",
                k ? sprintf("%.4f", high) : "null", verdict
        }' "$samples"
}

cpu_row() { # LOAD
    local recorded count base profiled ratio low high said
    grep -q "^$1 " "$samples" || return
    recorded=$("$jdk/bin/jfr" summary "$SCRATCH/$1.jfr" 2>&1 |
        awk '$1 == "jdk.ExecutionSample" { print $2 }')
    [ "${recorded:-0}" -gt 0 ] || broken "$1: no samples in the recording"
    read -r count base profiled ratio low high said < <(statistics "$1")
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
        if prepare "$load"; then loads+=("$load"); else unmeasured "$load" "$why"; fi
    done
    for number in $(seq "$pairs"); do
        [ -z "${MINUTES-}" ] || [ $((SECONDS - started)) -lt $((MINUTES * 60)) ] || break
        for load in "${loads[@]}"; do
            prepare "$load" && pair "$load" "$number"
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

# Of the stacks perf has seen: how many, and the percentage of each part of the agent: its thread; its
# code in other threads, with the unwinding library, whose frames hide their caller; and the kernel's
# handling of signals.
shares() { # PERF_DATA
    perf script -i "$1" -F comm,ip,sym,dso 2>/dev/null | awk '
        BEGIN { RS = ""; FS = "\n" }
        { n++ }
        $1 ~ /^nmtagent/ { own++; next }
        /libnmtagent|libunwind/ { code++; next }
        /arch_do_signal|rt_sigreturn/ { signal++ }
        END {
            if (n == 0)
                exit 1
            p = (own + code + signal) / n
            printf "%d %.2f %.2f %.2f %.2f %.2f\n", n, own / n * 100, code / n * 100,
                signal / n * 100, p * 100, 1.96 * sqrt(p * (1 - p) / n) * 100
        }'
}

section_share() {
    local load data=$SCRATCH/perf.data why='' count own code signal total sure said
    if ! perf record -q -o "$data" -e cpu-clock true >/dev/null 2>&1; then
        unmeasured share "perf is not there or may not"
        return
    fi
    printf '\n%-8s %7s %11s %14s %8s %14s  %s\n' "Share, %" stacks "own thread" \
        "other threads" signals sum "<= 1"
    for load in javac h2 lucene; do
        prepare "$load" || unmeasured "$load" "$why" || continue
        rm -rf "$SCRATCH/compiled"
        perf record -q -o "$data" -e cpu-clock -F 1499 -g "$jdk/bin/java" "${heap[@]}" \
            "-agentpath:$agent=start,cpu=$interval,file=$SCRATCH/share.jfr" "${command[@]}" \
            >"$SCRATCH/out" 2>&1 || broken "share: $(tail -n 1 "$SCRATCH/out")" || continue
        read -r count own code signal total sure < <(shares "$data") ||
            broken "share: perf script says nothing" || continue
        said=$(awk -v is="$total" -v sure="$sure" 'BEGIN {
            print (is + sure <= 1) ? "met" : (is - sure > 1) ? "NOT MET" : "cannot tell" }')
        printf '%-8s %7s %11s %14s %8s %14s  %s\n' "$load" "$count" "$own" "$code" "$signal" \
            "$total +- $sure" "$said"
        verdict "share of CPU, $load" "at most 1 %" "$said" "$(jq -cn --argjson stacks "$count" \
            --argjson own_thread "$own" --argjson other_threads "$code" \
            --argjson signals "$signal" --argjson sum "$total" \
            --argjson plus_minus "$sure" '$ARGS.named')"
    done
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
    ROUNDS=1000000 prepare h2 || unmeasured memory "$why" || return
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
    result=$(JDKS=17 PAIRS=5 scripts/bench-memory.sh "$build" idle | tail -n 1 |
        jq '.claims[] | select(.claim == "JDK 17, idle") | .measured_bytes')
    [ -n "$result" ] || broken "idle: bench-memory.sh measured nothing" || return
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
