#!/bin/bash
# serve-week: days of samples through `nmtwatch serve` at many times the speed of time: its own memory
# does not grow with them.
#
# usage: serve-week.sh BUILD [DAYS [SPEED]]       7 days at 1000 times: ten minutes
#
# serve runs under a preloaded library whose clocks run ahead and whose waits are shorter
# (tests/sim/fast_time.c); it looks at simulated JVMs once a (fast) second, asks them NMT every five,
# records, keeps its state. Resident memory is read at each tenth of the time. Exit 1: it grew by more
# than 4 MB after the first two tenths, in which histories fill, or a target was lost. A time-out of
# five fast seconds is milliseconds: how many targets answer at that moment is printed, but is no criterion.

. "$(dirname "$0")/../../tests/tap.sh"
build=${1:-build}
days=${2:-7}
speed=${3:-1000}
NMTWATCH=$build/nmtwatch
FAKE_JVM=$build/fake_jvm
slack_kb=4096
"${CC:-gcc}" -O2 -shared -fPIC -o "$SCRATCH/fast_time.so" tests/sim/fast_time.c || exit 1

seconds=$((days * 86400 / speed))
cat >"$SCRATCH/serve.ini" <<END
[serve]
listen = 127.0.0.1:0
min_age = 1s
target = %{env:SERVE_WEEK|main}
include = label:week$$-*
state = $SCRATCH/state
recordings = $SCRATCH/recordings
END
# One at rest, one that explodes, one whose classes come and go.
rates=(0 5 20)
for i in 0 1 2; do
    SERVE_WEEK=week$$-$i spawn "$FAKE_JVM" --for $((seconds + 120)) --socket now \
        --rate "${rates[i]}" >/dev/null
done
sleep 1
FAST_TIME=$speed LD_PRELOAD=$SCRATCH/fast_time.so "$NMTWATCH" serve --config "$SCRATCH/serve.ini" \
    >"$SCRATCH/log" 2>"$SCRATCH/err" &
serve=$!
TAP_PIDS+=("$serve")
resident_kb() {
    awk '/^VmRSS/ { print $2 }' "/proc/$serve/status"
}
port() {
    sed -n 's|^listening on http://127.0.0.1:\([0-9]*\)/$|\1|p' "$SCRATCH/log"
}
wait_for 10 test -s "$SCRATCH/log"
metric() { # NAME: the sum over all targets
    curl -s "http://127.0.0.1:$(port)/metrics" | awk -v name="$1" '
        { split($1, part, "{") }
        part[1] == name { sum += $2 }
        END { printf "%.0f\n", sum }'
}
echo "serve: $days days at $speed times the speed of time, $seconds s, 3 targets"
settled=0
for tenth in 1 2 3 4 5 6 7 8 9 10; do
    sleep "$((seconds / 10)).$((seconds % 10))"
    now=$(resident_kb)
    printf '%3d %%  %6d KB resident  %s samples\n' $((tenth * 10)) "$now" \
        "$(metric nmtwatch_polls_total)"
    [ $tenth != 2 ] || settled=$now
done
grown=$((now - settled))
up=$(metric nmtwatch_up)
echo "grown by $grown KB after the first two tenths (bound $slack_kb); $up of 3 targets answer"
sed -n '1,5s/^/serve: /p' "$SCRATCH/err"
[ "$settled" -gt 0 ] && [ $grown -le $slack_kb ] && [ "$(metric nmtwatch_targets)" = 3 ]
