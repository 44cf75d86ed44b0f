#!/bin/bash
# A JVM seen from outside: each class definition is counted and has the line that asked for it, stacks are
# whole, nothing in the process has changed afterwards, and what is refused is said.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

start() { # JDK NAME WORK NUMBER [FLAG...]
    local jdk=$1 name=$2 work=$3 number=$4
    shift 4
    GO=$SCRATCH/$jdk-$name.go
    jvm_start "$jdk" "$name" -Dgo="$GO" "$@" Observed "$work" "$number"
    jvm_wait ready
}

observe() { # WHAT [OPTION...]: of the last JVM, in the background; its output is $SCRATCH/answer
    spawn "$NMTWATCH" observe "$JVM_PID" "$@" >"$SCRATCH/answer" 2>"$SCRATCH/error"
    OBSERVER=$SPAWNED
}

# Once what it attaches is there: then the work may begin.
attached() { # places, in the process that observes: a child of the worker
    local pid
    for pid in $(below "$OBSERVER"); do
        readlink "/proc/$pid/fd/"* 2>/dev/null | grep -q "$1" && return
    done
    ! kill -0 $OBSERVER
}

answer() { # FILTER
    jq -c "$1" "$SCRATCH/answer" 2>&1
}

# What may not change: mappings of files, threads, descriptors.
footprint() {
    awk '$6 ~ /^\// { print $1, $2, $6 }' "/proc/$JVM_PID/maps"
    find "/proc/$JVM_PID/fd" -printf '%l\n' | sort
}

# --- to a store -------------------------------------------------------------------------------------

RECEIVER=${FAKE_RECEIVER:-$(dirname "$NMTWATCH")/fake_receiver}
received=$SCRATCH/received
need_built "$RECEIVER"
mkdir "$SCRATCH/kept"
: >"$received"
mood() {
    echo "$1" >"$SCRATCH/mood.new" && mv "$SCRATCH/mood.new" "$SCRATCH/mood"
}
mood 200
KEEP=$SCRATCH/kept spawn "$RECEIVER" "$SCRATCH/port" "$received" "$SCRATCH/mood"
wait_for 5 test -s "$SCRATCH/port"
store=http://127.0.0.1:$(cat "$SCRATCH/port")

received() { # STATUS FORMAT
    grep -q "^$1 /ingest?.*&format=$2" "$received"
}
kept() { # FORMAT: the body of the last one that was taken
    cat "$SCRATCH/kept/$(grep "^200 /ingest?.*&format=$1" "$received" | tail -n 1 | cut -d ' ' -f 3)"
}

