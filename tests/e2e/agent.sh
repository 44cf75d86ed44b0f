# shellcheck shell=bash
# agent: JVMs under the profiler, for the tests of libnmtagent.so. Source it after tap.sh.
#
#   jvm_start 17 churn -XX:+UseZGC ClassChurn 10000   a JVM called "churn", of JDK 17
#   jvm_wait ready|result                             until the last one said so; else fails
#   jvm_enough                                        it needs no more CPU: RandomStacks and Observed cpu end their work
#   jvm_end 0                                         lets it end, with this exit code, unharmed
#
# What is there then: $JVM_PID, $JVM_HOME (of its JDK), $JVM_JFR (that JDK's jfr), $JVM_LOG (its output),
# $JVM_OUT (the folder of its files). The programs are tests/workloads/agent/*.java; Stage.java says how
# they wait for the test.

NMTWATCH=${NMTWATCH:-build/nmtwatch}
AGENT=$(realpath -m "$(dirname "$NMTWATCH")")/libnmtagent.so
# How much more than in `make test`: 10 in `make stress`.
AGENT_SCALE=${AGENT_SCALE:-1}
AGENT_CLASSES=$PWD/build/workloads/agent
AGENT_FLAGS=(-Xmx256m -XX:ErrorFile="$SCRATCH/hs_err_%p.log")

if [ ! -x "$NMTWATCH" ] || [ ! -e "$AGENT" ]; then
    fail "$NMTWATCH and $AGENT are built"
    done_testing
fi

agent_jdk() { # VERSION: its home
    JDK=$1 scripts/workloads.sh jdk 2>/dev/null
}

agent_jdks() { # the versions to test, those that are there
    local version
    for version in 17 25; do
        [ -z "$(agent_jdk $version)" ] || echo $version
    done
}

