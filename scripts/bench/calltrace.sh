#!/bin/bash
# bench-calltrace: what a put of a stack costs, against the walk that found it and against an earlier storage of stacks.
#
# usage: [BASE=COMMIT] [ROUNDS=10] [JDK=17] bench/calltrace.sh BUILD
#
# Against the walk: JVMs that are sampled at 1 ms, by an agent that takes the time of each walk and put (tests/bench/put_times.c);
# medians, and of the ratio of the two as well. The goal, 5 % of a walk, is no condition.
#
# Builds agent/calltrace and agent/mem of BASE (daf1d46: each stack as a whole, before the prefix
# tree) and of this tree as two libraries, and puts the same stacks into both in turns, in one
# process (tests/bench/calltrace_bench.c). Prints medians of CPU time a put. The goal, at most twice, is no
# condition: exit status 1 means that a measurement failed.
. "$(dirname "$0")/../../tests/tap.sh" # SCRATCH; we are in the root now

build=${1:-build}
base=${BASE:-daf1d46}
goal=2

walks() { # LOAD COMMAND...: a row
    local load=$1
    shift
    PUT_TIMES=$SCRATCH/times "$jdk/bin/java" -Xmx256m -XX:+UseSerialGC \
        -agentpath:"$timed=start,cpu=1ms,file=$SCRATCH/put.jfr" -cp "$classes" "$@" >"$SCRATCH/out" 2>&1 || {
        echo "bench-calltrace: $load: $(tail -n 1 "$SCRATCH/out")" >&2
        exit 1
    }
    for value in '$1' '$2' '$2 / $1' '$3'; do
        # The first half fills the tables.
        awk 'NR > 1 && $1 > 0 && $2 > 0 && $3 > 1 { line[++n] = $0 } END { for (i = int(n / 2); i <= n; i++) print line[i] }' \
            "$SCRATCH/times" | awk "NF == 3 { print $value }" | sort -g |
            awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)], NR }'
    done | xargs | awk -v load="$load" '{ printf "  %-9s %8d %8d %8d %8d %9.1f%%\n", load, $2, $7, $1, $3, $5 * 100 }'
}

if jdk=$(JDK=${JDK:-17} scripts/workloads.sh jdk); then
    classes=$build/bench/java
    timed=$(realpath -m "$build/bench/times/libnmtagent.so")
    make -s BUILD="$build" "$build/bench/times/libnmtagent.so" >/dev/null || exit 1
    mkdir -p "$classes"
    "$jdk/bin/javac" --release 17 -nowarn -d "$classes" tests/bench/java/Scrabble.java \
        tests/workloads/agent/{RandomStacks,Stage}.java || exit 1
    echo "a put beside its walk, ns (goal: at most 5 %)"
    printf '  %-9s %8s %8s %8s %8s %10s\n' load samples frames walk put put/walk
    walks scrabble Scrabble 3000
    walks random RandomStacks 200000
fi

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
