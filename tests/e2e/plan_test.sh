#!/bin/bash
# `nmtwatch plan --from PID`: what 10 000 further classes will cost, predicted from two samples of a JVM
# that generates classes, against what really comes; and the agent's own figures beside the expected.
# timeout: 180
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

plan() { # ARGUMENTS...: a plan from the JVM $target, as JSON
    "$NMTWATCH" plan --from "$target" --json "$@" 2>"$SCRATCH/err"
}

# Classes that are there, and all memory that classes are in.
classes_and_bytes() {
    "$NMTWATCH" check --json "$target" | jq -r '
        [.sample.classes_loaded - .sample.classes_unloaded,
         ([.sample.nmt | .Class, .Metaspace, .Module, .Symbol, .["Native Memory Tracking"]
           | .committed_bytes // 0] | add)] | "\(.[0]) \(.[1])"'
}

have_enough() { # AT_LEAST: as many classes are there
    read -r now_classes now_bytes < <(classes_and_bytes)
    [ "${now_classes:-0}" -ge "$1" ]
}

comes_true() { # NAME: within 10 %
    local predicted come off
    if ! plan --look 3s >"$SCRATCH/plan"; then :; fi # CAUTION: it is loading
    is "$1: one class is measured by growth" "$(jq -r .classes.basis "$SCRATCH/plan")" growth
    predicted=$(jq '.sensitivity[] | select(.key == "classes").classes_bytes' "$SCRATCH/plan")
    read -r classes bytes < <(classes_and_bytes)
    if [ -z "$predicted" ] || ! wait_for 60 have_enough $((classes + 10000)); then
        fail "$1: 10 000 classes come" "$(cat "$SCRATCH/err")"
        return
    fi
    come=$(((now_bytes - bytes) * 10000 / (now_classes - classes)))
    off=$(((predicted - come) * 1000 / come))
    check "$1: 10 000 classes, predicted $((predicted >> 10)) KB, came $((come >> 10)) KB" \
        test "${off#-}" -le 100
}

for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "a plan from JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    for kind in numbered loader; do
        fleet_start $jdk $kind --rate 1000 --seconds 60
        fleet_ready
        target=${FLEET_PID[$jdk/$kind]}
        wait_for 30 have_enough 2500
        comes_true "$jdk, $kind"
        loaders=$(jq .measured.loaders "$SCRATCH/plan")
        if [ $kind = loader ]; then
            check "$jdk: a loader for each ($loaders)" test "$loaders" -gt 1500
        else
            check "$jdk: few loaders ($loaders)" test "$loaders" -lt 500
        fi
        is "$jdk, $kind: a plan for more classes than there are" "$(plan --look 0 --classes 100K |
            jq -r '"\(.classes.count) \(.classes.basis) \(.classes.total_bytes > .measured.classes_bytes)"')" \
            "100000 mean true"
        kill_jvm "$target"
        unset "FLEET_PID[$jdk/$kind]"
        FLEET_NAMES=()
    done
done

# --- levels count as in check ----------------------------------------------------------------

FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
need_built "$FAKE_JVM"
spawn "$FAKE_JVM" --for 100 --socket now --internal 3000000000 >"$SCRATCH/fake"
target=$SPAWNED
wait_for 20 grep -q '^ready' "$SCRATCH/fake"
is_critical() { "$NMTWATCH" check "$target" >"$SCRATCH/checked"; [ $? = 2 ]; }
check "gigabytes of Internal are CRITICAL for check" wait_for 30 is_critical
exits "and no profiler is to come on top" 2 "$NMTWATCH" plan --from "$target" --look 0
contains "for that reason" "$OUTPUT" "Internal"
contains "... its words" "$OUTPUT" "since the JVM's start: find what holds it first"
kill_jvm "$target"

# --- an agent of ours is in it ------------------------------------------------------------------

need_built "$(dirname "$NMTWATCH")/libnmtagent.so"
have_jdk 17 || {
    skip "a plan beside the agent's account" "no JDK 17 in /usr/lib/jvm"
    done_testing
}
fleet_start 17 idle --seconds 60
fleet_ready
target=${FLEET_PID[17/idle]}
plan --look 0 >"$SCRATCH/plan"
is "nothing of a profiler is measured where there is none" \
    "$(jq -c '[.components[].measured_bytes] | unique' "$SCRATCH/plan")" "[null]"
if ! OUTPUT=$("$NMTWATCH" profile "$target" start --file "$SCRATCH/agent.jfr" 2>&1); then
    fail "the agent starts" "$OUTPUT"
    done_testing
fi
wait_for 10 test -s "/tmp/.nmtagent_$target"
plan --look 0 >"$SCRATCH/plan"
"$NMTWATCH" profile "$target" memory --json >"$SCRATCH/memory"
is "each component is measured, with an agent" \
    "$(jq '[.components[] | select(.measured_bytes == null) | .key] | length' "$SCRATCH/plan")" 0
total=$(jq '.totals.without_jmethod_ids.measured_bytes // 0' "$SCRATCH/plan")
said=$(jq '.total.resident_bytes // 1' "$SCRATCH/memory")
check "their sum ($total) is the account's ($said)" \
    test $(((total - said) * 10 / said)) -eq 0
is "jmethodIDs as the agent says" \
    "$(jq '.components[] | select(.key == "jmethod_ids").measured_bytes' "$SCRATCH/plan")" \
    "$(jq .jvm.jmethod_ids.present_bytes "$SCRATCH/memory")"
contains "and a person sees the column" "$("$NMTWATCH" plan --from "$target" --look 0)" " measured"
done_testing