# To a store that fails at first; that refuses; that is away, with a folder to wait in.
push_tests() {
    if ! ldconfig -p | grep -q 'libcurl.*\.so\.4'; then
        skip "$JVM_NAME: to a store" "no libcurl"
        return
    fi
    : >"$received"
    mood 503
    spawn "$NMTWATCH" observe "$JVM_PID" cpu --for 1s --cpu-interval 2ms --push "$store/" \
        >"$SCRATCH/answer" 2>"$SCRATCH/error"
    check "$JVM_NAME: the store fails" wait_for 20 received 503 pprof
    mood 200
    wait "$SPAWNED"
    is "$JVM_NAME: it is sent again" "$? $(cat "$SCRATCH/error")" "0 "
    contains "$JVM_NAME: with the application, labels and times" "$(grep ^200 "$received")" \
        "name=Observed%7Bhost%3D"
    contains "$JVM_NAME: by pid" "$(grep ^200 "$received")" "%2Cpid%3D$JVM_PID%7D&from=1"
    contains "$JVM_NAME: what came is a profile with the method in it" \
        "$(kept pprof | zcat | tr -c '[:print:]' ' ')" "Observed.burn"
    mood 401
    "$NMTWATCH" observe "$JVM_PID" cpu --for 100ms --push "$store" >/dev/null 2>"$SCRATCH/error"
    is "$JVM_NAME: refused: one line" "$? $(wc -l <"$SCRATCH/error")" "74 1"
    mood 503
    : >"$received"
    spawn "$NMTWATCH" observe "$JVM_PID" cpu --for 300ms --cpu-interval 2ms --push "$store" \
        --push-queue "$SCRATCH/queue" --push-name "a shop" >/dev/null 2>"$SCRATCH/error"
    wait_for 20 received 503 'pprof.*&sampleRate=500'
    kill -INT "$SPAWNED"
    wait "$SPAWNED"
    is "$JVM_NAME: not delivered" $? 74
    contains "$JVM_NAME: where it waits" "$(cat "$SCRATCH/error")" "waits in $SCRATCH/queue"
    mood 200
    "$NMTWATCH" profile "$JVM_PID" --for 1s --push "$store" --push-queue "$SCRATCH/queue" \
        >"$SCRATCH/answer" 2>"$SCRATCH/error"
    is "$JVM_NAME: profile: delivered" "$? $(cat "$SCRATCH/error")" "0 "
    check "$JVM_NAME: the one that has waited too" grep -q "^200 /ingest?name=a%20shop%7B" "$received"
    is "$JVM_NAME: profile: JFR" "$(kept jfr | head -c 3)" "FLR"
    is "$JVM_NAME: nothing waits any more" "$(find "$SCRATCH/queue" -type f)" ""
    rmdir "$SCRATCH/queue/store" "$SCRATCH/queue"
}
exits "no store" 64 "$NMTWATCH" observe $$ cpu --push ftp://store
exits "no store to push to" 64 "$NMTWATCH" observe $$ cpu --push-name shop

"$NMTWATCH" observe $$ cpu >"$SCRATCH/answer" 2>&1
is "a process that is no JVM" "$?" 10
exits "no such thing to observe" 64 "$NMTWATCH" observe $$ colour
exits "no name for a file" 64 "$NMTWATCH" observe $$ cpu -o x.jfr

