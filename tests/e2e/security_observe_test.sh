#!/bin/bash
# A process of another user that is observed from outside, with tables that have no end and a library that is a hole:
# the observation ends, says so, and is accounted for.
# timeout: 300
# shellcheck disable=SC2016 # $ of awk

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
if [ "$(id -u)" != 0 ]; then
    skip_all "refused: not root; the attacks are on root's nmtwatch"
fi
evil=12345 PORT=${PORT:-$((20000 + RANDOM % 20000))}
chmod 755 "$SCRATCH"
mkdir "$SCRATCH/jdk"
for part in "libjvm.so" "burn.so -DBURN"; do
    # shellcheck disable=SC2086 # the name, and perhaps an option
    "${CC:-cc}" -O1 -shared -fPIC -pthread tests/e2e/hostile_libjvm.c -o "$SCRATCH"/jdk/$part >>"$SCRATCH/cc" 2>&1 ||
        fail "hostile_libjvm.c can be compiled" "$(cat "$SCRATCH/cc")"
done
truncate -s 64M "$SCRATCH/jdk/burn.so"
cp "$(command -v sleep)" "$SCRATCH/sleep"
chmod -R a+rX "$SCRATCH/jdk" "$SCRATCH/sleep"
spawn setpriv --reuid "$evil" --regid "$evil" --clear-groups env \
    LD_PRELOAD="$SCRATCH/jdk/libjvm.so:$SCRATCH/jdk/burn.so" "$SCRATCH/sleep" 600 >"$SCRATCH/victim"
victim=$SPAWNED
check "the hostile process has its tables" wait_for 20 grep -q ready "$SCRATCH/victim"
LIMIT=$((60 * TAP_PATIENCE))

for what in methods "cpu --for 1s"; do
    # shellcheck disable=SC2086 # options
    timeout -s KILL $LIMIT "$NMTWATCH" observe "$victim" $what >"$SCRATCH/out" 2>&1
    echo "exit code $?" >>"$SCRATCH/out"
    if grep -q "perf_event_open" "$SCRATCH/out"; then
        skip "endless tables: $what" "refused: $(head -n 1 "$SCRATCH/out")"
        continue
    fi
    contains "endless tables: $what ends" "$(cat "$SCRATCH/out")" "the tables of this JVM do not end"
    check "endless tables: $what is not killed" sh -c "! grep -q 'exit code 1[0-9][0-9]' '$SCRATCH/out'"
done

# A request to end is heard at any moment.
for signal in INT TERM; do
    for verb in "plan --from $victim" "triage $victim -o $SCRATCH/triage" "doctor $victim" "observe $victim cpu --for 50s" \
        "observe $victim methods" "observe $victim rss --for 50s" "profile $victim status" "profile $victim start" \
        "holders $victim --allow-pause" "watch $victim" "check $victim" list; do
        # shellcheck disable=SC2086 # options
        check "endless tables: ${verb//[0-9\/]*/} ends by SIG$signal" ends_by $signal "$NMTWATCH" $verb
    done
done

hole() { # on a machine with load it may be that there is no sample in it
    timeout -s KILL $LIMIT "$NMTWATCH" observe "$victim" cpu --for 2s --json >"$SCRATCH/out" 2>&1
    grep -qE 'perf_event_open|"libraries_left_out":1' "$SCRATCH/out"
}
wait_for 30 hole
if grep -q "perf_event_open" "$SCRATCH/out"; then
    skip "a library that is a hole" "refused: $(head -n 1 "$SCRATCH/out")"
else
    check "a library that is a hole is left out, and that is said" grep -q '"libraries_left_out":1' "$SCRATCH/out"
fi

# A count of its methods every second would fail each time.
printf '[serve]\nlisten = 127.0.0.1:%d\nmin_age = 1s\ninclude = user:%d\n[watch]\nmethods = 1s\n' \
    "$PORT" "$evil" >"$SCRATCH/serve.ini"
spawn "$NMTWATCH" serve --config "$SCRATCH/serve.ini" --for 120s >"$SCRATCH/serve.log" 2>&1
waits() {
    curl -s -m 5 "http://127.0.0.1:$PORT/metrics" >"$SCRATCH/metrics"
    awk '/^nmtwatch_methods_wait_seconds.*the tables of this JVM do not end/ && $NF >= 8 { found = 1 } END { exit !found }' \
        "$SCRATCH/metrics"
}
wait_for 60 waits
check "serve leaves it alone for longer each time" waits
check "and its processes are accounted for" \
    awk '/^nmtwatch_children_cpu_seconds_total/ && $2 > 0 { found = 1 } END { exit !found }' "$SCRATCH/metrics"
done_testing
