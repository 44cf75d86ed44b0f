#!/bin/bash
# `nmtwatch serve` over a day that passes in twenty seconds: its memory does not grow with it. A week:
# scripts/test/serve-week.sh.
. "$(dirname "$0")/../tap.sh"
build=$(dirname "${NMTWATCH:-build/nmtwatch}")
need_built "$build/fake_jvm"
need curl
need_library 'libmicrohttpd\.so\.12'

scripts/test/serve-week.sh "$build" 1 4000 >"$SCRATCH/day" 2>&1
code=$?
sed 's/^/# /' "$SCRATCH/day"
is "a day of samples leaves the memory of serve as it was" $code 0
check "they were samples" awk '/^100 %/ && $6 > 4000 { seen = 1 } END { exit !seen }' "$SCRATCH/day"
done_testing
