#!/bin/bash
# nmtwatch soak and diff: verdicts over recordings of JVMs that never were (so that minutes cost
# nothing), and the handling of commands, signals, budgets and files with a fake JVM.
# timeout: 400
# shellcheck disable=SC2016 # what stands in single quotes is for other shells

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-build/fake_jvm}
if [ ! -x "$NMTWATCH" ] || [ ! -x "$FAKE_JVM" ]; then
    bail "nmtwatch or fake_jvm is not built"
fi
NMTWATCH=$(realpath "$NMTWATCH")
FAKE_JVM=$(realpath "$FAKE_JVM")
xsd=$PWD/tests/schema/junit.xsd

# --- recordings ------------------------------------------------------------------------------------

make_recording() { # FILE SECONDS SHAPE [JDK] [MAIN, as JSON has it]
    MAIN=${5:-com.example.Main} awk -v seconds="$2" -v shape="$3" -v jdk="${4:-17}" '
        BEGIN {
            printf "{\"type\":\"header\",\"schema\":1,\"nmtwatch\":\"0.1.0\"," \
                "\"wall_start_ms\":1795217737302,\"warmup_s\":0,\"target\":{\"pid\":4711," \
                "\"nspid\":4711,\"start_time_ticks\":1,\"uptime_ms\":0,\"jdk_major\":%d," \
                "\"jdk\":\"%d.0.1\",\"main\":\"%s\",\"nmt\":\"%s\"},\"thresholds\":{}}\n",
                jdk, jdk, ENVIRON["MAIN"], shape == "blind" ? "off" : "summary"
            srand(7)
            for (s = 0; s <= seconds; s += 2) {
                internal = 20 * 1048576 + int(rand() * 8) * 1024
                other = 1048576
                rss = 100000000
                if (shape == "leak") internal += s * 1048576 / 60
                if (shape == "slow leak") internal += s * 1048576 / 600
                if (shape == "higher") internal += 5 * 1048576
                if (shape == "other") other += s * 1048576 / 60
                if (shape == "outside") rss += 300000000 + s * 1048576 / 6
                printf "{\"type\":\"tick\",\"ms\":%d,\"pid\":4711,\"classes_loaded\":5000," \
                    "\"classes_unloaded\":0,\"rss_bytes\":%d,\"threads\":20", s * 1000, rss
                if (shape != "blind")
                    printf ",\"nmt_reserved_bytes\":400000000,\"nmt_committed_bytes\":%d,\"nmt\":{" \
                        "\"Java Heap\":{\"reserved_bytes\":67108864,\"committed_bytes\":67108864}," \
                        "\"Class\":{\"reserved_bytes\":3145728,\"committed_bytes\":3145728}," \
                        "\"Other\":{\"reserved_bytes\":%d,\"committed_bytes\":%d}," \
                        "\"Internal\":{\"reserved_bytes\":%d,\"committed_bytes\":%d}," \
                        "\"Metaspace\":{\"reserved_bytes\":31457280,\"committed_bytes\":31457280}}",
                        101711872 + internal + other, other, other, internal, internal
                print "}"
                if (shape == "explosion" && s >= 4)
                    printf "{\"type\":\"names\",\"ms\":%d,\"pid\":4711,\"method\":\"tap\",\"tap\":1," \
                        "\"last\":false,\"from_ms\":0,\"loads\":%d,\"unloads\":0,\"lost_bytes\":0," \
                        "\"families\":[{\"family\":\"groovy-shell\",\"stem\":\"Script#\"," \
                        "\"example\":\"Script1\",\"source\":\"file:/groovy/shell\",\"invokes\":\"\"," \
                        "\"loads\":%d,\"unloads\":0,\"names\":%d,\"max_same_name\":1," \
                        "\"repeating\":%d}]}\n", s * 1000, s * 12, s * 12, s * 12, s * 12
            }
            if (shape == "gone")
                printf "{\"type\":\"gone\",\"ms\":%d,\"pid\":4711,\"text\":\"pid 4711 has ended\"}\n",
                    seconds * 1000
        }' >"$SCRATCH/$1"
}

soak_of() { # NAME CODE FILE OPTION...
    exits "$1" "$2" "$NMTWATCH" soak --replay "$SCRATCH/$3" "${@:4}"
}

