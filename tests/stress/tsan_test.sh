#!/bin/bash
# The lock-free parts under ThreadSanitizer, two seconds each; or those programs that are in $STRESS_PROGRAMS.
# timeout: 300
. "$(dirname "$0")/../tap.sh"

if [ -z "${STRESS_PROGRAMS-}" ]; then
    STRESS_PROGRAMS=build/tsan/stress
    check "built with -fsanitize=thread" make -s -j2 BUILD=build/tsan SANITIZE=thread stress-programs
fi
for source in tests/stress/*_stress.c; do
    name=$(basename "$source" _stress.c)
    check "$name" "$STRESS_PROGRAMS/$name" 2
done
done_testing
