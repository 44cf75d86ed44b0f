#!/bin/bash
# The lock-free parts under ThreadSanitizer, two seconds each. In scripts/test/arm64.sh: without it, as arm64
# programs (what an emulator on x86-64 shows of the order of memory accesses is x86-64's).
# timeout: 300
. "$(dirname "$0")/../tap.sh"

build=build/tsan how=(SANITIZE=thread BUILD=build/tsan)
if [ -n "${ARM64_REGISTERED-}" ]; then
    build=build/aarch64-linux-gnu how=(CROSS=aarch64-linux-gnu-)
    unset MAKEFLAGS MAKELEVEL
fi
check "built: ${how[0]}" make -s -j2 "${how[@]}" stress-programs
for source in tests/stress/*_stress.c; do
    name=$(basename "$source" _stress.c)
    check "$name" "$build/stress/$name" 2
done
done_testing
