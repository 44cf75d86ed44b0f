#!/bin/bash
# incidents: records the JVMs of tests/incidents anew, all beside each other: five minutes.
#
# usage: incidents.sh
#
# tests/sim/incidents_test.sh plays them through every verb that reads a recording.

set -eu
cd "$(dirname "$0")/../.."

record() { # NAME KB/S FLAGS...: one owner of memory, on JDK 17
    local name=$1 pace=$2
    shift 2
    java -XX:NativeMemoryTracking=summary -Xmx1g -XX:MaxDirectMemorySize=2g -XX:TieredStopAtLevel=1 "$@" \
        tests/incidents/Incident.java "$name" "$pace" 330 &
    local jvm=$!
    sleep 6
    build/nmtwatch record "$jvm" --interval 5s --for 300s -o "tests/incidents/$name.nmt.gz" >/dev/null
    kill "$jvm"
}

record quiet 0 &
record lazy 0 -Xms1g &
record heap 5000 &
record direct 100 &
record threads 100 &
record zip 300 &
record shared 1000 &
record mapped 1000 &
wait
