#!/bin/bash
# Many JVMs seen from outside: those that fit, each by a process of its own, those that start meanwhile as
# well; a process that crashes is one line.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

line=$(awk '/kept = new Loader/ { print NR }' tests/workloads/agent/Observed.java)

start() { # JDK NAME WORK NUMBER: its pid is in $JVM_PID
    GO=$SCRATCH/$2.go
    jvm_start "$1" "$2" -Dgo="$GO" -Dof.test=$$ Observed "$3" "$4"
}

children() {
    pgrep -P "$OBSERVER" 2>/dev/null | wc -l
}
observed_are() { # NUMBER: that have attached what they need
    local pid count=0
    for pid in $(pgrep -P "$OBSERVER"); do
        ! ls -l "/proc/$pid/fd" 2>/dev/null | grep -q bpf || count=$((count + 1))
    done
    [ $count = "$1" ] || ! kill -0 "$OBSERVER" 2>/dev/null
}
observe_matching() { # [OPTION...]
    spawn "$NMTWATCH" observe --match "prop:of.test=$$" "$@" >"$SCRATCH/answer" 2>"$SCRATCH/error"
    OBSERVER=$SPAWNED
}

exits "a process id and --all" 64 "$NMTWATCH" observe --all 1 cpu
exits "one file for several" 64 "$NMTWATCH" observe --all cpu -o "$SCRATCH/one.html"
exits "places without --all" 64 "$NMTWATCH" observe 1 cpu --at-once 3
exits "rules that are none" 64 "$NMTWATCH" observe --match colour=red cpu
"$NMTWATCH" observe --match "prop:of.test=$$" cpu --for 300ms >"$SCRATCH/answer" 2>&1
is "no JVM that fits" "$? $(wc -l <"$SCRATCH/answer")" "10 1"

first=$(agent_jdks | head -n 1) last=$(agent_jdks | tail -n 1)
start "$first" one classes 300
one=$JVM_PID
jvm_wait ready
start "$last" two classes 400
two=$JVM_PID
jvm_wait ready

mkdir "$SCRATCH/results"
observe_matching classes --for 90s --json -o "$SCRATCH/results"
if ! wait_for 30 observed_are 2 || ! kill -0 "$OBSERVER"; then
    why=$(head -n 1 "$SCRATCH/error" | cut -c 1-200)
    case $why in
    *"ermitted"* | *"ermission denied"* | *"cannot do it"* | *"no uprobes"* | *"not implemented"*) skip "several at once" "refused: $why" ;;
    *) fail "several at once" "$why" ;;
    esac
    done_testing
fi
start "$first" late classes 200
late=$JVM_PID
jvm_wait ready
wait_for 30 observed_are 3
touch "$SCRATCH/one.go" "$SCRATCH/two.go" "$SCRATCH/late.go"
for name in one two late; do
    wait_for 60 grep -q "^result" "$SCRATCH"/*-$name/log || fail "$name works"
done
kill -INT $OBSERVER
wait $OBSERVER
is "ends at Ctrl-C, with the results" "$? $(cat "$SCRATCH/error")" "0 "
is "each JVM, the one that came later as well" "$(jq -c --argjson pids "[$one,$two,$late]" \
    '(map(.pid) | sort) == ($pids | sort)' "$SCRATCH/answer")" true
is "its classes" "$(jq -c --argjson pids "[$one,$two,$late]" '
    [$pids[] as $pid | .[] | select(.pid == $pid) | .families[] | select(.family == "ChurnVictim_#") | .loaded]' \
    "$SCRATCH/answer")" "[300,400,200]"
is "a file for each" "$(cd "$SCRATCH/results" && grep -l "Observed.rule" -- *)" \
    "$(printf '%s-classes.html\n' $one $two $late | sort)"

observe_matching methods --json
wait $OBSERVER
is "methods of all" "$? $(jq -c --argjson pids "[$one,$two,$late]" '(map(.pid) | sort) == ($pids | sort)' \
    "$SCRATCH/answer")" "0 true"

# Killed in the middle: one line, the others go on.
observe_matching cpu --for 90s
wait_for 30 eval '[ $(children) = 3 ]'
sleep 0.5
kill -KILL "$(pgrep -P $OBSERVER | head -n 1)"
kill -TERM $OBSERVER
wait $OBSERVER
is "one of its processes is killed" "$? $(grep -c '^nmtwatch observe: pid [0-9]*: the observing process was ended by signal 9$' \
    "$SCRATCH/error") $(wc -l <"$SCRATCH/error")" "22 1 1"
is "the others are told" "$(grep -c '^pid [0-9]* (.*of CPU time' "$SCRATCH/answer")" 2

observe_matching cpu --for 1s --at-once 1
wait $OBSERVER
is "more than places" "$? $(cat "$SCRATCH/error")" "74 nmtwatch observe: 2 more found no place: --at-once is 1"
done_testing
