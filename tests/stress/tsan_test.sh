#!/bin/bash
# The lock-free parts under ThreadSanitizer, two seconds each.
# timeout: 300
. "$(dirname "$0")/../tap.sh"

check "built with -fsanitize=thread" make -s -j2 BUILD=build/tsan SANITIZE=thread stress-programs
for source in tests/stress/*_stress.c; do
    name=$(basename "$source" _stress.c)
    check "$name" build/tsan/stress/"$name" 2
done
done_testing
