#!/bin/bash
# nmtwatch is stopped while a command is in flight: the application, which measures its own gaps,
# must not notice. The target is stopped for a moment first, so that a command certainly waits.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

in_flight() { # PID: it has a connection
    find "/proc/$1/fd" -lname 'socket:*' | grep -q .
}

for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "gaps on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    gap=$SCRATCH/gap-$jdk
    fleet_start $jdk gap-meter --classes 20000 --seconds 100 --out "$gap"
    fleet_ready
    target=${FLEET_PID[$jdk/gap-meter]}
    spawn "$NMTWATCH" watch "$target" --json --interval 200ms --for 60s >"$SCRATCH/watch.jsonl"
    watcher=$SPAWNED
    sleep 3

    kill -STOP "$target"
    if wait_for 3 in_flight "$watcher"; then
        pass "$jdk: a command is in flight"
    else
        fail "$jdk: a command is in flight" "nmtwatch asked nothing for 3 s"
    fi
    kill -STOP "$watcher"
    kill -CONT "$target"
    sleep 2
    rm -f "$gap" # forget the gap that this test made
    sleep 10
    max_gap_ms=$(cat "$gap" 2>/dev/null || echo 99999)
    if [ "$max_gap_ms" -lt 500 ]; then
        pass "$jdk: the largest gap of the application is $max_gap_ms ms"
    else
        fail "$jdk: the application goes on" "it stood still for $max_gap_ms ms"
    fi
    kill -CONT "$watcher"
    sleep 2
    check "$jdk: the watch goes on" kill -0 "$watcher"
    kill -TERM "$watcher"
    wait "$watcher"
    fleet_stop
done
done_testing
