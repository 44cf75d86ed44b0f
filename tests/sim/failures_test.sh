#!/bin/bash
# Every way in which a JVM cannot be asked has its reason, its exit code and no side effect: `check`
# is UNKNOWN (3) and says why, `watch` ends with the code of docs/exit-codes.md.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-build/fake_jvm}
if [ ! -x "$NMTWATCH" ] || [ ! -x "$FAKE_JVM" ]; then
    bail "nmtwatch or fake_jvm is not built"
fi

fake() { # OPTIONS...: starts one, pid in $FAKE, what it prints in $SCRATCH/out
    spawn "$FAKE_JVM" --for 60 "$@" >"$SCRATCH/out"
    FAKE=$SPAWNED
    wait_for 10 grep -q '^ready' "$SCRATCH/out"
}

end_fake() { # NAME: and it was never made to print a thread dump
    kill -CONT "$FAKE" 2>/dev/null
    kill "$FAKE"
    wait "$FAKE" 2>/dev/null
    lacks_in "$1: no thread dump in the application's log" "$SCRATCH/out" "thread dump"
    rm -f "/tmp/.attach_pid$FAKE"
}

refused() { # NAME REASON CODE
    local began=$SECONDS
    exits "$1: check is UNKNOWN" 3 "$NMTWATCH" check --timeout 500ms --json "$FAKE"
    is "$1: reason" "$(jq -r .missing <<<"$OUTPUT")" "$2"
    exits "$1: exit code of watch" "$3" "$NMTWATCH" watch --timeout 500ms --for 1s "$FAKE"
    check "$1: in time" test $((SECONDS - began)) -lt 10
}

fake --answer nmt-off
exits "NMT off: check is UNKNOWN" 3 "$NMTWATCH" check --json "$FAKE"
is "NMT off: reason" "$(jq -r .missing <<<"$OUTPUT")" nmt-off
contains "NMT off: the flag to add" "$OUTPUT" "-XX:NativeMemoryTracking=summary"
end_fake "NMT off"

fake --args "-XX:+DisableAttachMechanism"
refused "attach disabled" attach-disabled 14
end_fake "attach disabled"

if emulated; then
    skip "no handler for SIGQUIT" "refused: the emulator handles every signal"
else
    fake --no-sigquit
    refused "no handler for SIGQUIT" attach-disabled 14
    check "no handler for SIGQUIT: still alive" kill -0 "$FAKE"
    end_fake "no handler for SIGQUIT"
fi

fake --socket stale
refused "stale socket" stale-socket 15
end_fake "stale socket"

fake --answer silent --socket now
refused "silent" no-answer 16
end_fake "silent"

fake --delay-ms 20
refused "byte by byte, too slow" no-answer 16
end_fake "byte by byte, too slow"

fake
kill -STOP "$FAKE"
wait_for 5 grep -q '^State:.*T' "/proc/$FAKE/status"
refused "stopped" no-answer 16
contains "stopped: the sentence says so" "$OUTPUT" "stopped"
check "stopped: nothing left behind" test ! -e ".attach_pid$FAKE" -a ! -e "/tmp/.attach_pid$FAKE"
end_fake "stopped"

fake --answer unknown
refused "unknown command" unknown-command 18
end_fake "unknown command"

fake --answer garbage --seed 3
refused "garbage" bad-reply 19
end_fake "garbage"

fake --answer reject
refused "rejected" rejected 21
end_fake "rejected"

# --- architectures ------------------------------------------------------------------------------

