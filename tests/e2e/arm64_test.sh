#!/bin/bash
# aarch64 by an emulator: our arm64 programs on a JVM of an arm64 JDK, and the programs of this machine on it.
# All of it with ARM64_FULL=1 (`make test-arm64`); otherwise the part that takes seconds, by programs that are compiled
# in a third of the time, not optimized. ARM64_PROGRAMS: the folder of those to test, in place of the ones built here.
# timeout: 240
. "$(dirname "$0")/../tap.sh"

if ! emulated; then
    ! lacking=$(arm64_lacking) || skip_all "not installed: $lacking"
    refusal=$(scripts/test/arm64.sh true 2>&1) || skip_all "refused: $refusal"
    rm -rf "$SCRATCH"
    exec scripts/test/arm64.sh "$0"
fi

OURS=${NMTWATCH:-build/nmtwatch} # of this machine; it reads an arm64 JVM, too
build=build/aarch64-linux-gnu flags=()
[ -n "${ARM64_FULL-}" ] || build=build/arm64-quick flags=("BUILD=build/arm64-quick" "CFLAGS=-O0 -w")
programs=${ARM64_PROGRAMS:-$PWD/$build}
NMTWATCH=$OURS
. tests/e2e/agent.sh
[ -n "${ARM64_PROGRAMS-}" ] || check "both programs are built for aarch64" env -u MAKEFLAGS -u MAKELEVEL \
    make -s CROSS=aarch64-linux-gnu- "${flags[@]}" $build/{nmtwatch,libnmtagent.so}
NMTWATCH=$programs/nmtwatch AGENT=$programs/libnmtagent.so
JFR=$(agent_jdk 17)/bin/jfr

java_start() { # NAME [FLAG...]
    JVM_NAME=$1 JVM_OUT=$SCRATCH/$1 JVM_LOG=$SCRATCH/$1/log
    mkdir -p "$JVM_OUT"
    spawn "$JAVA_HOME/bin/java" "${AGENT_FLAGS[@]}" -XX:NativeMemoryTracking=summary -Dleave="$JVM_OUT/leave" \
        "${@:2}" -cp "$AGENT_CLASSES" Endurance 1000000 50 >"$JVM_LOG" 2>&1
    JVM_PID=$SPAWNED
}

events() { # FILE TYPE: how many
    "$JFR" summary "$1" 2>&1 | awk -v type="$2" '$1 == type { print $2 }'
}

has_events() { # FILE TYPE
    if [ "$(events "$1" "$2")" -gt 0 ] 2>/dev/null; then
        pass "$JVM_NAME: $2, read by jfr"
    else
        fail "$JVM_NAME: $2, read by jfr" "$("$JFR" summary "$1" 2>&1 | head -n 12)"
    fi
}

is_listed() { # PROGRAM
    [ "$("$1" list --json | jq --argjson pid "$JVM_PID" \
        '.jvms[] | select(.pid == $pid) | .jdk_major == 17 and .classes_loaded > 300 and .main == "Endurance"')" = true ]
}

jvm_unloaded() {
    "$NMTWATCH" list --json | jq --argjson pid "$JVM_PID" '.jvms[] | select(.pid == $pid) | .classes_unloaded'
}

java_start attached
wait_for 60 jvm_said ready
for program in "$NMTWATCH" "$OURS"; do
    wait_for 20 is_listed "$program"
    check "${program#"$PWD/"} lists it" is_listed "$program"
    exits "and checks it" 0 "$program" check "$JVM_PID"
done
# This machine's programs say what they cannot do, before they ask the JVM for anything. The emulator may be the
# machine's own.
if [ "$(uname -m)" != aarch64 ]; then
    contains "list: what it is" "$("$OURS" list | grep "^ *$JVM_PID ")" "aarch64, emulated by qemu"
    contains "doctor, too" "$("$OURS" doctor "$JVM_PID")" "aarch64, emulated by qemu"
    exits "the agent of this machine is not for it" 32 "$OURS" profile "$JVM_PID" start --agent "$(dirname "$OURS")/libnmtagent.so"
    contains "both architectures are named" "$OUTPUT" "the JVM is aarch64, emulated by qemu; the agent is "
    is "the JVM has not been told" "$(grep -c 'libnmtagent\|Full thread dump' "$JVM_LOG")" 0
    for mode in methods cpu; do
        exits "nor is it observed: $mode" 32 "$OURS" observe "$JVM_PID" $mode --for 1s
        contains "$mode: why" "$OUTPUT" "it is aarch64, emulated by qemu"
    done
    contains "plan: its stacks" "$("$OURS" plan --from "$JVM_PID" --look 0)" "-Xss2040k"
