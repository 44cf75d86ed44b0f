#!/bin/bash
# fuzz: each fuzz target for a while, starting from its seeds and what earlier runs found.
#
# usage: fuzz.sh [SECONDS_PER_TARGET [TARGET...]]
#
# An input that crashes is left in build/fuzz-crashes: make it a seed with a name that says what is
# wrong with it (tests/fuzz/seeds/TARGET/), then fix the code. Exit status 1 when there was one.

set -u
. "$(dirname "$0")/../lib.sh"
seconds=${1:-30}
[ $# -eq 0 ] || shift

if [ $# -gt 0 ]; then
    targets=("$@")
else
    targets=()
    for source in tests/fuzz/*_fuzz.c; do
        targets+=("$(basename "$source" _fuzz.c)")
    done
fi

build=build/fuzzers
mkdir -p build/fuzz-crashes build/fuzz-logs
flags='-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all'
make -s -j"$(nproc)" BUILD=$build CC=clang CFLAGS="$flags" \
    $build/lib{nmtwatch,reports,analyzers,floor}.a || exit 1

status=0
for target in "${targets[@]}"; do
    corpus=build/fuzz-corpus/$target
    log=build/fuzz-logs/$target.log
    mkdir -p "$corpus" $build/fuzz
    # shellcheck disable=SC2086
    clang -std=gnu17 -I. -D_GNU_SOURCE ${flags/fuzzer-no-link/fuzzer} \
        -o "$build/fuzz/$target" "tests/fuzz/${target}_fuzz.c" \
        -Wl,--start-group $build/lib{nmtwatch,reports,analyzers,floor}.a -Wl,--end-group \
        -Wl,-Bstatic -ljansson -lz -linih -lncursesw -ltinfo -Wl,-Bdynamic -lm -pthread || exit 1
    if "$build/fuzz/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
        -print_final_stats=1 -artifact_prefix="build/fuzz-crashes/$target-" \
        "$corpus" "tests/fuzz/seeds/$target" >"$log" 2>&1; then
        verdict=ok
    else
        verdict="CRASH, see $log"
        status=1
    fi
    printf '%-24s %10s runs %7s inputs  %s\n' "$target" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
        "$(find "$corpus" -type f | wc -l)" "$verdict"
done
exit $status
