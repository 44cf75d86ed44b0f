#!/bin/bash
# A recording replays to exactly the alerts of the live run, and survives the death of its writer.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

alerts() { # FILE of JSON lines -> what an alert says, without live-only members
    jq -c 'select(.type == "alert") | {id, state, severity, family, title}' "$1"
}

jdk=17
have_jdk 17 || jdk=25
have_jdk $jdk || skip_all "no JDK 17 or 25 in /usr/lib/jvm"
fleet_start $jdk hidden --rate 20 --quiet 5 --seconds 100
fleet_start $jdk proxy --rate 20 --quiet 5 --seconds 100
fleet_ready

recording=$SCRATCH/live.nmt.gz
"$NMTWATCH" watch "${FLEET_PID[$jdk/hidden]}" --json --for 35s --record "$recording" \
    >"$SCRATCH/live.jsonl"
alerts "$SCRATCH/live.jsonl" >"$SCRATCH/live.alerts"
check "the live run raised something" test -s "$SCRATCH/live.alerts"
"$NMTWATCH" replay --json "$recording" >"$SCRATCH/replay.jsonl"
alerts "$SCRATCH/replay.jsonl" >"$SCRATCH/replay.alerts"
check "the replay raises the same" diff "$SCRATCH/live.alerts" "$SCRATCH/replay.alerts"
check "zcat | jq reads it" sh -c "zcat '$recording' | jq -e .type >/dev/null"

spawn "$NMTWATCH" record "${FLEET_PID[$jdk/proxy]}" -o "$SCRATCH/killed.nmt.gz" >/dev/null
sleep 8
kill -KILL "$SPAWNED"
lines=$(zcat "$SCRATCH/killed.nmt.gz" 2>/dev/null | jq -c 'select(.ms != null)' | wc -l)
if [ "$lines" -ge 5 ]; then
    pass "kill -9 of record leaves $lines lines"
else
    fail "kill -9 of record leaves what was seen" "$lines lines"
fi
exits "and it replays" 0 "$NMTWATCH" replay "$SCRATCH/killed.nmt.gz"

check "report writes a page" "$NMTWATCH" report "$recording" -o "$SCRATCH/report" --format html,md,json
contains "the page names the family" "$(cat "$SCRATCH/report/report.html")" hidden-other
lacks "and loads nothing from a network" "$(cat "$SCRATCH/report/report.html")" 'src="http'
done_testing
