#!/bin/bash
# Classes that are sampled and unloaded before the chunk is written: by engine vm every frame of
# theirs has its name and its line, though the JVM uses their addresses again and again. Engine agct
# loses them.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

count=$((6000 * AGENT_SCALE))

# Loads, samples and unloads, all in one chunk; then has the chunk written. The samples in print.
churn_once() { # JDK ENGINE
    local file=$SCRATCH/$1-$2.jfr
    jvm_start "$1" "$2" "-agentpath:$AGENT=start,engine=$2,cpu=1ms,chunk=60s,file=$file" \
        -XX:+UseSerialGC -XX:MaxMetaspaceSize=24m ClassChurn $count
    if jvm_wait result 120; then
        "$(dirname "$JVM_JFR")/jcmd" "$JVM_PID" GC.run >"$SCRATCH/gc" 2>&1
        unloaded=$("$(dirname "$JVM_JFR")/jcmd" "$JVM_PID" PerfCounter.print |
            sed -n 's/^java.cls.unloadedClasses=//p')
        profile dump --json >"$SCRATCH/dump" 2>&1
        profile stop --json >"$SCRATCH/stop" 2>&1
        jfr_text "$file" >"$SCRATCH/text"
    fi
    jvm_end 0
    rm -f "$file"*
}

# Of a printed recording: frames of the victims, those with a wrong line, stacks with two victims in
# one run (names that are of another method), frames without a name.
examine() { # FILE
    awk '
        BEGIN {
            split("<init> 5 5 applyAsLong 10 10 deeper 14 20 mix 25 29 fail 33 33", table)
            for (i = 1; i in table; i += 3) {
                first[table[i]] = table[i + 1]
                last[table[i]] = table[i + 2]
            }
        }
        /stackTrace = \[/ { victim = "" }
        match($0, /ChurnVictim_[0-9]+/) {
            name = substr($0, RSTART, RLENGTH)
            if (victim != "" && name != victim) mixed++
            victim = name
            frames++
            match($0, /[A-Za-z<>]+\(/)
            method = substr($0, RSTART, RLENGTH - 1)
            line = match($0, /line: [0-9]+/) ? substr($0, RSTART + 6, RLENGTH - 6) + 0 : 0
            if (!(method in first) || line < first[method] || line > last[method]) lines++
        }
        /method of an unloaded class/ { unnamed++ }
        END { printf "%d %d %d %d\n", frames, lines, mixed, unnamed }' "$1"
}

for jdk in $(agent_jdks); do
    churn_once "$jdk" vm
    if [ ! -s "$SCRATCH/text" ]; then
        fail "$JVM_NAME: writes a recording" "$(cat "$SCRATCH/dump" "$SCRATCH/stop")"
        continue
    fi
    read -r frames lines mixed unnamed < <(examine "$SCRATCH/text")
    echo "# JDK $jdk: $unloaded classes unloaded; $frames frames of theirs, $unnamed without a name;" \
        "methods: $(jq -c .status.methods "$SCRATCH/stop")"
    check "$JVM_NAME: most classes were unloaded by then" [ "$unloaded" -gt $((count * 8 / 10)) ]
    check "$JVM_NAME: they are seen" [ "$frames" -gt 200 ]
    is "$JVM_NAME: each frame has its name" "$unnamed" 0
    is "$JVM_NAME: it is that of the class that ran" "$mixed" 0
    is "$JVM_NAME: lines are of the source" "$lines" 0
    is "$JVM_NAME: nothing was over the budget or unreadable" \
        "$(jq -c '.status.methods | [.over_budget, .unreadable]' "$SCRATCH/stop")" "[0,0]"
    rm -f "$SCRATCH/text"

    churn_once "$jdk" agct
    read -r frames _ _ unnamed < <(examine "$SCRATCH/text")
    echo "# JDK $jdk, agct: $frames frames with a name, $unnamed without"
    check "$JVM_NAME: loses names of the same load" [ "$unnamed" -gt 0 ]
    rm -f "$SCRATCH/text"
done
done_testing
