#!/bin/bash
# Which code makes classes: every class is counted once, by family, loaded and unloaded; the stacks
# name the library that defines them and who asked it; names without number take no more memory.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh
AGENT_FLAGS+=(-XX:TieredStopAtLevel=1) # half the CPU, and the tier is no matter here

count=$((4000 * AGENT_SCALE))
"${CC:-gcc}" -O1 -o "$SCRATCH/deny" tests/e2e/deny.c || bail "deny.c does not compile"

family() { # NAME: of the answer in $answer
    jq -c --arg name "$1" '.families[] | select(.family == $name)' <<<"$answer"
}

for jdk in $(agent_jdks); do
    file=$SCRATCH/$jdk.jfr
    jvm_start "$jdk" churn -XX:NativeMemoryTracking=summary \
        "-agentpath:$AGENT=start,cpu=0,classes=true,chunk=500ms,file=$file" \
        ClassChurn $count 1000
    if jvm_wait result 300; then
        status=$(profile status --json)
        is "$JVM_NAME: named and hidden ones, each once" \
            "$(jq -c '[.classes.top[] | select(.family | startswith("ChurnVictim_#"))
                | [.family, .loaded]]' <<<"$status")" \
            "[[\"ChurnVictim_#\",$((count * 3 / 4))],[\"ChurnVictim_#/0x*\",$((count / 4))]]"
        # From before the agent: what the JVM loads to start.
        before=$(jcmd "$JVM_HOME" "$JVM_PID" PerfCounter.print | awk -F= \
            -v ours="$(jq .classes.loaded <<<"$status")" '
            $1 == "java.cls.loadedClasses" || $1 == "java.cls.sharedLoadedClasses" { all += $2 }
            END { print all - ours }')
        check "$JVM_NAME: no class counts twice ($before from before)" \
            test "$before" -ge 300 -a "$before" -le 900
        is "$JVM_NAME: all loaded methods, of each class as many as it has" "$(jq -c '.loaded_methods.families[]
                | select(.family == "ChurnVictim_#") | .methods / .classes' <<<"$status")" \
            "$("$JVM_HOME/bin/javap" -p -cp "$AGENT_CLASSES" ChurnVictim_0000000 | grep -c '(')"
        is "$JVM_NAME: none without a name, no stack lost" \
            "$(jq -c '[.classes.nameless, .classes.stacks_lost]' <<<"$status")" "[0,0]"
        unloaded=$(jq '.classes.top[] | select(.family == "ChurnVictim_#") | .unloaded' <<<"$status")
        check "$JVM_NAME: most have gone again ($unloaded)" [ "$unloaded" -gt $((count / 4)) ]
        contains "$JVM_NAME: so in the text" "$(profile status)" "loaded classes, most of them of
              "
        "$SCRATCH/deny" "$NMTWATCH" watch "$JVM_PID" --json --methods 1s --for 3s >"$SCRATCH/watch" 2>/dev/null
        check "$JVM_NAME: a watch that may not read the JVM's memory has methods and families from the agent" jq -es '
            (map(select(.type == "tick" and .methods).methods_source) | unique == [1])
            and ([.[] | select(.type == "methods")][-1] | .methods > 5000 and (.families | length == 32)
                and (.families | map(-.methods) | . == sort))' "$SCRATCH/watch"
        # A plan too: an agent's count, not the usual 9 a class.
        is "$JVM_NAME: and so has a plan" "$("$SCRATCH/deny" "$NMTWATCH" plan --from "$JVM_PID" --look 0 --json 2>/dev/null |
            jq -c '.input.methods_per_class != 9')" true
        profile stop >"$JVM_OUT/stop" 2>&1 || fail "$JVM_NAME: stops" "$(cat "$JVM_OUT/stop")"
        contains "$JVM_NAME: the JDK reads the events" "$("$JVM_JFR" print --events \
            nmtagent.ClassDefinition "$file" 2>&1)" 'family = "ChurnVictim_#"'
        is "$JVM_NAME: the families in the recording add up" "$("$JVM_JFR" print --json \
            --events nmtagent.ClassFamily "$file" | jq '[.recording.events[].values
                | select(.family | startswith("ChurnVictim_#"))]
                | group_by(.family) | map(max_by(.loaded).loaded) | add')" "$count"
    fi
    jvm_end 0

    # No two names alike: memory stays where it is.
    jvm_start "$jdk" letters "-agentpath:$AGENT=start,cpu=0,classes=true,chunk=500ms,file=$file" \
        -Dletters ClassChurn $((count * 5))
    if jvm_wait ready 60 && jvm_wait result 300; then
        status=$(profile status --json)
        check "$JVM_NAME: all are counted" jq -e --argjson count $((count * 5)) \
            '.classes.loaded >= $count and .classes.families <= .classes.families_max' <<<"$status"
        memory=$(profile memory --json | jq '.components[] | select(.name == "class_definitions")
            | .resident_bytes')
        check "$JVM_NAME: in $memory bytes" [ "$memory" -le 655360 ]
    fi
    jvm_end 0

    # By the one command, on a JVM that runs already.
    jvm_start "$jdk" asked ClassChurn 0 500
    if jvm_wait ready 60; then
        if answer=$(profile classes --for 3s --json -o "$SCRATCH/classes.html" 2>"$JVM_OUT/error"); then
            way=$(family "ChurnVictim_#" | jq -r '.ways[0] | [.definer, .caller]
                | map(sub(":[0-9]+$"; "")) | join(" ")')
            is "$JVM_NAME: who defines them, and who asked" "$way" \
                "ClassChurn\$Loader.define ClassChurn.live"
            check "$JVM_NAME: a class's metadata is 1 to 8 KB" jq -e \
                '.bytes / .sized | . > 1000 and . < 8000' <<<"$(family "ChurnVictim_#")"
            contains "$JVM_NAME: a flame graph" "$(cat "$SCRATCH/classes.html")" "ChurnVictim_#"
        else
            fail "$JVM_NAME: profile classes" "$(cat "$JVM_OUT/error")"
        fi
    fi
    kill_jvm "$JVM_PID"
done

# A library: the family is known, its code and the application's are distinguished.
if JDK=17 scripts/workloads.sh kinds 2>/dev/null | grep -qx cglib; then
    for jdk in $(agent_jdks); do
        JVM_NAME="cglib, JDK $jdk"
        JDK=$jdk spawn scripts/workloads.sh run cglib --mode explode --rate 50 --seconds 60 \
            >"$SCRATCH/cglib.log" 2>&1
        JVM_PID=$SPAWNED
        wait_for 60 grep -q ready "$SCRATCH/cglib.log"
        answer=$(profile classes --for 3s --json 2>"$SCRATCH/cglib.error")
        is "$JVM_NAME: the family, what defines it, who asked" "$(jq -r '[.families[] | select(.id == "cglib")][0]
            | [.id, (.ways[0] | .definer, .caller | sub(":[0-9]+$"; ""))] | join(" ")' \
            <<<"$answer")" \
            "cglib net.sf.cglib.core.ReflectUtils.defineClass workloads.kinds.CglibProxy.proxy"
        kill_jvm "$JVM_PID"
    done
else
    fail "cglib" "its library is not installed"
fi
done_testing
