#!/bin/bash
# HotSpot's own sampler, switched on from outside: what is allocated is told exactly, and the five bytes are what
# they were however the observer ends. And what becomes of the observer when the JVM is stopped, ends, or starts
# another program.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh
need jq readelf

# What may not change: files that are mapped, code that is in none, threads, descriptors. The heap, malloc's
# arenas and the code cache grow by themselves.
footprint() {
    awk '$6 ~ /^\// { print $1, $2, $6 } $6 !~ /^\// && $2 ~ /x/ { sub("-.*", "", $1); print $1 }' "/proc/$JVM_PID/maps"
    ls "/proc/$JVM_PID/task"
    find "/proc/$JVM_PID/fd" -printf '%f %l\n' | sort
}

# Where the flag and the interval are, once for a JVM.
find_sampler() {
    local library base
    read -r base library < <(awk '$6 ~ /libjvm.so$/ { sub("-.*", "", $1); print $1, $6; exit }' \
        "/proc/$JVM_PID/maps")
    readelf -sW "$library" >"$SCRATCH/symbols" 2>/dev/null
    FLAG_AT=$((0x$base + 0x$(awk '$8 ~ /33_should_post_sampled_object_allocE$/ { print $2; exit }' "$SCRATCH/symbols")))
    PLACE_AT=$((0x$base + 0x$(awk '$8 ~ /41record_sampled_internal_object_allocationEP7oopDesc$/ { print $2; exit }' "$SCRATCH/symbols")))
    INTERVAL_AT=$((0x$base + 0x$(awk '$8 ~ /ThreadHeapSampler18_sampling_intervalE$/ { print $2; exit }' "$SCRATCH/symbols")))
}

bytes_at() { # ADDRESS COUNT: as a number
    dd if="/proc/$JVM_PID/mem" bs="$2" count=1 iflag=skip_bytes skip="$1" 2>/dev/null |
        od -An -t "u$2" | tr -d ' '
}

sampler() { # "0 524288": the flag and the interval
    echo "$(bytes_at "$FLAG_AT" 1) $(bytes_at "$INTERVAL_AT" 4)"
}

code_is() {
    [ "$(bytes_at "$PLACE_AT" 8)" = "$1" ]
}
sampler_is() { # FLAG INTERVAL
    [ "$(sampler)" = "$1 $2" ]
}

# In the background; returns when the sampler is on.
activate() { # [OPTION...]
    spawn "$NMTWATCH" observe "$JVM_PID" alloc --activate --for 120s --json "$@" \
        >"$SCRATCH/answer" 2>"$SCRATCH/error"
    OBSERVER=$SPAWNED
    wait_for 30 eval "! sampler_is 0 524288 || ! kill -0 $OBSERVER"
}

# The process that restores: its memory of ours is the JVM's, and its parent is not the observer.
watcher() {
    local process
    for process in /proc/[0-9]*; do
        if [ "$(cat "$process/comm" 2>/dev/null)" = nmtwatch-undo ] &&
            readlink "$process/fd/"* 2>/dev/null | grep -q "/proc/$JVM_PID/mem"; then
            echo "${process#/proc/}"
        fi
    done
}

gone() {
    [ -z "$(watcher)" ]
}

