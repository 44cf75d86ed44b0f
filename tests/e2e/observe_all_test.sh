#!/bin/bash
# Many JVMs seen from outside: those that fit, each by a process of its own, those that start meanwhile as
# well; a process that crashes is one line. And serve, which observes by its sections [observe NAME].
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh


start() { # JDK NAME WORK NUMBER [FLAG...]: its pid is in $JVM_PID
    jvm_start "$1" "$2" -Dgo="$SCRATCH/$2.go" "${@:5}" Observed "$3" "$4"
}

children() { # those that observe; the workers' children
    local worker
    for worker in $(pgrep -P "$OBSERVER"); do
        pgrep -P "$worker"
    done
}
children_are() { # NUMBER
    [ "$(children | wc -l)" = "$1" ]
}
observed_are() { # NUMBER: that have attached what they need
    local pid count=0
    for pid in $(children); do
        [ -z "$(find "/proc/$pid/fd" -lname "*bpf*" 2>/dev/null)" ] || count=$((count + 1))
    done
    [ $count = "$1" ] || ! kill -0 "$OBSERVER" 2>/dev/null
}
observe_matching() { # [OPTION...]
    spawn "$NMTWATCH" observe --match "prop:of.test=$$" "$@" >"$SCRATCH/answer" 2>"$SCRATCH/error"
    OBSERVER=$SPAWNED
}

# --- serve is started: what it waits for takes longest ------------------------------------------------

first=$(agent_jdks | head -n 1) last=$(agent_jdks | tail -n 1)
need curl
need_library 'libmicrohttpd\.so\.12'
scripts/workloads.sh build >"$SCRATCH/build.log" 2>&1 || bail "$(tail -n 1 "$SCRATCH/build.log")"
own=$SCRATCH/own
mkdir "$own"
user=
if [ "$(id -u)" = 0 ]; then # as two processes, whose service owns this folder
    user=54323
    chmod 755 "$SCRATCH"
    chown $user "$own"
fi
configure() { # PERCENT LINE...
    cat >"$SCRATCH/serve.ini" <<END
[thresholds]
family_span_s = 4
[watch]
warmup = 2s
cpu_pressure = ignore
nmt_interval = 2s
[serve]
listen = 127.0.0.1:0
discover = 500ms
min_age = 100ms
target = %{env:SERVE_TEST|main}
include = label:observed$$-*
user = $user
observations = $own/observations
observations_cpu = $1
[observe explosion]
what = classes
on = class-explosion, class-churn
for = 3s
[observe outside]
what = rss
on = memory-outside-nmt
for = 1s
growth = 16M
END
    printf '%s\n' "${@:2}" >>"$SCRATCH/serve.ini"
}
JDK=$first SERVE_TEST=observed$$-explodes spawn scripts/workloads.sh run hidden --mode explode --rate 20 \
    >"$SCRATCH/application.log" 2>&1
SERVE_TEST=observed$$-deflaters start "$last" deflaters memory 200 -Xms64m -Xmx64m -XX:+AlwaysPreTouch -Dlibrary="$AGENT_CLASSES/libnative_leak.so" \
    -XX:NativeMemoryTracking=summary
configure 100%
spawn "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >"$SCRATCH/log" 2>"$SCRATCH/err"
serve=$SPAWNED

# --- many at once ------------------------------------------------------------------------------------

exits "a process id and --all" 64 "$NMTWATCH" observe --all 1 cpu
exits "one file for several" 64 "$NMTWATCH" observe --all cpu -o "$SCRATCH/one.html"
exits "a folder that is not there" 74 "$NMTWATCH" observe --all cpu -o "$SCRATCH/none/%p.html"
exits "places without --all" 64 "$NMTWATCH" observe 1 cpu --at-once 3
exits "rules that are none" 64 "$NMTWATCH" observe --match colour=red cpu
"$NMTWATCH" observe --match "prop:of.test=$$" cpu --for 300ms >"$SCRATCH/answer" 2>&1
is "no JVM that fits" "$? $(wc -l <"$SCRATCH/answer")" "10 1"

