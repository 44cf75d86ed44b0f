#!/bin/bash
# All at once at 1 kHz and with each collector: at least 500 classes a second that come and go,
# exceptions, stacks that overflow, deep stacks. Nothing happens to the JVM, every sample is accounted
# for, faults of the walker are counted, and every frame of a class that has gone has its name.
# ENDURANCE_SECONDS: 4 in `make test`, an hour in `make stress`; all JVMs live side by side, so that
# they are also stopped wherever they are.
# timeout: 9000
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

SECONDS_EACH=${ENDURANCE_SECONDS:-4}
RATE=550 # of them at least 500 a second are wanted
COLLECTORS=${ENDURANCE_COLLECTORS:-Serial Parallel G1 Z Shenandoah}

# Ten JVMs are bad neighbours for the tests beside them.
[ "$SECONDS_EACH" -ge 600 ] || JVM_WRAPPER=(nice -n 10)

declare -A jvms # JDK-collector -> pid, folder, jfr

live() { # JDK COLLECTOR
    jvm_start "$1" "$2" \
        "-agentpath:$AGENT=start,engine=vm,cpu=1ms,chunk=30s,file=$SCRATCH/$1-$2.jfr" \
        "-XX:+Use${2}GC" -Xmx96m -XX:MaxMetaspaceSize=64m Endurance $((SECONDS_EACH * RATE)) $RATE
    jvms[$1-$2]="$JVM_PID $JVM_OUT $JVM_JFR"
}

examine() { # JDK COLLECTOR
    local loaded unloaded took overflows nulls wrong frames lines mixed unnamed stop
    JVM_NAME="$2, JDK $1"
    read -r JVM_PID JVM_OUT JVM_JFR <<<"${jvms[$1-$2]}"
    JVM_LOG=$JVM_OUT/log
    wait_for $((SECONDS_EACH * 2 + 120)) jvm_said result
    ! grep -q "^Option -XX:+Use${2}GC not supported" "$JVM_LOG" || return 0 # not of this JDK
    jvm_wait result || return
    read -r loaded unloaded took overflows nulls wrong < <(jvm_result)
    check "$JVM_NAME: $loaded classes in $took s" [ "$loaded" = $((SECONDS_EACH * RATE)) ]
    if [ "$SECONDS_EACH" -ge 600 ]; then
        check "$JVM_NAME: at least 500 a second" [ $((loaded / took)) -ge 500 ]
    fi
    check "$JVM_NAME: $unloaded of them unloaded" [ "$unloaded" -ge $((loaded * 9 / 10)) ]
    check "$JVM_NAME: $overflows stacks overflowed, $nulls null pointers, nothing else" \
        [ "$overflows" -gt "$SECONDS_EACH" -a "$nulls" -gt "$SECONDS_EACH" -a "$wrong" = 0 ]
    stop=$SCRATCH/$1-$2.stop
    profile status --json >"$stop" # of the last moment; `profile_stops_right` stops
    is "$JVM_NAME: nothing over the budget" "$(jq .methods.over_budget "$stop")" 0
    # A walk that was led astray now and then: one frame in 5.7 million samples, docs/internals/measurements.md.
    is "$JVM_NAME: next to no frame is unreadable" \
        "$(jq '.methods.unreadable * 1000 <= .samples' "$stop")" true
    profile_stops_right "$SCRATCH/$1-$2.jfr"
    jvm_end 0
    "$JVM_JFR" print --events jdk.ExecutionSample --stack-depth 24 "$SCRATCH/$1-$2.jfr" |
        victims >"$SCRATCH/victims" 2>"$SCRATCH/wrong"
    cat "$SCRATCH/wrong"
    read -r frames lines mixed unnamed <"$SCRATCH/victims"
    echo "# $JVM_NAME: $took s, $((loaded / took)) classes a second; $(jq -c '{signals, samples, stored,
        faults, dropped, walks, methods}' "$stop"); $frames frames of victims, $unnamed without a name"
    check "$JVM_NAME: they are seen" [ "$frames" -gt $((SECONDS_EACH * 10)) ]
    is "$JVM_NAME: each frame has its name" "$unnamed" 0
    is "$JVM_NAME: it is that of the class that ran" "$mixed" 0
    is "$JVM_NAME: lines are of the source" "$lines" 0
    rm -f "$SCRATCH/$1-$2.jfr"*
}

for jdk in $(agent_jdks); do
    for collector in $COLLECTORS; do
        live "$jdk" "$collector"
    done
done
for jdk in $(agent_jdks); do
    for collector in $COLLECTORS; do
        examine "$jdk" "$collector"
    done
done
done_testing
