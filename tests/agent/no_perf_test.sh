#!/bin/bash
# Where perf_event_open is refused, as in most containers, sampling goes on by the next best timer,
# and `status` says by which; a timer that was asked for by name is refused in a line.
# timeout: 240
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh
AGENT_FLAGS+=(-XX:TieredStopAtLevel=1) # half the CPU, and the tier is no matter here

launcher=$SCRATCH/no_perf
file=$SCRATCH/app.jfr
check "the launcher builds" "${CC:-gcc}" -D_GNU_SOURCE -std=gnu17 -O2 -Wall -Wextra -Werror \
    -o "$launcher" tests/agent/no_perf.c
if ! "$launcher" true 2>"$SCRATCH/err"; then
    skip "perf_event_open refused" "refused: $(cat "$SCRATCH/err")"
    done_testing
fi

# Short enough for perf to be the first choice.
samples_by() { # NAME TIMER LAUNCHER...
    local name=$1 timer=$2 status
    JVM_WRAPPER=("${@:3}")
    jvm_start "$jdk" "$name" Checksum 1000000
    JVM_WRAPPER=()
    jvm_wait ready || return
    if [ "$timer" != perf ]; then
        if profile start --cpu 1ms --timer perf --file "$file" >"$SCRATCH/out" 2>&1; then
            fail "$JVM_NAME: perf by name is refused" "$(cat "$SCRATCH/out")"
        else
            contains "$JVM_NAME: perf by name is refused, and why" "$(cat "$SCRATCH/out")" \
                "timer perf: Operation not permitted"
            is "$JVM_NAME: in a line" "$(wc -l <"$SCRATCH/out")" 1
        fi
    fi
    check "$JVM_NAME: starts" profile start --cpu 1ms --file "$file"
    wait_for 20 enough_samples
    status=$(profile status --json)
    is "$JVM_NAME: status names the timer" "$(jq -r .timer <<<"$status")" "$timer"
    contains "$JVM_NAME: and as text" "$(profile status)" "$timer"
    check "$JVM_NAME: it samples ($(jq .stored <<<"$status"))" [ "$(jq .stored <<<"$status")" -gt 100 ]
    is "$JVM_NAME: every thread's timer could be started" "$(jq .failed_timers <<<"$status")" 0
    profile_stops_right "$file"
    kill_jvm "$JVM_PID"
    rm -f "$file"*
}

enough_samples() {
    [ "$(profile status --json | jq .stored)" -gt 200 ]
}

for jdk in $(agent_jdks); do
    jvm_start "$jdk" allowed Checksum 1000000
    jvm_wait ready
    profile start --cpu 1ms --file "$file" >/dev/null 2>&1
    allowed=$(profile status --json | jq -r .timer)
    kill_jvm "$JVM_PID"
    if [ "$allowed" = perf ]; then
        pass "JDK $jdk: perf where it is allowed"
    else
        skip "JDK $jdk: perf where it is allowed" "refused: perf_event_open ($allowed is used)"
    fi
    samples_by no-perf posix "$launcher"
    samples_by no-timers itimer "$launcher" --no-posix
done
done_testing
