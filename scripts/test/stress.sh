#!/bin/bash
# stress: the long form of the tests with real JVMs: five minutes of silence of every cached twin,
# all families three times over, churn, faults; the agent on hard workloads ten times as long; a hundred
# kill -9 of serve; last, an hour of everything at once under the agent. Two and a half hours.
# ENDURANCE_SECONDS=600 makes the last one shorter.

set -u
. "$(dirname "$0")/../lib.sh"
export NMTWATCH=${1:-build}/nmtwatch TWINS_SECONDS=300 AGENT_SCALE=10 KILLS=100 BUILD_SPEED=1
export ENDURANCE_SECONDS=${ENDURANCE_SECONDS:-3600}
exec scripts/test/run-tests.sh -j 1 \
    tests/e2e/twins_test.sh \
    tests/e2e/families_test.sh tests/e2e/families_test.sh tests/e2e/families_test.sh \
    tests/e2e/churn_test.sh tests/e2e/bursts_test.sh \
    tests/e2e/cost_test.sh tests/e2e/gap_test.sh tests/e2e/internal_test.sh \
    tests/e2e/agent_churn_test.sh tests/e2e/agent_workloads_test.sh \
    tests/e2e/agent_life_test.sh tests/e2e/agent_signals_test.sh \
    tests/e2e/tap_test.sh tests/e2e/list_check_test.sh tests/e2e/replay_test.sh \
    tests/e2e/builds_test.sh tests/sim/delivery_test.sh tests/e2e/agent_endurance_test.sh
