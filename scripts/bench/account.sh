#!/bin/bash
# bench-account: how the account of memory scales with threads, beside other allocators.
#
# usage: bench/account.sh [BUILD]     ROUNDS (31), THREADS ("1 2 4 8 16"), JEMALLOC, MIMALLOC (libraries; those of the system
#                                     unless given)
#
# CPU time of one free and one allocation of a block that is written and read once, median of the rounds, for each number
# of threads: malloc of glibc, of jemalloc and mimalloc (LD_PRELOAD) where they are, and the account of agent/mem over each of
# them: median of the ratios of the same round, and the interval that holds it with 95 % confidence (order statistics).
# More threads than CPUs take turns: CPU time counts their own work only.

set -eu
. "$(dirname "$0")/../lib.sh"
build=${1:-build}
read -ra threads <<<"${THREADS:-1 2 4 8 16}"
folder=/usr/lib/$(gcc -print-multiarch)
libraries=("glibc=" "jemalloc=${JEMALLOC:-$folder/libjemalloc.so.2}" "mimalloc=${MIMALLOC:-$folder/libmimalloc.so.2.0}")
printf '%-10s %8s %12s   %-22s %s\n' malloc threads 'ns malloc' summary detail
for library in "${libraries[@]}"; do
    name=${library%%=*} file=${library#*=}
    if [ -n "$file" ] && [ ! -e "$file" ]; then
        echo "$name: not installed ($file)"
        continue
    fi
    LD_PRELOAD=$file "$build/bench/mem_bench" "${ROUNDS:-31}" "${threads[@]}" | awk '
        { ns[$1, $2, $3] = $4; if ($1 >= rounds) rounds = $1 + 1; if (!($2 in seen)) { seen[$2] = 1; order[++number] = $2 } }
        END { for (i = 1; i <= number; i++) for (r = 0; r < rounds; r++) { t = order[i]; m = ns[r, t, "malloc"]
            print i, t, "malloc", m; print i, t, "summary", ns[r, t, "summary"] / m; print i, t, "detail", ns[r, t, "detail"] / m } }' |
        sort -k1,1n -k3,3 -k4,4n | awk -v name="$name" '
        { key = $1 " " $3; value[key, ++count[key]] = $4; threads[$1] = $2; if ($1 > number) number = $1 }
        function median(key) { return value[key, int((count[key] + 1) / 2)] }
        function around(key,   low) { low = int(count[key] / 2 - 0.98 * sqrt(count[key])); if (low < 1) low = 1
            return sprintf("%.2f (%.2f to %.2f)", median(key), value[key, low], value[key, count[key] + 1 - low]) }
        END { for (i = 1; i <= number; i++)
            printf "%-10s %8d %12.1f   %-22s %s\n", name, threads[i], median(i " malloc"), around(i " summary"), around(i " detail") }'
done
