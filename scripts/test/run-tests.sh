#!/bin/bash
# run-tests: runs test programs and adds up their results. The last line is always
#
#   N passed, N failed, N skipped
#
# usage: run-tests.sh { [-j JOBS] [NAME=VALUE] PROGRAM... }...
#
# A program prints TAP (cmocka executables are told to). -j and NAME=VALUE hold for the programs
# after them; a new -j first waits for those before it. With -j JOBS of three or more programs are started beyond
# JOBS, up to twice as many, while a quarter of the processors' time is idle: many of them wait. A crash, a time-out, a missing program, a
# plan that was not fulfilled and silence are one failure each; so is a skip for another reason than
# those of `skip` in tests/tap.sh. Every skip is listed with its reason before the last line. Logs stay
# in build/test-logs.
#
# A program that failed beside others runs once more at the end, alone: that result counts. What failed the
# first time is printed then and listed before the last line, its log is kept as NAME.first.
#
# Where root may, and this tree is not in /tmp, each program has a /tmp and process numbers of its own: it meets
# no JVM, file or user's process of another one.
#
# Limits are for a quiet machine, alone. They are multiplied by TAP_PATIENCE: 3, because programs run
# beside each other, times how much slower than a quiet machine this one is when a program starts: by
# a calibration at the start of the run and by the load for each processor. At most 30.
# Exit status: 0 when something passed and nothing failed.

set -u
. "$(dirname "$0")/../lib.sh"
logs=build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
export CMOCKA_MESSAGE_OUTPUT=TAP
jobs=1
running=0
settings=()

# Seconds a program may take: what it asks for near its top, or two minutes.
limit() {
    case $1 in
    *.sh) sed -n '1,15s/^# timeout: *\([0-9][0-9]*\).*/\1/p' "$1" | head -n 1 ;;
    esac
}

# Tenths of a quiet machine's time for work of the kind that tests wait for: a loop, and processes.
# Mean of three; 130 ms of CPU is what it takes at 2.5 GHz (2026-11-22).
calibrate() {
    local began=${EPOCHREALTIME/./} i
    for ((i = 0; i < 60000; i++)); do :; done
    for ((i = 0; i < 150; i++)); do /bin/true; done
    echo $(((${EPOCHREALTIME/./} - began) * 10 / 390000))
}

# 3 for a quiet machine, up to 30 for a slow or loaded one.
patience() {
    local load slow=$speed
    load=$(awk -v cores="$(nproc)" '{ printf "%d", $1 * 10 / cores }' /proc/loadavg)
    # Four programs of ours beside each other are a load of two for each of two cores: no reason.
    load=$((load - 10))
    [ $load -le $slow ] || slow=$load
    [ $slow -ge 10 ] || slow=10
    slow=$((slow * 3 / 10))
    [ $slow -le 30 ] || slow=30
    echo $slow
}

# A command before a program, and the /tmp it shall have: its own, and process numbers of its own; empty where
# that is refused. Process 1 is a shell, so that signals do to the program what they do elsewhere.
apart=()
# shellcheck disable=SC2016 # for the other shell
enter=(unshare --mount --pid --fork --kill-child --mount-proc sh -c 'mount --bind "$0" /tmp && "$@"; exit $?')

