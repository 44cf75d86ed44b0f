#!/bin/bash
# The application has signals of its own, and what its threads work for is in the samples.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

file=$SCRATCH/app.jfr

# Its handler for SIGPROF is there before ours, or comes after it. An itimer finds threads of C too
# that live for a moment only and are busy with malloc.
own_handler() { # before|after TIMER
    local sent seen calls status
    jvm_start "$jdk" "handler-$1-$2" -Dsignals.library="$AGENT_CLASSES/libsignals.so" \
        -Dgo="$SCRATCH/$jdk-$1-$2.go" Signals $((2 * AGENT_SCALE)) "$1"
    jvm_wait ready
    if ! check "$JVM_NAME: starts" profile start --cpu 1ms --timer "$2" --file "$file"; then
        kill_jvm "$JVM_PID"
        return
    fi
    touch "$SCRATCH/$jdk-$1-$2.go"
    if jvm_wait result; then
        read -r _ sent _ seen _ calls <<<"$(jvm_result)"
        # Two that wait at the same time are one for the kernel: a few in 100 000.
        check "$JVM_NAME: its own SIGPROF come to its handler: $seen of $sent" \
            [ $((sent - seen)) -le $((sent / 1000)) ]
        check "$JVM_NAME: C called Java" [ "$calls" -gt 5 ]
        status=$(profile status --json)
        if [ "$1" = before ]; then
            is "$JVM_NAME: and are none of ours" "$(jq .foreign_signals <<<"$status")" "$seen"
            check "$JVM_NAME: it was sampled" [ "$(jq .stored <<<"$status")" -gt 20 ]
        fi
        is "$JVM_NAME: it is told when the handler is not ours any more" \
            "$(jq .handler_replaced <<<"$status")" "$([ "$1" = after ] && echo true || echo false)"
        profile_stops_right "$file"
        is "$JVM_NAME: its handler is in place again" \
            "$(profile start --cpu 1ms --file "$file" >/dev/null && profile stop >/dev/null && echo yes)" \
            yes
    fi
    jvm_end 0
    rm -f "$file"*
}

# Values that Context.java sets are fields of the samples; both kinds of samples.
context_and_wall() {
    local rows text
    jvm_start "$jdk" context "-agentpath:$AGENT=start,cpu=2ms,wall=10ms,context=route;tenant,file=$file" \
        ContextLoad 3 2
    jvm_wait ready
    sleep 2.5
    profile_stops_right "$file"
    for type in jdk.ExecutionSample nmtagent.WallClockSample; do
        text=$("$JVM_JFR" print --json --events $type "$file")
        rows=$(jq -r '.recording.events[].values | select(.tenant != null)
            | "\(.route) \(.tenant) \(.sampledThread.osName // .sampledThread.javaName) \(.rootSpanId)"' \
            <<<"$text" | sort | uniq -c | sort -rn)
        # /search does three times the work of /buy, in two threads.
        if [ "$(awk '{ n[$2] += $1; sum += $1 } END { print (n["/search"] > n["/buy"] &&
            n["/buy"] > sum / 10) ? "yes" : "no" }' <<<"$rows")" = yes ]; then
            pass "$JVM_NAME: $type says what it was for"
        else
            fail "$JVM_NAME: $type says what it was for" "$rows"
        fi
        is "$JVM_NAME: $type mixes up no threads" \
            "$(awk '{ print $3, $4, $5 }' <<<"$rows" | sort -u)" \
            $'tenant-0 worker-0 1\ntenant-1 worker-1 2'
    done
    # Waiting threads have wall-clock samples.
    contains "$JVM_NAME: a waiting thread has samples" \
        "$("$JVM_JFR" print --events nmtagent.WallClockSample "$file")" 'sampledThread = "main"'
    jvm_end 0
    rm -f "$file"*
}

for jdk in $(agent_jdks); do
    own_handler before auto
    own_handler before itimer
    own_handler after auto
    context_and_wall
done
done_testing
