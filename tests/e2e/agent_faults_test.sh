#!/bin/bash
# The JVM's own faults under engine vm, whose handler of SIGSEGV and SIGBUS comes first: null
# pointers, stack overflows and truncated maps come out as in a JVM without an agent, also with
# libjsig. A signal that is neither Java's nor ours is HotSpot's to report.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

seconds=1.5 # at least; until there were enough of each
[ "$AGENT_SCALE" = 1 ] || seconds=$((4 * AGENT_SCALE))

faults() { # NAME [FLAG...]
    local name=$1 nulls overflows truncated rounds status
    shift
    jvm_start "$jdk" "$name" "$@" \
        "-agentpath:$AGENT=start,cpu=1ms,engine=vm,file=$SCRATCH/faults.jfr" \
        Faults "$seconds" "$SCRATCH/mapped"
    jvm_wait result $((60 + 4 * AGENT_SCALE)) || return
    read -r nulls overflows truncated rounds <<<"$(jvm_result)"
    check "$JVM_NAME: $nulls null pointers, $overflows stack overflows, $truncated truncated maps" \
        [ "$nulls" -gt 1000 -a "$overflows" -gt 20 -a "$truncated" -gt 100 -a "$rounds" -gt 100 ]
    status=$(profile status --json)
    is "$JVM_NAME: by engine vm" "$(jq -r .engine <<<"$status")" vm
    check "$JVM_NAME: it was sampled, $(jq .stored <<<"$status") times, with $(jq .faults \
        <<<"$status") loads that failed" [ "$(jq .stored <<<"$status")" -gt 500 ]
    profile_stops_right "$SCRATCH/faults.jfr"
    jvm_end 0
}

# Sent from outside: the JVM ends with its report, as it would without us.
sent() { # SEGV|BUS
    local code=0
    jvm_start "$jdk" "sent-$1" -XX:-CreateCoredumpOnCrash -XX:ErrorFile="$SCRATCH/report-$1.log" \
        "-agentpath:$AGENT=start,cpu=1ms,engine=vm,file=$SCRATCH/faults.jfr" \
        Faults 60 "$SCRATCH/mapped"
    jvm_wait ready
    sleep 1
    kill "-$1" "$JVM_PID"
    wait_for 30 eval "! kill -0 $JVM_PID"
    wait "$JVM_PID" || code=$?
    is "$JVM_NAME: ends as HotSpot ends" "$code" 1 # it writes no core by option
    contains "$JVM_NAME: with a report of the signal" "$(cat "$SCRATCH/report-$1.log")" "SIG$1"
    rm -f "$SCRATCH/report-$1.log"
}

for jdk in $(agent_jdks); do
    home=$(agent_jdk "$jdk")
    for collector in Serial Parallel G1 Z; do
        faults "faults-$collector" "-XX:+Use${collector}GC"
    done
    faults client -XX:TieredStopAtLevel=1
    JVM_WRAPPER=(env "LD_PRELOAD=$home/lib/libjsig.so")
    faults libjsig
    JVM_WRAPPER=()
    sent SEGV
    sent BUS
done
done_testing
