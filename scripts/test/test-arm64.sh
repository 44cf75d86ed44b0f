#!/bin/bash
# test-arm64: what an emulator can show of the arm64 programs: unit and golden tests of both libraries, the fake
# JVM's, an arm64 JVM under nmtwatch and under the agent, the lock-free parts, and both stack engines in the same handler
# (JDK 17, 21, 25). Minutes. `make test` has its short form (tests/e2e/arm64_test.sh).
#
# usage: test-arm64.sh [PROGRAM...]     these alone
#        test-arm64.sh --jdks           the rows of arm64 JDKs in the table of README.md (test-jdks.sh)
#
# What is left out is printed with its reason: the emulator (qemu-user 7.2) has no such system call, answers in the
# kernel's place, or there is no second user in the namespace that it runs in.

set -u
. "$(dirname "$0")/../lib.sh"
build=build/aarch64-linux-gnu
if lacking=$(arm64_lacking); then
    echo "test-arm64: $lacking" >&2
    exit 1
fi
make -s -j "$(nproc)" CROSS=aarch64-linux-gnu- all unit-tests stress-programs "$build/fake_receiver" || exit 1

newer=() # JDKs
declare -A left_out=(
    [unit/agent_control/published_test]="/proc/self/stat is the emulator's"
    [unit/agent_sampling/threads_test]="a timer's signal is lost while the emulator ends a thread"
    [unit/jvm/rooted_test]="has no openat2"
    [unit/jvm/attach_test]="starts no program by a descriptor (fexecve)"
    [unit/jvm/target_test]="starts no program by a descriptor (fexecve)"
    [unit/serve/helper_test]="starts no program by a descriptor (fexecve)"
    [unit/profile/exchange_test]="has no other user to become"
)
if [ "${1-}" = --jdks ]; then
    status=0
    for version in 17 25; do
        BUILD=$build TAP_PATIENCE=${TAP_PATIENCE:-5} scripts/test/arm64.sh -v "$version" \
            scripts/test/test-jdks.sh --update || [ $? = 77 ] || status=1
    done
    exit $status
fi
if [ $# = 0 ]; then
    for program in tests/unit/*/*_test.c tests/unit/*/aarch64/*_test.c tests/golden/*_test.c; do
        [ -e "$program" ] || continue
        name=${program#tests/} name=${name%.c}
        if [ -n "${left_out[$name]-}" ]; then
            echo "# left out: $name: ${left_out[$name]}"
        else
            set -- "$@" "$build/tests/$name"
        fi
    done
    set -- "$@" NMTWATCH="$build/nmtwatch" FAKE_JVM="$build/fake_jvm" \
        tests/sim/{lifecycle,failures,perfdata,analyze,classlog,plan,report,series}_test.sh \
        tests/agent/compare_test.sh STRESS_PROGRAMS="$build/stress" tests/stress/tsan_test.sh NMTWATCH=build/nmtwatch ARM64_FULL=1 tests/e2e/arm64_test.sh
    newer=(21 25)
fi
# What fails leaves its logs: each run begins with none.
scripts/test/arm64.sh scripts/test/run-tests.sh -j 2 "$@" || exit
for version in "${newer[@]}"; do
    scripts/test/arm64.sh -v "$version" scripts/test/run-tests.sh tests/agent/compare_test.sh || exit
done
