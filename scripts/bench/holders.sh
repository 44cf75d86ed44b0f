#!/bin/bash
# bench-holders: nmtwatch holders on heap dumps of small objects, beside reading the same file once.
#
# usage: bench/holders.sh [BUILD [GB...]]     sizes of the dumps (1 4); written to $TMPDIR, read, and removed
#
# Goals: 0.4 GB of dump a second with two cores, resident memory of 15 % of the dump. The wall clock is that of this
# machine with whatever else runs on it; processor time is less moved by that. Median of five rounds, in each the
# scan first.
set -u
. "$(dirname "$0")/../lib.sh"
nmtwatch=${1:-build}/nmtwatch
[ -x "$nmtwatch" ] || { echo "bench-holders: $nmtwatch is not built" >&2; exit 1; }
shift
home=$(JDK=${JDK:-17} scripts/workloads.sh jdk) || exit 1
out=$(mktemp -d "${TMPDIR:-/tmp}/nmtwatch-holders.XXXXXX") || exit 1
jvm=
trap '[ -z "$jvm" ] || kill $jvm; rm -rf "$out"' EXIT
"$home/bin/javac" -nowarn -d "$out" tests/bench/java/HeapLoad.java || exit 1

make_dump() { # GB: 205 bytes of dump an entry
    "$home/bin/java" -Xmx$(($1 * 1200))m -XX:+UseSerialGC -cp "$out" HeapLoad $(($1 * 1000000000 / 205)) "$out" >"$out/log" 2>&1 &
    jvm=$!
    for _ in $(seq 600); do
        grep -q ready "$out/log" && break
        kill -0 $jvm 2>/dev/null || { cat "$out/log" >&2; exit 1; }
        sleep 1
    done
    "$home/bin/jcmd" $jvm GC.heap_dump "$out/heap.hprof" >/dev/null || exit 1
    kill $jvm
    wait $jvm 2>/dev/null
    jvm=
}

scan() {
    cat "$out/heap.hprof" | wc -c
}
holders() {
    "$nmtwatch" holders --json "$out/heap.hprof"
}
export -f scan holders
export out nmtwatch

# Rounds of scan and holders, one after the other; of each the median by wall: wall, user and system s, KB resident.
measure() {
    for _ in 1 2 3 4 5; do
        for what in scan holders; do
            /usr/bin/time -o "$out/time" -f "%e %U %S %M" bash -c $what >"$out/answer" 2>/dev/null
            tail -1 "$out/time" >>"$out/$what.times"
        done
    done
}
median() { # WHAT
    sort -n "$out/$1.times" | sed -n 3p
}

printf '%-16s %10s %8s %8s %8s %10s %8s %10s %10s\n' what bytes "wall s" "cpu s" GB/s "cpu GB/s" "RSS %" objects B/object
for size in "${@:-1 4}"; do
    for gb in $size; do
        make_dump "$gb"
        bytes=$(stat -c %s "$out/heap.hprof")
        scan >/dev/null
        rm -f "$out"/*.times
        measure
        for what in scan holders; do
            read -r wall user system rss < <(median $what)
            objects=0
            [ $what = scan ] || objects=$(jq .dump.objects "$out/answer")
            awk -v what=$what -v bytes="$bytes" -v wall="$wall" -v user="$user" -v system_="$system" -v rss="$rss" -v objects="$objects" 'BEGIN {
                cpu = user + system_
                printf "%-16s %10.0f %8.2f %8.2f %8.2f %10.2f", what, bytes, wall, cpu, bytes / 1e9 / (wall > 0 ? wall : 0.01),
                    bytes / 1e9 / (cpu > 0 ? cpu : 0.01)
                if (objects > 0)
                    printf " %8.1f %10d %10.2f", rss * 1024 * 100 / bytes, objects, rss * 1024 / objects
                print ""
            }'
        done
        jq -r '"                 " + (.groups[0] | "\(.loaders) loaders of \(.type), \(.retained_bytes) bytes retained")' "$out/answer"
        rm -f "$out/heap.hprof"
    done
done
