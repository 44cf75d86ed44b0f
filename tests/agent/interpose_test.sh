#!/bin/bash
# The account of a running agent against what an interposed malloc, mmap and their kin saw its code
# take: as many blocks and maps, and as many bytes.
# timeout: 180
. "$(dirname "$0")/../tap.sh"

build=${NMTWATCH:-build/nmtwatch}
build=${build%/*}
agent=$PWD/$build/libnmtagent.so
need_built "$agent"
scripts/workloads.sh build >"$SCRATCH/build.log" 2>&1 || bail "$(tail -n 1 "$SCRATCH/build.log")"
observer=$SCRATCH/interpose.so
check "the observer builds" "${CC:-gcc}" -D_GNU_SOURCE -std=gnu17 -O2 -Wall -Wextra -Werror -fPIC \
    -shared -o "$observer" tests/agent/interpose.c -ldl

observed() { # sets these four from the counters
    read -r blocks heap_bytes maps mapped_bytes < <(od -An -v -w32 -t d8 "$counters")
}

# The account and the counters at one moment: the counters do not change while the account is asked.
at_one_moment() {
    local before tries
    for ((tries = 0; tries < 20; tries++)); do
        before=$(od -An -v -t d8 "$counters")
        "$build/nmtwatch" profile "$pid" memory --json >"$SCRATCH/memory.json" || return
        observed
        [ "$before" != "$(od -An -v -t d8 "$counters")" ] || return 0
        sleep 0.2
    done
    false
}

# Of what was allocated: pages of files are nobody's malloc or mmap.
total() { # KEY
    jq "[.components[] | select(.name != \"agent_code\" and .name != \"unwind_tables\") | .$1] | add" \
        "$SCRATCH/memory.json"
}

compare() { # WHEN
    local reserved difference
    if ! at_one_moment; then
        fail "$1: the account can be compared" "it changed all the time"
        return
    fi
    is "$1: as many blocks and maps" "$(($(total allocations) - $(total frees)))" "$((blocks + maps))"
    reserved=$(total reserved_bytes)
    difference=$((heap_bytes + mapped_bytes - reserved))
    # glibc may give 16 bytes more than it must, and rounds large blocks to pages.
    if [ "$difference" -ge 0 ] && [ "$difference" -le $((reserved / 100 + 4096)) ]; then
        pass "$1: as many bytes ($reserved)"
    else
        fail "$1: as many bytes" \
            "observed $heap_bytes in the heap, $mapped_bytes mapped; accounted $reserved"
    fi
    is "$1: components add up" "$(jq '[.components[].reserved_bytes] | add' "$SCRATCH/memory.json")" \
        "$(jq .total.reserved_bytes "$SCRATCH/memory.json")"
}

for jdk in 17 25; do
    if [ -z "$(JDK=$jdk scripts/workloads.sh jdk 2>/dev/null)" ]; then
        skip "JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    counters=$SCRATCH/counters-$jdk
    JDK=$jdk INTERPOSE_FILE=$counters LD_PRELOAD=$observer \
        JVM_FLAGS="-agentpath:$agent=start,cpu=10ms,file=$SCRATCH/$jdk.jfr" \
        spawn scripts/workloads.sh run idle --warmup-classes 2000 --seconds 100 >"$SCRATCH/log" 2>&1
    pid=$SPAWNED
    wait_for 60 grep -q ready "$SCRATCH/log" || {
        fail "JDK $jdk: the workload starts" "$(head "$SCRATCH/log")"
        continue
    }
    compare "JDK $jdk, sampling"
    check "JDK $jdk: stops" "$build/nmtwatch" profile "$pid" stop
    compare "JDK $jdk, stopped"
    kill_jvm "$pid"
done
done_testing