make_recording flat 300 flat
make_recording leak 300 leak
make_recording slow 300 "slow leak"
make_recording higher 300 higher
make_recording other 300 other
make_recording outside 300 outside
make_recording explosion 60 explosion
make_recording short 20 flat
make_recording blind 300 blind
make_recording jdk25 300 flat 25

soak_of "flat converges" 0 flat
contains "and says so" "$OUTPUT" "Converged: no judged series grew in 5 min"
soak_of "a leak does not" 1 leak
contains "the series is named with its slope" "$OUTPUT" "Internal: growing"
contains "with its interval" "$OUTPUT" "95 %"
soak_of "a leak in another category fails, too" 1 other
contains "and is named" "$OUTPUT" "Other: growing"
soak_of "RSS beyond all that NMT knows, growing, fails" 1 outside
contains "and is named" "$OUTPUT" "RSS: growing"
soak_of "an explosion fails" 1 explosion
contains "with its family" "$OUTPUT" "groovy-shell"
contains "and the fix" "$OUTPUT" "Parse each script text once"
soak_of "too short is not converged" 3 short
contains "and says why" "$OUTPUT" "too short"
soak_of "without NMT there is no verdict" 3 blind
contains "and says why" "$OUTPUT" "no NMT summary was seen"

# --- budgets ---------------------------------------------------------------------------------------

soak_of "growth within its budget passes" 0 slow --budget internal=10MB/h
soak_of "the same in other units" 0 slow --budget internal=240MB/d,internal=40MB
soak_of "growth beyond its budget fails" 1 slow --budget internal=3MB/h
contains "and the budget is named" "$OUTPUT" "breaks the budget 3MB/h"
soak_of "a budget in the middle of the interval is undecided" 3 flat --budget internal=1/h
contains "and how long it takes to decide" "$OUTPUT" "would decide"
soak_of "a height that was passed fails" 1 flat --budget rss=90M
contains "and is named" "$OUTPUT" "breaks the budget 90M"
soak_of "growth since warm-up beyond its budget fails" 1 leak --budget internal=10GB/h,internal=+2MB
soak_of "a budget of a series that is not there is undecided" 3 flat --budget jvmci=1MB
soak_of "counts have budgets" 0 flat --budget classes=100/h,threads=30

usage() { # NAME WANTED_PART OPTION...
    exits "usage: $1" 2 "$NMTWATCH" soak "${@:3}"
    contains "usage: $1: said" "$OUTPUT" "$2"
    is "usage: $1: one line" "$(wc -l <<<"$OUTPUT")" 1
}
usage "nothing to do" "give -- COMMAND"
usage "nothing behind --" "no command after" --
exits "no JVM of that name" 3 "$NMTWATCH" soak no-such-jvm
contains "no JVM of that name: said" "$OUTPUT" "is neither a process id nor the name of a JVM"
usage "two processes" "one process id at a time" 1 2
usage "process and command" "exclude each other" 1 -- true
usage "an unknown option" "unknown option" --nosuch -- true
usage "an unknown series" "there is no series 'foo'" --budget foo=1MB/h -- true
usage "a budget without amount" "is not KEY=AMOUNT" --budget internal -- true
usage "a budget that is no size" "expected a size" --budget internal=x/h -- true
usage "a rate per fortnight" "a rate is /s" --budget internal=1MB/fortnight -- true
usage "a fraction of a class" "a whole number" --budget classes=1K -- true
usage "a budget twice" "second budget" --budget internal=1MB/h,internal=2MB/h -- true
usage "an empty budget" "is not KEY=AMOUNT" --budget internal=1MB/h, -- true
usage "iterations without a counter" "needs --per" --budget internal=1MB/iteration -- true
usage "two outputs" "exclude each other" --tap --json -- true
usage "no time" "a time above 0" --for 0 -- true
exits "a recording that is none" 74 "$NMTWATCH" soak --replay "$SCRATCH/nosuch"
exits "a reference that is none" 74 "$NMTWATCH" soak --against "$SCRATCH/nosuch" -- true
exits "a report where none can be" 74 "$NMTWATCH" soak --report /dev/null/x -- touch "$SCRATCH/ran"
exits "a JUnit file where none can be" 74 "$NMTWATCH" soak --junit /dev/null/x -- touch "$SCRATCH/ran"
check "and nothing was started" test ! -e "$SCRATCH/ran"

