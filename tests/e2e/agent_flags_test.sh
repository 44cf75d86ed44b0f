#!/bin/bash
# Flags that change how HotSpot lays out code, classes and stacks: engine vm is at work under each of
# them, and finds a stack for all but a few samples.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

FLAGS=(
    -Xint -XX:-TieredCompilation -XX:TieredStopAtLevel=1 -XX:-Inline -XX:+PreserveFramePointer
    -XX:-SegmentedCodeCache "-XX:-SegmentedCodeCache -XX:ReservedCodeCacheSize=8m"
    -XX:ReservedCodeCacheSize=1g -XX:UseAVX=0 -Xshare:off -XX:-UsePerfData -Xrs
    -XX:-UseCompressedOops -XX:-UseCompressedClassPointers
    "-XX:+UnlockExperimentalVMOptions -XX:+UseCompactObjectHeaders"
    "-XX:+UnlockExperimentalVMOptions -XX:+EnableJVMCI"
    "-XX:+UnlockExperimentalVMOptions -XX:-VMContinuations"
    "-XX:+UnlockExperimentalVMOptions -XX:+UseEpsilonGC -Xmx2g"
    "-XX:+UseShenandoahGC -XX:ShenandoahGCMode=generational"
    -XX:+UseTransparentHugePages -Xss256k
)

classes=1000
for jdk in $(agent_jdks); do
    file=$SCRATCH/flags.jfr
    for flags in "${FLAGS[@]}"; do
        # shellcheck disable=SC2086
        jvm_start "$jdk" "flags" $flags "-agentpath:$AGENT=start,engine=vm,cpu=1ms,file=$file" \
            ClassChurn $classes
        JVM_NAME="$flags, JDK $jdk"
        if wait_for 60 jvm_said result && ! grep -q ^ready "$JVM_LOG" &&
            ! "$JVM_HOME/bin/java" $flags -version >/dev/null 2>&1; then
            continue # not of this JDK
        fi
        if jvm_wait result; then
            is "$JVM_NAME: its result" "$(jvm_result | cut -d ' ' -f 1)" $classes
            status=$(profile stop --json | jq .status)
            is "$JVM_NAME: its engine" "$(jq -r .engine <<<"$status")" vm
            samples=$(jq .samples <<<"$status")
            lost=$(jq '.walks | [.unknown_java, .not_walkable_java, .unknown_not_java] | add // 0' \
                <<<"$status")
            check "$JVM_NAME: a stack for all but $lost of $samples" \
                [ "$samples" -gt 50 -a $((lost * 50)) -le "$samples" ]
            is "$JVM_NAME: each frame has its name" "$(jq .unnamed_frames <<<"$status")" 0
        fi
        jvm_end 0
        rm -rf "$JVM_OUT" "$file"*
    done
done
done_testing
