#!/bin/bash
# bench-observe: what looking from outside sees, and what it costs the JVM, beside the agent and no profiler.
#
# usage: bench/observe.sh [BUILD]     PARTS ("stacks start overhead rate"), ROUNDS_OF_ALL (5), WORK (2000), JDK (17)
#
#   stacks    20 000 definitions counted; share of whole stacks for classes, alloc and cpu; how much of cpu's flame graph
#             has the same innermost methods as the agent's, of the same JVM at the same time
#   start     JVM with 50 000 classes: time from start to the end of an observation of 200 ms, less these; our RSS
#   overhead  CPU time of the JVM over that without a profiler of the same round: median, least, most; each variant once a
#             round, beginning with another one each time
#   rate      500 definitions a second: CPU time of the JVM in % of a CPU
#
# The load is tests/bench/java/Scrabble.java: streams, boxing, lambdas. Needs root, or what `observe` needs. Exit status
# 1: a measurement failed.

. "$(dirname "$0")/../../tests/tap.sh" # SCRATCH; we are in the root now

build=${1:-build}
NMTWATCH=$build/nmtwatch
. tests/e2e/agent.sh
rounds=${ROUNDS_OF_ALL:-5} work=${WORK:-2000} parts=${PARTS:-stacks start overhead rate}
version=${JDK:-17}
jdk=$(agent_jdk "$version") || exit 1
classes=$build/bench/java
heap=(-Xms256m -Xmx256m -XX:+UseSerialGC -XX:+AlwaysPreTouch)
mkdir -p "$classes"
"$jdk/bin/javac" --release 17 -nowarn -d "$classes" tests/bench/java/Scrabble.java || exit 1
scripts/workloads.sh build >"$SCRATCH/build" 2>&1

give_up() {
    echo "bench-observe: $1" >&2
    exit 1
}
share() { # FILE: % of stacks that are whole, of those that found room
    jq -r '"\(.stacks) stacks, \((.outcomes[0].stacks / ([.stacks, 1] | max) * 10000 | floor) / 100) % whole, \(.lost) lost"' "$1"
}
observed() { # NAME PID MODE...: in the background, $SCRATCH/NAME; $OBSERVER
    local name=$1 pid=$2
    shift 2
    "$NMTWATCH" observe "$pid" "$@" --json >"$SCRATCH/$name" 2>"$SCRATCH/$name.error" &
    OBSERVER=$!
}
scrabble() { # ROUNDS FLAG...: $JVM_PID, in the background
    local count=$1
    shift
    "$jdk/bin/java" "${heap[@]}" "$@" -cp "$classes" Scrabble "$count" >"$SCRATCH/out" 2>&1 &
    JVM_PID=$!
    sleep 2
}

