#!/bin/bash
# The cached twin of every generator, at the same rate: silence after warm-up.
# TWINS_SECONDS=300 is what scripts/test/stress.sh asks for.
# timeout: 1000
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

seconds=${TWINS_SECONDS:-60}

for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "twins on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    for kind in groovy cglib bytebuddy javassist proxy lambda hidden xslt loader numbered reflect; do
        if [ $kind = reflect ] && [ $jdk != 17 ]; then
            :
        elif have_kind $kind; then
            fleet_start $jdk $kind --mode cached --rate 12 --warmup-classes 1500 --seconds 1000
        else
            fail "$jdk/$kind" "its library is not installed"
        fi
    done
    fleet_ready
    fleet_watch "${seconds}s"
    is "$jdk: the watch ends with status 0" "$FLEET_STATUS" 0
    for name in "${FLEET_NAMES[@]}"; do
        alerts=$(fleet_alerts "$name")
        ticks=$(grep -c "\"type\": *\"tick\".*\"pid\": *${FLEET_PID[$name]}\b" "$SCRATCH/watch.jsonl")
        if [ -n "$alerts" ]; then
            fail "$name: silence" "$(fleet_summary "$name")"
        elif [ "$ticks" -lt $((seconds / 2)) ]; then
            fail "$name: silence" "only $ticks ticks in $seconds s: nothing was watched"
        else
            pass "$name: $seconds s of silence"
        fi
    done
    fleet_stop
done
done_testing
