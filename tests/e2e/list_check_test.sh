#!/bin/bash
# One look at real JVMs: what list shows and what check says.
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