# Once, for whichever test comes first.
agent_build() {
    local home sources=tests/workloads/agent manifest=$SCRATCH/manifest
    mkdir -p "$AGENT_CLASSES"
    exec 8>"$AGENT_CLASSES/.lock"
    flock 8
    if [ ! -e "$AGENT_CLASSES/done" ] || [ -n "$(find $sources tests/workloads/native_leak.c agent/context/java \
        -newer "$AGENT_CLASSES/done" -print -quit)" ]; then
        home=$(scripts/workloads.sh jdk) || return
        "$home/bin/javac" -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC --release 17 -d "$AGENT_CLASSES" $sources/*.java \
            agent/context/java/nmtagent/Context.java || return
        printf 'Premain-Class: Redefine\nCan-Retransform-Classes: true\nCan-Redefine-Classes: true\n' >"$manifest"
        "$home/bin/jar" cfm "$AGENT_CLASSES/redefine.jar" "$manifest" \
            -C "$AGENT_CLASSES" . || return
        "${CC:-gcc}" -O1 -shared -fPIC -I"$home/include" -I"$home/include/linux" \
            -o "$AGENT_CLASSES/libsignals.so" $sources/signals.c $sources/small_stacks.c -pthread || return
        "${CC:-gcc}" -O1 -shared -fPIC -I"$home/include" -I"$home/include/linux" \
            -o "$AGENT_CLASSES/libnative_leak.so" tests/workloads/native_leak.c -pthread || return
        touch "$AGENT_CLASSES/done"
    fi
    exec 8>&-
}
agent_build >"$SCRATCH/build.log" 2>&1 || bail "$(tail -n 1 "$SCRATCH/build.log")"
[ -n "$(agent_jdks)" ] || skip_all "no JDK 17 or 25 in /usr/lib/jvm"

# The JDK's tool with less of a JVM around it: half the CPU, for a second's work. The last JVM, which may work as long
# as it lives, is stopped meanwhile: the file is written.
short_lived_jfr() { # HOME SCRIPT
    cat >"$2" <<END
#!/bin/sh
[ "\$(cat /proc/\$JVM_PID/comm 2>/dev/null)" = java ] && kill -STOP "\$JVM_PID" || JVM_PID=
$1/bin/jfr -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC "\$@"
status=\$?
[ -z "\$JVM_PID" ] || kill -CONT "\$JVM_PID"
exit \$status
END
    chmod +x "$2"
}

jvm_start() { # JDK NAME [FLAG...] CLASS [ARGUMENT...]
    local home
    home=$(agent_jdk "$1")
    JVM_NAME="$2, JDK $1"
    JVM_OUT=$SCRATCH/$1-$2
    JVM_LOG=$JVM_OUT/log
    # shellcheck disable=SC2034 # for the tests
    JVM_HOME=$home
    JVM_JFR=$SCRATCH/jfr-$1
    [ -x "$JVM_JFR" ] || short_lived_jfr "$home" "$JVM_JFR"
    shift 2
    mkdir -p "$JVM_OUT"
    spawn "${JVM_WRAPPER[@]}" "$home/bin/java" "${AGENT_FLAGS[@]}" -Dleave="$JVM_OUT/leave" -Denough="$JVM_OUT/enough" \
        -cp "$AGENT_CLASSES" "$@" >"$JVM_LOG" 2>&1
    JVM_PID=$SPAWNED
}
JVM_WRAPPER=()
export JVM_PID= # for the script of jfr

jvm_said() { # WORD: or is no more
    grep -q "^$1" "$JVM_LOG" || ! kill -0 "$JVM_PID"
}

jvm_wait() { # WORD [SECONDS]
    if ! wait_for "${2:-60}" jvm_said "$1" || ! grep -q "^$1" "$JVM_LOG"; then
        fail "$JVM_NAME: comes to '$1'" "$(tail -n 5 "$JVM_LOG"; jvm_crash)"
        return 1
    fi
}

jvm_enough() {
    touch "$JVM_OUT/enough"
}

jvm_result() {
    sed -n 's/^result //p' "$JVM_LOG"
}

# What a JVM that died left about it.
jvm_crash() {
    cat "$SCRATCH"/hs_err_*.log 2>/dev/null | sed -n '1,12p; /^Native frames/,/^$/p' | head -n 40
}

# Whether it works, waits or is starved: which differs between a slow machine and a deadlock.
process_state() { # PID
    local ticks
    ticks=$(awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null)
    sleep 2
    echo "state $(awk '/^State:/ { print $2 }' "/proc/$1/status" 2>/dev/null)," \
        "$(($(awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null || echo 0) - ${ticks:-0})) ticks of CPU in 2 s," \
        "load $(cut -d ' ' -f 1-3 /proc/loadavg) on $(nproc) processors"
}

jvm_end() { # EXIT_CODE
    local code=0
    touch "$JVM_OUT/leave"
    wait_for 30 eval "! kill -0 $JVM_PID" ||
        fail "$JVM_NAME: ends" "too slow: not within $((30 * TAP_PATIENCE)) s; $(process_state "$JVM_PID")"
    ! is_ours "$JVM_PID" || kill -KILL "$JVM_PID" 2>/dev/null
    wait "$JVM_PID" || code=$?
    if [ "$code" != "$1" ] || [ -n "$(jvm_crash)" ]; then
        fail "$JVM_NAME: ends well" "exit $code, wanted $1"$'\n'"$(tail -n 5 "$JVM_LOG"; jvm_crash)"
        rm -f "$SCRATCH"/hs_err_*.log
    fi
}

profile() { # [COMMAND] [OPTION...]: of the last JVM
    timeout $((60 * TAP_PATIENCE)) "$NMTWATCH" profile "$JVM_PID" "$@"
}

# Samples of both kinds, by the JDK's own tool.
jfr_samples() { # FILE
    "$JVM_JFR" summary "$1" 2>&1 | awk '
        $1 == "jdk.ExecutionSample" || $1 == "nmtagent.WallClockSample" { sum += $2; found++ }
        END { print found == 2 ? sum : "unreadable" }'
}

jfr_text() { # FILE
    "$JVM_JFR" print --events jdk.ExecutionSample --stack-depth 64 "$1"
}

# Stops the profiler; what it counted, what its file holds, what came in and where it went.
profile_stops_right() { # FILE
    local answer
    if ! answer=$(profile stop --json 2>&1); then
        fail "$JVM_NAME: stops" "$answer"
        return
    fi
    answer=$(jq -c .status <<<"$answer")
    is "$JVM_NAME: stored + dropped = samples, and the file holds what was stored" \
        "$(jq -r '"\(.stored + .dropped.slots + .dropped.buffers == .samples) \(.recording_error) " +
            "\(.stored)"' <<<"$answer")" "true null $(jfr_samples "$1")"
    is "$JVM_NAME: every signal is a sample or is counted" \
        "$(jq '.signals - .samples - .foreign_signals - .late_signals - .nested_signals - .small_stacks' \
            <<<"$answer")" 0
}

# Of a printed recording of ClassChurn: frames of the victims, those with a wrong line, stacks with two
# victims in one run (names that are of another method), frames without a name. What is wrong of them is
# shown as comments on standard error.
victims() {
    awk '
        BEGIN {
            split("<init> 5 5 applyAsLong 10 10 deeper 14 20 mix 25 29 fail 33 33", table)
            for (i = 1; i in table; i += 3) {
                first[table[i]] = table[i + 1]
                last[table[i]] = table[i + 2]
            }
        }
        /stackTrace = \[/ { victim = "" }
        match($0, /ChurnVictim_[0-9]+/) {
            name = substr($0, RSTART, RLENGTH)
            if (victim != "" && name != victim) {
                mixed++
                print "# after", victim ":", $0 >"/dev/stderr"
            }
            victim = name
            frames++
            match($0, /[A-Za-z<>]+\(/)
            method = substr($0, RSTART, RLENGTH - 1)
            line = match($0, /line: [0-9]+/) ? substr($0, RSTART + 6, RLENGTH - 6) + 0 : 0
            if (!(method in first) || line < first[method] || line > last[method]) {
                lines++
                print "# wrong line:", $0 >"/dev/stderr"
            }
        }
        /method of an unloaded class/ { unnamed++ }
        END { printf "%d %d %d %d\n", frames, lines, mixed, unnamed }'
}
