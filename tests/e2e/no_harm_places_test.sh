#!/bin/bash
# JVMs without descriptors, on a full disk, under Landlock, under a debugger, in a frozen group, in the middle of a heap
# dump, of a start or of an exec, and each verb that asks or loads: the JVM lives, check says why in one line.
# timeout: 900

. "$(dirname "$0")/../tap.sh"
. tests/e2e/no_harm.sh

"${CC:-cc}" -O1 tests/e2e/confined.c -o "$SCRATCH/confined" || bail "confined.c does not compile"
"${CC:-cc}" -O1 -DLIBRARY -shared -fPIC tests/e2e/confined.c -o "$SCRATCH/libconfined.so" || bail "confined.c as a library"
chmod 755 "$SCRATCH/confined" "$SCRATCH/libconfined.so"
STRANGER=61235

# The first number that is free: the next connection that the attach listener accepts finds none.
open_files() {
    local number=0
    while [ -e "/proc/$JVM_PID/fd/$number" ]; do number=$((number + 1)); done
    echo $number
}
descriptors_gone() { # the listener is there already: JDK 17 and 25 ended its thread at the first question
    start
    "$NMTWATCH" check "$JVM_PID" >/dev/null 2>&1
    prlimit --pid "$JVM_PID" --nofile="$(open_files):"
}
after_descriptors_gone() {
    prlimit --pid "$JVM_PID" --nofile="$(prlimit --pid "$JVM_PID" --nofile --noheadings -o HARD | tr -d ' '):"
    exits "$NAME: attach works as before" 0 "$NMTWATCH" check "$JVM_PID"
}
descriptors_gone_at_first() {
    start
    prlimit --pid "$JVM_PID" --nofile="$(open_files):"
}
no_file_may_grow() {
    start
    prlimit --pid "$JVM_PID" --fsize=0:
}
# Its /tmp has room for its hsperfdata and an empty file, and then none.
with_own_tmp() { # OPTIONS: of the tmpfs
    # shellcheck disable=SC2016 # for the inner shell
    start unshare -m sh -c 'mount -t tmpfs -o "$0" tmpfs /tmp && cd / && exec "$@"' "$1" --
}
disk_full() {
    with_own_tmp size=64k || return
    dd if=/dev/zero of="/proc/$JVM_PID/root/tmp/filled" bs=1k count=100 2>/dev/null
    [ -s "/proc/$JVM_PID/root/tmp/filled" ]
}
no_inode() {
    with_own_tmp size=1m,nr_inodes=10 || return
    local i
    for i in 1 2 3 4 5 6 7 8 9 10; do : >"/proc/$JVM_PID/root/tmp/$i"; done 2>/dev/null
    true
}
landlocked() {
    start "$SCRATCH/confined" landlock "$SCRATCH" --
    ! grep -q '^refused' "$SCRATCH/out"
}
trace_it() { # until it is released
    "$SCRATCH/confined" trace "$JVM_PID" >"$SCRATCH/trace" &
    TRACER=$!
    wait_for 10 grep -qE 'ready|refused' "$SCRATCH/trace" && grep -q ready "$SCRATCH/trace"
}
release() {
    kill -KILL "$TRACER"
    wait "$TRACER" 2>/dev/null
}
under_a_debugger() { start && trace_it; }
after_under_a_debugger() { release; }
# As a checkpoint (CRaC, CRIU) leaves it for a while: each thread held, the attach socket closed and gone.
in_a_checkpoint() {
    start
    "$NMTWATCH" check "$JVM_PID" >/dev/null 2>&1
    trace_it && rm "/tmp/.java_pid$JVM_PID"
}
after_in_a_checkpoint() { release; }
frozen_by_version_2() {
    start
    GROUP=/sys/fs/cgroup/unified/nmtwatch-test-$$
    [ -e /sys/fs/cgroup/unified/cgroup.procs ] || GROUP=/sys/fs/cgroup/nmtwatch-test-$$
    mkdir "$GROUP" 2>/dev/null || return
    GROUPS_MADE+=("$GROUP")
    { echo "$JVM_PID" >"$GROUP/cgroup.procs" && echo 1 >"$GROUP/cgroup.freeze"; } 2>/dev/null || return
    wait_for 5 grep -q 'frozen 1' "$GROUP/cgroup.events"
}
# Into a FIFO that nobody empties: the JVM stands in its dump for as long as this test wants.
heap_dump_under_way() {
    [ "$JDK" -ge 21 ] || return # the dump of 17 refuses a file that exists
    start
    mkfifo "$SCRATCH/fifo"
    timeout 300 "$HOME_OF_JVM/bin/jcmd" "$JVM_PID" GC.heap_dump -overwrite "$SCRATCH/fifo" >"$SCRATCH/jcmd" 2>&1 &
    DUMPING=$!
    exec 7<"$SCRATCH/fifo"
}
after_heap_dump_under_way() {
    cat <&7 >/dev/null &
    exec 7<&-
    wait "$DUMPING"
    exits "$NAME: it answers again" 0 "$NMTWATCH" check "$JVM_PID"
    rm "$SCRATCH/fifo"
}