start "$first" one classes 300 -Dof.test=$$
one=$JVM_PID
jvm_wait ready
start "$last" two classes 400 -Dof.test=$$
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
start "$first" late classes 200 -Dof.test=$$
late=$JVM_PID
jvm_wait ready
wait_for 30 observed_are 3
sleep 1
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
    "$SCRATCH/answer") $(jq -c 'map(.lost)' "$SCRATCH/answer")" "[300,400,200] [0,0,0]"
is "a file for each" "$(cd "$SCRATCH/results" && grep -l "Observed.rule" -- *)" \
    "$(printf '%s-classes.html\n' $one $two $late | sort)"

observe_matching methods --json
wait $OBSERVER
is "methods of all" "$? $(jq -c --argjson pids "[$one,$two,$late]" '(map(.pid) | sort) == ($pids | sort)' \
    "$SCRATCH/answer")" "0 true"

# Killed in the middle: one line, the others go on.
observe_matching cpu --for 90s
wait_for 30 children_are 3
sleep 0.5
kill -KILL "$(children | head -n 1)"
kill -TERM $OBSERVER
wait $OBSERVER
is "one of its processes is killed" "$? $(grep -c '^nmtwatch observe: pid [0-9]*: the observing process ended without a result$' \
    "$SCRATCH/error") $(wc -l <"$SCRATCH/error")" "22 1 1"
is "the others are told" "$(grep -c '^pid [0-9]* (.*of CPU time' "$SCRATCH/answer")" 2

observe_matching cpu --for 1s --at-once 1
wait $OBSERVER
is "more than places" "$? $(cat "$SCRATCH/error")" "74 nmtwatch observe: 2 more found no place: --at-once is 1"

# To a store: one delivery of all.
receiver=${FAKE_RECEIVER:-$(dirname "$NMTWATCH")/fake_receiver}
if [ -x "$receiver" ] && ldconfig -p | grep -q 'libcurl.*\.so\.4'; then
    mkdir "$SCRATCH/kept"
    echo 200 >"$SCRATCH/mood"
    KEEP=$SCRATCH/kept spawn "$receiver" "$SCRATCH/port" "$SCRATCH/received" "$SCRATCH/mood"
    store=$SPAWNED
    wait_for 5 test -s "$SCRATCH/port"
    observe_matching cpu --for 500ms --json --push "http://127.0.0.1:$(cat "$SCRATCH/port")"
    wait $OBSERVER
    is "to a store" "$? $(cat "$SCRATCH/error")" "0 "
    is "a profile of each" "$(sed -n 's/^200 .*%2Cobserved%3Dcpu%2Cpid%3D\([0-9]*\)%7D&.*format=pprof.*/\1/p' "$SCRATCH/received" | sort -n)" \
        "$(printf '%s\n' "$one" "$two" "$late" | sort -n)"
    kill "$store"
    observe_matching cpu --for 300ms --json --push "http://127.0.0.1:$(cat "$SCRATCH/port")" --push-queue "$SCRATCH/waiting"
    wait_for 30 eval '[ "$(find "$SCRATCH/waiting" -name "*.due" | wc -l)" = 3 ]'
    kill -TERM $OBSERVER
    wait $OBSERVER
    is "a store that is away: one line" "$? $(wc -l <"$SCRATCH/error")" "74 1"
    is "... and they wait" "$(find "$SCRATCH/waiting" -name "*.due" | wc -l)" 3
else
    skip "to a store" "no libcurl"
fi

# --- serve ----------------------------------------------------------------------------------------

get() { # PATH [CURL OPTION...]
    curl -s --max-time 10 "${@:2}" "http://127.0.0.1:$PORT$1"
}
metric_is() { # SERIES VALUE
    [ "$(get /metrics | awk -v series="$1" 'index($0, series " ") == 1 { print $NF }')" = "$2" ]
}
said() { # PATTERN
    grep -q "$1" "$SCRATCH/log"
}
port_known() {
    PORT=$(sed -n 's|^listening on http://127.0.0.1:\([0-9]*\)/$|\1|p' "$SCRATCH/log")
    [ -n "$PORT" ]
}

