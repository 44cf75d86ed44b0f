#!/bin/bash
# The profiler comes and goes: at the start of a JVM and into a running one, given wrong options, twice
# over, killed, without disk, at the end of the JVM.
# timeout: 1800
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh
AGENT_FLAGS+=(-XX:TieredStopAtLevel=1) # half the CPU, and the tier is no matter here

file=$SCRATCH/app.jfr

complete_chunks() { # FILE
    "$JVM_JFR" summary "$1" 2>&1 | sed -n 's/^ *Chunks: *//p'
}

timers() { # of the JVM: SIGPROF timers of both kinds
    echo $(($(grep -c '^ID:' "/proc/$JVM_PID/timers") + $(find "/proc/$JVM_PID/fd" \
        -lname '*perf_event*' | wc -l)))
}

wrong_options() {
    local options
    jvm_start "$jdk" options ClassChurn 0 100
    jvm_wait ready
    for options in "--cpu 1us" "--cpu fast" "--depth 0" "--timer sundial" "--engine steam" \
        "--context a;a-b" "--file $SCRATCH/missing/a.jfr"; do
        # shellcheck disable=SC2086 # words
        if profile start $options >"$SCRATCH/out" 2>&1; then
            fail "$JVM_NAME: $options is refused" "$(cat "$SCRATCH/out")"
        else
            is "$JVM_NAME: $options is refused in a line" "$(wc -l <"$SCRATCH/out")" 1
        fi
    done
    is "$JVM_NAME: nothing was started" "$(timers)" 0
    lacks "$JVM_NAME: nothing is sampling" "$(profile status 2>&1)" "state         running"
    # JDK 21 and later warn of agents that come by themselves.
    is "$JVM_NAME: the application's output is its own" "$(grep -v ^WARNING "$JVM_LOG")" ready
    kill_jvm "$JVM_PID"

    jvm_start "$jdk" options-at-start "-agentpath:$AGENT=start,cpu=never" Checksum 3
    jvm_wait result
    is "$JVM_NAME: a wrong option is a line, and the application runs" \
        "$(grep -c '^nmtagent: cpu=never' "$JVM_LOG") $(wc -l <"$JVM_LOG")" "1 3"
    jvm_end 0
}

two_copies() {
    cp "$AGENT" "$SCRATCH/other.so"
    jvm_start "$jdk" copies ClassChurn 0 1000
    jvm_wait ready
    check "$JVM_NAME: starts" profile start --cpu 1ms --file "$file"
    contains "$JVM_NAME: a second start is refused" \
        "$(profile start --cpu 1ms --file "$file" 2>&1)" "already running"
    : >"$SCRATCH/answer"
    jcmd "$jdk" "$JVM_PID" JVMTI.agent_load "$SCRATCH/other.so" \
        "\"start,cpu=1ms,file=$SCRATCH/other.jfr,answer=$SCRATCH/answer\"" >/dev/null 2>&1
    contains "$JVM_NAME: a second copy is refused" "$(cat "$SCRATCH/answer")" \
        "another copy of the agent is at work in this JVM: $AGENT"
    is "$JVM_NAME: and left alone" "$(ls "$SCRATCH/other.jfr"* 2>/dev/null)" ""
    profile_stops_right "$file"
    kill_jvm "$JVM_PID"
}

# What a stop must give back; quiet parts of a JVM need a moment for it.
level() { # prints "fds threads timers own_bytes"
    local bytes
    # Pages of the agent's own files come and go by themselves: they are not to be given back.
    bytes=$(profile memory --json | jq '[.components[] |
        select(.name | IN("agent_code", "unwind_tables") | not) | .reserved_bytes] | add')
    echo "$(find "/proc/$JVM_PID/fd" -type l | wc -l) $(find "/proc/$JVM_PID/task" -maxdepth 1 \
        -mindepth 1 | wc -l) $(timers) $bytes"
}

again_and_again() {
    local before after times=$((20 * AGENT_SCALE)) i
    jvm_start "$jdk" again -Dpause=10 Checksum 1000000
    jvm_wait ready
    for ((i = 1; i <= times; i++)); do
        profile start --cpu 1ms --file "$file" >"$SCRATCH/out" 2>&1 && sleep 0.1 &&
            profile stop >>"$SCRATCH/out" 2>&1 || break
        [ $i != 3 ] || before=$(level)
    done
    sleep 1
    after=$(level)
    if [ $i -le $times ]; then
        fail "$JVM_NAME: started and stopped $times times" "$i: $(cat "$SCRATCH/out")"
    else
        local fds threads own fds_now threads_now timers_now own_now
        read -r fds threads _ own <<<"$before"
        read -r fds_now threads_now timers_now own_now <<<"$after"
        if [ "$fds_now" -le "$((fds + 2))" ] && [ "$threads_now" -le "$((threads + 2))" ] &&
            [ "$timers_now" = 0 ] && [ "$own_now" -le $((own + 4096)) ]; then
            pass "$JVM_NAME: started and stopped $times times, all given back ($own_now bytes left)"
        else
            fail "$JVM_NAME: started and stopped $times times" "descriptors, threads, timers, bytes
after the third time: $before
after the last one:   $after"
        fi
    fi
    kill_jvm "$JVM_PID"
    rm -f "$file"*
}

