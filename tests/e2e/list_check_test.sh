#!/bin/bash
# One measurement of real JVMs: list and check.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "list and check on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    fleet_start $jdk idle --seconds 100
    NMT=detail fleet_start $jdk hidden --mode cached --seconds 100
    NMT=off fleet_start $jdk xslt --mode cached --seconds 100
    JVM_FLAGS=-XX:+DisableAttachMechanism fleet_start $jdk proxy --mode cached --seconds 100
done
[ ${#FLEET_NAMES[@]} != 0 ] || done_testing
fleet_ready

list=$("$NMTWATCH" list --json)
check "list --json is one object" jq -e '.jvms | type == "array"' <<<"$list"
text=$("$NMTWATCH" list)

row() { # NAME FILTER
    jq -r --argjson pid "${FLEET_PID[$1]}" ".jvms[] | select(.pid == \$pid) | $2" <<<"$list"
}

for jdk in 17 25; do
    have_jdk $jdk || continue
    idle=${FLEET_PID[$jdk/idle]}
    is "$jdk: list tells the major version" "$(row $jdk/idle .jdk_major)" $jdk
    is "$jdk: list tells NMT summary" "$(row $jdk/idle .nmt)" summary
    is "$jdk: list tells NMT detail" "$(row $jdk/hidden .nmt)" detail
    is "$jdk: list tells NMT off" "$(row $jdk/xslt .nmt)" off
    contains "$jdk: list names the main class" "$(row $jdk/idle .main)" workloads.Workload
    is "$jdk: classes and RSS are plausible" \
        "$(row $jdk/idle '(.classes_loaded > 300 and .rss_bytes > 10000000)')" true
    contains "$jdk: the table has the JVM" "$text" "$idle"

    exits "$jdk: check of a healthy JVM is OK" 0 "$NMTWATCH" check "$idle"
    contains "$jdk: its first line has performance data" "$(head -n 1 <<<"$OUTPUT")" "|"
    exits "$jdk: check --json" 0 "$NMTWATCH" check --json "$idle"
    is "$jdk: its status" "$(jq -r .status <<<"$OUTPUT")" OK
    exits "$jdk: NMT off is unknown, not fine" 3 "$NMTWATCH" check "${FLEET_PID[$jdk/xslt]}"
    contains "$jdk: and says which flag to add" "$OUTPUT" "-XX:NativeMemoryTracking=summary"
    exits "$jdk: attach disabled is unknown" 3 "$NMTWATCH" check "${FLEET_PID[$jdk/proxy]}"
done

for jdk in 17 25; do
    have_jdk $jdk || continue
    state() { # NAME CHECK: "state: what mends it"
        jq -r --argjson pid "${FLEET_PID[$1]}" --arg check "$2" \
            '.jvms[] | select(.pid == $pid) | .checks[] | select(.name == $check) | "\(.state): \(.mend)"' <<<"$doctor"
    }
    doctor=$("$NMTWATCH" doctor --json)
    is "$jdk: doctor finds nothing wrong with NMT" "$(state $jdk/idle nmt)" "ok: null"
    is "$jdk: and nothing in the way of attaching" "$(state $jdk/idle attach)" "ok: null"
    is "$jdk: nor with its hsperfdata" "$(state $jdk/idle hsperfdata)" "ok: null"
    is "$jdk: it knows that NMT is off, and the option" "$(state $jdk/xslt nmt)" \
        "missing: start it with -XX:NativeMemoryTracking=summary"
    contains "$jdk: and that attach is disabled" "$(state $jdk/proxy attach)" \
        "missing: start it without -XX:+DisableAttachMechanism"
    exits "$jdk: doctor of one JVM with NMT off" 1 "$NMTWATCH" doctor "${FLEET_PID[$jdk/xslt]}"
    contains "$jdk: its text has the option" "$OUTPUT" "-XX:NativeMemoryTracking=summary"
    lacks "$jdk: and no other JVM" "$OUTPUT" "${FLEET_PID[$jdk/proxy]} "
done
# Refusals of a kernel and of a container engine, played: a seccomp filter refuses, and /proc/sys/kernel says what
# such a kernel has set.
"${CC:-gcc}" -O2 -o "$SCRATCH/deny" tests/e2e/deny.c || bail "deny.c"
# A copy: others may not enter a home folder.
doctor=$SCRATCH/nmtwatch
cp "$NMTWATCH" "$doctor"
refused() { # USER PTRACE_SCOPE PERF_EVENT_PARANOID CHECK: "what is found; what mends it"
    mkdir -p "$SCRATCH/kernel/yama"
    echo "$2" >"$SCRATCH/kernel/yama/ptrace_scope"
    echo "$3" >"$SCRATCH/kernel/perf_event_paranoid"
    chmod -R a+rX "$SCRATCH"
    unshare -m sh -c 'mount --bind "$1" /proc/sys/kernel && exec setpriv --reuid "$2" --clear-groups "$3" "$4" doctor --json' \
        sh "$SCRATCH/kernel" "$1" "$SCRATCH/deny" "$doctor" 2>/dev/null |
        jq -r --arg check "$4" '.checks[] | select(.name == $check) | "\(.found); \(.mend)"'
}
if ! unshare -m setpriv --reuid 0 --clear-groups true 2>/dev/null || [ "$(id -u)" != 0 ]; then
    skip "doctor where things are refused" "refused: namespaces need root"
else
    for scope in 1 2; do
        contains "doctor: ptrace_scope $scope" "$(refused 65534 $scope 2 memory)" "CAP_SYS_PTRACE, or: sysctl kernel.yama.ptrace_scope=0"
    done
    contains "doctor: ptrace_scope 3 is for nobody, and for ever" "$(refused 0 3 2 memory)" "it cannot be lowered"
    contains "doctor: no ptrace_scope: a seccomp profile" "$(refused 0 0 2 memory)" "a seccomp profile that allows process_vm_readv"
    for paranoid in 3 4; do
        contains "doctor: perf_event_paranoid $paranoid" "$(refused 65534 0 $paranoid perf-events)" \
            "kernel.perf_event_paranoid is $paranoid); run as root or with CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=2"
    done
    contains "doctor: root, with which it is not that" "$(refused 0 0 4 perf-events)" "a seccomp profile that allows perf_event_open"
    contains "doctor: nor is it with 2" "$(refused 65534 0 2 perf-events)" "a seccomp profile that allows perf_event_open"
    contains "doctor: uprobes without rights" "$(refused 65534 0 2 uprobes)" "run as root, or with CAP_BPF"
    contains "doctor: uprobes with rights, refused" "$(refused 0 0 2 uprobes)" "a seccomp profile that allows bpf"
fi
exits "doctor of two JVMs is a usage error" 64 "$NMTWATCH" doctor 1 2
exits "doctor of a process that is no JVM" 10 "$NMTWATCH" doctor $$

exits "a process that is no JVM is unknown" 3 "$NMTWATCH" check $$
contains "and is called so" "$OUTPUT" "is not a JVM"
exits "watch of it ends with the documented code" 10 "$NMTWATCH" watch $$ --for 1s
spawn sleep 0
gone=$SPAWNED
wait "$gone"
exits "a pid that is gone is unknown" 3 "$NMTWATCH" check "$gone"
exits "watch of a pid that is gone" 12 "$NMTWATCH" watch "$gone" --for 1s
exits "a verb that does not exist is a usage error" 64 "$NMTWATCH" explode
done_testing