wait_for 20 port_known || fail "serve listens" "$(cat "$SCRATCH/err")"
check "a class explosion starts an observation" wait_for 60 said '^observe explosion: seen of'
line=$(awk '/\.defineHiddenClass\(/ { print NR }' tests/workloads/kinds/HiddenClass.java)
html=$(cd "$own/observations" && echo *observed$$-explodes-*-explosion.html)
json=${html%.html}.json
contains "whose file names the generator's line" \
    "$(jq -c '[.families[0].ways[].frames[]]' "$own/observations/$json")" "workloads.kinds.HiddenClass.define:$line"
contains "and the log names who asked" "$(grep '^observe explosion: seen' "$SCRATCH/log")" "asked for by "
sleep 1.2
is "the page links to it" "$(get / | grep -o "href=\"/observations/$html\"" | head -n 1)" "href=\"/observations/$html\""
contains "and it is there" "$(get "/observations/$html" -D -)" "HiddenClass"
is "nothing else is" "$(for name in ../serve.ini %2e%2e/serve.ini x.html ''; do
    get "/observations/$name" -o /dev/null -w '%{http_code} ' --path-as-is
done)" "404 404 404 404 "
is "the finding mentions it" "$(get /api/v1/findings | jq -r --arg file "$html" \
    '.findings[0].finding.evidence | .observation == $file and (.observed | test("asked for by"))')" true
is "the target lists it" "$(get /api/v1/targets | jq -r '.targets[] | select(.target | endswith("explodes")) | .observations[0] | .what + " " + .section')" \
    "classes explosion"
check "which is counted" eval "! metric_is nmtwatch_observations_started_total 0"
check "none was refused" metric_is 'nmtwatch_observations_refused_total{reason="budget"}' 0

level_known() { # of the JVM before it grows: start-up is over, and NMT has answered
    [ "$(get /api/v1/targets | jq '.targets[] | select(.target | endswith("deflaters")) | .warm')" = true ] &&
        get /metrics | grep -q 'jvm_native_memory_committed_bytes{target="[^"]*-deflaters",pool="Total"}'
}
wait_for 30 level_known
sleep 2
touch "$SCRATCH/deflaters.go"
check "memory outside of NMT starts one" wait_for 30 said '^observe outside: started: .*: rss, for memory-outside-nmt$'

configure 100% '[observe often]' 'what = cpu' 'every = 1s' 'for = 300ms' 'match = env:SERVE_TEST=observed*' \
    '[observe never]' 'what = cpu' 'every = 1s' 'match = env:SERVE_TEST=other'
kill -HUP $serve
check "a section that came with SIGHUP" wait_for 20 said '^observe often: seen of'
configure 0.001% '[observe often]' 'what = cpu' 'every = 1s' 'for = 300ms'
kill -HUP $serve
check "without a budget none is started" wait_for 20 said '^observe often: not started: .*: observations_cpu is used up'
lacks "rules that do not fit" "$(cat "$SCRATCH/log")" "observe never"
check "which is counted" eval '! metric_is "nmtwatch_observations_refused_total{reason=\"budget\"}" 0'
configure 100% '[observe often]' 'what = colour' 'every = 1s'
kill -HUP $serve
check "a section that is none is told" wait_for 20 grep -q "what: 'colour' is none of" "$SCRATCH/err"
is "docs/serve.md has every key" "$(for key in $(sed -n 's/^SECTION_OPTION("\([a-z_]*\)".*/\1/p' \
    nmtwatch/serve/observe_section.def); do grep -q "^| \`$key\`" docs/serve.md || echo "$key"; done)" ""
kill -TERM $serve
wait $serve
is "serve ends" "$?" 0
done_testing