for jdk in $(agent_jdks); do
    start "$jdk" classes classes 3000 -Xms256m || continue
    footprint >"$SCRATCH/before"
    observe classes --for 60s --json
    if ! wait_for 20 attached bpf || ! kill -0 $OBSERVER; then
        why=$(cut -c 1-200 "$SCRATCH/error")
        case $why in
        *"ermitted"* | *"ermission denied"* | *"cannot do it"* | *"no uprobes"* | *"not implemented"*) skip "$JVM_NAME: from outside" "refused: $why" ;;
        *) fail "$JVM_NAME: can be observed" "$why" ;;
        esac
        touch "$GO"
        jvm_wait result
        jvm_end 0
        continue
    fi
    sleep 1
    touch "$GO"
    jvm_wait result 60
    kill -INT $OBSERVER
    wait $OBSERVER
    is "$JVM_NAME: ends at Ctrl-C" "$?" 0
    check "$JVM_NAME: each class is counted" test "$(answer '.count')" -ge 3000
    is "$JVM_NAME: none lost" "$(answer '.lost')" 0
    is "$JVM_NAME: the definitions, each once" "$(answer \
        '[.families[] | select(.family == "ChurnVictim_#") | .loaded]')" "[3000]"
    "$NMTWATCH" observe "$JVM_PID" methods --json >"$SCRATCH/methods" 2>&1
    is "$JVM_NAME: a class's methods are those that javap shows" \
        "$(jq -c '.families[] | select(.family == "Observed") | [.classes, .methods]' "$SCRATCH/methods")" \
        "[1,$("$JVM_HOME/bin/javap" -p -cp "$AGENT_CLASSES" Observed | grep -c '(\|{};')]"
    check "$JVM_NAME: methods of all classes" jq -e '.classes > 500 and .methods > 5000 and
        .methods_per_class > 0' "$SCRATCH/methods"
    line=$(awk '/kept = new Loader/ { print NR }' tests/workloads/agent/Observed.java)
    is "$JVM_NAME: the line that asked for them" "$(answer \
        '[.families[] | select(.family == "ChurnVictim_#") | .ways[] | .frames[]
          | select(startswith("Observed.rule:"))] | unique')" "[\"Observed.rule:$line\"]"
    check "$JVM_NAME: 99 % of stacks are whole" jq -e '.outcomes[0].stacks >= .stacks * 0.99' \
        "$SCRATCH/answer"
    footprint >"$SCRATCH/after"
    is "$JVM_NAME: nothing is mapped or opened in it" "$(diff "$SCRATCH/before" "$SCRATCH/after" |
        grep -v 'modules\|\.jsa\|libzip\|/classes\|libj\|libn' | grep '^>')" ""
    # With the JVM asked itself: this opens its socket.
    each=$("$JVM_HOME/bin/javap" -p -cp "$AGENT_CLASSES" ChurnVictim_0000000 | grep -c '(')
    generated=$(jcmd "$JVM_HOME" "$JVM_PID" VM.class_hierarchy | grep -c ChurnVictim_)
    is "$JVM_NAME: generated classes and their methods, exactly" \
        "$(jq -c '.families[] | select(.family == "ChurnVictim_#") | [.classes, .methods]' "$SCRATCH/methods")" \
        "[$generated,$((generated * each))]"
    check "$JVM_NAME: all of them" test "$generated" -ge 3000
    jvm_end 0

    start "$jdk" cpu cpu 300 -Dpause=50 -Dcalm="$SCRATCH/$jdk.calm" || continue
    touch "$GO"
    # At first a JVM that has little of a processor mostly compiles.
    wait_for 30 awk '{ exit !($14 + $15 >= 100) }' "/proc/$JVM_PID/stat"
    observe cpu --for 3s --cpu-interval 1ms --json
    wait $OBSERVER
    is "$JVM_NAME: cpu" "$? $(head -c 200 "$SCRATCH/error")" "0 "
    check "$JVM_NAME: nearly all of it in one method" jq -e '.stacks > 100 and
        ([.methods[] | select(.name == "Observed.burn") | .self] | add) > .samples * 0.7' \
        "$SCRATCH/answer"
    check "$JVM_NAME: 97 % of stacks are whole" jq -e '.outcomes[0].stacks >= .stacks * 0.97' \
        "$SCRATCH/answer"
    touch "$SCRATCH/$jdk.calm" # half the work from now on
    "$NMTWATCH" observe "$JVM_PID" cpu --for 300ms -o "$SCRATCH/$jdk.html" 2>"$SCRATCH/error"
    is "$JVM_NAME: a flame graph" "$? $(cat "$SCRATCH/error")" "0 "
    contains "$JVM_NAME: with the method in it" "$(cat "$SCRATCH/$jdk.html")" "Observed.burn"
    "$NMTWATCH" observe "$JVM_PID" cpu --for 300ms --cpu-interval 2ms -o "$SCRATCH/$jdk.pb.gz" 2>"$SCRATCH/error"
    is "$JVM_NAME: a profile for pprof" "$? $(cat "$SCRATCH/error")" "0 "
    contains "$JVM_NAME: with the method in it" "$(zcat "$SCRATCH/$jdk.pb.gz" | tr -c '[:print:]' ' ')" \
        "Observed.burn"
    collector='(VM Thread|GC Thread#[0-9*]+|G1 [A-Za-z ]+(#[0-9*]+)?)'
    for _ in 1 2 3; do # whether a collector is met depends on the load of the machine
        "$NMTWATCH" observe "$JVM_PID" cpu --for 60s --cpu-interval 1ms -o "$SCRATCH/$jdk.txt" 2>"$SCRATCH/error" &
        observer=$!
        for _ in 1 2 3 4 5; do jcmd "$JVM_HOME" "$JVM_PID" GC.run; done >"$SCRATCH/gc" 2>&1
        kill -INT $observer
        wait $observer
        ! grep -qE "^$collector;" "$SCRATCH/$jdk.txt" || break
    done
    check "$JVM_NAME: a thread of a collector is the root of its stacks" \
        grep -qE "^$collector;" "$SCRATCH/$jdk.txt"
    is "$JVM_NAME: and no root is unknown" "$(grep -c '^\[unknown\] \[' "$SCRATCH/$jdk.txt")" 0
    # `go tool pprof`, where Debian's golang is installed: 450 MB that set-up does not ask for.
    for pprof in /usr/lib/go-*/pkg/tool/linux_*/pprof; do
        [ ! -x "$pprof" ] || is "$JVM_NAME: go tool pprof has it on top" \
            "$("$pprof" -top "$SCRATCH/$jdk.pb.gz" 2>/dev/null | awk '/^ *flat / { getline; print $NF; exit }')" "Observed.burn"
    done
    push_tests
    jvm_enough
    jvm_wait result
    jvm_end 0

    # 64 KB arrays: outside of TLABs or each a new one.
    start "$jdk" allocate allocate 400 -Xmx512m -XX:+UseSerialGC || continue
    observe alloc --for 60s --json
    wait_for 20 attached bpf
    sleep 1
    touch "$GO"
    jvm_wait result
    kill -INT $OBSERVER
    wait $OBSERVER
    check "$JVM_NAME: what is allocated most" jq -e \
        '(.methods | map(select(.kind == "class")) | max_by(.self) | .name) == "long[]"' "$SCRATCH/answer"
    check "$JVM_NAME: and where" jq -e 'any(.methods[]; .name == "Observed.fill")' "$SCRATCH/answer"
    jvm_end 0

    # What grows, by who makes it: zlib's streams that nobody ends, a JNI library called by Java and one in a
    # thread of its own, direct buffers, and what malloc keeps in the arenas of 200 threads.
    JVM_WRAPPER=(env MALLOC_ARENA_MAX=256)
    start "$jdk" memory memory 200 -Xms128m -XX:+AlwaysPreTouch -Dlibrary="$AGENT_CLASSES/libnative_leak.so" || continue
    JVM_WRAPPER=()
    observe rss --for 60s --json
    wait_for 20 attached perf_event
    sleep 1
    anonymous=$(awk '/^RssAnon:/ { print $2 }' "/proc/$JVM_PID/status")
    touch "$GO"
    jvm_wait result
    kill -INT $OBSERVER
    wait $OBSERVER
    anonymous=$(($(awk '/^RssAnon:/ { print $2 }' "/proc/$JVM_PID/status") - anonymous))
    check "$JVM_NAME: the rows add up" jq -e '([.growth[].bytes] | add) == .count' "$SCRATCH/answer"
    check "$JVM_NAME: to the growth of anonymous RSS, $anonymous KB" jq -e --argjson kb $anonymous \
        '.count > $kb * 1024 * 0.9 and .count < $kb * 1024 * 1.1' "$SCRATCH/answer"
    # 64 Deflaters of 90 KB, 256 Inflaters of 40 KB, 16 MB leaked by JNI, 16 MB of direct buffers, 200 x 256 KB
    while read -r method kb row; do
        check "$JVM_NAME: $method has about $kb KB" jq -e --arg name "Observed.$method" --argjson kb "$kb" '
            [.methods[] | select(.name == $name) | .total / 1024 / $kb] | length == 1 and .[0] > 0.8 and .[0] < 1.3' \
            "$SCRATCH/answer"
        check "$JVM_NAME: of '$row'" jq -e --arg row "$row" --argjson kb "$kb" \
            '[.growth[] | select(.of | test($row)) | .bytes / 1024] | add > $kb * 0.8' "$SCRATCH/answer"
    done <<'LEAKS'
