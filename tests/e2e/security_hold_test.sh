#!/bin/bash
# A process of another user that holds who reads it, by files that are never delivered (itself, below an overlay, over its
# attach socket), by memory that it has to deliver, or by the lock of its memory: each
# verb ends, a request to end is heard at any moment, and `serve` goes on watching the JVM of somebody else.
# timeout: 420

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
[ "$(id -u)" = 0 ] || skip_all "refused: not root; the attacks are on root's nmtwatch"
if [ -z "${OWN_PIDS-}" ]; then # ps of this machine would be held as well
    unshare -mp true 2>/dev/null || skip_all "refused: unshare -mp"
    OWN_PIDS=1 exec unshare -mp --fork --kill-child --mount-proc "$0" "$@"
fi
evil=54331 bank=54332
chmod 755 "$SCRATCH"
cp "$FAKE_JVM" "$SCRATCH/fake_jvm"
"${CC:-cc}" -O1 -pthread tests/e2e/hold.c -o "$SCRATCH/hold" >"$SCRATCH/cc" 2>&1 ||
    fail "hold.c can be compiled" "$(cat "$SCRATCH/cc")"
chmod 755 "$SCRATCH/fake_jvm" "$SCRATCH/hold"

spawn setpriv --reuid "$bank" --regid "$bank" --clear-groups \
    "$SCRATCH/fake_jvm" --for 900 --socket now --main com.bank.App >"$SCRATCH/bank" 2>&1
wait_for 20 grep -q '^ready' "$SCRATCH/bank"
printf '[serve]\nlisten = 127.0.0.1:0\ndiscover = 1s\nmin_age = 100ms\ninclude = user:%s\ninclude = user:%s\n[watch]\ninterval = 1s\nmethods = 2s\n' \
    "$evil" "$bank" >"$SCRATCH/serve.ini"
spawn "$NMTWATCH" serve --config "$SCRATCH/serve.ini" --for 800s >"$SCRATCH/serve.log" 2>&1
serve=$SPAWNED
wait_for 20 grep -q '^listening' "$SCRATCH/serve.log"
URL=$(sed -n 's|^listening on \(.*\)/$|\1|p' "$SCRATCH/serve.log")
polls() { curl -s --max-time 3 "$URL/metrics" | awk '/^nmtwatch_polls_total.*com.bank.App/ { printf "%d\n", $NF }'; }
polled() { [ "$(polls)" -gt "${1:-0}" ]; }
wait_for 20 polled 2
: >"$SCRATCH/gaps"
watch_polls() { # the milliseconds between two polls of the bank's JVM
    local last=0 at before
    before=$(date +%s%3N)
    while sleep 0.3; do
        at=$(polls)
        if [ "${at:-0}" != "$last" ]; then
            echo "$(($(date +%s%3N) - before))" >>"$SCRATCH/gaps"
            before=$(date +%s%3N) last=${at:-0}
        fi
    done
}
watch_polls &
watching=$!

for mode in memory lock tmp overlay fault socket; do
    mkdir "$SCRATCH/$mode"
    spawn "$SCRATCH/hold" "$mode" "$SCRATCH/$mode" "$evil" 600 >"$SCRATCH/$mode.out" 2>&1
    holder=$SPAWNED
    wait_for 20 grep -qE '^(ready|refused)' "$SCRATCH/$mode.out"
    if grep -q '^refused' "$SCRATCH/$mode.out"; then
        skip "$mode" "$(head -n 1 "$SCRATCH/$mode.out")"
        continue
    fi
    : >"$SCRATCH/gaps"
    for verb in list "observe $holder methods" "observe $holder cpu --for 1s" "profile $holder status" \
        "check $holder" "triage $holder -o $SCRATCH/triage" "doctor $holder"; do
        # shellcheck disable=SC2086 # options
        timeout -s KILL 20 "$NMTWATCH" $verb >"$SCRATCH/out" 2>&1
        check "$mode: ${verb%% *} ends" [ $? != 137 ]
    done
    for verb in "triage $holder -o $SCRATCH/triage" "watch $holder" "observe $holder rss" "plan --from $holder"; do
        # shellcheck disable=SC2086 # options
        check "$mode: ${verb%% *} ends by ^C" ends_by INT "$NMTWATCH" $verb
    done
    sleep 1
    most=$(sort -n "$SCRATCH/gaps" | tail -n 1)
    check "$mode: the JVM of another user is watched without a gap of more than 5 s (${most:-no sample} ms)" \
        [ "${most:-9999}" -le 5000 ]
    kill_jvm "$holder"
done
kill "$watching" "$serve"
wait_for 5 has_ended "$serve"
check "serve ends" has_ended "$serve"
done_testing
