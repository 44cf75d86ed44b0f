#!/bin/bash
# Each old crash is a seed; each seed goes through its fuzz target again, under the sanitizers.
# timeout: 300
. "$(dirname "$0")/../tap.sh"

for source in tests/fuzz/*_fuzz.c; do
    name=$(basename "$source" _fuzz.c)
    if [ ! -d "tests/fuzz/seeds/$name" ]; then
        fail "$name has seeds" "tests/fuzz/seeds/$name is missing"
    else
        check "$name survives its seeds" "build/asan/fuzz/$name" "tests/fuzz/seeds/$name"
    fi
done
[ "$TAP_COUNT" != 0 ] || fail "fuzz seeds" "there is no fuzz target"
done_testing
