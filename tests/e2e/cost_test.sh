#!/bin/bash
# The cheap tiers do not stop the target: its own safepoint log says so.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

# The operations of a safepoint log, without those an idle JVM does for itself.
operations() { # LOG
    sed -nE 's/.*Safepoint "([A-Za-z0-9_]+)".*/\1/p' "$1" |
        grep -vxE 'Cleanup|ICBufferFull|no vm operation|RendezvousGCThreads|Halt' | sort | uniq -c
}

for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "safepoints on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    JVM_FLAGS="-Xlog:safepoint*=info:file=$SCRATCH/safepoints-$jdk.log" \
        fleet_start $jdk idle --warmup-classes 8000 --seconds 100
done
[ ${#FLEET_NAMES[@]} != 0 ] || done_testing
fleet_ready
# With so many classes even the cheapest of the expensive commands is predicted to cost more than this.
fleet_watch 20s --interval 200ms --nmt-interval 1s --pause-budget 1ms/10min
for name in "${FLEET_NAMES[@]}"; do
    jdk=${name%/*}
    ticks=$(grep -c "\"type\": *\"tick\".*\"pid\": *${FLEET_PID[$name]}\b" "$SCRATCH/watch.jsonl")
    is "$name: no safepoint in $ticks ticks" "$(operations "$SCRATCH/safepoints-$jdk.log")" ""
    if [ "$ticks" -ge 50 ]; then pass "$name: it was watched"; else fail "$name: it was watched" "$ticks ticks"; fi
    nmt=$(grep -c "\"pid\": *${FLEET_PID[$name]}\b.*\"nmt_committed_bytes\"" "$SCRATCH/watch.jsonl")
    if [ "$nmt" -ge 5 ]; then pass "$name: NMT was read $nmt times"; else fail "$name: NMT was read" "$nmt times"; fi
    # The log is a witness only if it sees a command that does stop the JVM.
    jcmd "$jdk" "${FLEET_PID[$name]}" VM.classloader_stats \
        >/dev/null
    contains "$name: the log shows a safepoint when there is one" \
        "$(operations "$SCRATCH/safepoints-$jdk.log")" ClassLoaderStatsOperation
done

# An observation waits for what it observes, in a process of its own: that takes milliseconds of CPU, five seconds long.
jdk=${FLEET_NAMES[0]%/*} FLEET_NAMES=()
fleet_start "$jdk" hidden --mode explode --rate 20 --seconds 60
fleet_ready
fleet_watch 20s
problem=$(jq -r 'select(.type == "callers") | .problem' "$SCRATCH/watch.jsonl" | sort -u | tail -n 1)
observed=$(jq -r 'select(.type == "callers" and .last and .classes > 0) | .for_ms' "$SCRATCH/watch.jsonl" | tail -n 1)
if [ -n "$problem" ]; then
    skip "$jdk/hidden: observed" "refused: $problem"
else
    is "$jdk/hidden: it was observed" "$observed" 5000
    check "$jdk/hidden: in less than a fifth of a processor" jq -se \
        'last(.[] | select(.type == "end")).cost.cpu_ms < 1000' "$SCRATCH/watch.jsonl"
fi
done_testing