# --- against another build -------------------------------------------------------------------------

soak_of "the same again is no worse" 0 flat --against "$SCRATCH/flat"
contains "and says so" "$OUTPUT" "No worse than the reference over 5 min"
soak_of "growth that was there before is no news" 0 leak --against "$SCRATCH/leak"
soak_of "a new leak is" 1 leak --against "$SCRATCH/flat"
contains "with the difference of the slopes" "$OUTPUT" "worse than the reference: slope +60"
soak_of "a higher level is" 1 higher --against "$SCRATCH/flat"
contains "with the difference of the levels" "$OUTPUT" "level +5"
soak_of "a new explosion is" 1 explosion --against "$SCRATCH/flat"
soak_of "too little in common" 3 short --against "$SCRATCH/flat"
contains "and says so" "$OUTPUT" "are common to both runs"
soak_of "another JDK is mentioned" 0 jdk25 --against "$SCRATCH/flat"
contains "by its number" "$OUTPUT" "on JDK 25"

# --- JUnit, TAP, JSON ------------------------------------------------------------------------------

make_recording hostile 300 leak 17 'a<b>&\"c'"'"']]>\u0001\uffff'
for shape in flat leak explosion short blind hostile; do
    "$NMTWATCH" soak --replay "$SCRATCH/$shape" --junit "$SCRATCH/$shape.xml" --json \
        >"$SCRATCH/$shape.json"
    if command -v xmllint >/dev/null; then
        check "JUnit of $shape is valid" xmllint --noout --schema "$xsd" "$SCRATCH/$shape.xml"
    else
        fail "JUnit of $shape is valid" "xmllint is not installed"
    fi
    check "JSON of $shape is one object" jq -es 'length == 1 and .[0].exit_code != null' \
        "$SCRATCH/$shape.json"
done
if command -v xmllint >/dev/null; then
    count() { xmllint --xpath "count($1)" "$SCRATCH/$2.xml"; }
    is "JUnit: the tests are counted" "$(count '//testcase' leak)" \
        "$(xmllint --xpath 'string(/testsuites/@tests)' "$SCRATCH/leak.xml")"
    is "JUnit: the failures are counted" "$(count '//failure' leak)" \
        "$(xmllint --xpath 'string(/testsuites/@failures)' "$SCRATCH/leak.xml")"
    is "JUnit: no failure where there is none" "$(count '//failure|//error' flat)" 0
    check "JUnit: what cannot be told is an error" test "$(count '//error' short)" -ge 1
    sed -i 's/ tests="[0-9]*"//' "$SCRATCH/leak.xml"
    exits "the schema notices what is missing" 3 xmllint --noout --schema "$xsd" "$SCRATCH/leak.xml"
fi
soak_of "TAP of a leak" 1 leak --tap
contains "TAP: the version" "$OUTPUT" "TAP version 13"
contains "TAP: the failure" "$OUTPUT" "not ok 2 - Internal"
is "TAP: the plan fits" "$(grep -cE '^(not )?ok ' <<<"$OUTPUT")" "$(sed -n 's/^1\.\.//p' <<<"$OUTPUT")"
soak_of "a report of a recording" 0 flat --report "$SCRATCH/folder"
check "report: the page is there" test -s "$SCRATCH/folder/report.html"
check "report: the verdict of the soak, too" grep -q "Converged: no judged series grew" "$SCRATCH/folder/soak.html"
check "report: for a ticket" grep -q "^# PASS: Converged" "$SCRATCH/folder/soak.md"
contains "report: its path is said" "$OUTPUT" "report:     $SCRATCH/folder"

# --- commands --------------------------------------------------------------------------------------

cd "$SCRATCH" || exit 1
exits "a command that is not there" 127 "$NMTWATCH" soak -- ./nosuch
exits "a command that is not there leaves no file" 127 "$NMTWATCH" soak --junit none.xml -- ./nosuch
check "none" test ! -e none.xml
exits "a command that cannot run" 126 "$NMTWATCH" soak -- /etc/passwd
exits "a command that starts no JVM" 3 "$NMTWATCH" soak -- true
contains "and says so" "$OUTPUT" "no JVM was found"
exits "a command that fails" 3 "$NMTWATCH" soak -- sh -c 'exit 7'
contains "its exit code is told" "$OUTPUT" "with exit code 7"
exits "a command that is killed" 3 "$NMTWATCH" soak -- sh -c 'kill -KILL $$'
contains "its signal is told" "$OUTPUT" "signal 9 (SIGKILL)"
silent "nothing is left of soaks that saw nothing" find . -name 'nmtwatch-soak-*'
is "its input, output and error are its own" \
    "$(echo in | "$NMTWATCH" soak --json -- sh -c 'read x; echo "$x-out"; echo err >&2' 2>err |
        head -1)+$(cat err)" "in-out+err"

