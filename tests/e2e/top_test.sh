#!/bin/bash
# top in a terminal (tmux): what is on the screen at several sizes, keys, the mouse, hostile names, and terminals
# that can show less.
# timeout: 60
# It watches every JVM it sees: in a pid namespace of its own these are none of the tests beside it.
if [ -z "${TOP_APART-}" ] && unshare -mp --fork --mount-proc true 2>/dev/null; then
    TOP_APART=1 exec unshare -mp --fork --kill-child --mount-proc "$0" "$@"
fi
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh
FAKE_JVM=${FAKE_JVM:-build/fake_jvm}
NMTWATCH=$(realpath "$NMTWATCH")
need tmux
need_built "$FAKE_JVM"

for jdk in 17 25; do
    ! have_jdk $jdk || NMT=summary fleet_start $jdk idle --seconds 100
done
evil=$'evil.\e[31m\x9b2J\xe2\x80\xae\xe5\x90\x8d\xe5\x89\x8d\xe5\x90\x8d\xe5\x89\x8d.Main'
spawn "$FAKE_JVM" --for 100 --main "$evil" >"$SCRATCH/fake.out"
fake=$SPAWNED
inside=
if unshare -m true 2>/dev/null; then # a container, as far as can be seen: mounts of its own
    spawn unshare -m "$FAKE_JVM" --for 100 --main com.example.Inside >"$SCRATCH/inside.out"
    inside=$SPAWNED
