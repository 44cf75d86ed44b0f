#!/bin/bash
# test: builds and runs the tests of this tree.
#
# usage: test.sh [GROUP...]     groups: compilers unit golden fuzz-seeds tsan sim schema agent e2e system
#        test.sh check          what `make check` runs: unit, golden and sim without a sanitizer, and one
#                               JVM of each JDK that is there, under nmtwatch and under the agent
#        test.sh system         what depends most on the system, on HTTP, the C library and the JDK, beyond `check`
#
# Parsers and units run under AddressSanitizer and UBSan; the tests with real JVMs run what users
# get. A program that could not be built is a failed test, the others still run.

set -u
. "$(dirname "$0")/../lib.sh"
[ $# -gt 0 ] || set -- compilers unit golden fuzz-seeds tsan sim schema agent e2e

plan=()
shopt -s nullglob

add_built() { # FOLDER SOURCE...: the executables of these sources
    local folder=$1 source
    for source in "${@:2}"; do
        plan+=("$folder/${source%.c}")
    done
}

add_longest_first() { # FOLDER NAME...: those by name, as measured; then the rest, by the limits they ask for
    local program first=("${@:2}")
    first=("${first[@]/#/tests/$1/}")
    first=("${first[@]/%/_test.sh}")
    plan+=("${first[@]}")
    while read -r program; do
        [[ " ${first[*]} ${left_out-} " == *" $program "* ]] || plan+=("$program")
    done < <(for program in tests/"$1"/*_test.sh; do
        echo "$(sed -n '1,15s/^# timeout: *\([0-9][0-9]*\).*/\1/p' "$program" | head -n 1) $program"
    done | sort -k 1,1nr -s | cut -d ' ' -f 2)
}

wanted() { # GROUP, among the arguments of the script
    case " $groups " in *" $1 "*) return 0 ;; esac
    return 1
}

groups=$*
plan+=(-j 1 tests/build/normal_test.sh)
if wanted check; then
    plan+=(tests/build/plain_test.sh -j 2 tests/build/setup_test.sh)
    add_built build tests/unit/*/*_test.c tests/golden/*_test.c
    plan+=(-j 4 NMTWATCH=build/nmtwatch FAKE_JVM=build/fake_jvm tests/e2e/list_check_test.sh
        tests/agent/interpose_test.sh)
    left_out=tests/sim/verdict_rates_test.sh # twenty seconds of CPU
    add_longest_first sim delivery soak series
fi
if wanted compilers; then plan+=(tests/build/clang_test.sh); fi
if wanted unit || wanted golden || wanted fuzz-seeds || wanted sim; then
    plan+=(tests/build/sanitized_test.sh)
fi
# Most of them wait for JVMs and deadlines: the runner adds more while processors are idle. What waits longest
# comes first, what takes milliseconds last.
plan+=(-j 4)
left_out=tests/e2e/soak_test.sh
if wanted e2e; then plan+=(NMTWATCH=build/nmtwatch "$left_out"); fi
if wanted sim; then
    plan+=(NMTWATCH=build/asan/nmtwatch FAKE_JVM=build/asan/fake_jvm)
    add_longest_first sim browser delivery soak verdict_rates analyze wrappers series abuse
fi
plan+=(NMTWATCH=build/nmtwatch FAKE_JVM=build/fake_jvm)
if wanted e2e; then
    add_longest_first e2e jdks arm64 twins serve_kill agent_breaker families agent_redefine observe builds serve_two \
        agent_life agent_soak agent_flags churn holders security_text bursts internal
fi
if wanted agent; then add_longest_first agent; fi
if wanted system; then
    system=(e2e/{libraries,serve,serve_two,alerting,observe,observe_all,observe_activate,triage,holders,agent_life,agent_redefine,agent_control}
        e2e/{security_serve,tap,top} agent/{allocators,signal_symbols,no_perf} schema/rules schema/monitoring_files
        build/hardening)
    system=("${system[@]/#/tests/}")
    plan+=("${system[@]/%/_test.sh}")
fi
if wanted schema; then plan+=(tests/schema/*_test.sh); fi
if wanted tsan; then plan+=(tests/stress/tsan_test.sh); fi
if wanted unit; then plan+=(tests/build/setup_test.sh tests/build/hardening_test.sh); fi
if wanted fuzz-seeds; then plan+=(tests/fuzz/seeds_test.sh); fi
if wanted unit; then add_built build/asan tests/unit/*/*_test.c; fi
if wanted golden; then add_built build/asan tests/golden/*_test.c; fi

exec scripts/test/run-tests.sh "${plan[@]}"
