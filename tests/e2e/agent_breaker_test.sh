#!/bin/bash
# The agent collects less before its host suffers: policies of method ids, the circuit breaker on a churn of
# classes, what a watch reports of it, and the watch that stops the profiler.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh
AGENT_FLAGS+=(-XX:TieredStopAtLevel=1) # half the CPU, and the tier is no matter here

status() { # FILTER: of the agent's status
    profile status --json 2>&1 | jq -rc "$1"
}

status_is() { # FILTER
    [ "$(status "$1")" = true ]
}

watched() { # FILTER: of the lines of the watch
    jq -rc "$1" "$SCRATCH/watch" 2>/dev/null
}

count=8000
for jdk in $(agent_jdks); do
    jvm_start "$jdk" alone ClassChurn $count
    jvm_wait result 60
    expected=$(jvm_result)
    jvm_end 0

    # --- each step, in order ---
    file=$SCRATCH/$jdk-breaker.jfr
    jvm_start "$jdk" breaker -XX:NativeMemoryTracking=summary ClassChurn $count 800
    jvm_wait ready || continue
    spawn "$NMTWATCH" watch --json --no-tap "$JVM_PID" >"$SCRATCH/watch" 2>&1
    wait_for 10 grep -q '"type":"tick"' "$SCRATCH/watch"
    check "$JVM_NAME: starts" profile start --engine agct --jmethodid all --cpu 1ms --file "$file" \
        --warn 64k --shed 128k --stop-at 256k
    check "$JVM_NAME: the profiler stops itself" wait_for 20 status_is '.running == false'
    is "$JVM_NAME: and says so" "$(status '.breaker.state')" stopped
    contains "$JVM_NAME: with the reason" "$(status '.breaker.reason')" "more than stop_at=256.0 KB"
    is "$JVM_NAME: each step is in the recording, in order" \
        "$("$JVM_JFR" print --events nmtagent.Breaker "$file" |
            sed -n 's/.*state = "\(.*\)"/\1/p' | tr '\n' ' ')" "warned shedding stopped "
    is "$JVM_NAME: and what was sampled" "$(status .stored)" \
        "$("$JVM_JFR" summary "$file" | awk '$1 == "jdk.ExecutionSample" { print $2 }')"
    wait_for 10 grep -q '"step":"stopped"' "$SCRATCH/watch"
    is "$JVM_NAME: a watch raises its alerts" \
        "$(watched 'select(.type == "alert" and .id == "agent-shedding" and .state == "raised")
            | .evidence.step' | tail -n 1)" stopped
    contains "$JVM_NAME: and passes on the agent's words" \
        "$(watched 'select(.type == "note") | .text')" \
        "the profiler agent says: jmethodIDs take"
    is "$JVM_NAME: so does a check" \
        "$("$NMTWATCH" check --json "$JVM_PID" | jq -r '.findings[] | select(.id == "agent-shedding")
            | .evidence.step')" stopped
    check "$JVM_NAME: it can be started again" profile start --engine agct --jmethodid none
    is "$JVM_NAME: and begins anew" "$(status .breaker.state)" normal
    if jvm_wait result 60; then
        is "$JVM_NAME: the application is unharmed" "$(jvm_result)" "$expected"
    fi
    jvm_end 0

    # --- giving way is enough ---
    file=$SCRATCH/$jdk-shed.jfr
    jvm_start "$jdk" shed \
        "-agentpath:$AGENT=start,engine=agct,cpu=1ms,chunk=1s,file=$file,warn=64k,shed=128k" \
        ClassChurn 0 500
    check "$JVM_NAME: it sheds load" wait_for 20 status_is '.breaker.state == "shedding"'
    prepared=$(status .jmethodid.prepared_classes)
    sleep 3
    is "$JVM_NAME: no class is prepared any more" "$(status \
        '"\(.running) \(.jmethodid.policy) \(.jmethodid.prepared_classes)"')" "true none $prepared"
    check "$JVM_NAME: what has no name is counted" status_is '.unnamed_frames > 0'
    kill_jvm "$JVM_PID"

    # --- a budget ---
    jvm_start "$jdk" budget \
        "-agentpath:$AGENT=start,engine=agct,jmethodid=budget=256k,cpu=1ms,chunk=1s,file=$file" \
        ClassChurn 0 1000
    check "$JVM_NAME: the budget is reached" wait_for 20 status_is '.jmethodid.skipped_classes > 500'
    check "$JVM_NAME: and kept within 5 %" status_is \
        '.jmethodid | .asked_bytes >= .budget_bytes and .asked_bytes <= .budget_bytes * 1.05'
    check "$JVM_NAME: what was loaded at the start is predicted" status_is \
        '.jmethodid.predicted_bytes > 50000 and .jmethodid.predicted_bytes < 1000000'
    check "$JVM_NAME: frames without a name are counted" status_is '.unnamed_frames > 0'
    check "$JVM_NAME: its dump" profile dump
    check "$JVM_NAME: they are a loss of the recording" grep -q . <("$JVM_JFR" print --json \
        --events nmtagent.Loss "$file" | jq '.recording.events[].values |
            select(.reason == "unnamed_frames" and .count > 0)')
    kill_jvm "$JVM_PID"

    # --- who is met ---
    jvm_start "$jdk" lazy "-agentpath:$AGENT=start,engine=agct,jmethodid=lazy,cpu=1ms,file=$file" \
        -XX:-Inline Checksum 100000000
    check "$JVM_NAME: classes that are met are asked for" \
        wait_for 20 status_is '.samples > 300 and .jmethodid.prepared_classes > 0'
    # Without ids it is about ten a sample. Methods that are always inlined stay without, nobody stops in
    # them: hence nothing is inlined here.
    named_by_now() {
        read -r samples unnamed <<<"$(status '"\(.samples) \(.unnamed_frames)"')"
        wait_for 20 status_is ".samples > $samples + 300"
        read -r samples2 unnamed2 <<<"$(status '"\(.samples) \(.unnamed_frames)"')"
        [ $((unnamed2 - unnamed)) -lt $(((samples2 - samples) * 3 / 2)) ]
    }
    check "$JVM_NAME: and have names from then on" wait_for 30 named_by_now
    check "$JVM_NAME: few of them" status_is '.jmethodid.prepared_classes < 200'
    kill_jvm "$JVM_PID"

    # --- no room ---
    jvm_start "$jdk" small "-agentpath:$AGENT=start,cpu=1ms,memory=8M,chunk=60s,file=$file" \
        RandomStacks 100000000
    check "$JVM_NAME: stacks find no room any more" wait_for 30 status_is '.without_trace > 0'
    jvm_enough
    check "$JVM_NAME: the recording" profile stop
    is "$JVM_NAME: the status says how many and why" \
        "$(status '.lost_stacks | .over_budget + .late') $("$NMTWATCH" profile "$JVM_PID" status |
            sed -nE 's/^stacks lost .*because the (.*) for the stacks of a chunk were used up.*/\1/p')" \
        "$(status .without_trace) 3 MB"
    is "$JVM_NAME: and their samples are counted all the same" \
        "$(status '.stored + .dropped.slots + .dropped.buffers == .samples')" true
    is "$JVM_NAME: in one frame that says so" "$(jfr_text "$file" | grep -c 'over budget')" \
        "$(status .without_trace)"
    check "$JVM_NAME: as a loss of the recording" grep -q . <("$JVM_JFR" print --json \
        --events nmtagent.Loss "$file" | jq '.recording.events[].values |
            select(.reason == "traces" and .count > 0)')
    kill_jvm "$JVM_PID"

    # --- ids that the engine does not need ---
    jvm_start "$jdk" both "-agentpath:$AGENT=start,engine=vm,jmethodid=all,cpu=1ms,file=$file" \
        ClassChurn 0 300
    check "$JVM_NAME: ids are asked for, and none is missing" wait_for 20 status_is \
        '.samples > 100 and .jmethodid.prepared_classes > 500 and .unnamed_frames == 0'
    kill_jvm "$JVM_PID"

    # --- the watch stops it ---
    cat >"$SCRATCH/unacceptable.ini" <<'INI'
[thresholds]
internal_investigate_bytes = 1MB
internal_explosion_bytes = 1049KB
internal_unacceptable_bytes = 1050KB
INI
    jvm_start "$jdk" unacceptable -XX:NativeMemoryTracking=summary \
        "-agentpath:$AGENT=start,engine=agct,jmethodid=all,cpu=10ms,file=$file" ClassChurn 0 2500
    jvm_wait ready || continue
    spawn "$NMTWATCH" watch --json --no-tap --warmup 1s --nmt-interval 1s \
        --config "$SCRATCH/unacceptable.ini" --on-unacceptable stop-profiler "$JVM_PID" \
        >"$SCRATCH/watch" 2>&1
    wait_for 40 grep -q 'libnmtagent.so' "$SCRATCH/watch"
    is "$JVM_NAME: beyond the last step the profiler is stopped, once" \
        "$(watched 'select(.type == "note") | .text' | grep libnmtagent.so)" \
        "libnmtagent.so has stopped profiling, as --on-unacceptable asked"
    is "$JVM_NAME: and has stopped" "$(status .running)" false
    kill_jvm "$JVM_PID"
done

# --- its own memory: a bound for stacks that is beyond the bound of the whole ---
jdk=$(agent_jdks | tail -n 1)
jvm_start "$jdk" silent \
    "-agentpath:$AGENT=start,cpu=1ms,memory=8M,traces=64M,chunk=1h,file=$file" \
    -Dpause=4 RandomStacks 100000000 2 1000
check "$JVM_NAME: what it holds is beyond memory=" wait_for 40 status_is \
    '.breaker.state == "shedding" or .breaker.state == "silent"'
check "$JVM_NAME: giving way is not enough: no more samples" wait_for 40 status_is \
    '.breaker.state == "silent" and .timers == 0'
jvm_enough
check "$JVM_NAME: that is" wait_for 20 status_is '.breaker.own_bytes < .breaker.memory_bytes'
is "$JVM_NAME: it is still there" "$(status '"\(.running) \(.breaker.state)"')" "true silent"
is "$JVM_NAME: each step is in the recording already" \
    "$("$JVM_JFR" print --events nmtagent.Breaker "$file" |
        sed -n 's/.*state = "\(.*\)"/\1/p' | tr '\n' ' ')" "warned shedding silent "
check "$JVM_NAME: it can be stopped" profile stop
kill_jvm "$JVM_PID"
done_testing
