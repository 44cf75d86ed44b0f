#!/bin/bash
# JVMs that run into MaxMetaspaceSize: the alert comes before the end, with the time that is left.
# timeout: 60
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "MaxMetaspaceSize on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    JVM_FLAGS=-XX:MaxMetaspaceSize=12m fleet_start $jdk hidden --mode explode --rate 200 --seconds 60
done
[ ${#FLEET_NAMES[@]} != 0 ] || done_testing
fleet_ready
for name in "${FLEET_NAMES[@]}"; do
    spawn "$NMTWATCH" watch "${FLEET_PID[$name]}" --json --for 18s >"$SCRATCH/watch-${name%/*}"
done
wait "$SPAWNED"
for name in "${FLEET_NAMES[@]}"; do
    jdk=${name%/*}
    lines=$SCRATCH/watch-$jdk
    check "$jdk: the limit is told while there is time" jq -es '
        (map(select(.id == "metaspace-near-limit" and .state == "raised"))[0]) as $alert
        | (map(select(.type == "gone"))[0].ms) as $gone
        | $alert != null and $gone != null and $alert.evidence.limit_in_s < 60 and $alert.ms < $gone' "$lines"
done
done_testing
