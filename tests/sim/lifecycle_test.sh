#!/bin/bash
# What a watch says when its JVM is killed, replaced under the same pid, or stopped for a while.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-build/fake_jvm}
if [ ! -x "$NMTWATCH" ] || [ ! -x "$FAKE_JVM" ]; then
    bail "nmtwatch or fake_jvm is not built"
fi

fake() { # FILE OPTIONS...: starts one, pid in $FAKE
    local out=$1
    shift
    spawn "$FAKE_JVM" --for 60 "$@" >"$SCRATCH/$out"
    FAKE=$SPAWNED
    wait_for 10 grep -q '^ready' "$SCRATCH/$out"
}

watch() { # FILE SECONDS OPTIONS...: in the background, pid in $WATCH, until it has looked once
    local out=$1 seconds=$2
    shift 2
    spawn "$NMTWATCH" watch --json --for "$seconds" --timeout 500ms --nmt-interval 1s --methods never "$@" "$FAKE" \
        >"$SCRATCH/$out" 2>&1
    WATCH=$SPAWNED
    wait_for 10 grep -q '"tick"' "$SCRATCH/$out"
}

types() { # FILE TYPE: how many lines of that type
    jq -r .type "$SCRATCH/$1" | grep -cx "$2"
}

fake killed-fake
watch killed 20s
kill -9 "$FAKE"
began=$SECONDS
wait "$WATCH"
check "killed: the watch ends at once" test $((SECONDS - began)) -le 5
is "killed: it says so" "$(types killed gone)" 1
is "killed: and closes with the cost" "$(types killed end)" 1
rm -f "/tmp/.java_pid$FAKE" "/tmp/hsperfdata_$(id -u)/$FAKE"

if [ "$(id -u)" = 0 ] && [ -w /proc/sys/kernel/ns_last_pid ]; then
    fake first
    watch replaced 20s
    old=$FAKE
    kill "$FAKE"
    wait "$FAKE" 2>/dev/null
    fake second --socket now --rate 1000 --pid "$old"
    began=$SECONDS
    wait "$WATCH"
    check "same pid, another JVM: the watch ends" test $((SECONDS - began)) -le 5
    is "same pid, another JVM: it says so" "$(types replaced gone)" 1
    is "same pid, another JVM: none of its numbers" \
        "$(jq -r 'select(.type=="tick").classes_loaded' "$SCRATCH/replaced" | sort -u)" 5000
    kill "$FAKE"
else
    skip "same pid, another JVM" "refused: choosing a pid needs root"
fi

# In mounts of its own, as in a container: the way to its /tmp ends with it, another process keeps the mounts.
if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
    tapped() { compgen -G "/proc/$HOLDER/root/tmp/nmtwatch-tap-*" >/dev/null; }
    lefts=""
    taps=0
    for i in {1..3}; do
        # shellcheck disable=SC2016 # for the other shell
        spawn unshare -m bash -c 'mount -t tmpfs none /var/tmp && cp "$0" /var/tmp/fake_jvm && mount -t tmpfs -o mode=1777 none /tmp && cd / || exit
            /var/tmp/fake_jvm --for 60 --rate 200 >/var/tmp/out & echo $! >/var/tmp/pid; sleep 60 & wait' "$(realpath "$FAKE_JVM")"
        HOLDER=$SPAWNED
        wait_for 10 grep -q '^ready' "/proc/$HOLDER/root/var/tmp/out"
        FAKE=$(<"/proc/$HOLDER/root/var/tmp/pid")
        watch "tapped$i" 40s
        wait_for 30 tapped && taps=$((taps + 1))
        kill -9 "$FAKE"
        wait "$WATCH"
        wait_for 3 eval '! tapped'
        lefts+=$(cd "/proc/$HOLDER/root/tmp" && ls -d nmtwatch-tap-* 2>/dev/null)
        kill "$HOLDER"
    done
    is "ended while tapped, in mounts of its own: each was tapped" "$taps" 3
    is "... and none leaves a class-load log" "$lefts" ""
else
    skip "ended while tapped, in mounts of its own" "refused: mounting needs root"
fi

fake stopped-fake
watch stopped 9s
# A SIGQUIT that is under way when it is stopped would be a thread dump.
wait_for 10 grep -q '"nmt"' "$SCRATCH/stopped"
kill -STOP "$FAKE"
sleep 3
kill -CONT "$FAKE"
wait "$WATCH"
contains "stopped: a note says why it does not answer" "$(cat "$SCRATCH/stopped")" "stopped (state T)"
is "stopped: one note, not one each second" "$(types stopped note)" 1
last_nmt=$(jq -r 'select(.type=="tick" and has("nmt")).ms' "$SCRATCH/stopped" | tail -1)
check "stopped: NMT is asked again afterwards" test "${last_nmt:-0}" -gt 5000
kill "$FAKE"
wait "$FAKE" 2>/dev/null
lacks_in "stopped: no thread dump in its log" "$SCRATCH/stopped-fake" "thread dump"

# A question that is left out for its pause: counted each time, one line at the time.
fake left-out-fake
"$NMTWATCH" watch --json --for 7s --nmt-interval 1s --methods never --loaders-interval 1s --pause-budget 1ms/10min --cpu-pressure ignore \
    "$FAKE" >"$SCRATCH/left-out" 2>&1
skipped='select(.type == "cost" and .measured_us == -1)'
is "left out: one line" "$(jq -c "$skipped" "$SCRATCH/left-out" | grep -c .)" 1
check "left out: when it happens" jq -es "[.[] | $skipped | .ms][0] < 3000" "$SCRATCH/left-out"
check "left out: the end counts each" jq -es \
    '[.[] | select(.type == "end") | .cost.commands[] | .skipped][0] >= 3' "$SCRATCH/left-out"
printf '[serve]\nlisten = 127.0.0.1:%d\n[watch]\nloaders_interval = 1s\npause_budget = 1ms/10min\ncpu_pressure = ignore\n' 19431 >"$SCRATCH/serve.ini"
spawn "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >"$SCRATCH/serve" 2>&1
SERVE=$SPAWNED
left_out() { # a series of the fake JVM with more than one question
    curl -s http://127.0.0.1:19431/metrics |
        grep -q '^nmtwatch_questions_left_out_total{.*command="VM.classloader_stats",reason="budget"} [2-9]'
}
check "left out: serve has a metric by command and reason" wait_for 15 left_out
check "left out: serve's log says so" grep -q 'a question was left out: .*VM.classloader_stats: it would stop' "$SCRATCH/serve"
kill "$SERVE" "$FAKE"
wait "$SERVE" "$FAKE" 2>/dev/null

done_testing
