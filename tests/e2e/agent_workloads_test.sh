#!/bin/bash
# What applications do that is hard on a profiler, at 1 kHz: they come to the result they have
# without it, end as they would, and every sample is accounted for.
# timeout: 1800
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

sampling() { # FILE [OPTION]
    echo "-agentpath:$AGENT=start,cpu=1ms,chunk=1s,file=$1${2:+,$2}"
}

# One workload from its start to its end under the profiler.
endure() { # JDK NAME OPTION RESULT [FLAG...] CLASS ARGUMENT...
    local jdk=$1 name=$2 option=$3 result=$4
    shift 4
    jvm_start "$jdk" "$name" "$(sampling "$SCRATCH/$jdk-$name.jfr" "$option")" "$@"
    if jvm_wait result 600; then
        is "$JVM_NAME: its result" "$(jvm_result)" "$result"
        profile_stops_right "$SCRATCH/$jdk-$name.jfr"
    fi
    jvm_end 0
    rm -f "$SCRATCH/$jdk-$name.jfr"
}

for jdk in $(agent_jdks); do
    jvm_start "$jdk" alone Checksum 100
    jvm_wait result
    checksum=$(jvm_result)
    jvm_end 0
    endure "$jdk" checksum "" "$checksum" Checksum 100
    endure "$jdk" checksum-wall wall=5ms "$checksum" Checksum 100
    endure "$jdk" checksum-itimer timer=itimer "$checksum" Checksum 100
    endure "$jdk" redefinition "" $((100 * AGENT_SCALE)) \
        -javaagent:"$AGENT_CLASSES/redefine.jar" Redefine $((100 * AGENT_SCALE))
    endure "$jdk" recursion depth=1000 $((200 * AGENT_SCALE)) DeepRecursion $((100 * AGENT_SCALE))
    endure "$jdk" threads "" 2000 ThreadStorm 2000
    for mechanism in POSIX_SPAWN FORK VFORK; do
        endure "$jdk" "$mechanism" "" $((30 * AGENT_SCALE)) \
            -Djdk.lang.Process.launchMechanism=$mechanism ForkExec $((30 * AGENT_SCALE))
    done
done
done_testing
