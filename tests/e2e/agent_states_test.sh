#!/bin/bash
# What a sample says of its thread: a thread in each state, of which each sample has to tell it, in the recording
# as the JDK's own jfr reads it and in what is made of it by state.
# timeout: 60
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

expected='blocked STATE_BLOCKED_ON_MONITOR_ENTER false
holding STATE_SLEEPING false
in-native STATE_RUNNABLE true
parked STATE_PARKED false
parked-timed STATE_PARKED_TIMED false
running STATE_RUNNABLE false
sleeping STATE_SLEEPING false
waiting STATE_IN_OBJECT_WAIT false
waiting-timed STATE_IN_OBJECT_WAIT_TIMED false'
carrier='ForkJoinPool-1-worker-1 STATE_PARKED false'

# "THREAD STATE IN_NATIVE" of the samples, each once.
states() { # FILE
    "$JVM_JFR" print --events WallClockSample --json --stack-depth 1 "$1" |
        jq -r '.recording.events[].values | "\(.sampledThread.javaName) \(.state) \(.inNative)"' |
        grep -E '^(ForkJoinPool|blocked|holding|in-native|parked|running|sleeping|waiting)' | sort -u
}

by_state() { # SUFFIX
    check "$JVM_NAME: by state, .$1" profile --for 500ms --wall 10ms --wall-threads 64 --by-state \
        -o "$SCRATCH/states.$1"
}

for jdk in $(agent_jdks); do
    # ZGC leaves references to what it has moved where they are, until somebody loads them.
    jvm_start "$jdk" states -XX:+UseZGC ThreadStates
    jvm_wait ready || continue
    check "$JVM_NAME: samples" profile --for 500ms --cpu 0 --wall 10ms --wall-threads 64 -o "$SCRATCH/wall.jfr"
    is "$JVM_NAME: each thread is in its state" "$(states "$SCRATCH/wall.jfr")" \
        "$([ "$jdk" = 17 ] || echo "$carrier"; echo "$expected")"
    by_state txt
    is "$JVM_NAME: stacks begin with the state" \
        "$(sed 's/;.*\( [0-9]*\)$/\1/' "$SCRATCH/states.txt" | sed 's/ [0-9]*$//' | sort -u)" \
        "STATE_BLOCKED_ON_MONITOR_ENTER
STATE_IN_OBJECT_WAIT
STATE_IN_OBJECT_WAIT_TIMED
STATE_PARKED
STATE_PARKED_TIMED
STATE_RUNNABLE
STATE_RUNNABLE (in native code)
STATE_SLEEPING"
    contains "$JVM_NAME: who waits for a monitor" \
        "$(grep '^STATE_BLOCKED_ON_MONITOR_ENTER;' "$SCRATCH/states.txt")" 'ThreadStates.hold'
    is "$JVM_NAME: threads without Java frames have their names" \
        "$(cut -d ';' -f 2 "$SCRATCH/states.txt" | grep -E '^\[unknown\] |stack not walked')" ""
    for thread in 'C2 CompilerThread' 'VM Thread'; do
        contains "$JVM_NAME: such as $thread" "$(cut -d ';' -f 2 "$SCRATCH/states.txt" | sort -u)" "$thread"
    done
    by_state html
    contains "$JVM_NAME: the flame graph has them" "$(cat "$SCRATCH/states.html")" 'STATE_PARKED_TIMED'
    by_state top
    contains "$JVM_NAME: a table of each" "$(grep -A 9 '^STATE_SLEEPING' "$SCRATCH/states.top")" 'Thread.sleep'
    by_state json
    is "$JVM_NAME: the states in JSON" "$(jq -c '[.wall.states[] | .state] | unique | length' \
        "$SCRATCH/states.json")" 8
    is "$JVM_NAME: they add up" "$(jq -c '[.wall.states[].samples] | add == $all' \
        --argjson all "$(jq .wall.samples "$SCRATCH/states.json")" "$SCRATCH/states.json")" true
    check "$JVM_NAME: samples of engine agct" profile --for 500ms --cpu 0 --wall 10ms --wall-threads 64 --engine agct \
        -o "$SCRATCH/agct.jfr"
    is "$JVM_NAME: it knows no state of a thread in Java" \
        "$(states "$SCRATCH/agct.jfr" | cut -d ' ' -f 2- | sort -u)" "STATE_UNKNOWN false"
    jvm_end 0
done
done_testing
