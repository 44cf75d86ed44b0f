#!/bin/bash
# `serve` beside hostile JVMs of several users for a minute: one holds who reads its memory, one the lock of its memory,
# one below an overlay, one has tables without an end, one covers its attach socket, one dies of a question for NMT. The
# JVM of another user is watched all the time. NEIGHBOURS_SECONDS=1800 for half an hour.
# timeout: 400

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
RUN=${NEIGHBOURS_SECONDS:-60}
[ "$(id -u)" = 0 ] || skip_all "refused: not root; the attacks are on root's nmtwatch"
if [ -z "${OWN_PIDS-}" ]; then # ps of this machine would be held as well
    unshare -mp true 2>/dev/null || skip_all "refused: unshare -mp"
    OWN_PIDS=1 exec unshare -mp --fork --kill-child --mount-proc "$0" "$@"
fi
evil=54341 bank=54350
chmod 755 "$SCRATCH"
cp "$FAKE_JVM" "$SCRATCH/fake_jvm"
cp "$(command -v sleep)" "$SCRATCH/sleep"
mkdir "$SCRATCH/jdk"
{
    "${CC:-cc}" -O1 -pthread tests/e2e/hold.c -o "$SCRATCH/hold" &&
        "${CC:-cc}" -O1 tests/e2e/filtered.c -o "$SCRATCH/filtered" &&
        "${CC:-cc}" -O1 -shared -fPIC -pthread tests/e2e/hostile_libjvm.c -o "$SCRATCH/jdk/libjvm.so"
} >"$SCRATCH/cc" 2>&1 || bail "the hostile programs do not compile: $(tail -n 1 "$SCRATCH/cc")"
chmod -R a+rX "$SCRATCH"

spawn setpriv --reuid $bank --regid $bank --clear-groups \
    "$SCRATCH/fake_jvm" --for $((RUN * 4)) --socket now --main com.bank.App >"$SCRATCH/bank" 2>&1
wait_for 20 grep -q '^ready' "$SCRATCH/bank"
for mode in memory lock overlay socket; do
    mkdir "$SCRATCH/$mode"
    spawn "$SCRATCH/hold" $mode "$SCRATCH/$mode" $((evil++)) $((RUN * 4)) >"$SCRATCH/$mode.out" 2>&1
    wait_for 20 grep -qE '^(ready|refused)' "$SCRATCH/$mode.out"
    grep -q '^ready' "$SCRATCH/$mode.out" || skip "$mode" "$(head -n 1 "$SCRATCH/$mode.out")"
done
spawn setpriv --reuid $evil --regid $evil --clear-groups env LD_PRELOAD="$SCRATCH/jdk/libjvm.so" \
    "$SCRATCH/sleep" $((RUN * 4)) >"$SCRATCH/tables.out"
wait_for 20 grep -q ready "$SCRATCH/tables.out"
filtered=
jdk=$(jdk_home 17) || jdk=$(jdk_home 25) || jdk=
if [ -n "$jdk" ] && ! grep -q '^Seccomp:[[:space:]]*[12]' /proc/self/status; then
    printf 'public class Idle { public static void main(String[] a) throws Exception { Thread.sleep(Long.MAX_VALUE); } }\n' \
        >"$SCRATCH/Idle.java"
    "$jdk/bin/javac" --release 11 -d "$SCRATCH" "$SCRATCH/Idle.java"
    spawn "$SCRATCH/filtered" without mincore kill "$jdk/bin/java" -Xmx32m -XX:NativeMemoryTracking=summary -cp "$SCRATCH" \
        Idle >"$SCRATCH/filtered.out" 2>&1
    filtered=$SPAWNED
fi

printf '[serve]\nlisten = 127.0.0.1:0\ndiscover = 1s\nmin_age = 100ms\n[watch]\ninterval = 1s\nmethods = 5s\n' >"$SCRATCH/serve.ini"
spawn "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >"$SCRATCH/serve.log" 2>&1
serve=$SPAWNED
wait_for 20 grep -q '^listening' "$SCRATCH/serve.log"
URL=$(sed -n 's|^listening on \(.*\)/$|\1|p' "$SCRATCH/serve.log")
metric() { # NAME: of serve itself, as a whole number
    awk -v name="$1" '$1 == name { printf "%d\n", $NF }' "$SCRATCH/metrics"
}
polls() {
    curl -s --max-time 3 "$URL/metrics" >"$SCRATCH/metrics.new" && mv "$SCRATCH/metrics.new" "$SCRATCH/metrics"
    awk '/^nmtwatch_polls_total.*com.bank.App/ { printf "%d\n", $NF }' "$SCRATCH/metrics"
}
polled() { [ "$(polls)" -gt 2 ]; }
check "the JVM of another user is watched" wait_for 30 polled

# The milliseconds between two polls of it.
most=0 last=0 polls_seen=0 end=$((SECONDS + RUN))
before=$(date +%s%3N)
while [ $SECONDS -lt $end ]; do
    at=$(polls) now=$(date +%s%3N)
    [ $((now - before)) -le "$most" ] || most=$((now - before))
    if [ "${at:-0}" != "$last" ]; then
        before=$now last=${at:-0} polls_seen=$((polls_seen + 1))
    fi
    sleep 0.3
done
echo "# $RUN s: $polls_seen changes seen, longest gap $most ms; workers late $(metric nmtwatch_workers_late_total), resident" \
    "memory $(metric nmtwatch_process_resident_memory_bytes) bytes"
check "... without a gap of more than 5 s ($most ms)" [ "$most" -le 5000 ]
check "... each few seconds ($polls_seen)" [ "$polls_seen" -ge $((RUN / 5)) ]
check "those that hold us are passed by" [ "$(metric nmtwatch_workers_late_total)" -gt 0 ]
check "what is left behind is bounded" [ "$(cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^nmtwatch')" -le 40 ]
[ -z "$filtered" ] || check "the JVM that a question would kill lives" kill -0 "$filtered"
kill "$serve"
check "serve ends" wait_for 10 has_ended "$serve"
done_testing