library() { # FILE CLASS ORDER MACHINE...: the header of a library, in printf's escapes
    printf '%b' "\\0177ELF\\0$2\\0$3\\01\\0\\0\\0\\0\\0\\0\\0\\0\\0$4" >"$1"
    truncate -s 4096 "$1"
}
other_machine() { # NAME COMMAND...: 32, and the JVM was neither asked nor signalled
    exits "$1" 32 "$NMTWATCH" "${@:2}"
    is "$1: nothing was done to it" "$(compgen -G "/tmp/nmtwatch-????????????????";
        compgen -G "/tmp/.*_pid$FAKE")" ""
}
architectures() {
    own=$("$NMTWATCH" doctor --json | jq -r '.checks[] | select(.name == "architecture").found | sub("nmtwatch is "; "")')
    mkdir "$SCRATCH/own" "$SCRATCH/riscv64"
    dd if="$NMTWATCH" of="$SCRATCH/own/libjvm.so" bs=4096 count=1 status=none
    printf '\003' | dd of="$SCRATCH/own/libjvm.so" bs=1 seek=16 conv=notrunc status=none # ET_DYN: a library
    library "$SCRATCH/riscv64/libjvm.so" 2 1 '\03\0\0363\0'
    library "$SCRATCH/s390x.so" 2 2 '\0\03\0\026'
    library "$SCRATCH/arm.so" 1 1 '\03\0\050\0'
    cp "$SCRATCH/riscv64/libjvm.so" "$SCRATCH/riscv64.so"

    fake --libjvm "$SCRATCH/own/libjvm.so"
    other_machine "an agent of another architecture" profile "$FAKE" start --agent "$SCRATCH/riscv64.so"
    contains "both are named" "$OUTPUT" "the JVM is $own; the agent is riscv64: $SCRATCH/riscv64.so"
    other_machine "of the other order of bytes" profile "$FAKE" --for 1s --agent "$SCRATCH/s390x.so" -o "$SCRATCH/x.txt"
    contains "both are named" "$OUTPUT" "the JVM is $own; the agent is s390x"
    other_machine "of 32 bits" profile "$FAKE" start --agent "$SCRATCH/arm.so"
    contains "both are named" "$OUTPUT" "the JVM is $own; the agent is arm (32 bits)"
    lacks "list: no column where all JVMs are of this architecture" "$("$NMTWATCH" list)" ARCHITECTURE
    is "its name in JSON" "$("$NMTWATCH" list --json | jq -r --argjson pid "$FAKE" '.jvms[] | select(.pid == $pid) | [.architecture, .emulated] | join(" ")')" "$own false"
    end_fake "own architecture"

    fake --libjvm "$SCRATCH/riscv64/libjvm.so" --answer nmt
    other_machine "a JVM of another architecture" profile "$FAKE" start --agent "$SCRATCH/own/libjvm.so"
    contains "both are named" "$OUTPUT" "the JVM is riscv64, emulated; the agent is $own: "
    for mode in cpu classes alloc rss jmethodids methods; do
        other_machine "observe $mode" observe "$FAKE" "$mode" --for 1s
        contains "observe $mode: the reason" "$OUTPUT" "it is riscv64, emulated: this nmtwatch observes JVMs of $own"
    done
    contains "list" "$("$NMTWATCH" list | grep "$FAKE ")" "riscv64, emulated"
    contains "doctor" "$("$NMTWATCH" doctor "$FAKE")" "riscv64, emulated"
    exits "check" 0 "$NMTWATCH" check "$FAKE"
    contains "check says it" "$OUTPUT" "(riscv64, emulated) |"
    exits "an agent of the JVM's architecture is handed to it" 23 "$NMTWATCH" profile "$FAKE" start --agent "$SCRATCH/riscv64.so"
    end_fake "another architecture"
}
if emulated; then
    skip "architectures" "refused: what is started here is emulated"
else
    architectures
fi

sleep 60 &
TAP_PIDS+=($!)
FAKE=$!
refused "not a JVM" not-a-jvm 10

FAKE=99999999
refused "no such process" gone 12
is "no such process: said once" "$("$NMTWATCH" watch 99999999 2>&1)" "nmtwatch watch: pid 99999999: no such process"

fake
exits "socket deleted: before" 0 "$NMTWATCH" check "$FAKE"
rm "/tmp/.java_pid$FAKE"
exits "socket deleted: opened again" 0 "$NMTWATCH" check "$FAKE"
end_fake "socket deleted"

fake --pad-mb 1000
exits "1 GB reply: UNKNOWN" 3 "$NMTWATCH" check --json "$FAKE"
contains "1 GB reply: bounded" "$OUTPUT" "reply-too-large"
end_fake "1 GB reply"

# Damaged replies: a verdict or UNKNOWN, never a crash and never OK from half a summary.
for bytes in 0 1 2 3 40 200 700 1000; do
    fake --prefix "$bytes" --jdk 17
    exits "reply cut to $bytes bytes: UNKNOWN" 3 "$NMTWATCH" check "$FAKE"
    kill "$FAKE"
done

done_testing