run_one() { # PROGRAM LOG
    local program=$1 log=$2 seconds quiet status=0 began=$EPOCHREALTIME before=()
    if [ ! -x "$program" ]; then
        echo "not ok 1 - $program is missing: it was not built" >"$log"
    else
        quiet=$(limit "$program")
        export TAP_PATIENCE=${fixed_patience:-$(patience)}
        seconds=$((${quiet:-120} * TAP_PATIENCE))
        if [ ${#apart[@]} != 0 ]; then
            before=("${apart[@]}" "$(mktemp -d "$own_tmp/XXXXXX")")
            chmod 1777 "${before[-1]}"
        fi
        timeout -k 10 $seconds "${before[@]}" "$program" >"$log" 2>&1 </dev/null || status=$?
        [ ${#before[@]} = 0 ] || rm -rf "${before[-1]}"
        # 124 and 137 come from timeout(1); a program whose checks failed says so itself.
        if [ $status = 124 ] || [ $status = 137 ]; then
            echo "not ok - too slow: $program did not end within $seconds s, $TAP_PATIENCE times its" \
                "limit of ${quiet:-120} s; load $(cut -d ' ' -f 1-3 /proc/loadavg) on $(nproc) processors;" \
                "the last line of its log is what it was at: $(tail -n 1 "$log")" >>"$log"
        elif [ $status != 0 ] && ! grep '^not ok' "$log" | grep -qv '# SKIP'; then
            echo "not ok - $program ended with status $status" >>"$log"
        fi
    fi
    tally "$program" "$log" >"$log.count"
    local passed failed skipped
    read -r passed failed skipped <"$log.count"
    local took=$(((${EPOCHREALTIME/./} - ${began/./}) / 100000))
    times >"$log.times" # of this shell, then of what it has waited for
    printf '%-4s %-50s %4d passed %3d failed %3d skipped %5d.%d s %4d s of CPU\n' \
        "$([ "$failed" = 0 ] && echo ok || echo FAIL)" "$program" \
        "$passed" "$failed" "$skipped" $((took / 10)) $((took % 10)) \
        "$(awk 'NR == 2 { gsub(/s/, ""); split($1, user, "m"); split($2, kernel, "m")
            printf "%d", (user[1] + kernel[1]) * 60 + user[2] + kernel[2] }' "$log.times")"
    if [ "$failed" != 0 ]; then
        [ "$jobs" = 1 ] || printf '%s\n' "$program" "${settings[@]}" >"$log.alone"
        # What failed, and why: the rest stays in the log.
        awk '/^(not )?ok / { shown = /^not/ && !/# SKIP/ } shown || !/^(ok|not ok|1\.\.|#)/' "$log" |
            tail -n 100 | sed 's/^/    | /'
    fi
}

# cmocka writes "not ok N # SKIP NAME", after "# skipped: REASON" (tests/unit/skip.h); everybody else
# "ok N - NAME # SKIP REASON".
tally() { # PROGRAM LOG
    awk -v program="$1" -v log_file="$2" '
        /^# skipped: / { reason = substr($0, 12) }
        /^(not )?ok.*# SKIP/ {
            name = $0
            sub(/^(not )?ok [0-9]* *-* */, "", name)
            at = index(name, "# SKIP")
            if (reason == "") {
                reason = substr(name, at + 7)
                name = substr(name, 1, at - 2)
            } else {
                name = substr(name, at + 7)
            }
            if (reason ~ /^(no JDK |refused: |not installed: )/) {
                skipped++
                print program ": " name ": " reason >(log_file ".skips")
            } else {
                failed++
                print "not ok - " name ": skipped without a reason that counts: " reason >(log_file ".wrong")
            }
            reason = ""
            next
        }
        /^ok/                { passed++; next }
        /^not ok/            { failed++; next }
        /^1\.\.[0-9]+/       { planned += substr($0, 4) + 0 }
        END {
            results = passed + failed + skipped
            if (results == 0 || planned > results) failed++
            print passed + 0, failed + 0, skipped + 0
        }' "$2"
    [ ! -e "$2.wrong" ] || cat "$2.wrong" >>"$2"
}

# Whether a quarter of the processors' time was idle since the last call, and no quota held us back.
read_processors() {
    local user nice kernel idle wait rest
    read -r _ user nice kernel idle wait rest </proc/stat
    now_idle=$((idle + wait + nice)) # what is nice gives way
    now_all=$((now_idle + user + kernel + ${rest// /+}))
    throttled=$(sed -n 's/^throttled_usec //p' /sys/fs/cgroup/cpu.stat 2>/dev/null)
}
are_idle() {
    local idle=$now_idle all=$now_all held=$throttled
    read_processors
    [ "$throttled" = "$held" ] && [ $(((now_idle - idle) * 4)) -ge $((now_all - all)) ]
}

# Until another program may start.
wait_for_room() {
    local ended
    while [ $running -ge "$jobs" ]; do
        if [ "$jobs" -ge 3 ] && [ $running -lt $((jobs * 2)) ] && [ -z "$clock" ]; then
            sleep 2 &
            clock=$!
        fi
        wait -n -p ended
        if [ "$ended" = "$clock" ]; then
            clock=
            ! are_idle || return
        else
            running=$((running - 1))
        fi
    done
}

clock=
own_tmp=$(mktemp -d /tmp/nmtwatch-tests.XXXXXX) || exit 1
trap 'rm -rf "$own_tmp"' EXIT
# Not where this tree or what is kept in ~/.cache would be out of sight.
if [ "$(id -u)" = 0 ] && "${enter[@]}" "$own_tmp" test -e "$PWD/VERSION" -a -d "${HOME:-/}" 2>/dev/null; then
    apart=("${enter[@]}")
fi
fixed_patience=${TAP_PATIENCE-}
speed=$(calibrate)
echo "# this machine takes $((speed / 10)).$((speed % 10)) times as long as a quiet one with two cores;" \
    "load $(cut -d ' ' -f 1-3 /proc/loadavg), $(nproc) processors"
number=0
while [ $# -gt 0 ]; do
    case $1 in
    -j)
        wait
        running=0 clock=
        jobs=$2
        shift
        ;;
    [A-Z]*=*)
        export "${1?}"
        settings+=("$1")
        ;;
    *)
        number=$((number + 1))
        log=$logs/$(printf %03d $number)-${1//\//_}.log
        wait_for_room
        run_one "$1" "$log" &
        running=$((running + 1))
        read_processors
        ;;
    esac
    shift
done
wait

jobs=1
for log in "$logs"/*.alone; do
    [ -e "$log" ] || continue
    log=${log%.alone}
    mapfile -t again <"$log.alone"
    program=${again[0]}
    mv "$log" "$log.first"
    rm -f "$log.skips" "$log.wrong"
    echo "again, alone:"
    (
        for setting in "${again[@]:1}"; do export "${setting?}"; done
        run_one "$program" "$log"
    )
    read -r _ failed _ <"$log.count"
    [ "$failed" != 0 ] || printf '%s\n' "$program:" "$(grep '^not ok' "$log.first" | grep -v '# SKIP')" >>"$logs/recovered"
done
if [ -e "$logs/recovered" ]; then
    echo "failed beside others, passed alone:"
    sed 's/^/    /' "$logs/recovered"
fi
if [ -n "$(find "$logs" -name '*.skips' -print -quit)" ]; then
    echo "skipped:"
    cat "$logs"/*.skips | sed 's/^/    /'
fi
cat "$logs"/*.count 2>/dev/null | awk '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit !(passed > 0 && failed == 0)
    }'
