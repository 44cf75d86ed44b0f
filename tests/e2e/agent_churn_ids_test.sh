#!/bin/bash
# What a churn of classes leaves in the JVM because of the agent: next to nothing without method ids,
# what was predicted with them. scripts/bench/churn-ids.sh does the same with a million classes.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

CLASSES=$((20000 * AGENT_SCALE)) scripts/bench/churn-ids.sh "$(dirname "$NMTWATCH")" \
    >"$SCRATCH/bench" 2>&1 || fail "every step could be measured" "$(cat "$SCRATCH/bench")"
while IFS=$'\t' read -r claim measured verdict; do
    is "$claim ($measured bytes)" "$verdict" met
done < <(tail -n 1 "$SCRATCH/bench" |
    jq -r '.claims[] | [.claim, .measured_bytes, .verdict] | @tsv')
[ $TAP_COUNT -gt 0 ] || fail "something was measured" "$(cat "$SCRATCH/bench")"
done_testing
