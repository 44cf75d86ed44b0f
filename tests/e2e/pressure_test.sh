#!/bin/bash
# A machine under real load: questions that stop the application wait, and the prediction knows of it.
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

[ -r /proc/pressure/cpu ] || skip_all "refused: the kernel has no /proc/pressure/cpu"
jdk=
for candidate in 25 17; do
    have_jdk $candidate && jdk=$candidate && break
done
[ -n "$jdk" ] || skip_all "no JDK in /usr/lib/jvm"

fleet_start "$jdk" idle --seconds 100
fleet_ready
pid=${FLEET_PID[$jdk/idle]}
# They wait for a processor all the same when they leave it to the tests beside this one.
for _ in $(seq $(($(nproc) * 4))); do
    spawn nice -n 19 sh -c 'while :; do :; done'
done
sleep 12 # the average is of ten seconds

# All at the same time: the load is the same for each.
"$NMTWATCH" triage "$pid" --for 2s -o "$SCRATCH/busy" --json >"$SCRATCH/busy.json" 2>/dev/null &
triage=$!
"$NMTWATCH" watch --json --for 6s --loaders-interval 4s --cpu-pressure ignore "$pid" >"$SCRATCH/ignored" 2>/dev/null &
ignoring=$!
"$NMTWATCH" watch --json --for 24s --loaders-interval 4s "$pid" >"$SCRATCH/watch" 2>/dev/null
wait $triage $ignoring
note=$(jq -r '[.steps[] | select(.step == "VM.classloader_stats")][0].note' "$SCRATCH/busy.json")
case $note in
*"waited "*" s for a quiet machine: "* | "left out: "*" on a busy machine, "*)
    pass "triage: a question that stops the JVM waits, or is left out, and says why" ;;
*) fail "triage: a question that stops the JVM waits, or is left out, and says why" "$note" ;;
esac

contains "watch: waits, and says for how long" \
    "$(jq -r 'select(.type == "note") | .text' "$SCRATCH/watch")" "for 15 s at most"
first=$(jq -s '[.[] | select(.type == "cost")][0]' "$SCRATCH/watch")
is "watch: not before the wait is over" "$(jq '.ms >= 14000' <<<"$first")" true
is "watch: the load is part of the prediction" "$(jq '.predicted_us >= 20000' <<<"$first")" true
is "watch: and it is asked then, though more is predicted than it takes" "$(jq '.measured_us > 0' <<<"$first")" true

is "watch: told to ignore it, it neither waits nor says so" \
    "$(jq -s '[.[] | select(.type == "note")] | length' "$SCRATCH/ignored")" 0
check "watch: and asks" jq -es 'any(.[]; .type == "loaders")' "$SCRATCH/ignored"
done_testing
