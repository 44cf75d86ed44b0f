#!/bin/bash
# One JVM, one diagnosis: recordings of real JVMs, each with one owner of memory that grows (scripts/test/incidents.sh), give
# the same findings by every verb that reads a recording.
. "$(dirname "$0")/../tap.sh"

nmtwatch=$PWD/${NMTWATCH:-build/nmtwatch}
need_built "$nmtwatch"

# What replay, report and soak say was raised, one id a line.
by_replay() { "$nmtwatch" replay --json "$1" | jq -r 'select(.type == "alert" and .state == "raised") | .id' | sort -u; }
by_report() {
    "$nmtwatch" report "$1" -o "$SCRATCH/report" --format json >/dev/null
    jq -r '.alerts[].id' "$SCRATCH/report/report.json" | sort -u
}
by_soak() { "$nmtwatch" soak --no-report --json --replay "$1" | jq -r '.jvms[].findings[].id' | sort -u; }

incident() { # NAME FINDING: "": none
    local recording=tests/incidents/$1.nmt.gz
    is "$1: replay" "$(by_replay "$recording")" "$2"
    is "$1: report" "$(by_report "$recording")" "$2"
    is "$1: soak" "$(by_soak "$recording")" "$2"
    [ -z "$2" ] || contains "$1: a rule of Prometheus" "$("$nmtwatch" rules)" "finding: \"$2\""
    local headline
    headline=$(jq -r .verdict "$SCRATCH/report/report.json")
    if [ -z "$2" ]; then
        contains "$1: the report says what does not grow" "$headline" "No growth was found"
    else
        lacks "$1: the report does not deny it" "$headline" "No growth"
    fi
}

incident quiet ""
incident direct direct-memory-growth
incident threads thread-growth
incident zip memory-outside-nmt
incident shared shared-memory-growth
incident mapped mapped-file-growth

done_testing
