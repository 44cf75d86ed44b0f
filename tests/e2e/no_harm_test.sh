#!/bin/bash
# JVMs that are at a limit, frozen, stopped, or that do not take attach, and each verb that asks or loads: the JVM lives,
# the verb ends in time, and check says why in one line.
# timeout: 900

. "$(dirname "$0")/../tap.sh"
. tests/e2e/no_harm.sh

pids_max() {
    start
    group_of_jvm pids pids.max || return
    cat "$GROUP/pids.current" >"$GROUP/pids.max"
}
nproc_reached() {
    start setpriv --reuid $THREADS_USER --regid $THREADS_USER --clear-groups --
    local threads
    threads=$(find /proc/[0-9]*/task -maxdepth 1 -mindepth 1 -uid $THREADS_USER 2>/dev/null | wc -l)
    # As that user: for root the kernel wants CAP_SYS_RESOURCE.
    setpriv --reuid $THREADS_USER --regid $THREADS_USER --clear-groups prlimit --pid "$JVM_PID" --nproc="$threads:$threads"
}
address_space() {
    start
    local bytes=$(($(awk '/^VmSize:/ { print $2 }' "/proc/$JVM_PID/status") * 1024))
    prlimit --pid "$JVM_PID" --as="$bytes:$bytes"
}
# What is in the group is what the JVM touches from now on; a limit above that by one page leaves nothing.
memory_max() {
    # shellcheck disable=SC2016 # for the inner shell
    start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$MEMORY_GROUP" --
    if [ -e "$MEMORY_GROUP/memory.max" ]; then
        echo $(($(cat "$MEMORY_GROUP/memory.current") + 4096)) >"$MEMORY_GROUP/memory.max"
    else
        echo $(($(cat "$MEMORY_GROUP/memory.usage_in_bytes") + 4096)) >"$MEMORY_GROUP/memory.limit_in_bytes"
    fi
}
with_memory_group() {
    local pid=${JVM_PID:-}
    JVM_PID=$$
    for root in /sys/fs/cgroup/memory /sys/fs/cgroup /sys/fs/cgroup/unified; do
        [ -e "$root/cgroup.procs" ] || continue
        MEMORY_GROUP=$root/nmtwatch-test-$$
        [ "$root" = /sys/fs/cgroup/memory ] || echo +memory >"$root/cgroup.subtree_control"
        mkdir "$MEMORY_GROUP" && GROUPS_MADE+=("$MEMORY_GROUP")
        [ -e "$MEMORY_GROUP/memory.max" ] || [ -e "$MEMORY_GROUP/memory.limit_in_bytes" ] && break
        rmdir "$MEMORY_GROUP"
        MEMORY_GROUP=
    done 2>/dev/null
    JVM_PID=$pid
    [ -n "$MEMORY_GROUP" ] && memory_max
}
frozen() {
    start
    if group_of_jvm freezer freezer.state; then
        echo FROZEN >"$GROUP/freezer.state"
    elif group_of_jvm freezer cgroup.freeze; then
        echo 1 >"$GROUP/cgroup.freeze"
    else
        return 1
    fi
    sleep 0.3
}
stopped() {
    start
    kill -STOP "$JVM_PID"
    wait_for 5 is_stopped
}
reduced_signals() { start -Xrs; }
attach_disabled() { start -XX:+DisableAttachMechanism; }

for JDK in $(agent_jdks); do
    HOME_OF_JVM=$(agent_jdk "$JDK")
    condition pids_max no-room 3
    condition nproc_reached no-room 3
    condition address_space no-room 3
    condition with_memory_group no-room 3
    condition frozen no-answer 3
    condition stopped no-answer 3
    condition reduced_signals null 0 # its attach socket is open from the start
    condition attach_disabled attach-disabled 3
done

done_testing
