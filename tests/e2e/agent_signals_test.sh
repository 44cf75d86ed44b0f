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
        # The profiler's signal is another one; an itimer's waits in the queue of the process.
        is "$JVM_NAME: all of its own SIGPROF come to its handler" "$seen" "$sent"
        check "$JVM_NAME: C called Java" [ "$calls" -gt 5 ]
        status=$(profile status --json)
        if [ "$1 $2" != "after itimer" ]; then
            is "$JVM_NAME: and come by our handler only with an itimer" \
                "$(jq .foreign_signals <<<"$status")" "$([ "$2" = itimer ] && echo "$seen" || echo 0)"
            check "$JVM_NAME: it was sampled" [ "$(jq .stored <<<"$status")" -gt 20 ]
        fi
        is "$JVM_NAME: it is reported when the handler is not ours any more" \
            "$(jq .handler_replaced <<<"$status")" "$([ "$1 $2" = "after itimer" ] && echo true || echo false)"
        profile_stops_right "$file"
        is "$JVM_NAME: its handler is in place again" \
            "$(profile start --cpu 1ms --file "$file" >/dev/null && profile stop >/dev/null && echo yes)" \
            yes
    fi
    jvm_end 0
    rm -f "$file"*
}

# Threads with a small alternate signal stack: the walk is left out where it does not fit.
small_stacks() { # ENGINE
    local used status size
    jvm_start "$jdk" "small-stacks-$1" -Dsignals.library="$AGENT_CLASSES/libsignals.so" \
        "-agentpath:$AGENT=start,cpu=1ms,engine=$1,file=$file" SmallStacks $AGENT_SCALE 4096 6272 8192
    if jvm_wait result; then
        used=$(jvm_result)
        for size in $used; do
            check "$JVM_NAME: bytes used of a stack: $size" [ "${size#*:}" -le "${size%:*}" ]
        done
        status=$(profile status --json)
        # What the kernel refuses (AMX needs 11 KB) has no signals either.
        [[ "$used" == *:-1* ]] || check "$JVM_NAME: what did not fit is counted" \
            [ "$(jq .small_stacks <<<"$status")" -gt 100 ]
        profile_stops_right "$file"
    fi
    jvm_end 0
    rm -f "$file"*
    jvm_start "$jdk" "stacks-$1" -Dsignals.library="$AGENT_CLASSES/libsignals.so" \
        "-agentpath:$AGENT=start,cpu=1ms,engine=$1,file=$file" SmallStacks $AGENT_SCALE 65536
    if jvm_wait result; then
        status=$(profile status --json)
        is "$JVM_NAME: there is room in 64 KB" "$(jq .small_stacks <<<"$status")" 0
        check "$JVM_NAME: the thread is sampled" [ "$(jq .stored <<<"$status")" -gt 100 ]
        profile_stops_right "$file"
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
    own_handler after itimer
    small_stacks vm
    small_stacks agct
    context_and_wall
done
done_testing