deflater 5700 outside of NMT
inflater 9600 outside of NMT
leak 16384 outside of NMT
buffer 16384 ^Other
scatter 51200 malloc arenas outside of NMT
LEAKS
    check "$JVM_NAME: 1 024 classes, each with a loader of its own" jq -e '[.growth[] | select(.of == "Metaspace") | .bytes]
        | add > 3000000 and add < 10000000' "$SCRATCH/answer"
    check "$JVM_NAME: grown by the application's line, in the library's function" jq -e '
        any(.growers[]; (.by | startswith("Observed.deflater:")) and (.in | test("libz")) and .outside_nmt and .bytes > 3000000)' \
        "$SCRATCH/answer"
    check "$JVM_NAME: a leak by a library's own thread has its name" jq -e \
        'any(.methods[]; .name == "leak [libnative_leak]" and .total > 1000000)' "$SCRATCH/answer"
    check "$JVM_NAME: what malloc keeps, with its arenas" jq -e '.arenas.count > 200 and
        .arenas.trim_bytes > 200 * 190000 and .arenas.trim_bytes < .arenas.free_bytes and (.arenas.partial | not)' \
        "$SCRATCH/answer"
    kept=$(jq ".arenas.trim_bytes // 0" "$SCRATCH/answer")
    rss=$(awk '/^RssAnon:/ { print $2 }' "/proc/$JVM_PID/status")
    if jcmd "$JVM_HOME" "$JVM_PID" System.trim_native_heap >"$SCRATCH/trim" 2>&1; then
        rss=$((rss - $(awk '/^RssAnon:/ { print $2 }' "/proc/$JVM_PID/status")))
        check "$JVM_NAME: and malloc_trim gives as much back: $rss of $((kept / 1024)) KB" \
            test $rss -ge $((kept / 1024 * 8 / 10)) -a $rss -le $((kept / 1024 * 12 / 10 + 2048))
    fi
    jvm_end 0

    # Killed while it grows, as the kernel does when memory is short: what was touched until then is shown.
    start "$jdk" killed memory 200 -Xms128m -Dlibrary="$AGENT_CLASSES/libnative_leak.so" || continue
    observe rss --for 60s --json
    wait_for 20 attached perf_event
    sleep 1
    touch "$GO"
    jvm_wait result
    kill_jvm "$JVM_PID"
    wait $OBSERVER
    is "$JVM_NAME: the growth of one that was killed" "$? $(head -c 200 "$SCRATCH/error")" "0 "
    check "$JVM_NAME: with the line and the library of a leak" jq -e '.ended and ([.growth[].bytes] | add) == .count and
        any(.growers[]; (.by | startswith("Observed.deflater:")) and .in != null and .bytes > 3000000)' "$SCRATCH/answer"

    # A thread that starts meanwhile starts, and is seen.
    start "$jdk" threads threads 100 || continue
    observe cpu --for 60s --cpu-interval 1ms --json
    wait_for 20 attached perf_event
    sleep 1
    touch "$GO"
    jvm_wait result
    lacks_in "$JVM_NAME: threads start" "$JVM_LOG" "Failed to start"
    kill -INT $OBSERVER
    wait $OBSERVER
    check "$JVM_NAME: new threads are seen" jq -e 'any(.methods[]; .name == "Observed.burn")' "$SCRATCH/answer"

    # Killed: the probes go with it.
    observe classes --for 60s
    wait_for 20 attached bpf
    kill -KILL $OBSERVER
    wait $OBSERVER 2>/dev/null
    check "$JVM_NAME: lives on when the observer is killed" kill -0 "$JVM_PID"
    jvm_end 0
done

# Without rights.
if [ "$(id -u)" = 0 ]; then
    start "$(agent_jdks | head -n 1)" rights cpu 0
    cp "$NMTWATCH" "$SCRATCH/observer"
    chmod 755 "$SCRATCH" "$SCRATCH/observer"
    setpriv --reuid 65534 --regid 65534 --clear-groups "$SCRATCH/observer" observe "$JVM_PID" cpu \
        >"$SCRATCH/answer" 2>&1
    code=$?
    check "another user is refused ($code)" test $code -ne 0
    is "in one line" "$(wc -l <"$SCRATCH/answer")" 1
    touch "$GO"
    jvm_wait result
    jvm_end 0
fi
done_testing