fi
[ ${#FLEET_NAMES[@]} = 0 ] || fleet_ready
pids=("${FLEET_PID[@]}")
first=${pids[0]:-$fake}

export XDG_STATE_HOME=$SCRATCH/state # not the choice of whoever runs this
tm() {
    tmux -f /dev/null -S "$SCRATCH/tmux" "$@"
}
trap 'tm kill-server 2>/dev/null; tap_cleanup' EXIT
tm new-session -d -s keep sleep 600 # the server ends with its last session
start() { # COLUMNSxROWS ENVIRONMENT... -- COMMAND...
    local size=$1 variables=(LC_ALL=C.UTF-8)
    shift
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    tm kill-session -t top 2>/dev/null
    (cd "$SCRATCH" && tm new-session -d -s top -x "${size%x*}" -y "${size#*x}" \
        "$(printf '%q ' env "${variables[@]}" "$@"); echo ended with \$?; sleep 100")
}
# As it stands: not in the middle of being drawn.
screen() {
    local before now='' i
    for ((i = 0; i < 20; i++)); do
        before=$now
        now=$(tm capture-pane -p -t top "$@")
        [ "$now" != "$before" ] || break
        sleep 0.03
    done
    printf '%s\n' "$now"
}
shows() { # TEXT
    screen | grep -qF -- "$1"
}
row() { # PID
    screen | grep -E "^ *$1 "
}
keys() {
    tm send-keys -t top "$@"
}
seen() { # NAME TEXT: comes onto the screen
    wait_for 10 shows "$2"
    contains "$1" "$(screen)" "$2"
}

# --- 200 x 60 ---------------------------------------------------------------------------------------
all=--nmt-interval=1s
start 200x60 TERM=tmux-of-tomorrow -- "$NMTWATCH" top $all --sort pid --no-color
seen "it begins" "sorted by pid"
keys R # the newest first: other tests have JVMs, too
for pid in "$fake" "${pids[@]}"; do
    wait_for 10 row "$pid"
done
for name in "${FLEET_NAMES[@]}"; do
    pid=${FLEET_PID[$name]}
    wait_for 10 eval 'row $pid | grep -qE "[0-9]M +[0-9.]+[KM] +[0-9.]+[KM] +[0-9]+ "'
    check "$name: JDK, RSS, heap, NMT, Class + Metaspace, Internal, classes" grep -qE \
        "workloads.Workload +[^ ]+ +${name%/*}[0-9.]* +[0-9]+M +([0-9.]+M|-)/[0-9]+M +[0-9]+M +[0-9.]+[KM] +[0-9.]+[KM] +[0-9]{3,5} " \
        <<<"$(row "$pid")"
done
is "every column has its head" "$(screen | sed -n 3p | tr -s ' ' | sed 's/^ //; s/ $//')" \
    "PID MAIN USER JDK RSS HEAP USED NMT CL+META INTERNAL CLASSES LOAD/S UNLD/S VERDICT FINDING TREND"
line=$(row "$fake")
contains "a hostile name is shown as text" "$line" '\x1b[31m\x9b2J\u202e名前'
lacks "and does nothing" "$(screen -e | grep -F x9b2J)" $'\e[31m'
is "no colour is used" "$(screen -e | grep -cE $'\e\\[([0-9;]*;)?[34][0-7]m')" 0

keys T
seen "the tree has heads with sums" "this host: "
if [ -n "$inside" ]; then
    wait_for 10 row "$inside"
    contains "the tree has containers" "$(screen | grep -B1 "^ *$inside ")" ": 1 JVM "
else
    skip "the tree has containers" "refused: no mount namespace without root"
fi
keys '?'
seen "help" "Enter, two clicks"
keys Escape
keys c
seen "columns are chosen" "[x] heap"
keys Down Down Down Down Down Down Space Escape
wait_for 10 eval '! shows "HEAP USED"'
lacks "a column goes" "$(screen)" "HEAP USED"
lacks "the choice is kept" "$(cat "$XDG_STATE_HOME/nmtwatch/top.ini")" ",heap,"
is "for this user only" "$(stat -c %a "$XDG_STATE_HOME/nmtwatch/top.ini" "$XDG_STATE_HOME/nmtwatch" | xargs)" "600 700"
keys T / "$first" Enter
wait_for 10 eval 'row "$first" && [ "$(screen | grep -cE "^ *[0-9]+ [^ ]")" -le 3 ]'
check "a filter leaves what fits" row "$first"
keys Home Enter
seen "Enter opens it" "Native memory by category"
# Once methods are counted it is longer than the screen, perhaps after the key.
wait_for 10 eval 'keys End; sleep 0.2; shows "Cost of watching"'
seen "with the cost of watching" "Cost of watching"
keys Home
wait_for 10 shows "since the start"
contains "categories with what has changed" "$(screen)" "since the start"
keys r
seen "r begins a recording" "[rec]"
keys b
seen "b takes a new baseline" "baseline was asked for"
keys r
wait_for 10 eval '! shows "[rec]"'
exits "the recording is whole" 0 "$NMTWATCH" replay "$SCRATCH/nmtwatch-$first"-*.nmt.gz
contains "and has the new baseline" "$(zcat "$SCRATCH/nmtwatch-$first"-*.nmt.gz)" "new baseline, as asked"
keys o m
wait_for 10 shows ": done"
contains "o observes and shows what is said" "$(screen)" "observe $first methods: done"
keys Escape t
seen "t starts a triage" "triage of pid $first: under way"
child=$(pgrep -f "nmtwatch triage $first " | head -n 1)
keys q
wait_for 10 row "$first"
keys q
seen "q quits" "ended with 0"
wait_for 10 eval '[ -z "$child" ] || ! kill -0 "$child"'
check "and ends it" test ! -e "/proc/${child:-0}"

# --- 80 x 24, small, large, a mouse -----------------------------------------------------------------
start 80x24 TERM=screen -- "$NMTWATCH" top $all --filter "$fake"
wait_for 10 row "$fake"
is "80 columns: what fits" "$(screen | sed -n 3p | tr -s ' ' | sed 's/^ //; s/ $//')" \
    "PID MAIN RSS NMT CL+META INTERNAL CLASSES VERDICT FINDING"
is "and no line is longer" "$(screen | awk 'length > 80')" ""
tm send-keys -t top -l $'\e[M *#\e[M#*#' # a click on line 3, column 10
seen "a click on a head sorts by it" "sorted by main"
tm send-keys -t top -l $'\e[M *$\e[M#*$\e[M *$\e[M#*$' # two on line 4
seen "two on a row open it" "main: "
tm resize-window -t top -x 30 -y 6
seen "a small window" "JDK:"
keys Escape
wait_for 10 row "$fake"
tm resize-window -t top -x 12 -y 3
tm resize-window -t top -x 1 -y 1
tm resize-window -t top -x 200 -y 50
wait_for 10 shows "LOAD/S"
contains "and a large one again" "$(screen)" "LOAD/S"
lacks "with the columns that were chosen before" "$(screen)" "HEAP USED"
keys C-c
seen "Ctrl-C quits" "ended with 0"

# --- less of a terminal -----------------------------------------------------------------------------
start 80x24 LC_ALL=C TERM=vt100 -- "$NMTWATCH" top --filter "$fake" --columns main,trend
wait_for 10 row "$fake"
contains "without UTF-8 and colours" "$(row "$fake")" '\x1b[31m\x9b2J\u202e????'
keys q
start 80x24 TERM=dumb -- "$NMTWATCH" top --for 2s "$fake"
seen "a dumb terminal" "cannot move its cursor"
seen "gets lines" "pid $fake classes"
start 80x24 -- "$NMTWATCH"
seen "nmtwatch alone on a terminal is top" "nmtwatch top: "
keys q
exits "and elsewhere says what there is" 64 "$NMTWATCH"
contains "and elsewhere says what there is" "$OUTPUT" "Usage: nmtwatch VERB"
exits "a column that is not there" 64 "$NMTWATCH" top --columns pid,fish
contains "is named" "$OUTPUT" "no column 'fish'"
done_testing
