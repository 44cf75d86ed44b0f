#!/bin/bash
# bench-analyze: nmtwatch analyze beside wc on a class log and on a GC log.
#
# usage: bench/analyze.sh [BUILD [MB]]      size of each log (1024); generated, read, and removed
#
# CPU time (user + system) on one core, from the page cache, the best of five rounds.
set -u
. "$(dirname "$0")/../lib.sh"
nmtwatch=${1:-build}/nmtwatch
[ -x "$nmtwatch" ] || { echo "bench-analyze: $nmtwatch is not built" >&2; exit 1; }
megabytes=${2:-1024}
log=$(mktemp /tmp/nmtwatch-analyze.XXXXXX) || exit 1
trap 'rm -f "$log"' EXIT

class_log() {
    awk -v bytes=$((megabytes * 1048576)) 'BEGIN {
        for (n = 0; size < bytes; n++) {
            line = sprintf("[%d.%03ds][info][class,load] com.acme.model.Order$HibernateProxy$%08x source: __JVM_DefineClass__\n",
                n / 1000, n % 1000, n * 40503 % 4294967296)
            printf "%s", line
            size += length(line)
        }
    }'
}

gc_log() { # as -Xlog:gc* prints a young collection
    awk -v bytes=$((megabytes * 1048576)) 'BEGIN {
        for (n = 0; size < bytes; n++) {
            t = sprintf("[%d.%03ds][info]", n / 10, n % 10 * 100)
            line = t "[gc,start    ] GC(" n ") Pause Young (Normal) (G1 Evacuation Pause)\n" \
                t "[gc,task     ] GC(" n ") Using 2 workers of 2 for evacuation\n" \
                t "[gc,phases   ] GC(" n ")   Pre Evacuate Collection Set: 0.1ms\n" \
                t "[gc,phases   ] GC(" n ")   Evacuate Collection Set: 3.2ms\n" \
                t "[gc,phases   ] GC(" n ")   Post Evacuate Collection Set: 0.4ms\n" \
                t "[gc,heap     ] GC(" n ") Eden regions: 24->0(23)\n" \
                t "[gc,heap     ] GC(" n ") Survivor regions: 2->3(4)\n" \
                t "[gc,heap     ] GC(" n ") Old regions: 50->50\n" \
                t "[gc,heap     ] GC(" n ") Humongous regions: 2->2\n" \
                t "[gc,metaspace] GC(" n ") Metaspace: 201004K(203008K)->201004K(203008K) NonClass: 180100K(181000K)->180100K(181000K)\n" \
                t "[gc          ] GC(" n ") Pause Young (Normal) (G1 Evacuation Pause) 78M->55M(256M) 4.112ms\n" \
                t "[gc,cpu      ] GC(" n ") User=0.01s Sys=0.00s Real=0.00s\n"
            printf "%s", line
            size += length(line)
        }
    }'
}

best() { # COMMAND...: milliseconds of CPU, the least of five
    local TIMEFORMAT='%U %S' least=
    for _ in 1 2 3 4 5; do
        local ms
        ms=$({ time taskset -c 0 "$@" "$log" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%d", ($1 + $2) * 1000 }')
        [ -n "$least" ] && [ "$least" -le "$ms" ] || least=$ms
    done
    echo "$least"
}

for kind in class_log gc_log; do
    $kind >"$log"
    cat "$log" >/dev/null
    for tool in "wc -l" "wc" "$nmtwatch analyze"; do
        read -ra command <<<"$tool"
        ms=$(best "${command[@]}")
        awk -v kind="$kind" -v tool="$(basename "${command[0]}") ${command[*]:1}" -v ms="$ms" -v bytes="$(stat -c %s "$log")" \
            'BEGIN { printf("%-10s %-18s %6d ms  %6.2f GB/s\n", kind, tool, ms, bytes / (ms + 0.5) / 1e6) }'
    done
done
