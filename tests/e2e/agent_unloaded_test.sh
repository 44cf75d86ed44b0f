#!/bin/bash
# Classes that are sampled and unloaded before the chunk is written: by engine vm every frame of
# theirs has its name and its line, though the JVM uses their addresses again and again. Engine agct
# loses them.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

count=$((4000 * AGENT_SCALE))

# Loads, samples and unloads, all in one chunk; then has the chunk written. The samples in print.
churn_once() { # JDK ENGINE COLLECTOR CLASSES [OPTIONS]
    local file=$SCRATCH/$1-$2.jfr
    jvm_start "$1" "$2, $3${5-}" \
        "-agentpath:$AGENT=start,engine=$2,cpu=1ms,chunk=60s,file=$file${5-}" \
        "-XX:+Use${3}GC" -XX:MaxMetaspaceSize=24m ClassChurn "$4"
    if jvm_wait result 120; then
        jcmd "$JVM_HOME" "$JVM_PID" GC.run >"$SCRATCH/gc" 2>&1
        unloaded=$(jcmd "$JVM_HOME" "$JVM_PID" PerfCounter.print |
            sed -n 's/^java.cls.unloadedClasses=//p')
        profile dump --json >"$SCRATCH/dump" 2>&1
        profile stop --json >"$SCRATCH/stop" 2>&1
        jfr_text "$file" >"$SCRATCH/text"
        "$JVM_JFR" print --events nmtagent.Loss "$file" >"$SCRATCH/losses"
    fi
    jvm_end 0
    rm -f "$file"*
}

names_stay() { # JDK COLLECTOR
    local frames lines mixed unnamed
    churn_once "$1" vm "$2" $count
    if [ ! -s "$SCRATCH/text" ]; then
        fail "$JVM_NAME: writes a recording" "$(cat "$SCRATCH/dump" "$SCRATCH/stop")"
        return
    fi
    read -r frames lines mixed unnamed < <(victims <"$SCRATCH/text" 2>"$SCRATCH/wrong")
    cat "$SCRATCH/wrong"
    echo "# $JVM_NAME: $unloaded classes unloaded; $frames frames of theirs, $unnamed without a" \
        "name; methods: $(jq -c .status.methods "$SCRATCH/stop")"
    check "$JVM_NAME: most classes were unloaded by then" [ "$unloaded" -gt $((count * 8 / 10)) ]
    check "$JVM_NAME: they are seen" [ "$frames" -gt 200 ]
    is "$JVM_NAME: each frame has its name" "$unnamed" 0
    is "$JVM_NAME: it is that of the class that ran" "$mixed" 0
    is "$JVM_NAME: lines are of the source" "$lines" 0
    # A frame now and then is not one: a walk that was led astray. It is counted and has no name.
    is "$JVM_NAME: nothing was over the budget, next to nothing unreadable" \
        "$(jq -c '.status.methods | [.over_budget, .unreadable <= 5]' "$SCRATCH/stop")" "[0,true]"
    rm -f "$SCRATCH/text"
}

# More methods in one chunk than the smallest budget has room for: the frames say so, the stacks are
# whole, the losses are in the recording.
over_budget() { # JDK
    local over
    churn_once "$1" vm Serial $((count * 9)) ,memory=8M,traces=64M
    over=$(jq '.status.methods.over_budget' "$SCRATCH/stop")
    check "$JVM_NAME: a small budget ends ($over frames)" [ "$over" -gt 0 ]
    is "$JVM_NAME: every sample is stored" \
        "$(jq '.status | .samples - .stored' "$SCRATCH/stop")" 0
    check "$JVM_NAME: its frames say so, between frames that have names" \
        eval "grep -B1 'over budget' '$SCRATCH/text' | grep -q 'ClassChurn\|ChurnVictim\|java\.'"
    check "$JVM_NAME: the loss is in the recording" \
        eval "grep -A1 over_budget_frames '$SCRATCH/losses' | grep -q 'count = [1-9]'"
    rm -f "$SCRATCH/text"
}

for jdk in $(agent_jdks); do
    collectors="Serial G1 Z"
    [ "$AGENT_SCALE" -gt 1 ] || [ "$jdk" = 25 ] || collectors="Serial Z"
    for collector in $collectors; do
        names_stay "$jdk" $collector
    done
    churn_once "$jdk" agct Serial $count
    read -r frames _ _ unnamed < <(victims <"$SCRATCH/text")
    echo "# $JVM_NAME: $frames frames with a name, $unnamed without"
    check "$JVM_NAME: loses names of the same load" [ "$unnamed" -gt 0 ]
    rm -f "$SCRATCH/text"
done
# shellcheck disable=SC2046
over_budget $(agent_jdks | head -n 1)
done_testing
