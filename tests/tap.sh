# shellcheck shell=bash
# tap: the words a test script needs. The first line of a test is
#
#   . "$(dirname "$0")/../tap.sh"
#
# and the last one `done_testing`. Sourcing changes to the root of the tree. What is started with
# `spawn` is killed and $SCRATCH is removed when the script ends, however it ends.
# A test that needs more than two minutes says so near its top: "# timeout: SECONDS".

set -u
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
export LC_ALL=C

# The seconds of limits are for a quiet machine. The runner, which starts several tests beside each other
# on machines that others use too, sets this factor, which grows with the machine's load: a limit is
# never what a test measures.
TAP_PATIENCE=${TAP_PATIENCE:-1}
TAP_COUNT=0
TAP_FAILED=0
TAP_PIDS=()
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/nmtwatch-test.XXXXXX") || exit 1

# Whether this test started a process, itself or through what it started. The number of a process that
# has ended is given to another process or thread: one of a test that runs beside this one.
is_ours() { # PID
    local pid=$1 stat
    while [ "${pid:-0}" -gt 0 ]; do
        [ "$pid" != $$ ] || return 0
        { read -r stat <"/proc/$pid/stat"; } 2>/dev/null || return 1
        stat=${stat##*) }
        stat=${stat#* }
        pid=${stat%% *}
    done
    return 1
}

below() { # PID: its children, their children, and so on
    local pid
    for pid in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        echo "$pid"
        below "$pid"
    done
}

# Kills a process that was spawned, stopped or not. A JVM killed like this leaves its attach socket,
# hsperfdata and the agent's figures, which the next owner of the pid must not find.
kill_jvm() { # PID
    if [ -e "/proc/$1" ]; then
        is_ours "$1" || return 0
        kill -KILL "$1" 2>/dev/null
    fi
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

# For what this machine refuses or lacks, and for nothing else; WHY begins with one of
#
#   no JDK ...           it cannot be had here
#   refused: ...         by the kernel, by a container, or because we are not root
#   not installed: ...   a command of a row `optional` of scripts/packages.tsv
#
# Any other reason is a failure, here and in the runner: what set-up installs is there.
skip() { # NAME WHY
    [[ $2 =~ ^("no JDK "|"refused: "|"not installed: ") ]] || {
        fail "$1" "$2"
        return
    }
    TAP_COUNT=$((TAP_COUNT + 1))
    echo "ok $TAP_COUNT - $1 # SKIP $2"
}

emulated() { # The programs under test run by an emulator: scripts/test/arm64.sh.
    [ -n "${ARM64_REGISTERED-}" ]
}

skip_all() { # WHY
    skip "$(basename "$0" .sh)" "$1"
    done_testing
}

bail() { # WHY: nothing of this test can be tried, and that is a failure
    fail "$(basename "$0" .sh)" "$1"
    done_testing
}

need() { # COMMAND...: set-up installs them
    local command
    for command; do
        command -v "$command" >/dev/null && continue
        bail "$command is not installed: make setup"
    done
}

need_library() { # NAME...: as the dynamic linker knows it
    local name
    for name; do
        ldconfig -p | grep -q "^[[:space:]]*$name" && continue
        bail "$name is not installed: make setup"
    done
}

need_built() { # FILE...
    local file
    for file; do
        [ -e "$file" ] && continue
        bail "$file is not built"
    done
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

lacks_in() { # NAME FILE UNWANTED_PART: a file that is not there is a failure
    if [ -r "$2" ]; then lacks "$1" "$(cat "$2")" "$3"; else fail "$1" "there is no $2"; fi
}

silent() { # NAME COMMAND...: passes when the command prints nothing, no error either
    is "$1" "$("${@:2}" 2>&1)" ""
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

wait_for() { # SECONDS COMMAND...: until the command succeeds; fails when the time is over
    local seconds=$(($1 * TAP_PATIENCE)) pause=0.1
    local end=$((SECONDS + seconds)) asked=0
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || {
            echo "# waited $seconds s in vain for: $*; load $(cut -d ' ' -f 1-3 /proc/loadavg)" >&2
            return 1
        }
        # Asking takes CPU from what is waited for.
        [ $((++asked)) -lt 10 ] || pause=0.3
        sleep $pause
    done
}

has_ended() { ! kill -0 "$1" 2>/dev/null; } # PID

# The command is asked to end after a second, and ends within three more, whatever its code; its output is left in
# $SCRATCH/out.
ends_by() { # INT|TERM COMMAND...
    local signal=$1 pid
    env --default-signal=INT,TERM "${@:2}" >"$SCRATCH/out" 2>&1 &
    pid=$!
    sleep 1
    kill -"$signal" "$pid" 2>/dev/null
    wait_for 3 has_ended "$pid"
    has_ended "$pid" || kill -KILL "$pid"
    wait "$pid"
    [ $? != 137 ]
}

# A pause of two milliseconds that starts no process: for loops that wait for what lasts that long.
moment() {
    [ -p "$SCRATCH/silent" ] || mkfifo "$SCRATCH/silent"
    read -r -t 0.002 <>"$SCRATCH/silent"
}

done_testing() {
    echo "1..$TAP_COUNT"
    [ "$TAP_FAILED" = 0 ]
    exit
}