exits "a limit that is broken ends the soak at once" 1 timeout $((30 * TAP_PATIENCE)) \
    "$NMTWATCH" soak --fail-fast --budget rss=1K --report first -- "$FAKE_JVM" --for 60
contains "the command was stopped" "$OUTPUT" "The command was stopped"
check "the recording is there" test -s first/soak.nmt.gz
check "and whole" "$NMTWATCH" replay first/soak.nmt.gz
exits "what is there is not overwritten" 74 "$NMTWATCH" soak --report first -- true
exits "unless forced" 3 "$NMTWATCH" soak --force --report first -- true

exits "a JVM behind two shells is found, and ended" 3 \
    "$NMTWATCH" soak --no-report --for 3s -- sh -c "sh -c '$FAKE_JVM --for 61 & wait' & wait"
contains "found" "$OUTPUT" "com.example.Fake"
is "ended" "$(pgrep -f "^$FAKE_JVM --for 61")" ""
exits "one whose parents have gone, too" 3 \
    "$NMTWATCH" soak --no-report --for 3s -- sh -c "(setsid $FAKE_JVM --for 62 >/dev/null &) ; sleep 1"
contains "found" "$OUTPUT" "com.example.Fake"
is "ended" "$(pgrep -f "^$FAKE_JVM --for 62")" ""
exits "two JVMs, a recording each" 3 "$NMTWATCH" soak --report both --for 4s -- \
    sh -c "$FAKE_JVM --for 63 & $FAKE_JVM --for 63 & wait"
is "two recordings" "$(find both -name 'soak*.nmt.gz' | wc -l)" 2

exits "NMT off: no verdict, and how to switch it on" 3 "$NMTWATCH" soak --no-report --for 8s -- \
    "$FAKE_JVM" --answer nmt-off --args "" --for 60
contains "the flag" "$OUTPUT" "-XX:NativeMemoryTracking=summary"
contains "and the option" "$OUTPUT" "--nmt"
is "--nmt asks for it by both variables" \
    "$(JAVA_TOOL_OPTIONS=-Da=b "$NMTWATCH" soak --no-report --nmt -- \
        sh -c 'echo "$JDK_JAVA_OPTIONS|$JAVA_TOOL_OPTIONS"' | head -1)" \
    "-XX:NativeMemoryTracking=summary|-Da=b -XX:NativeMemoryTracking=summary"

exits "a process that is none" 3 "$NMTWATCH" soak 999999999
exits "a process that is no JVM" 3 "$NMTWATCH" soak $$
spawn "$FAKE_JVM" --for 60 >out
wait_for 10 grep -q '^ready' out
followed=$SPAWNED
spawn sh -c "sleep 4; kill -TERM $followed"
exits "a JVM that goes is no verdict" 3 "$NMTWATCH" soak --no-report --for 30s "$followed"
contains "and says so" "$OUTPUT" "ended after"

# What the watching itself cost stands in the last line of a soak's recording, as in that of a watch.
asked() { zcat cost/soak.nmt.gz 2>/dev/null | grep -q '"type":"cost"'; }
spawn "$NMTWATCH" soak --loaders-interval 1s --report cost -- "$FAKE_JVM" --for 90 >out 2>&1
wait_for 40 asked
kill -s TERM "$SPAWNED"
wait "$SPAWNED" || true
costs=$(zcat cost/soak.nmt.gz | tail -1 | jq -c .cost)
check "a soak's report names the commands" jq -e '.commands[0].command == "VM.classloader_stats"' <<<"$costs"
check "and the memory of the watcher" jq -e '.rss_bytes > 1000000' <<<"$costs"
lacks "which is not 0 B" "$(cat cost/report.md)" "and 0 B of memory"

# --- signals ---------------------------------------------------------------------------------------

