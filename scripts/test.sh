#!/bin/bash
# test: builds and runs the tests of this tree.
#
# usage: test.sh [GROUP...]     groups: compilers unit golden fuzz-seeds tsan sim schema agent e2e
#
# Parsers and units run under AddressSanitizer and UBSan; the tests with real JVMs run what users
# get. A program that could not be built is a failed test, the others still run.

set -u
cd "$(dirname "$0")/.." || exit 1
[ $# -gt 0 ] || set -- compilers unit golden fuzz-seeds tsan sim schema agent e2e

# What was unpacked by setup.sh, not installed.
export PATH=$PATH:$PWD/build/tools/usr/bin

plan=()
shopt -s nullglob

add_built() { # SOURCE...: the sanitized executables of these sources
    local source
    for source in "$@"; do
        plan+=("build/asan/${source%.c}")
    done
}

wanted() { # GROUP, among the arguments of the script
    case " $groups " in *" $1 "*) return 0 ;; esac
    return 1
}

groups=$*
plan+=(-j 1 tests/build/normal_test.sh)
if wanted compilers; then plan+=(tests/build/clang_test.sh); fi
if wanted unit || wanted golden || wanted fuzz-seeds || wanted sim; then
    plan+=(tests/build/sanitized_test.sh)
fi
plan+=(-j 2)
if wanted unit; then add_built tests/unit/*/*_test.c; fi
if wanted golden; then add_built tests/golden/*_test.c; fi
if wanted fuzz-seeds; then plan+=(tests/fuzz/seeds_test.sh); fi
if wanted sim; then
    plan+=(NMTWATCH=build/asan/nmtwatch FAKE_JVM=build/asan/fake_jvm tests/sim/*_test.sh)
fi
if wanted tsan; then plan+=(tests/stress/tsan_test.sh); fi
plan+=(NMTWATCH=build/nmtwatch)
if wanted agent; then plan+=(tests/agent/*_test.sh); fi
if wanted schema; then plan+=(tests/schema/*_test.sh); fi
# Mostly waiting for JVMs: more of them than cores, the longest first.
if wanted e2e; then
    longest=(tests/e2e/soak_test.sh tests/e2e/families_test.sh tests/e2e/twins_test.sh
        tests/e2e/jdks_test.sh tests/e2e/serve_kill_test.sh tests/e2e/agent_breaker_test.sh)
    plan+=(-j 4 "${longest[@]}")
    for program in tests/e2e/*_test.sh; do
        [[ " ${longest[*]} " == *" $program "* ]] || plan+=("$program")
    done
fi

exec scripts/run-tests.sh "${plan[@]}"
