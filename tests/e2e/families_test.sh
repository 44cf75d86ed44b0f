#!/bin/bash
# Every kind of generator, exploding at 12 classes a second: watch must raise class-explosion with
# the right family within 30 s of the first class.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

quiet_s=20
within_s=30

# kind, the family that must be named
table="groovy groovy-shell
groovy-new-shell groovy-shell
cglib cglib
bytebuddy bytebuddy
javassist javassist
proxy jdk-proxy
lambda jdk-lambda
hidden hidden-other
xslt jdk-xsltc
reflect jdk-reflect-accessor
reflect-serial jdk-reflect-accessor
loader unknown:com.acme.plugin.PricingPlugin
numbered unknown:com.acme.Gen
random unknown:com.acme.Formula_"

exists_on() { # JDK KIND: accessors are generated up to 17, serialization ones up to 21
    case $2 in reflect*) [ "$1" = 17 ] ;; esac
}

for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "families on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    while read -r kind family; do
        if ! exists_on $jdk "$kind"; then
            :
        elif ! have_kind "$kind"; then
            fail "$jdk/$kind" "its library is not installed"
        else
            fleet_start $jdk "$kind" --rate 12 --quiet $quiet_s --seconds 200
        fi
    done <<<"$table"
    fleet_ready
    fleet_watch $((quiet_s + within_s))s
    for name in "${FLEET_NAMES[@]}"; do
        kind=${name#*/}
        family=$(sed -n "s/^$kind //p" <<<"$table")
        raised=$(fleet_alerts "$name" | jq -r 'select(.id == "class-explosion" and
            .state == "raised") | "\(.at) \(.family)"' | head -n 1)
        read -r at named <<<"$raised"
        if [ -z "$raised" ]; then
            fail "$name: class-explosion is raised" "$(fleet_summary "$name")"
        elif [[ $named != "$family"* ]]; then
            fail "$name: the family is $family" "named: $named"$'\n'"$(fleet_summary "$name")"
        elif ! awk -v at="$at" -v q=$quiet_s -v w=$within_s 'BEGIN { exit !(at >= q && at <= q + w) }'; then
            fail "$name: raised within $within_s s" "after $at s of which $quiet_s s were quiet"
        else
            pass "$name: $family after $(awk -v a="$at" -v q=$quiet_s 'BEGIN { print a - q }') s"
        fi
    done
    # Two JVMs at a time are seen from outside: those that had their turn name the line that asks.
    sites=$(jq -r 'select(.id == "class-explosion" and .state == "raised") | .evidence.asked_for_by // empty' \
        "$SCRATCH/watch.jsonl")
    refused=$(jq -r '.problem // empty' "$SCRATCH/watch.jsonl" | grep -m 1 .)
    if [ -n "$refused" ] && [ -z "$sites" ]; then
        skip "JDK $jdk: call sites" "refused: $refused"
    else
        is "JDK $jdk: alerts name the workloads' own lines" "$(grep -v '^workloads\..*:[0-9]*$' <<<"$sites")" ""
        check "JDK $jdk: and at least four of them do" test "$(grep -c . <<<"$sites")" -ge 4
    fi
    fleet_stop
done
done_testing
