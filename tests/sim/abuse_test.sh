#!/bin/bash
# What a watch is put through by shells, limits and full disks, and by a JVM that stops with its
# class-load log on.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-build/fake_jvm}
if [ ! -x "$NMTWATCH" ] || [ ! -x "$FAKE_JVM" ]; then
    bail "nmtwatch or fake_jvm is not built"
fi

fake() { # OPTIONS...: starts one, pid in $FAKE
    spawn "$FAKE_JVM" --for 100 "$@" >"$SCRATCH/fake"
    FAKE=$SPAWNED
    wait_for 10 grep -q '^ready' "$SCRATCH/fake"
}

is_whole() { # FILE: a recording that gzip and jq read to its end
    gzip -dc "$1" | jq -es '.[0].type == "header" and .[-1].type == "end"'
}

fake
"$NMTWATCH" record "$FAKE" -o "$SCRATCH/closed.nmt.gz" --for 1s <&- >&- 2>&-
check "closed standard files: nothing else is in the recording" is_whole "$SCRATCH/closed.nmt.gz"

"$NMTWATCH" record "$FAKE" -o - --for 1s >"$SCRATCH/stdout.nmt.gz" 2>"$SCRATCH/stderr"
check "recording to stdout: nothing else is in it" is_whole "$SCRATCH/stdout.nmt.gz"
contains "recording to stdout: the rest is told on stderr" "$(cat "$SCRATCH/stderr")" "watched for"

(
    ulimit -f 1
    "$NMTWATCH" record "$FAKE" -o "$SCRATCH/limit.nmt.gz" --interval 10ms --for 2s >/dev/null 2>&1
)
is "a limit of file sizes is a full disk" "$?" 74
check "and the recording is whole up to there" gzip -t "$SCRATCH/limit.nmt.gz"

exits "check: nowhere to write is UNKNOWN" 3 sh -c "'$NMTWATCH' check $FAKE >/dev/full"
exits "rules: a reader that left is no error" 0 \
    bash -c "set -o pipefail; '$NMTWATCH' rules | true"
exits "a configuration without end" 64 timeout $((10 * TAP_PATIENCE)) "$NMTWATCH" rules --config /dev/zero

"$NMTWATCH" watch "$FAKE" "$FAKE" --json --for 1s --interval 200ms >"$SCRATCH/twice"
is "a pid that is given twice is watched once" \
    "$(jq -r 'select(.type=="tick" and (has("nmt") | not)).ms' "$SCRATCH/twice" | sort | uniq -d)" ""

(
    trap '' HUP
    exec "$NMTWATCH" watch "$FAKE" --json --for 3s >"$SCRATCH/nohup"
) &
watch=$!
TAP_PIDS+=("$watch")
wait_for 5 test -s "$SCRATCH/nohup"
kill -HUP "$watch"
wait "$watch"
check "nohup: a hang-up does not end it" test "$(jq -r 'select(.type=="end").ms' "$SCRATCH/nohup")" -ge 3000
kill "$FAKE"

fake --no-perfdata --rate 30
"$NMTWATCH" watch "$FAKE" --json --for 8s --warmup 1s >"$SCRATCH/counted"
check "without hsperfdata classes are counted by NMT" \
    jq -es 'map(select(.load_per_s != null and .load_per_s > 20)) | length > 0' "$SCRATCH/counted"
kill "$FAKE"

# The log is on, the watch is killed, the JVM stops for longer than one try lasts.
fake --rate 30
tap_files() {
    find /tmp -maxdepth 1 -name "nmtwatch-tap-$FAKE-*"
}
tap_is_there() {
    [ -n "$(tap_files)" ]
}
spawn "$NMTWATCH" watch "$FAKE" --json --for 60s --warmup 1s --timeout 200ms --observe never >"$SCRATCH/stopped"
watch=$SPAWNED
check "the class-load log is on" wait_for 20 tap_is_there
# By its name, too: a watch has other children, which end by themselves.
guard=$(pgrep -P "$(pgrep -d , -P "$watch" -x nmtwatch-worker)" -x nmtwatch-guard)
kill -STOP "$FAKE"
{
    kill -KILL "$watch"
    wait "$watch"
} 2>/dev/null
sleep 12
check "the guard waits for the JVM to go on" kill -0 "$guard"
kill -CONT "$FAKE"
guard_is_gone() {
    ! kill -0 "$guard"
}
check "switches it off then, and ends" wait_for 15 guard_is_gone
is "and leaves no file" "$(tap_files)" ""
kill "$FAKE"

done_testing