mixed() { # JDK: all that one JVM can show
    local work=mixed self
    jvm_start "$1" mixed -Dgo="$SCRATCH/$1.go" -Dleave="$SCRATCH/leave" -XX:+UseSerialGC -XX:-UsePerfData \
        -XX:-UseDynamicNumberOfCompilerThreads Observed $work 600
    jvm_wait ready || return
    find_sampler
    is "$JVM_NAME: at first" "$(sampler)" "0 524288"
    activate --every 256K
    if ! kill -0 $OBSERVER 2>/dev/null; then
        why=$(cut -c 1-200 "$SCRATCH/error")
        case $why in
        *"ermitted"* | *"ermission denied"* | *"cannot do it"* | *"no uprobes"* | *"not implemented"* | *"cannot be written"*)
            skip "$JVM_NAME: from outside" "refused: $why"
            ;;
        *) fail "$JVM_NAME: can be observed" "$why" ;;
        esac
        touch "$SCRATCH/$1.go"
        jvm_end 0
        return
    fi
    check "$JVM_NAME: five bytes are written" wait_for 10 sampler_is 1 262144
    check "$JVM_NAME: a process waits to restore them" test -n "$(watcher)"
    is "$JVM_NAME: that has a session of its own" "$(cut -d ' ' -f 6 "/proc/$(watcher)/stat")" "$(watcher)"
    is "$JVM_NAME: and two descriptors" "$(ls "/proc/$(watcher)/fd" | wc -l)" 2
    "$NMTWATCH" observe "$JVM_PID" alloc --activate >"$SCRATCH/second" 2>&1
    is "$JVM_NAME: a second one is refused" "$? $(wc -l <"$SCRATCH/second")" "22 1"
    contains "$JVM_NAME: and told why" "$(cat "$SCRATCH/second")" "is on already, from outside"

    touch "$SCRATCH/$1.go"
    jvm_wait result
    kill -INT $OBSERVER
    wait $OBSERVER
    is "$JVM_NAME: ends at Ctrl-C" "$? $(cat "$SCRATCH/error")" "0 "
    is "$JVM_NAME: what was there is there again" "$(sampler)" "0 524288"
    check "$JVM_NAME: nobody waits any more" wait_for 10 gone
    read -r total bytes longs ints nodes <<<"$(jvm_result)"
    check "$JVM_NAME: the total is that of the threads, within 0.5 %" jq -e --argjson total "$total" \
        '.total_bytes > $total * 0.995 and .total_bytes < $total * 1.005' "$SCRATCH/answer"
    check "$JVM_NAME: and the sum of the classes" jq -e --argjson total "$total" \
        '([.classes[].bytes] | add) > $total * 0.99 and ([.classes[].bytes] | add) < $total * 1.01' "$SCRATCH/answer"
    if [ "$(jq .biased "$SCRATCH/answer")" = false ]; then
        # Beyond four standard errors once in 4 000 runs.
        is "$JVM_NAME: classes are what they are" "$(jq -c --argjson true "{\"byte[]\": $bytes, \"long[]\": $longs,
            \"int[]\": $ints, \"Observed\$Node\": $nodes}" '[.classes[] | select($true[.class]) | {class, off:
            ((.bytes - $true[.class]) / .se_bytes)} | select(.off > 4 or .off < -4)], [.classes[] | select($true[.class])]
            | length' "$SCRATCH/answer")" $'0\n4'
    fi
    is "$JVM_NAME: 99 % of stacks are whole" "$(jq -c '[.stacks > 500, .outcomes[0].stacks >= .stacks * 0.99] + if .outcomes[0].stacks < .stacks * 0.99 then [.lost, .outcomes] else [] end' \
        "$SCRATCH/answer")" "[true,true]"

    # It is idle now. Whoever kills the observer leaves the other process.
    footprint >"$SCRATCH/before"
    code=$(bytes_at "$PLACE_AT" 8)
    activate
    kill -KILL $OBSERVER
    wait $OBSERVER 2>/dev/null
    check "$JVM_NAME: restored when the observer is killed" wait_for 10 sampler_is 0 524288
    check "$JVM_NAME: by one that ends then" wait_for 10 gone
    # The kernel takes it out after the process that set it has ended.
    wait_for 10 code_is "$code"
    is "$JVM_NAME: no breakpoint is left" "$(bytes_at "$PLACE_AT" 8)" "$code"
    footprint >"$SCRATCH/after"
    silent "$JVM_NAME: no mapping, thread or descriptor more or less" diff "$SCRATCH/before" "$SCRATCH/after"

    # Both.
    activate --every 1M
    self=$(watcher)
    mapfile -t workers < <(pgrep -P $OBSERVER)
    mapfile -t observing < <(pgrep -P "$(IFS=, && echo "${workers[*]}")")
    kill -KILL "$self" "${observing[@]}" "${workers[@]}" $OBSERVER
    wait $OBSERVER 2>/dev/null
    is "$JVM_NAME: left on when both are killed" "$(sampler)" "1 1048576"
    "$NMTWATCH" observe "$JVM_PID" alloc --activate >"$SCRATCH/second" 2>&1
    contains "$JVM_NAME: which is told" "$? $(cat "$SCRATCH/second")" "observe --repair"
    is "$JVM_NAME: repaired" "$("$NMTWATCH" observe --repair "$JVM_PID" 2>&1) $?" \
        "pid $JVM_PID: the heap sampler is off again, its interval 524288 bytes 0"
    is "$JVM_NAME: as it was" "$(sampler)" "0 524288"
    is "$JVM_NAME: once" "$("$NMTWATCH" observe --repair "$JVM_PID" 2>&1) $?" "pid $JVM_PID: nothing to repair 0"

    # An agent has it.
    profile start --alloc 512k --file "$SCRATCH/agent-$1.jfr" >"$SCRATCH/out" 2>&1 || fail "$JVM_NAME: the agent starts" "$(cat "$SCRATCH/out")"
    "$NMTWATCH" observe "$JVM_PID" alloc --activate >"$SCRATCH/second" 2>&1
    contains "$JVM_NAME: an agent that uses the sampler keeps it" "$? $(cat "$SCRATCH/second")" \
        "an agent uses the heap sampler"
    is "$JVM_NAME: repair as well" "$("$NMTWATCH" observe --repair "$JVM_PID" 2>&1)" \
        "pid $JVM_PID: nothing to repair"
    is "$JVM_NAME: its flag is untouched" "$(bytes_at "$FLAG_AT" 1)" 1
    profile stop >"$SCRATCH/out" 2>&1

    # Stopped in between: memory can be written all the same.
    activate
    kill -STOP "$JVM_PID"
    kill -TERM $OBSERVER
    wait $OBSERVER
    is "$JVM_NAME: a stopped JVM" "$? $(sampler)" "0 0 524288"
    kill -CONT "$JVM_PID"

    # Dead in between.
    activate
    kill -KILL "$JVM_PID"
    wait "$JVM_PID" 2>/dev/null
    wait $OBSERVER
    is "$JVM_NAME: a JVM that dies" "$? $(jq .ended "$SCRATCH/answer")" "0 true"
    check "$JVM_NAME: leaves nobody behind" wait_for 10 gone
}