stacks() {
    GO=$SCRATCH/go
    jvm_start "$version" classes -Dgo="$GO" -Xms256m Observed classes 20000
    jvm_wait ready || give_up "no JVM"
    observed classes "$JVM_PID" classes --for 100s
    sleep 2
    touch "$GO"
    jvm_wait result || give_up "$(tail -n 1 "$JVM_LOG")"
    kill -INT $OBSERVER
    wait $OBSERVER || give_up "$(<"$SCRATCH/classes.error")"
    jvm_end 0
    echo "classes: $(jq '[.families[] | select(.family == "ChurnVictim_#") | .loaded] | add' "$SCRATCH/classes") of 20000 with a" \
        "stack, $(jq .count "$SCRATCH/classes") definitions counted; $(share "$SCRATCH/classes")"
    scrabble 1000000
    observed alloc "$JVM_PID" alloc --for 5s
    wait $OBSERVER || give_up "$(<"$SCRATCH/alloc.error")"
    echo "alloc: $(share "$SCRATCH/alloc")"
    observed cpu "$JVM_PID" cpu --for 20s --cpu-interval 5ms
    "$NMTWATCH" profile "$JVM_PID" --for 20s --cpu 5ms --agent "$AGENT" -o "$SCRATCH/agent.txt" >"$SCRATCH/agent.out" 2>&1 ||
        give_up "$(<"$SCRATCH/agent.out")"
    wait $OBSERVER || give_up "$(<"$SCRATCH/cpu.error")"
    kill $JVM_PID
    wait $JVM_PID 2>/dev/null
    echo "cpu: $(share "$SCRATCH/cpu")"
    # Innermost Java methods: native frames are named by each of the two in its own way.
    awk '{ n = $NF; $NF = ""; count = split($0, frame, ";"); name = frame[count]; gsub(/[ ]+$|_\[[a-z]\]$|:[0-9]+$/, "", name)
        if (name !~ /\[|::/) { leaf[name] += n; all += n } }
        END { for (name in leaf) printf "%.6f %s\n", leaf[name] / all, name }' "$SCRATCH/agent.txt" >"$SCRATCH/agent.leaf"
    jq -r '[.methods[] | select(.kind == "java" and .self > 0)] | (map(.self) | add) as $all | .[] | "\(.self / $all) \(.name)"' \
        "$SCRATCH/cpu" >"$SCRATCH/cpu.leaf"
    awk 'NR == FNR { ours[$2] = $1; next } $2 in ours { same += ours[$2] < $1 ? ours[$2] : $1 }
        END { printf "cpu: %.1f %% of innermost Java methods are those of the agent\n", same * 100 }' \
        "$SCRATCH/cpu.leaf" "$SCRATCH/agent.leaf"
}

start() {
    mkfifo "$SCRATCH/in"
    "$jdk/bin/java" -Xmx1g -cp build/workloads/classes workloads.ManyClasses 50000 10 one <"$SCRATCH/in" >"$SCRATCH/many" 2>&1 &
    JVM_PID=$!
    exec 9>"$SCRATCH/in"
    wait_for 60 grep -q ready "$SCRATCH/many" && echo >&9 && wait_for 120 grep -q loaded "$SCRATCH/many" ||
        give_up "$(tail -n 3 "$SCRATCH/many")"
    for mode in cpu classes alloc rss; do
        for _ in 1 2 3; do
            local before after
            before=$(date +%s%N)
            "$NMTWATCH" observe $JVM_PID $mode --for 200ms --json >"$SCRATCH/start" 2>&1 &
            OBSERVER=$!
            sleep 0.15
            high=0
            while kill -0 $OBSERVER 2>/dev/null; do
                now=$(awk '/^VmHWM:/ { print $2 }' /proc/$OBSERVER/status 2>/dev/null)
                [ -z "$now" ] || [ "$now" -le $high ] || high=$now
                sleep 0.01
            done
            wait $OBSERVER || give_up "$mode: $(head -n 1 "$SCRATCH/start")"
            after=$(date +%s%N)
            echo "$(((after - before) / 1000000 - 200)) $((high / 1024))"
        done | sort -n | awk -v mode=$mode 'NR == 2 { ms = $1 } $2 > mb { mb = $2 }
            END { printf "start: %s: %d ms (median of 3), %d MB resident\n", mode, ms, mb }'
    done
    exec 9>&-
    kill $JVM_PID 2>/dev/null
    wait $JVM_PID 2>/dev/null
    true
}

