#!/bin/bash
# soak-test: the agent for a long time at 1 ms while classes come and go: its own memory, and what
# the JVM keeps because of it beyond the jmethodIDs, must stay flat. First half a minute of an agent
# that was built with a leak (NMTAGENT_INJECT_LEAK in agent/mem/mem.c), which the same check has to
# find.
#
# usage: soak-test.sh [MINUTES [BUILD]]       30 minutes; JDK=17|25|/path
#
# Own memory is what was allocated: pages of files come and go with the second.
# Flat: between the middle third of the time and the last one, medians, no more than 5 % and 256 KB:
# at 500 classes a second for 30 minutes that is 3 bytes a class. Less than 5 minutes: chunks of 1 s
# instead of 10, so that the middle third is not the warm-up. The measurements stay in build/soak/.

set -u
. "$(dirname "$0")/../lib.sh"
minutes=${1:-30}
export NMTWATCH=${2:-build}/nmtwatch
. tests/tap.sh
. tests/e2e/agent.sh
jdk=${JDK:-17}
unset JDK
build=$(dirname "$NMTWATCH")
out=build/soak
mkdir -p "$out"

table() { # NAME: where its measurements are
    echo "$out/$1-$(basename "$jdk").tsv"
}

profile() { # COMMAND...: of whichever agent the JVM has
    timeout $((60 * TAP_PATIENCE)) "$NMTWATCH" profile --agent "$AGENT" "$JVM_PID" "$@"
}

# A line of the table; "gone" when the JVM is.
measure() {
    local nmt
    nmt=$(jcmd "$jdk" "$JVM_PID" VM.native_memory summary scale=B | awk '
        match($0, /^- +(Class|Internal) \(.*committed=[0-9]+/) {
            sub(/.*committed=/, "", $0)
            sum += $0
        }
        END { print sum + 0 }')
    [ "$nmt" -gt 0 ] || { echo "NMT: no answer" >&2 && return 1; }
    profile memory --json | jq -r --argjson nmt "$nmt" --argjson at $SECONDS '
        ([.components[] | select(.name == "agent_code" or .name == "unwind_tables")
            | .resident_bytes] | add) as $files | [
        $at, .total.reserved_bytes - $files, .total.resident_bytes - $files,
        ([.components[] | select(.name == "line_tables" or .name == "method_map")
            | .reserved_bytes] | add),
        .jvm.jmethod_ids.loaded_bytes, .jvm.jmethod_ids.kept_after_unload_bytes, $nmt,
        .rss.process_bytes] | @tsv'
}

run() { # NAME SECONDS STEP_SECONDS OPTIONS
    # On a loaded machine a measurement takes longer, and the verdict wants twelve of them.
    local name=$1 end=$((SECONDS + $2)) latest=$((SECONDS + $2 * (1 + TAP_PATIENCE))) rows=0 table
    table=$(table "$1")
    jvm_start "$jdk" "$name" -XX:NativeMemoryTracking=summary -XX:+UseSerialGC \
        "-agentpath:$AGENT=start,file=$SCRATCH/soak.jfr,max_size=64M,$4" ClassChurn 0 500
    jvm_wait ready || done_testing
    printf 'second\treserved\tresident\tmethods\tids\tids_kept\tclass_internal\trss\n' >"$table"
    while [ $SECONDS -lt $end ] || { [ $rows -lt 12 ] && [ $SECONDS -lt $latest ]; }; do
        rows=$((rows + 1))
        sleep "$3"
        if ! measure >>"$table"; then
            fail "$JVM_NAME: the JVM lives" "$(tail -n 3 "$JVM_LOG"; jvm_crash)"
            done_testing
        fi
    done
    profile_stops_right "$SCRATCH/soak.jfr"
    kill_jvm "$JVM_PID"
}

# "flat", or what grows. class_internal - ids_kept: what the JVM holds beyond the jmethodIDs.
verdict() { # NAME
    awk -F '\t' '
        function median(column, from, to,    i, j, n, held, v) {
            n = 0
            for (i = from; i < to; i++) {
                held = column == "jvm" ? row[i, 7] - row[i, 6] : row[i, column]
                for (j = n++; j > 0 && v[j] > held; j--) v[j + 1] = v[j]
                v[j + 1] = held
            }
            return v[int((n + 1) / 2)]
        }
        function judge(what, column, least,    middle, last) {
            middle = median(column, int(rows / 3), int(rows * 2 / 3))
            last = median(column, int(rows * 2 / 3), rows)
            if (last - middle > middle / 20 + least)
                printf "%s grows: %d -> %d bytes\n", what, middle, last
        }
        NR > 1 { for (i = 1; i <= NF; i++) row[rows, i] = $i; rows++ }
        END {
            if (rows < 9) { print "too slow: only " rows " measurements"; exit }
            judge("reserved", 2, 262144)
            judge("resident", 3, 524288) # moves with the stacks of a chunk
            judge("methods and line tables", 4, 262144)
            # Classes that are there at the moment differ: what stays of each shows over time.
            judge("the JVM beyond jmethodIDs", "jvm", 8388608)
        }' "$(table "$1")"
}

check "an agent with a leak is built" make -s BUILD="$build" "$build/leak/libnmtagent.so"
whole=$AGENT AGENT=$(realpath "$build/leak/libnmtagent.so")
run leak 30 1 cpu=200us,chunk=500ms
AGENT=$whole
contains "a leak is found" "$(verdict leak)" "methods and line tables grows"
if [ "$minutes" -lt 5 ]; then
    run soak $((minutes * 60)) 2 cpu=1ms,chunk=1s
else
    run soak $((minutes * 60)) 7 cpu=1ms,chunk=10s
fi
is "flat for $minutes minutes, JDK $jdk" "$(verdict soak)" ""
awk 'NR == 2 || NR % 40 == 0 { print "#  " $0 }' "$(table soak)"
done_testing
