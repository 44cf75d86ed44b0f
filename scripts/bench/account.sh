#!/bin/bash
# bench-account: how the account of memory scales with threads, beside other allocators.
#
# usage: bench/account.sh [BUILD]     ROUNDS (7), THREADS ("1 2 4 8 16"), JEMALLOC, MIMALLOC (libraries; those of the system
#                                     unless given)
#
# CPU time of one free and one allocation of a block that is written and read once, median of the rounds, for each number
# of threads: malloc of glibc, of jemalloc and mimalloc (LD_PRELOAD) where they are, and the account of agent/mem over each of
# them as a ratio of the same run. More threads than CPUs take turns: CPU time counts their own work only.

set -eu
. "$(dirname "$0")/../lib.sh"
build=${1:-build}
read -ra threads <<<"${THREADS:-1 2 4 8 16}"
folder=/usr/lib/$(gcc -print-multiarch)
libraries=("glibc=" "jemalloc=${JEMALLOC:-$folder/libjemalloc.so.2}" "mimalloc=${MIMALLOC:-$folder/libmimalloc.so.2.0}")
printf '%-10s %8s %12s %10s %10s\n' malloc threads 'ns malloc' summary detail
for library in "${libraries[@]}"; do
    name=${library%%=*} file=${library#*=}
    if [ -n "$file" ] && [ ! -e "$file" ]; then
        echo "$name: not installed ($file)"
        continue
    fi
    LD_PRELOAD=$file "$build/bench/mem_bench" "${ROUNDS:-7}" "${threads[@]}" |
        sort -k1,1n -k2,2 -k3,3n | awk -v name="$name" '
        { key = $1 " " $2; value[key, ++count[key]] = $3; if (!($1 in seen)) { seen[$1] = 1; order[++number] = $1 } }
        function median(key) { return value[key, int((count[key] + 1) / 2)] }
        END { for (i = 1; i <= number; i++) { t = order[i]; m = median(t " malloc")
            printf "%-10s %8d %12.1f %10.2f %10.2f\n", name, t, m, median(t " summary") / m, median(t " detail") / m } }'
done