fi
exits "the agent is attached" 0 profile start --cpu 10ms --alloc 64k --file "$JVM_OUT/x.jfr"
contains "it walks stacks by HotSpot's structures" "$OUTPUT" "engine vm"
contains "by POSIX timers" "$OUTPUT" "timer posix"
sleep 3
exits "the program of this machine asks it, too" 0 "$OURS" profile "$JVM_PID" status
exits "it stops" 0 profile stop
has_events "$JVM_OUT/x.jfr" jdk.ExecutionSample
has_events "$JVM_OUT/x.jfr" jdk.ObjectAllocationSample
check "samples have frames of Java" grep -q 'Endurance' <("$JFR" print --events jdk.ExecutionSample --stack-depth 64 "$JVM_OUT/x.jfr")
exits "classes by their definers" 0 profile classes --for 3s
contains "and families" "$OUTPUT" "ChurnVictim_#"

if [ -n "${ARM64_FULL-}" ]; then
    exits "watch" 0 timeout $((60 * TAP_PATIENCE)) "$NMTWATCH" watch "$JVM_PID" --for 6s
    exits "record" 0 timeout $((60 * TAP_PATIENCE)) "$NMTWATCH" record "$JVM_PID" -o "$JVM_OUT/r.nmt.gz" --for 6s
    exits "report of the recording" 0 "$NMTWATCH" report "$JVM_OUT/r.nmt.gz" -o "$JVM_OUT/report"
    code=0 # 2 where the emulator is quick: a class explosion, as it is
    timeout $((100 * TAP_PATIENCE)) "$NMTWATCH" triage "$JVM_PID" --for 6s -o "$JVM_OUT/case" >"$SCRATCH/triage.out" 2>&1 || code=$?
    check "triage" [ $code -le 2 ]
    check "the case is whole" test -s "$JVM_OUT/case/report.html" -a -s "$JVM_OUT/case/findings.json"
fi
kill_jvm "$JVM_PID"
is "the JVM did not crash" "$(jvm_crash)" ""

# Classes come and go: those that were unloaded keep their names. ARM64_SECONDS=600: the endurance of `make stress`.
endures() { # NAME: that JVM, with a profiler that began with it or was attached
    wait_for 60 jvm_said ready
    if [ "$1" = loaded ]; then
        exits "$1: starts" 0 profile start --engine vm --cpu 10ms --alloc 64k --chunk 10s --file "$JVM_OUT/x.jfr"
    fi
    sleep "${ARM64_SECONDS:-12}"
    check "$1: a collection" "$JAVA_HOME/bin/jcmd" "$JVM_PID" GC.run
    sleep 8
    exits "$1: status" 0 profile status --json
    jq -c '{signals, samples, stored, faults, dropped, walks, methods}' <<<"$OUTPUT" | sed 's/^/# /'
    check "$1: all samples are stored, but for those under way" [ "$(jq '.samples - .stored' <<<"$OUTPUT")" -le 2 ]
    exits "$1: memory" 0 profile memory
    exits "$1: stops" 0 profile stop
    has_events "$JVM_OUT/x.jfr" jdk.ExecutionSample
    read -r frames lines mixed unnamed < <("$JFR" print --events jdk.ExecutionSample --stack-depth 24 "$JVM_OUT/x.jfr" |
        victims 2>"$SCRATCH/wrong")
    check "$1: $frames frames of classes that come and go" [ "$frames" -gt 50 ]
    is "$1: each has its name, that of the class that ran, and a line of its source" "$lines $mixed $unnamed" "0 0 0"
    check "$1: $(jvm_unloaded) classes were unloaded" [ "$(jvm_unloaded)" -gt 100 ]
    kill_jvm "$JVM_PID"
    is "$1: the JVM did not crash" "$(jvm_crash)" ""
}

if [ -n "${ARM64_FULL-}" ]; then
    small=(-XX:+UseSerialGC -Xmx96m -XX:MaxMetaspaceSize=24m)
    java_start agentpath "-agentpath:$AGENT=start,engine=vm,cpu=10ms,alloc=64k,chunk=10s,file=$SCRATCH/agentpath/x.jfr" "${small[@]}"
    endures agentpath
    java_start loaded "${small[@]}"
    endures loaded
fi
done_testing
