#!/bin/bash
# The class-load log that a watch switches on is switched off again, whatever happens to the watch,
# and its file is gone.
# timeout: 150
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

outputs() { # PID: log outputs of the JVM beyond stdout and stderr
    local answer
    answer=$(jcmd "$jdk" "$1" VM.log list) && [[ $answer == *stdout* ]] || {
        echo "jcmd gave no answer: $answer"
        return
    }
    grep -E '^ *#[0-9]+:' <<<"$answer" | grep -vE 'stdout|stderr'
}
tap_is_on() { # PID
    outputs "$1" | grep -q '^ *#'
}
tap_is_off() { # PID
    [ -z "$(outputs "$1")" ]
}
tap_files() { # PID
    find /tmp -maxdepth 1 -name "*nmtwatch*$1*" ! -name 'nmtwatch-test.*'
}

for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "the tap on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    fleet_start $jdk numbered --rate 20 --quiet 1 --seconds 140
    fleet_ready
    target=${FLEET_PID[$jdk/numbered]}

    spawn "$NMTWATCH" watch "$target" --json --for 100s --warmup 1s >"$SCRATCH/killed.jsonl"
    watcher=$SPAWNED
    if wait_for 40 tap_is_on "$target"; then
        pass "$jdk: the tap is on"
        check "$jdk: it has a file" test -n "$(tap_files "$target")"
        kill -KILL "$watcher"
        if wait_for 20 tap_is_off "$target"; then
            pass "$jdk: it is off after kill -9 of the watch"
        else
            fail "$jdk: it is off after kill -9 of the watch" "$(outputs "$target")"
        fi
        is "$jdk: and leaves no file" "$(tap_files "$target")" ""
    else
        fail "$jdk: the tap is on" "$(tail -n 3 "$SCRATCH/killed.jsonl")"
    fi

    "$NMTWATCH" watch "$target" --json --for 25s --warmup 1s >"$SCRATCH/whole.jsonl"
    # On a busy machine the guard of the log switches it off, some seconds later.
    wait_for 20 tap_is_off "$target"
    is "$jdk: it is off when the watch ends" "$(outputs "$target")" ""
    is "$jdk: no file is left" "$(tap_files "$target")" ""
    check "$jdk: names were seen" grep -q '"type": *"names"\|class-explosion' "$SCRATCH/whole.jsonl"
    fleet_stop
done
done_testing
