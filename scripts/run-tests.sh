#!/bin/bash
# run-tests: runs test programs and adds up their results. The last line is always
#
#   N passed, N failed, N skipped
#
# usage: run-tests.sh { [-j JOBS] [NAME=VALUE] PROGRAM... }...
#
# A program prints TAP (cmocka executables are told to). -j and NAME=VALUE hold for the programs
# after them; a new -j first waits for those before it. A crash, a time-out, a missing program, a
# plan that was not fulfilled and silence are one failure each. Logs stay in build/test-logs.
# Limits are for a quiet machine, alone: they are tripled here (TAP_PATIENCE).
# Exit status: 0 when something passed and nothing failed.

set -u
cd "$(dirname "$0")/.." || exit 1
logs=build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
export CMOCKA_MESSAGE_OUTPUT=TAP
export TAP_PATIENCE=${TAP_PATIENCE:-3}
jobs=1
running=0

# Seconds a program may take: what it asks for near its top, or two minutes.
limit() {
    case $1 in
    *.sh) sed -n '1,15s/^# timeout: *\([0-9][0-9]*\).*/\1/p' "$1" | head -n 1 ;;
    esac
}

run_one() { # PROGRAM LOG
    local program=$1 log=$2 seconds status=0 began=$EPOCHREALTIME
    if [ ! -x "$program" ]; then
        echo "not ok 1 - $program is missing: it was not built" >"$log"
    else
        seconds=$(limit "$program")
        seconds=$((${seconds:-120} * TAP_PATIENCE))
        timeout -k 10 $seconds "$program" >"$log" 2>&1 </dev/null || status=$?
        # 124 and 137 come from timeout(1); a program whose checks failed says so itself.
        if [ $status = 124 ] || [ $status = 137 ]; then
            echo "not ok - $program did not end within $seconds s" >>"$log"
        elif [ $status != 0 ] && ! grep '^not ok' "$log" | grep -qv '# SKIP'; then
            echo "not ok - $program ended with status $status" >>"$log"
        fi
    fi
    tally "$log" >"$log.count"
    local passed failed skipped
    read -r passed failed skipped <"$log.count"
    local took=$(((${EPOCHREALTIME/./} - ${began/./}) / 100000))
    printf '%-4s %-50s %4d passed %3d failed %3d skipped %5d.%d s\n' \
        "$([ "$failed" = 0 ] && echo ok || echo FAIL)" "$program" \
        "$passed" "$failed" "$skipped" $((took / 10)) $((took % 10))
    if [ "$failed" != 0 ]; then
        # What failed, and why: the rest stays in the log.
        awk '/^(not )?ok / { shown = /^not/ && !/# SKIP/ } shown || !/^(ok|not ok|1\.\.|#)/' "$log" |
            tail -n 100 | sed 's/^/    | /'
    fi
}

# cmocka writes "not ok N # SKIP"; everybody else "ok N # SKIP".
tally() { # LOG
    awk '
        /^(not )?ok.*# SKIP/ { skipped++; next }
        /^ok/                { passed++; next }
        /^not ok/            { failed++; next }
        /^1\.\.[0-9]+/       { planned += substr($0, 4) + 0 }
        END {
            results = passed + failed + skipped
            if (results == 0 || planned > results) failed++
            print passed + 0, failed + 0, skipped + 0
        }' "$1"
}

number=0
while [ $# -gt 0 ]; do
    case $1 in
    -j)
        wait
        running=0
        jobs=$2
        shift
        ;;
    [A-Z]*=*) export "${1?}" ;;
    *)
        number=$((number + 1))
        log=$logs/$(printf %03d $number)-${1//\//_}.log
        if [ $running -ge "$jobs" ]; then
            wait -n
            running=$((running - 1))
        fi
        run_one "$1" "$log" &
        running=$((running + 1))
        ;;
    esac
    shift
done
wait

cat "$logs"/*.count 2>/dev/null | awk '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit !(passed > 0 && failed == 0)
    }'
