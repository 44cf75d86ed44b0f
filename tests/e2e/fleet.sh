# shellcheck shell=bash
# fleet: several workload JVMs and one watch over all of them. Source it after tap.sh.
#
#   fleet_start 17 cglib --rate 10 --quiet 15      starts a JVM called "17/cglib"
#   fleet_ready                                    waits until all of them run
#   fleet_watch 60s [OPTION...]                    watches all of them; then:
#   fleet_alerts 17/cglib                          its alerts, a JSON object a line
#
# An alert carries "at", seconds since the JVM said it was ready.

NMTWATCH=${NMTWATCH:-build/nmtwatch}
FLEET_NAMES=()
declare -A FLEET_PID FLEET_LOG

if [ ! -x "$NMTWATCH" ]; then
    fail "$NMTWATCH is built"
    done_testing
fi
scripts/workloads.sh build >"$SCRATCH/build.log" 2>&1 || bail "$(tail -n 1 "$SCRATCH/build.log")"
FLEET_KINDS=$(scripts/workloads.sh kinds)

have_jdk() { # VERSION
    JDK=$1 scripts/workloads.sh jdk >/dev/null
}

have_kind() { # KIND
    grep -qx -- "$1" <<<"$FLEET_KINDS"
}

fleet_start() { # JDK KIND ARGS...; JVM_FLAGS and NMT go to workloads.sh
    local name=$1/$2 log=$SCRATCH/$1-$2.log
    JDK=$1 spawn scripts/workloads.sh run "${@:2}" >"$log" 2>&1
    FLEET_NAMES+=("$name")
    FLEET_PID[$name]=$SPAWNED
    FLEET_LOG[$name]=$log
}

# Ends with a failed test when a JVM does not come up.
fleet_ready() {
    local name
    for name in "${FLEET_NAMES[@]}"; do
        if ! wait_for 60 grep -q ready "${FLEET_LOG[$name]}"; then
            fail "$name starts" "$(head -n 5 "${FLEET_LOG[$name]}")"
            done_testing
        fi
    done
}

fleet_watch() { # DURATION OPTION...
    local pids=() name duration=$1
    shift
    for name in "${FLEET_NAMES[@]}"; do
        pids+=("${FLEET_PID[$name]}")
    done
    "$NMTWATCH" watch "${pids[@]}" --json --for "$duration" "$@" \
        2>"$SCRATCH/watch.err" </dev/null |
        tee "$SCRATCH/watch.jsonl" |
        grep --line-buffered '"type": *"alert"' |
        while IFS= read -r line; do
            printf '%s %s\n' "$EPOCHREALTIME" "$line"
        done >"$SCRATCH/alerts"
    # shellcheck disable=SC2034 # for the test
    FLEET_STATUS=${PIPESTATUS[0]}
}

fleet_alerts() { # NAME
    local ready
    ready=$(stat -c %.3Y "${FLEET_LOG[$1]}")
    jq -cR --argjson pid "${FLEET_PID[$1]}" --argjson ready "$ready" 'index(" ") as $blank |
        (.[:$blank] | tonumber) as $at | .[$blank:] | fromjson | select(.pid == $pid) |
        .at = (($at - $ready) * 10 | round) / 10' "$SCRATCH/alerts"
}

# For people who read a failed test.
fleet_summary() { # NAME
    fleet_alerts "$1" | jq -r '"\(.at) s: \(.id) \(.state) \(.family // "") \(.title)"'
    grep -E "\"type\": *\"note\"" "$SCRATCH/watch.jsonl" | grep "\"pid\": *${FLEET_PID[$1]}\b" |
        tail -n 3
    head -n 3 "$SCRATCH/watch.err"
}

fleet_stop() {
    local name
    for name in "${FLEET_NAMES[@]}"; do
        kill_jvm "${FLEET_PID[$name]}"
    done
    FLEET_NAMES=()
}