for jdk in $(agent_jdks); do
    mixed "$jdk"
done

# Another program in its place: nothing is written into it, and the observer ends.
jvm_start "$(agent_jdks | head -n 1)" exec -Dgo="$SCRATCH/exec.go" \
    -Dsignals.library="$AGENT_CLASSES/libsignals.so" Observed exec 0
if jvm_wait ready; then
    find_sampler
    activate
    if kill -0 $OBSERVER 2>/dev/null; then
        touch "$SCRATCH/exec.go"
        wait $OBSERVER
        is "$JVM_NAME: ends with the JVM" "$? $(jq .ended "$SCRATCH/answer")" "0 true"
        is "$JVM_NAME: the other program runs" "$(cat "/proc/$JVM_PID/comm")" sleep
        check "$JVM_NAME: nobody is left behind" wait_for 10 gone
    fi
fi
kill -KILL "$JVM_PID"
wait "$JVM_PID" 2>/dev/null

# A libjvm without the notes of USDT probes: classes are seen where the functions begin.
without_notes() { # JDK: another home of it, with a library of its own
    local home=$SCRATCH/jdk jdk
    jdk=$(realpath "$(agent_jdk "$1")")
    mkdir -p "$home/bin" "$home/lib"
    cp "$jdk/bin/java" "$home/bin"
    ln -s "$jdk"/lib/* "$home/lib"
    ln -s "$jdk/conf" "$jdk/release" "$home"
    rm "$home/lib/server"
    mkdir "$home/lib/server"
    ln -s "$jdk"/lib/server/*.jsa "$home/lib/server" 2>/dev/null
    LC_ALL=C sed 's/\.note\.stapsdt/.note.stapnot/' "$jdk/lib/server/libjvm.so" >"$home/lib/server/libjvm.so"
    eval "agent_jdk() { echo '$home'; }"
}

classes() { # JDK
    jvm_start "$1" no-notes -Dgo="$SCRATCH/classes.go" -Dleave="$SCRATCH/leave" Observed classes 500
    jvm_wait ready || return
    spawn "$NMTWATCH" observe "$JVM_PID" classes --for 60s --json >"$SCRATCH/answer" 2>"$SCRATCH/error"
    OBSERVER=$SPAWNED
    wait_for 20 eval "[ -n \"\$(for pid in \$(below $OBSERVER); do find /proc/\$pid/fd -lname '*bpf-prog*'; done 2>/dev/null)\" ] ||
        ! kill -0 $OBSERVER"
    kill -0 $OBSERVER 2>/dev/null || return # refused, as above
    sleep 1
    touch "$SCRATCH/classes.go"
    jvm_wait result
    kill -INT $OBSERVER
    wait $OBSERVER
    is "$JVM_NAME: the definitions, each once" "$? $(jq -c '[.families[] | select(.family == "ChurnVictim_#")
        | .loaded, (.ways[0].definer | startswith("Observed"))]' "$SCRATCH/answer")" "0 [500,true]"
    kill -KILL "$JVM_PID"
    wait "$JVM_PID" 2>/dev/null
}
without_notes "$(agent_jdks | head -n 1)"
classes without-notes
done_testing
