#!/bin/bash
# An agent allocates through JVMTI: NMT's Internal grows and the documented thresholds are judged.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

[ -e build/workloads/jvmti_hog.so ] || bail "jvmti_hog.so was not built: no jvmti.h"

agent=$PWD/build/workloads/jvmti_hog.so
for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "Internal on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    # 300 MB stays below the documented 500 MB, 700 MB does not.
    JVM_FLAGS="-agentpath:$agent=MB_PER_S=100,TOTAL_MB=700,DELAY_S=20" \
        fleet_start $jdk idle --seconds 100
done
[ ${#FLEET_NAMES[@]} != 0 ] || done_testing
fleet_ready
fleet_watch 40s --warmup 5s
for name in "${FLEET_NAMES[@]}"; do
    raised=$(fleet_alerts "$name" | jq -r 'select(.id | startswith("internal-growth")) |
        select(.state == "raised") | .id' | sort -u | tr '\n' ' ')
    is "$name: 700 MB raise the first step and no other" "$raised" "internal-growth-investigate "
done
fleet_stop

printf '[thresholds]\ninternal_investigate_bytes = 33554432\n' >"$SCRATCH/lower.ini"
for jdk in 17 25; do
    have_jdk $jdk || continue
    JVM_FLAGS="-agentpath:$agent=MB_PER_S=20,TOTAL_MB=60,DELAY_S=15" \
        fleet_start $jdk idle --seconds 100
done
fleet_ready
fleet_watch 30s --warmup 5s --config "$SCRATCH/lower.ini"
for name in "${FLEET_NAMES[@]}"; do
    raised=$(fleet_alerts "$name" | jq -r 'select(.state == "raised") | .id' | sort -u | tr '\n' ' ')
    contains "$name: 60 MB raise it with a threshold of 32 MB" "$raised" internal-growth-investigate
done
done_testing