run() { # VARIANT ROUND: a line "VARIANT SECONDS ROUND"
    local TIMEFORMAT='%3U %3S' flags=() pid
    case $1 in
    agent-*) flags=("-agentpath:$AGENT=start,alloc=${1#agent-},cpu=0,file=$SCRATCH/agent.jfr") ;;
    esac
    { time taskset -c 0 "$jdk/bin/java" "${heap[@]}" "${flags[@]}" -cp "$classes" Scrabble "$work" >"$SCRATCH/out" 2>&1; } 2>"$SCRATCH/time" &
    pid=$!
    if [[ $1 = observe-* ]]; then
        local child=
        until child=$(pgrep -P $pid java) || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
        sleep 0.6
        local what=()
        case $1 in
        observe-rss) what=(rss) ;;
        observe-cpu) what=(cpu) ;;
        observe-alloc) what=(alloc) ;;
        observe-alloc-*) what=(alloc --activate --every "${1#observe-alloc-}") ;;
        esac
        timeout 200 "$NMTWATCH" observe "$child" "${what[@]}" --for 100s --json >"$SCRATCH/observed" 2>"$SCRATCH/observed.error"
    fi
    wait $pid
    grep -q '^checksum' "$SCRATCH/out" || give_up "$1: $(tail -n 1 "$SCRATCH/out")"
    awk -v name="$1" -v round="$2" '{ print name, $1 + $2, round }' "$SCRATCH/time" >>"$SCRATCH/times"
}

# CPU time of a JVM that defines 500 classes a second for ten seconds.
paced() { # VARIANT ROUND
    rm -f "$SCRATCH/go"
    jvm_start "$version" "paced$RANDOM" -Dgo="$SCRATCH/go" -Dpause=100 -Xms256m Observed classes 5000
    jvm_wait ready || give_up "no JVM"
    local before after
    if [ "$1" = observe-classes ]; then
        observed paced "$JVM_PID" classes --for 100s
        sleep 1
    fi
    before=$(awk '{ print $14 + $15 }' "/proc/$JVM_PID/stat")
    touch "$SCRATCH/go"
    jvm_wait result
    after=$(awk '{ print $14 + $15 }' "/proc/$JVM_PID/stat")
    if [ "$1" = observe-classes ]; then
        kill -INT $OBSERVER
        wait $OBSERVER
    fi
    jvm_end 0
    echo "$1 $((after - before)) $2" >>"$SCRATCH/paced"
}

overhead() {
    local variants
    read -ra variants <<<"none ${VARIANTS:-observe-alloc-16M agent-16M observe-alloc-512K agent-512K observe-alloc observe-rss observe-cpu}"
    for ((round = 0; round < rounds; round++)); do
        for ((i = 0; i < ${#variants[@]}; i++)); do
            run "${variants[(i + round) % ${#variants[@]}]}" $round
        done
    done
    printf '%-24s %9s %8s %8s %8s\n' "" "CPU, s" ratio least most
    for name in "${variants[@]}"; do
        awk -v name="$name" '
            $1 == "none" { base[$3] = $2 }
            $1 == name { took[$3] = $2; all += $2; n++ }
            END { for (round in took) print took[round] / base[round], all / n }' "$SCRATCH/times" |
            sort -g | awk -v name="$name" '
                { ratio[NR] = $1; cpu = $2 }
                END {
                    m = NR % 2 ? ratio[(NR + 1) / 2] : (ratio[NR / 2] + ratio[NR / 2 + 1]) / 2
                    printf "%-24s %9.2f %8.3f %8.3f %8.3f\n", name, cpu, m, ratio[1], ratio[NR]
                }'
    done
}

rate() {
    for ((round = 0; round < rounds; round++)); do
        paced none $round
        paced observe-classes $round
    done
    awk '{ ticks[$1 $3] = $2; if ($3 + 1 > n) n = $3 + 1 }
        END { for (i = 0; i < n; i++) print (ticks["observe-classes" i] - ticks["none" i]) / 10 }' "$SCRATCH/paced" | sort -g |
        awk '{ part[NR] = $1 } END { printf "classes at 500 a second: %.2f %% of a CPU (least %.2f, most %.2f)\n",
            part[int((NR + 1) / 2)], part[1], part[NR] }'
}

echo "$(date +%F), $("$jdk/bin/java" -version 2>&1 | sed -n 2p), $(nproc) processors, load $(cut -d ' ' -f 1 /proc/loadavg)"
for part in $parts; do
    case $part in
    stacks | start | overhead | rate) $part ;;
    *) give_up "no such part: $part" ;;
    esac
done
