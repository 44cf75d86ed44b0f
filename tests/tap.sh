# shellcheck shell=bash
# tap: the words a test script needs. The first line of a test is
#
#   . "$(dirname "$0")/../tap.sh"
#
# and the last one `done_testing`. Sourcing changes to the root of the tree. What is started with
# `spawn` is killed and $SCRATCH is removed when the script ends, however it ends.
# A test that needs more than two minutes says so near its top: "# timeout: SECONDS".

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export LC_ALL=C

TAP_COUNT=0
TAP_FAILED=0
TAP_PIDS=()
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/nmtwatch-test.XXXXXX") || exit 1

# Kills a process that was spawned, stopped or not. A JVM killed like this leaves its attach socket,
# hsperfdata and the agent's figures, which the next owner of the pid must not find.
kill_jvm() { # PID
    kill -KILL "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    rm -f "/tmp/.java_pid$1" "/tmp/.nmtagent_$1" /tmp/hsperfdata_*/"$1"
}

tap_cleanup() {
    local pid
    exec 2>/dev/null # the shell would report each of them as killed
    for pid in "${TAP_PIDS[@]}"; do
        kill_jvm "$pid"
    done
    rm -rf "$SCRATCH"
}
trap tap_cleanup EXIT
trap 'exit 143' TERM INT HUP

pass() { # NAME
    TAP_COUNT=$((TAP_COUNT + 1))
    echo "ok $TAP_COUNT - $1"
}

fail() { # NAME [DETAIL]
    TAP_COUNT=$((TAP_COUNT + 1))
    TAP_FAILED=$((TAP_FAILED + 1))
    echo "not ok $TAP_COUNT - $1"
    if [ -n "${2-}" ]; then
        printf '%s\n' "$2" | sed 's/^/#   /'
    fi
}

skip() { # NAME WHY
    TAP_COUNT=$((TAP_COUNT + 1))
    echo "ok $TAP_COUNT - $1 # SKIP $2"
}

skip_all() { # WHY
    skip "$(basename "$0" .sh)" "$1"
    done_testing
}

is() { # NAME GOT WANTED
    if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got:    $2"$'\n'"wanted: $3"; fi
}

contains() { # NAME TEXT WANTED_PART
    case $2 in
    *"$3"*) pass "$1" ;;
    *) fail "$1" "in:     $2"$'\n'"wanted: $3" ;;
    esac
}

lacks() { # NAME TEXT UNWANTED_PART
    case $2 in
    *"$3"*) fail "$1" "in:       $2"$'\n'"unwanted: $3" ;;
    *) pass "$1" ;;
    esac
}

check() { # NAME COMMAND...: passes when the command succeeds
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then pass "$name"; else fail "$name" "$* -> exit $?"$'\n'"$output"; fi
}

exits() { # NAME WANTED_CODE COMMAND...: output is left in $OUTPUT
    local name=$1 wanted=$2 code=0
    shift 2
    OUTPUT=$("$@" 2>&1) || code=$?
    if [ "$code" = "$wanted" ]; then
        pass "$name"
    else
        fail "$name" "$* -> exit $code, wanted $wanted"$'\n'"$OUTPUT"
    fi
}

spawn() { # COMMAND...: runs in the background; the pid is left in $SPAWNED
    "$@" &
    SPAWNED=$!
    TAP_PIDS+=("$SPAWNED")
}

# The seconds are for a quiet machine. The runner, which starts several tests beside each other on
# machines that others use too, sets TAP_PATIENCE to a factor: a limit is never what a test measures.
wait_for() { # SECONDS COMMAND...: until the command succeeds; fails when the time is over
    local end=$((SECONDS + $1 * ${TAP_PATIENCE:-1}))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

done_testing() {
    echo "1..$TAP_COUNT"
    [ "$TAP_FAILED" = 0 ]
    exit
}