for JDK in $(agent_jdks); do
    HOME_OF_JVM=$(agent_jdk "$JDK")
    condition descriptors_gone no-room 3
    condition descriptors_gone_at_first no-room 3
    condition no_file_may_grow null 0
done

JDK=$LAST_JDK
CLASSES=$(mktemp -d /var/tmp/nmtwatch-test.XXXXXX) # not in /tmp, of which some have their own
trap 'leave_groups; rm -rf "$CLASSES"; tap_cleanup' EXIT
cp "$SCRATCH/Idle.class" "$CLASSES"
chmod 755 "$CLASSES"
condition disk_full null 0
condition no_inode system 3
condition landlocked no-answer 3
condition under_a_debugger no-answer 3
condition in_a_checkpoint no-answer 3
condition frozen_by_version_2 no-answer 3
condition heap_dump_under_way no-answer 3

# A user who may not look at it: by rights, by a hidden /proc, by Yama.
NAME="JDK $JDK looked at by a stranger"
start
one_line() { # NAME COMMAND...: it fails, with one line
    local code=0
    timeout $((30 * TAP_PATIENCE)) "${@:2}" >"$SCRATCH/line" 2>&1 || code=$?
    check "$1 fails ($code)" test $code -gt 0 -a $code -lt 124
    is "$1: in one line" "$(wc -l <"$SCRATCH/line")" 1
    lives "$1"
}
AS_STRANGER=(setpriv --reuid $STRANGER --regid $STRANGER --clear-groups)
for VERB in check watch profile holders; do
    case $VERB in profile) WORDS="start" ;; holders) WORDS=--allow-pause ;; *) WORDS="" ;; esac
    # shellcheck disable=SC2086 # perhaps none
    one_line "$NAME: $VERB" "${AS_STRANGER[@]}" "$NMTWATCH" $VERB "$JVM_PID" $WORDS
done
# shellcheck disable=SC2016 # for the inner shell
one_line "JDK $JDK in a /proc that hides it: check" unshare -m sh -c \
    'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid "$0" --regid "$0" --clear-groups "$@"' \
    $STRANGER "$NMTWATCH" check "$JVM_PID"
kill_jvm "$JVM_PID"
if [ -w /proc/sys/kernel/yama/ptrace_scope ]; then
    start "${AS_STRANGER[@]}" --
    SCOPE=$(cat /proc/sys/kernel/yama/ptrace_scope)
    for YAMA in 1 2; do
        echo $YAMA >/proc/sys/kernel/yama/ptrace_scope
        NAME="JDK $JDK with ptrace_scope=$YAMA, as its user"
        exits "$NAME: check" 0 "${AS_STRANGER[@]}" "$NMTWATCH" check "$JVM_PID"
        lives "$NAME"
    done
    echo "$SCOPE" >/proc/sys/kernel/yama/ptrace_scope
    kill_jvm "$JVM_PID"
else
    skip "JDK $JDK with ptrace_scope" "refused: this kernel has no Yama, or it cannot be set"
fi

# From its first moment on: SIGQUIT before the JVM handles it would end it.
NAME="JDK $JDK at its start"
for _ in 1 2 3; do
    : >"$SCRATCH/out"
    spawn sh -c 'sleep 0.3; exec "$@"' sh "$HOME_OF_JVM/bin/java" -Xmx32m -XX:NativeMemoryTracking=summary \
        -cp "$SCRATCH" Idle >"$SCRATCH/out" 2>&1
    JVM_PID=$SPAWNED
    until grep -q ready "$SCRATCH/out" || ! kill -0 "$JVM_PID" 2>/dev/null; do
        timeout $((30 * TAP_PATIENCE)) "$NMTWATCH" check "$JVM_PID" >/dev/null 2>&1
    done
    lives "$NAME: check again and again"
    is "$NAME: no thread dump" "$(grep -c 'Full thread dump' "$SCRATCH/out")" 0
    kill_jvm "$JVM_PID"
done

# It becomes another program, with its number and its start time: that one does not handle SIGQUIT.
NAME="JDK $JDK that became another program"
start env LD_PRELOAD="$SCRATCH/libconfined.so" --
timeout $((30 * TAP_PATIENCE)) "$NMTWATCH" watch --for 8s --interval 1s "$JVM_PID" >"$SCRATCH/watch" 2>&1 &
WATCH=$!
sleep 2
kill -USR1 "$JVM_PID"
wait_for 5 grep -q sleep "/proc/$JVM_PID/comm"
wait "$WATCH"
lives "$NAME: watch"
rm -f "/tmp/.java_pid$JVM_PID"
exits "$NAME: check" 3 "$NMTWATCH" check "$JVM_PID"
is "$NAME: the reason" "$("$NMTWATCH" check --json "$JVM_PID" 2>/dev/null | jq -r .missing)" not-a-jvm
for WORDS in "profile $JVM_PID start" "holders $JVM_PID --allow-pause" "triage $JVM_PID --for 1s -o $SCRATCH/other"; do
    # shellcheck disable=SC2086 # words
    verb $WORDS
done
kill_jvm "$JVM_PID"

done_testing
