#!/bin/bash
# `nmtwatch serve` over a day that passes in twenty seconds: its memory does not grow with it. A week:
# scripts/serve-week.sh.
. "$(dirname "$0")/../tap.sh"
build=$(dirname "${NMTWATCH:-build/nmtwatch}")
[ -x "$build/fake_jvm" ] || skip_all "$build/fake_jvm is not built"
command -v curl >/dev/null || skip_all "curl is not installed"
ldconfig -p | grep -q 'libmicrohttpd\.so\.12' || skip_all "libmicrohttpd is not installed"

scripts/serve-week.sh "$build" 1 4000 >"$SCRATCH/day" 2>&1
code=$?
sed 's/^/# /' "$SCRATCH/day"
is "a day of samples leaves the memory of serve as it was" $code 0
check "they were samples" awk '/^100 %/ && $6 > 20000 { seen = 1 } END { exit !seen }' "$SCRATCH/day"
done_testing
