# shellcheck shell=bash
# no_harm: JVMs in a condition, and each verb that asks or loads. Source it after tap.sh; sources agent.sh.
#
#   start [COMMAND... --] [FLAG...]     an idle JVM of $JDK, its pid in $JVM_PID; its class is in $CLASSES, too
#   condition FUNCTION REASON CODE      the function makes it; REASON is what check --json names as missing, CODE how
#                                       check ends. Then all verbs for the last JDK, check, profile and holders for
#                                       others; then after_FUNCTION, where there is one, undoes it

. tests/e2e/agent.sh
[ "$(id -u)" = 0 ] || skip_all "refused: needs root for control groups and other users"
if emulated; then skip_all "refused: the emulator has threads and memory of its own"; fi

cat >"$SCRATCH/Idle.java" <<'JAVA'
public class Idle {
    public static void main(String[] a) throws Exception {
        System.out.println("ready");
        Thread.sleep(600000);
    }
}
JAVA
"$(agent_jdk "$(agent_jdks | head -n 1)")/bin/javac" --release 11 -d "$SCRATCH" "$SCRATCH/Idle.java" || bail "Idle.java"
chmod 755 "$SCRATCH"
GROUPS_MADE=()
THREADS_USER=61234

leave_groups() {
    local group
    for group in "${GROUPS_MADE[@]}"; do
        echo THAWED >"$group/freezer.state"
        echo 0 >"$group/cgroup.freeze"
        kill_jvm "$JVM_PID"
        wait_for 2 rmdir "$group"
    done 2>/dev/null
    GROUPS_MADE=()
}
trap 'leave_groups; tap_cleanup' EXIT

# A control group of this controller with the JVM in it, its folder in $GROUP; fails where the kernel gives none.
group_of_jvm() { # CONTROLLER FILE
    local root
    for root in "/sys/fs/cgroup/$1" /sys/fs/cgroup /sys/fs/cgroup/unified; do
        GROUP=$root/nmtwatch-test-$$
        [ -e "$root/cgroup.procs" ] || continue
        [ "$root" = "/sys/fs/cgroup/$1" ] || echo "+$1" >"$root/cgroup.subtree_control"
        mkdir "$GROUP" || continue
        GROUPS_MADE+=("$GROUP")
        [ -e "$GROUP/$2" ] && echo "$JVM_PID" >"$GROUP/cgroup.procs" && return 0
        rmdir "$GROUP"
    done 2>/dev/null
    return 1
}

start() { # [COMMAND... --] [FLAG...]
    local before=()
    if [[ " $* " == *" -- "* ]]; then
        while [ "$1" != -- ]; do before+=("$1"); shift; done
        shift
    fi
    spawn "${before[@]}" "$HOME_OF_JVM/bin/java" -Xms32m -Xmx32m -XX:+AlwaysPreTouch -XX:NativeMemoryTracking=summary "$@" \
        -cp "$SCRATCH${CLASSES:+:$CLASSES}" Idle >"$SCRATCH/out" 2>&1
    JVM_PID=$SPAWNED
    wait_for 60 grep -q ready "$SCRATCH/out" || fail "$NAME: the JVM starts" "$(tail -n 3 "$SCRATCH/out")"
    sleep 1
}

is_stopped() { grep -q '^State:[[:space:]]*[Tt]' "/proc/$JVM_PID/status"; }

lives() { # NAME
    sleep 0.2
    check "$1: the JVM lives" grep -q '^State:[[:space:]]*[RSDTt]' "/proc/$JVM_PID/status"
}
verb() { # WORD...
    local code=0
    timeout -k 5 $((40 * TAP_PATIENCE)) "$NMTWATCH" "$@" >"$SCRATCH/verb" 2>&1 || code=$?
    check "$NAME: $* ends in time, by itself ($code)" test $code -lt 124
    lives "$NAME: $*"
}

# CONDITION REASON CODE: what check --json names as missing; how check ends.
condition() {
    NAME="JDK $JDK $1"
    if ! "$1"; then
        skip "$NAME" "refused: the kernel lets no such limit be set here"
        leave_groups
        kill_jvm "$JVM_PID"
        return
    fi
    timeout $((30 * TAP_PATIENCE)) "$NMTWATCH" check "$JVM_PID" >"$SCRATCH/check" 2>&1
    is "$NAME: the exit code of check" $? "$3"
    is "$NAME: in one line" "$(wc -l <"$SCRATCH/check")" 1
    is "$NAME: the reason" "$("$NMTWATCH" check --json "$JVM_PID" 2>/dev/null | jq -r .missing)" "$2"
    lives "$NAME: check"
    verb profile "$JVM_PID" start
    verb holders "$JVM_PID" --allow-pause
    if [ "$JDK" = "$LAST_JDK" ]; then
        verb watch --for 2s "$JVM_PID"
        verb record --for 2s -o "$SCRATCH/$1.nmt.gz" "$JVM_PID"
        verb list
        verb doctor "$JVM_PID"
        verb plan --from "$JVM_PID"
        verb observe "$JVM_PID" classes --for 1s
        verb triage "$JVM_PID" --for 1s -o "$SCRATCH/triage-$1"
        printf '[serve]\nlisten = 127.0.0.1:0\nstate = %s/state\nscan_interval = 1s\n' "$SCRATCH" >"$SCRATCH/serve.ini"
        timeout -k 5 10 "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >"$SCRATCH/serve" 2>&1
        lives "$NAME: serve"
    fi
    is "$NAME: it was not signalled in vain" "$(grep -c 'Full thread dump' "$SCRATCH/out")" 0
    leave_groups
    [ "$(type -t "after_$1")" != function ] || "after_$1"
    kill -CONT "$JVM_PID" 2>/dev/null
    sleep 0.3
    is "$NAME: nor does a signal come later" "$(grep -c 'Full thread dump' "$SCRATCH/out")" 0
    kill_jvm "$JVM_PID"
}

LAST_JDK=$(agent_jdks | tail -n 1)
