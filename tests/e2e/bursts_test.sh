#!/bin/bash
# What loads thousands of classes while it starts and then stops is no explosion. The watch begins
# with the process, when the burst is at its height.
# timeout: 200
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "bursts on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    for kind in javac jruby clojure; do
        case $kind in
        javac) ;;
        clojure) [ -r /usr/share/java/clojure.jar ] ;;
        *) command -v $kind >/dev/null ;;
        esac || {
            fail "$jdk/$kind" "$kind is not installed"
            continue
        }
        fleet_start $jdk $kind 90
    done
done
[ ${#FLEET_NAMES[@]} != 0 ] || done_testing
fleet_ready
fleet_watch 60s
for name in "${FLEET_NAMES[@]}"; do
    classes=$(grep "\"pid\": *${FLEET_PID[$name]}\b" "$SCRATCH/watch.jsonl" |
        jq -r '.classes_loaded // empty' | tail -n 1)
    if [ -n "$(fleet_alerts "$name")" ]; then
        fail "$name: silence" "$(fleet_summary "$name")"
    elif [ "${classes:-0}" -lt 1500 ]; then
        fail "$name: silence" "it loaded only ${classes:-no} classes: there was no burst"
    else
        pass "$name: $classes classes, silence"
    fi
done
done_testing
