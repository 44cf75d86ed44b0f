#!/bin/bash
# Control of the agent when something is in the way: attached before the JVM has started, a second copy
# of the library, two that start it at once, no descriptors, no disk, FILE taken away; and what commands
# leave behind.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh
AGENT_FLAGS+=(-XX:TieredStopAtLevel=1) # half the CPU, and the tier is no matter here

file=$SCRATCH/app.jfr

load() { # LIBRARY OPTIONS: by the JDK's own tool; prints the answer
    local status=0
    : >"$SCRATCH/answer"
    jcmd "$jdk" "$JVM_PID" JVMTI.agent_load "$1" \
        "\"$2,answer=$SCRATCH/answer\"" >"$SCRATCH/jcmd" 2>&1 || status=$?
    cat "$SCRATCH/answer"
    return $status
}

# The attach listener answers before the JVM is live.
too_early() {
    local times
    rm -f "$SCRATCH/go"
    jvm_start "$jdk" early -XX:+StartAttachListener -Djava.system.class.loader=SlowStart \
        "-Dgo=$SCRATCH/go" ClassChurn 0 1000
    jvm_wait starting || return
    wait_for 10 test -S "/tmp/.java_pid$JVM_PID"
    for times in first second; do
        exits "$JVM_NAME: the $times start comes too early" 23 \
            timeout 60 "$NMTWATCH" profile "$JVM_PID" start --cpu 1ms --file "$file"
        # The second sentence is the JVM's own, since 21.
        check "$JVM_NAME: and gets a message" grep -qE \
            "still starting: ask again in a moment|only permitted in the live phase" <<<"$OUTPUT"
    done
    touch "$SCRATCH/go"
    jvm_wait ready || return
    check "$JVM_NAME: can be profiled later" profile start --cpu 1ms --file "$file"
    sleep 1
    profile_stops_right "$file"
    [ "$(jfr_samples "$file")" -gt 10 ] && pass "$JVM_NAME: has samples" ||
        fail "$JVM_NAME: has samples" "$(jfr_samples "$file")"
    kill_jvm "$JVM_PID"
    rm -f "$file"*
}

second_copy() {
    local copy=$SCRATCH/copy/libnmtagent.so maps
    mkdir -p "$SCRATCH/copy" "$SCRATCH/cut"
    cp "$AGENT" "$copy"
    # The copy lies before the one that answers in some JVM, behind it in another.
    jvm_start "$jdk" second ClassChurn 0 1000
    jvm_wait ready
    check "$JVM_NAME: starts" profile start --cpu 1ms --file "$file"
    contains "$JVM_NAME: the second copy refuses" "$(load "$copy" status)" "another copy"
    maps=$(grep -c "r-xp.*libnmtagent.so" "/proc/$JVM_PID/maps")
    is "$JVM_NAME: two copies are mapped" "$maps" 2
    contains "$JVM_NAME: the one that answers is asked" "$(profile status 2>&1)" "running"
    contains "$JVM_NAME: --agent names the one to ask" \
        "$(profile status --agent "$copy" 2>&1)" "another copy of the agent is at work"
    rm -f "/tmp/.nmtagent_$JVM_PID"
    contains "$JVM_NAME: also when nothing says which one it is" "$(profile status 2>&1)" "running"
    check "$JVM_NAME: and it stops" profile stop
    kill_jvm "$JVM_PID"
    rm -f "$file"*
}

# Two askers whose copies lie in different places, as in a container, where each brings its own.
two_at_once() {
    local one=0 two=0 other=$SCRATCH/elsewhere
    mkdir -p "$other"
    cp "$NMTWATCH" "$AGENT" "$other/"
    jvm_start "$jdk" at-once ClassChurn 0 1000
    jvm_wait ready
    "$other/nmtwatch" profile "$JVM_PID" start --cpu 1ms --file "$file" >"$SCRATCH/one" 2>&1 &
    profile start --cpu 1ms --file "$SCRATCH/other.jfr" >"$SCRATCH/two" 2>&1 || two=$?
    wait $! || one=$?
    is "$JVM_NAME: one of two starts is done, the other is refused" \
        "$(cat "$SCRATCH/one" "$SCRATCH/two" | grep -cE '^profiling:|already running')" 2
    is "$JVM_NAME: by its exit code" "$(((one == 0) + (two == 0)))" 1
    check "$JVM_NAME: either can stop it" "$other/nmtwatch" profile "$JVM_PID" stop
    kill_jvm "$JVM_PID"
    rm -f "$file"* "$SCRATCH"/other.jfr*
}

status_of() { # JQ_EXPRESSION
    profile status --json 2>/dev/null | jq -r "$1"
}

is_status() { # JQ_EXPRESSION
    [ "$(status_of "$1")" = true ]
}

