#!/bin/bash
# `nmtwatch serve` while JVMs come and go, at a hundred looks a second: its own memory, descriptors
# and state do not grow with what has passed.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
for program in "$NMTWATCH" "$FAKE_JVM"; do
    need_built "$program"
done
need curl
need_library 'libmicrohttpd\.so\.12'

cat >"$SCRATCH/serve.ini" <<END
[watch]
interval = 10ms
nmt_interval = 50ms
[serve]
listen = 127.0.0.1:0
discover = 200ms
min_age = 100ms
target = %{env:SERVE_CHURN_TEST|main}
include = label:churn$$-*
state = $SCRATCH/state
recordings = $SCRATCH/recordings
END
"$NMTWATCH" serve --config "$SCRATCH/serve.ini" >"$SCRATCH/log" 2>"$SCRATCH/err" &
serve=$!
TAP_PIDS+=("$serve")
port() {
    sed -n 's|^listening on http://127.0.0.1:\([0-9]*\)/$|\1|p' "$SCRATCH/log"
}
wait_for 10 test -s "$SCRATCH/log"
fake() { # NAME SECONDS OPTION...
    SERVE_CHURN_TEST=churn$$-$1 spawn "$FAKE_JVM" --for "$2" --socket now "${@:3}" >/dev/null
}
resident_kb() {
    awk '/^VmRSS/ { print $2 }' "/proc/$serve/status"
}
alone() {
    [ "$(curl -s "http://127.0.0.1:$(port)/metrics" | awk '$1 == "nmtwatch_targets" { print $2 }')" = 1 ]
}

fake stays 300 # calm: naming an explosion takes its memory once, which is not asked here
for ((round = 1; round <= 6; round++)); do
    for ((i = 0; i < 20; i++)); do
        fake $i 5 --rate 10 --internal 100000
    done
    sleep 5
    wait_for 10 alone
    if [ $round = 2 ]; then # malloc has what it needs by then
        before_kb=$(resident_kb)
        before_fds=$(find "/proc/$serve/fd" -type l | wc -l)
    fi
done
after_kb=$(resident_kb)
# malloc's high-water mark rises by 2 MB when several are named at once; 80 watchers that were not
# freed would be 8 MB at the least.
check "80 JVMs later memory is what it was" test "$((after_kb - before_kb))" -lt 6144
check "and descriptors are" test "$(find "/proc/$serve/fd" -type l | wc -l)" -le "$((before_fds + 2))"
is "state is that of the one that lives" "$(find "$SCRATCH/state" -name '*.json' | wc -l)" 1
curl -s "http://127.0.0.1:$(port)/metrics" >"$SCRATCH/metrics"
is "all were seen" "$(awk '$1 == "nmtwatch_targets_seen_total" { print $2 }' "$SCRATCH/metrics")" 121
polls=$(awk '/^nmtwatch_polls_total/ { print $2 }' "$SCRATCH/metrics")
check "and the one that stays, a hundred times a second" test "$polls" -gt 1000
kill -TERM "$serve"
wait "$serve"
is "it ends well" $? 0
done_testing
