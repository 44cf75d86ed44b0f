#!/bin/bash
# bench-calltrace: what a put of a stack costs, against an earlier storage of stacks.
#
# usage: [BASE=COMMIT] [ROUNDS=10] bench/calltrace.sh BUILD
#
# Builds agent/calltrace and agent/mem of BASE (daf1d46: each stack as a whole, before the prefix
# tree) and of this tree as two libraries, and puts the same stacks into both in turns, in one
# process (tests/bench/calltrace_bench.c). Prints medians of CPU time a put. The goal, at most twice, is no
# condition: exit status 1 means that a measurement failed.
. "$(dirname "$0")/../../tests/tap.sh" # SCRATCH; we are in the root now

build=${1:-build}
base=${BASE:-daf1d46}
goal=2

library() { # ROOT FILE
    # shellcheck disable=SC2046 # flags
    "${CC:-gcc}" -O2 -g -std=gnu17 -D_GNU_SOURCE -fno-strict-aliasing -fstack-protector-strong -shared \
        -fPIC -I"$1" -o "$2" "$1"/agent/calltrace/*.c "$1"/agent/mem/*.c -pthread
}

if ! git cat-file -e "$base^{commit}" 2>/dev/null; then
    echo "bench-calltrace: no commit $base here: nothing to compare with"
    exit 0
fi
mkdir -p "$SCRATCH/base"
git archive "$base" agent | tar x -C "$SCRATCH/base" || exit 1
library "$SCRATCH/base" "$SCRATCH/base.so" || exit 1
library . "$SCRATCH/this.so" || exit 1
make -s BUILD="$build" "$build/bench/calltrace_bench" || exit 1
"$build/bench/calltrace_bench" "$SCRATCH/base.so" "$SCRATCH/this.so" "${ROUNDS:-10}" >"$SCRATCH/samples" || exit 1
echo "a put of a stack of 40 frames, ns of CPU, $base and now (goal: at most $goal times)"
for name in hot seen new random mixed; do
    for what in old_ns new_ns ratio; do
        awk -v name="${name}_$what" '$1 == name { print $2 }' "$SCRATCH/samples" | sort -g |
            awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
    done | xargs printf '  %-8s %8.0f %8.0f   %.2f\n' "$name"
done