no_disk() {
    local code=0 before after
    mkdir -p "$SCRATCH/small"
    # shellcheck disable=SC2016 # for the other shell
    JVM_WRAPPER=(unshare -m sh -c 'mount -t tmpfs -o size=4m small "$0" && exec "$@"' "$SCRATCH/small")
    jvm_start "$jdk" disk "-agentpath:$AGENT=start,cpu=1ms,chunk=200ms,file=$SCRATCH/small/a.jfr" \
        ClassChurn 0 2000
    JVM_WRAPPER=()
    jvm_wait ready
    local inside=/proc/$JVM_PID/root$SCRATCH/small
    wait_for 20 is_status '.chunks > 1'
    head -c 8M /dev/zero >"$inside/ballast" 2>/dev/null
    check "$JVM_NAME: a full disk is reported" wait_for 20 is_status '.recording_error != null'
    before=$(status_of .signals)
    sleep 2
    after=$(status_of .signals)
    is "$JVM_NAME: no sample is taken meanwhile" "$((after - before < 20))" 1
    rm "$inside/ballast"
    check "$JVM_NAME: it goes on when there is room" wait_for 30 is_status '.recording_error == null'
    before=$(status_of .chunks)
    check "$JVM_NAME: and keeps chunks" wait_for 20 is_status ".chunks > $before"
    profile stop >"$SCRATCH/out" 2>&1 || code=$?
    is "$JVM_NAME: the exit code of stop" "$code" 74
    contains "$JVM_NAME: and in a sentence" "$(cat "$SCRATCH/out")" "the recording is not whole"
    kill_jvm "$JVM_PID"
}

no_descriptors() {
    local limit code=0
    jvm_start "$jdk" descriptors "-agentpath:$AGENT=start,cpu=1ms,chunk=200ms,file=$file" ClassChurn 0 2000
    jvm_wait ready
    wait_for 20 is_status '.chunks > 1'
    limit=$(prlimit --noheadings --raw --output SOFT --nofile -p "$JVM_PID")
    prlimit --pid "$JVM_PID" --nofile=5:
    sleep 2
    prlimit --pid "$JVM_PID" --nofile="$limit":
    check "$JVM_NAME: goes on after it had no descriptor" wait_for 30 \
        is_status '.recording_error == null and .lost.chunks > 0'
    contains "$JVM_NAME: and says why something is lost" "$(status_of .lost.reason)" "open files"
    # FILE is another one all of a sudden.
    mv "$file" "$file.moved"
    echo "somebody else's" >"$file"
    sleep 1
    is "$JVM_NAME: a file that was put in its place is not added to" "$(cat "$file.1")" \
        "somebody else's"
    profile stop >"$SCRATCH/out" 2>&1 || code=$?
    is "$JVM_NAME: the exit code of stop" "$code" 74
    is "$JVM_NAME: FILE is a recording again" "$("$JVM_JFR" summary "$file" | grep -c 'Version: 2.1')" 1
    kill_jvm "$JVM_PID"
    rm -f "$file"*
}

malloc_bytes() { # of the JVM, as NMT sees it: what is not given back
    jcmd "$jdk" "$JVM_PID" VM.native_memory summary scale=1 |
        sed -n 's/^-* *\(Serviceability\|Arguments\|Internal\) (reserved=\([0-9]*\).*/\2/p' |
        awk '{ sum += $1 } END { print sum }'
}

commands_leave() {
    local before after i
    jvm_start "$jdk" leave -XX:NativeMemoryTracking=summary Checksum 0
    jvm_wait ready
    for i in 1 2 3; do
        profile start --alloc 512k --file "$file" >/dev/null && profile stop >/dev/null
        profile status >/dev/null
    done
    malloc_bytes >/dev/null
    before=$(malloc_bytes)
    for ((i = 1; i <= 40; i++)); do
        profile status >/dev/null
    done
    for ((i = 1; i <= 15; i++)); do
        profile start --alloc 512k --file "$file" >/dev/null && profile stop >/dev/null
    done
    after=$(malloc_bytes)
    # HotSpot itself never gives back the path and the options of a load, 90 to 125 bytes each; what an
    # environment of JVMTI takes, 750 bytes a start, or the record of a load, 80 bytes, is not in it.
    if [ $((after - before)) -le 10500 ]; then
        pass "$JVM_NAME: 70 commands leave $((after - before)) bytes"
    else
        fail "$JVM_NAME: 70 commands leave little" "$((after - before)) bytes"
    fi
    kill_jvm "$JVM_PID"
    rm -f "$file"*
}

for jdk in $(agent_jdks); do
    too_early
    second_copy
    two_at_once
    if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
        no_disk
    else
        skip "JDK $jdk: a full disk" "refused: a small file system cannot be mounted"
    fi
    no_descriptors
    commands_leave
done
done_testing