signalled() { # SIGNAL: the soak is sent it once its JVM is watched; output in $OUTPUT, code in $CODE
    rm -f got out
    # dash would not pass the signal on: the trap writes what came.
    spawn "$NMTWATCH" soak --no-report --budget rss=1K -- bash -c \
        "trap 'echo $1 >got; kill \$jvm; exit 5' $1; $FAKE_JVM --for 64 & jvm=\$!; wait" >out 2>err
    wait_for 10 grep -q '^ready' out
    sleep 2
    kill -s "$1" "$SPAWNED"
    CODE=0
    wait "$SPAWNED" || CODE=$?
    OUTPUT=$(cat out err)
}
for signal in INT TERM HUP; do
    signalled $signal
    is "$signal reaches the command" "$(cat got 2>&1)" $signal
    is "$signal: what there is is judged" "$CODE" 1
    contains "$signal: the end of the command is told" "$OUTPUT" "exit code 5"
done
is "no JVM is left" "$(pgrep -f "^$FAKE_JVM --for 64")" ""
spawn "$NMTWATCH" soak --no-report -- bash -c 'trap "echo usr1 >got" USR1; echo up; sleep 1; sleep 1; sleep 1' >out 2>&1
wait_for 10 grep -q up out
kill -USR1 "$SPAWNED"
wait "$SPAWNED"
is "USR1 is passed on and ends nothing" "$(cat got)" usr1
spawn "$NMTWATCH" soak --no-report -- bash -c 'trap "" TERM; echo up; while :; do sleep 1; done' >out 2>&1
wait_for 10 grep -q up out
kill -TERM "$SPAWNED"
sleep 0.5
kill -TERM "$SPAWNED"
sleep 0.5
kill -TERM "$SPAWNED"
began=$SECONDS
wait "$SPAWNED"
check "who insists does not wait for a deaf command" test $((SECONDS - began)) -le 8

# --- the counter -----------------------------------------------------------------------------------

exits "a counter beside it" 3 "$NMTWATCH" soak --no-report --for 8s --per-interval 500ms \
    --per 'date +%s' -- "$FAKE_JVM" --for 60
contains "its numbers are told" "$OUTPUT" "iterations:"
exits "a counter that fails" 3 "$NMTWATCH" soak --no-report --for 3s --per-interval 500ms \
    --per 'echo none' -- "$FAKE_JVM" --for 60
contains "is told" "$OUTPUT" "printed no number"
exits "a counter that hangs holds nothing up" 3 timeout $((20 * TAP_PATIENCE)) "$NMTWATCH" soak --no-report --for 3s \
    --per-interval 500ms --per 'sleep 50' -- "$FAKE_JVM" --for 60

# --- diff ------------------------------------------------------------------------------------------

exits "diff of two recordings" 0 "$NMTWATCH" diff flat leak
contains "diff: what changed stands first" "$(sed -n '/B - A/{n;p;}' <<<"$OUTPUT")" "yes"
contains "diff: what did not is counted" "$OUTPUT" "did not change"
exits "diff of a recording with itself" 0 "$NMTWATCH" diff flat flat
lacks "diff: nothing differs" "$(grep -v '^yes:' <<<"$OUTPUT")" "yes"
exits "diff of two moments" 0 "$NMTWATCH" diff leak --from 1m --to 4m --json
is "diff: of Internal 3 MB" \
    "$(jq '.series[] | select(.key == "internal") | .change / 1048576 | round' <<<"$OUTPUT")" 3
is "diff: that is significant" \
    "$(jq '.series[] | select(.key == "internal").significant' <<<"$OUTPUT")" true
exits "diff of moments by @" 0 "$NMTWATCH" diff leak@1m leak@4m --json
is "diff: the same" \
    "$(jq '.series[] | select(.key == "internal") | .change / 1048576 | round' <<<"$OUTPUT")" 3
exits "diff: families" 0 "$NMTWATCH" diff flat explosion --json
is "diff: the family is there" "$(jq -r '.families[0] | "\(.family) \(.b)"' <<<"$OUTPUT")" \
    "groovy-shell 720"
exits "diff: one recording needs a moment" 64 "$NMTWATCH" diff flat
exits "diff: a moment that is none" 64 "$NMTWATCH" diff flat@x leak
exits "diff: a file that is not there" 74 "$NMTWATCH" diff flat nosuch
done_testing
