#!/bin/bash
# Classes are redefined while their methods run: each frame has the name and the line of the method that
# was on the stack, not of the one that lay at its address before.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

redefined() { # NAME STYLE CLASSES ROUNDS [FLAG...]: 5 ms between two
    local file=$SCRATCH/redefined.jfr name=$1 style=$2 classes=$3 rounds=$4 found
    shift 4
    jvm_start "$jdk" "$name-$style" "-agentpath:$AGENT=start,engine=vm,cpu=1ms,chunk=1s,file=$file" "$@" \
        -XX:+AllowRedefinitionToAddDeleteMethods -javaagent:"$AGENT_CLASSES/redefine.jar" \
        Redefinitions "$style" "$classes" "$rounds" 5
    if jvm_wait result 120; then
        profile_stops_right "$file"
        found=$("$JVM_HOME/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$AGENT_CLASSES" Redefinitions check "$file" 2>&1)
        check "$JVM_NAME: every frame has its own name and line: $(tail -n 1 <<<"$found")" \
            grep -Eq '^frames [0-9]{4,} names 0 lines 0 ' <<<"$found"
        grep '^# ' <<<"$found"
    fi
    jvm_end 0
    rm -f "$file"*
}

for jdk in $(agent_jdks); do
    for style in redefine retransform addDelete; do
        redefined one $style 1 $((100 * AGENT_SCALE))
        redefined one-Xint $style 1 $((100 * AGENT_SCALE)) -Xint
        redefined many $style 40 $((3 * AGENT_SCALE))
    done
    # A JVM that does not count its safepoints where they can be read.
    redefined no-counter redefine 1 $((100 * AGENT_SCALE)) -Xint -XX:-UsePerfData
done
done_testing