killed() {
    local chunks
    jvm_start "$jdk" killed "-agentpath:$AGENT=start,cpu=1ms,chunk=200ms,file=$file" ClassChurn 0 1000
    jvm_wait ready
    sleep 1.5
    # Under load a chunk takes longer than its 200 ms, and has fewer samples.
    wait_for 30 eval '[ "$(complete_chunks "$file" 2>/dev/null)" -ge 4 ] && [ "$(jfr_samples "$file")" -gt 100 ]'
    kill_jvm "$JVM_PID"
    if [ "$(complete_chunks "$file")" -ge 3 ] && [ "$(jfr_samples "$file")" -gt 100 ]; then
        pass "$JVM_NAME: complete chunks are left"
    else
        fail "$JVM_NAME: complete chunks are left" "$("$JVM_JFR" summary "$file" 2>&1)"
    fi
    # As if it had died while a chunk was appended.
    chunks=$(complete_chunks "$file")
    head -c 5000 "$file" >"$SCRATCH/tail"
    cat "$SCRATCH/tail" >>"$file"
    check "$JVM_NAME: a torn tail is repaired" "$NMTWATCH" repair "$file"
    is "$JVM_NAME: and only that is gone" "$(complete_chunks "$file")" "$chunks"
    rm -f "$file"*
}

without_disk() {
    local out code=0
    if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
        skip "JDK $jdk: a full disk" "refused: a small file system cannot be mounted"
        return
    fi
    mkdir -p "$SCRATCH/small"
    # shellcheck disable=SC2016 # for the other shell
    JVM_WRAPPER=(unshare -m sh -c 'mount -t tmpfs -o size=200k small "$0" && exec "$@"'
        "$SCRATCH/small")
    jvm_start "$jdk" disk "-agentpath:$AGENT=start,cpu=1ms,chunk=200ms,file=$SCRATCH/small/a.jfr" \
        Checksum $rounds
    JVM_WRAPPER=()
    if jvm_wait result; then
        is "$JVM_NAME: its result" "$(jvm_result)" "$checksum"
        out=$(profile status --json)
        contains "$JVM_NAME: what is lost is reported" "$out" "No space left on device"
        contains "$JVM_NAME: and how much is kept" "$out" "complete chunks are kept"
        out=$(profile stop --json 2>"$SCRATCH/err") || code=$?
        is "$JVM_NAME: stops all the same; its exit code" "$code" 74
        contains "$JVM_NAME: in a sentence" "$(cat "$SCRATCH/err")" "the recording is not whole"
        cp "/proc/$JVM_PID/root$SCRATCH/small/a.jfr" "$file"
        is "$JVM_NAME: and knows what is kept" "$(complete_chunks "$file")" \
            "$(jq .status.chunks <<<"$out")"
    fi
    jvm_end 0
    is "$JVM_NAME: at most one line in its output" \
        "$([ "$(grep -vcE '^(ready|result .*)$' "$JVM_LOG")" -le 1 ] && echo yes)" yes
    rm -f "$file"
}

ends() { # NAME EXIT_CODE [ARGUMENT...]
    local name=$1 code=$2
    shift 2
    jvm_start "$jdk" "$name" "-agentpath:$AGENT=start,cpu=1ms,chunk=200ms,file=$file" \
        Checksum $rounds "$@"
    if jvm_wait result; then
        is "$JVM_NAME: its result" "$(jvm_result)" "$checksum"
    fi
    jvm_end "$code"
    if [ "$(jfr_samples "$file")" -gt 200 ]; then
        pass "$JVM_NAME: the recording is whole"
    else
        fail "$JVM_NAME: the recording is whole" "$("$JVM_JFR" summary "$file" 2>&1)"
    fi
    is "$JVM_NAME: no other file is left" \
        "$(ls "$file"?* "/tmp/.nmtagent_$JVM_PID" 2>/dev/null)" ""
    rm -f "$file"*
}

rounds=$((60 * AGENT_SCALE)) # a second of CPU
for jdk in $(agent_jdks); do
    jvm_start "$jdk" alone Checksum $rounds
    jvm_wait result
    checksum=$(jvm_result)
    jvm_end 0
    wrong_options
    two_copies
    again_and_again
    killed
    without_disk
    ends returns 0
    ends exits 3 exit 3
    ends halts 4 halt 4
done
done_testing
