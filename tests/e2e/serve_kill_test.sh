#!/bin/bash
# `nmtwatch serve` killed again and again: every alert is reported once, none is lost.
#
# KILLS=100 for more of them. Between the kills it is left alone now and then for as long as an alert
# takes to be raised, so that many fall into that moment.
# timeout: 300

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
kills=${KILLS:-40}
jvms=16
for program in "$NMTWATCH" "$FAKE_JVM"; do
    need_built "$program"
done
need curl
need_library 'libmicrohttpd\.so\.12'

# SERVE_USER=54323: as two processes (user = ...), whose service owns this folder.
own=$SCRATCH/own
mkdir "$own"
if [ -n "${SERVE_USER-}" ]; then
    chmod 755 "$SCRATCH"
    chown "$SERVE_USER" "$own"
fi
cat >"$SCRATCH/serve.ini" <<END
[serve]
listen = 127.0.0.1:0
discover = 500ms
min_age = 100ms
target = %{env:SERVE_KILL_TEST|main}
include = label:kill$$-*
state = $own/state
recordings = $own/recordings
notify = { cat; echo; } >>$own/notified
${SERVE_USER:+user = $SERVE_USER}
END
serve_start() {
    "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >>"$SCRATCH/log" 2>>"$SCRATCH/err" &
    SERVE=$!
    TAP_PIDS+=("$SERVE")
}
told() { # STATE: targets by how often they were told so, "COUNT TIMES"
    grep "\"state\":\"$1\"" "$own/notified" | grep -o "kill$$-[0-9]*" | sort | uniq -c |
        awk '{ print $1 }' | sort | uniq -c | awk '{ print $1, $2 }'
}

for ((i = 0; i < jvms; i++)); do
    SERVE_KILL_TEST=kill$$-$i spawn "$FAKE_JVM" --for 280 --socket now --rate $((3 + i % 5)) >/dev/null
done
first=("${TAP_PIDS[@]}")
serve_start
sleep 9
for ((i = 1; i <= kills; i++)); do
    sleep "0.$((RANDOM % 90 + 10))"
    [ $((i % 10)) != 0 ] || sleep 12
    kill -KILL "$SERVE"
    wait "$SERVE" 2>/dev/null
    serve_start
done
all_told() {
    [ "$(grep -c '"state":"raised"' "$own/notified")" -ge $jvms ]
}
check "every explosion is told, after $kills kills" wait_for 60 all_told
is "each of them once" "$(told raised)" "$jvms 1"
port=$(sed -n 's|^listening on http://127.0.0.1:\([0-9]*\)/$|\1|p' "$SCRATCH/log" | tail -n 1)
all_up() {
    [ "$(curl -s "http://127.0.0.1:$port/api/v1/findings" |
        jq '[.findings[].target] | unique | length')" = "$jvms" ]
}
check "all are up" wait_for 15 all_up
is "every recording is whole" "$(for file in "$own"/recordings/*.nmt.gz; do
    gzip -t "$file" 2>&1
done)" ""

# Half of them end while nobody watches.
kill -KILL "$SERVE"
wait "$SERVE" 2>/dev/null
kill "${first[@]:0:$((jvms / 2))}"
serve_start
over() {
    [ "$(told cleared)" = "$((jvms / 2)) 1" ]
}
check "what they had raised is over, told once" wait_for 15 over
[ "$TAP_FAILED" = 0 ] || { echo "# cleared: $(told cleared | tr "\n" ";")"; grep -o "\"state\":\"cleared\"[^}]*" "$own/notified" | head -n 20 | sed "s/^/# /"; }
is "and nothing else" "$(told raised)" "$jvms 1"
silent "no other complaint" cat "$SCRATCH/err"
done_testing
