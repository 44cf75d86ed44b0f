#!/bin/bash
# 500 classes a second that are all unloaded again: work, but no leak. It is called churn.
# timeout: 200
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "churn on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    for kind in numbered proxy hidden; do
        if have_kind $kind; then
            fleet_start $jdk $kind --mode churn --rate 500 --gc-every 4 --quiet 15 --seconds 300
        else
            fail "$jdk/$kind" "its library is not installed"
        fi
    done
done
[ ${#FLEET_NAMES[@]} != 0 ] || done_testing
fleet_ready
fleet_watch 60s --cpu-pressure ignore
for name in "${FLEET_NAMES[@]}"; do
    raised=$(fleet_alerts "$name" | jq -r 'select(.state == "raised") | .id' | sort -u | tr '\n' ' ')
    case " $raised" in
    *" class-explosion "*) fail "$name: no leak is reported" "$(fleet_summary "$name")" ;;
    *" class-churn "*) pass "$name: churn" ;;
    *) fail "$name: churn is reported" "$(fleet_summary "$name")" ;;
    esac
done
done_testing
