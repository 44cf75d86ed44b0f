#!/bin/bash
# Who allocates what: against the truth that a workload prints of itself, on demand and from the
# start; what C2 does away with is not seen.
# timeout: 900
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

result() { # KEY: of the workload
    jvm_result | tr ' ' '\n' | sed -n "s/^$1=//p"
}

answer() { # FILTER: of the last answer
    jq -r "$1" "$SCRATCH/alloc.json"
}

# The classes of the mix, how far they are from the truth in standard errors, the furthest first. Of
# what is always sampled there is no error: what the JDK itself allocates of it is 0.3 %; and the one
# array of 4 MB in 3 000 that is missed all the same is many of its standard errors.
distances() {
    jvm_result | tr ' ' '\n' | jq -R 'capture("^(?<class>.+)=(?<truth>[0-9]+)$")' |
        jq -sr --slurpfile got "$SCRATCH/alloc.json" '
            (.[] | select(.class != "total")) as $of |
            ($got[0].alloc.classes[] | select(.class == $of.class)) as $row |
            (if $of.class == "long[]" then 4194304 else 0 end) as $missed |
            ([(($row.bytes - ($of.truth | tonumber)) | fabs) - 0.003 * ($of.truth | tonumber) -
                $missed, 0] | max) / ([$row.se_bytes, 1] | max) | "\(. * 100 | round / 100) \($of.class)"' |
        sort -rn
}

beyond() { # FACTOR: so many classes are further away
    distances | awk -v factor="$1" '$1 > factor { n++ } END { print n + 0 }'
}

# A mix from 16 bytes to 4 MB, 200 MB of each, seen from start to end.
mix() { # INTERVAL
    jvm_start "$jdk" "mix-$1" "-agentpath:$AGENT=start,alloc=$1,cpu=0,chunk=1s,file=$file" \
        -Xmx300m AllocMix 200
    jvm_wait result || return
    profile stop --json >"$SCRATCH/alloc.json" 2>"$SCRATCH/error"
    silent "$JVM_NAME: stops" cat "$SCRATCH/error"
    within "$JVM_NAME: bytes in all, per mille of what the JVM counts" \
        "$(($(answer .alloc.total_bytes) * 1000 / $(result total)))" 995 1005
    within "$JVM_NAME: all classes together, per mille of it" \
        "$(answer ".alloc | ([.classes[].bytes] | add) * 1000 / .total_bytes | round")" 990 1010
    is "$JVM_NAME: nothing is lost" "$(answer '.alloc | .lost + .threads_refused')" 0
    is "$JVM_NAME: each kind of the mix is there" "$(distances | wc -l)" 9
    is "$JVM_NAME: the recording has them all" \
        "$("$JVM_JFR" summary "$file" | awk '$1 == "jdk.ObjectAllocationSample" { print $2 }')" \
        "$(answer .alloc.samples)"
    is "$JVM_NAME: each with its own size" "$("$JVM_JFR" print --events ObjectAllocationSample --stack-depth 1 "$file" |
        awk '/objectClass = AllocMix.Bytes80/ { mine = 1 } mine && /allocationSize/ { print $3, $4; mine = 0 }' |
        sort -u)" "80 bytes"
    jvm_end 0
}

within() { # WHAT NUMBER LEAST MOST
    if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then
        pass "$1: $2"
    else
        fail "$1" "$2 is not from $3 to $4"$'\n'"$(distances)"
    fi
}

# One of nine beyond three standard errors is one run in forty; beyond five, one in a million.
unbiased() {
    if [ "$(beyond 3)" -le 1 ] && [ "$(beyond 5)" = 0 ]; then
        pass "$JVM_NAME: each class is within three standard errors: $(distances | head -n 1)"
    else
        fail "$JVM_NAME: each class is within three standard errors" "$(distances)"
    fi
}

# Threads that end, and virtual ones on their carriers.
threads() { # NAME ARGUMENT...
    local name=$1
    shift
    jvm_start "$jdk" "$name" "-agentpath:$AGENT=start,alloc=64k,cpu=0,chunk=500ms,file=$file" \
        AllocThreads "$@"
    jvm_wait result || return
    profile stop --json >"$SCRATCH/alloc.json" 2>"$SCRATCH/error"
    silent "$JVM_NAME: stops" cat "$SCRATCH/error"
    within "$JVM_NAME: bytes in all, per mille of what the JVM counts" \
        "$(($(answer .alloc.total_bytes) * 1000 / $(result total)))" 995 1005
    is "$JVM_NAME: nothing is lost" "$(answer '.alloc | .lost + .threads_refused')" 0
    jvm_end 0
}

samples_above() { # NUMBER
    [ "$(profile status --json 2>/dev/null | jq .samples)" -gt "$1" ]
}

# Of a recording that began without them.
cpu_and_wall() {
    local before
    contains "$JVM_NAME: what else stays" "$(profile set --depth 5 2>&1)" "set takes no option depth"
    contains "$JVM_NAME: set needs something to set" "$(profile set 2>&1)" "set what?"
    is "$JVM_NAME: CPU time from now on" \
        "$(profile set --cpu 500us --json | jq -c '[.timer != "none", .cpu_interval_ns, .interval_changes]')" \
        '[true,500000,1]'
    check "$JVM_NAME: it is sampled" wait_for 30 samples_above 20
    is "$JVM_NAME: another interval, by other timers, and the wall clock" \
        "$(profile set --cpu 20ms --wall 5ms --json |
            jq -c '[.timer, .cpu_interval_ns, .wall_interval_ns, .failed_timers]')" '["posix",20000000,5000000,0]'
    before=$(profile status --json | jq .samples)
    check "$JVM_NAME: waiting threads are sampled" wait_for 30 samples_above $((before + 400))
    contains "$JVM_NAME: in words" "$(profile status)" "CPU 20 ms, wall clock 5 ms now, others before"
    is "$JVM_NAME: off again" \
        "$(profile set --cpu 0 --wall 0 --json | jq -c '[.timer, .cpu_interval_ns, .wall_interval_ns, .timers]')" \
        '["none",0,0,0]'
    before=$(profile status --json | jq .samples)
    is "$JVM_NAME: no sample comes any more" "$(profile status --json | jq .samples)" "$before"
    is "$JVM_NAME: no method is forgotten (no_method_cleanup)" \
        "$(profile status --json | jq -c '[.methods.known > 0, .methods.forgotten // 0]')" '[true,0]'
}

# The interval changed in the middle: what was sampled by either stands for what was allocated.
another_interval() {
    jvm_start "$jdk" "set" "-agentpath:$AGENT=start,alloc=2m,cpu=0,chunk=200ms,no_method_cleanup,file=$file" \
        -Xmx300m AllocMix 600
    wait_for 60 eval '[ "$(profile status --json 2>/dev/null | jq ".alloc.samples // 0")" -ge 50 ]'
    profile set --alloc 64k --json >"$SCRATCH/set.json" 2>"$SCRATCH/error"
    is "$JVM_NAME: another interval" \
        "$(cat "$SCRATCH/error")$(jq -c '.alloc | [.interval_bytes, .interval_changes]' "$SCRATCH/set.json")" \
        "[65536,1]"
    cpu_and_wall
    jvm_wait result || return
    contains "$JVM_NAME: status tells it" "$(profile status)" "one each 64 KB now"
    profile stop --json >"$SCRATCH/alloc.json" 2>"$SCRATCH/error"
    within "$JVM_NAME: bytes in all, per mille of what the JVM counts" \
        "$(($(answer .alloc.total_bytes) * 1000 / $(result total)))" 995 1005
    within "$JVM_NAME: samples, in per mille of those at 2 MB" \
        "$(($(answer .alloc.samples) * 1000 / ($(result total) / 2097152)))" 1200 35000
    is "$JVM_NAME: the recording tells each interval, a chunk begins with it" \
        "$("$JVM_JFR" print --json --events nmtagent.Settings "$file" | jq -c '.recording.events | map(.values
            | [.cpuIntervalNanos, .wallIntervalNanos, .allocIntervalBytes]) | reduce .[] as $now ([];
                if .[-1] == $now then . else . + [$now] end)')" \
        '[[0,0,2097152],[0,0,65536],[500000,0,65536],[20000000,5000000,65536],[0,0,65536]]'
    [ "$jdk" -lt 25 ] || unbiased
    jvm_end 0
}

on_demand() {
    jvm_start "$jdk" demand AllocMix 20 2 60
    jvm_wait ready || return
    sleep 1
    is "$JVM_NAME: without a profiler there is no table" \
        "$(profile alloc 2>&1)" "nmtwatch profile: pid $JVM_PID: the agent command failed: it is not loaded: no profiler was started in this JVM"
    profile alloc --for 2s --alloc-interval 64k -o "$SCRATCH/alloc.html" >"$SCRATCH/out" 2>&1
    contains "$JVM_NAME: a table of classes" "$(cat "$SCRATCH/out")" "byte[]"
    is "$JVM_NAME: it says what is wrong with JDK 17's sampler, and only there" \
        "$(grep -c "^note: The sampler of JDK 17 is biased" "$SCRATCH/out")" \
        "$([ "$jdk" = 17 ] && echo 1 || echo 0)"
    contains "$JVM_NAME: a flame graph by bytes" "$(cat "$SCRATCH/alloc.html")" "of objects allocated"
    contains "$JVM_NAME: with classes in it" "$(cat "$SCRATCH/alloc.html")" "AllocMix\$Bytes80"
    contains "$JVM_NAME: it has ended by itself" "$(profile status)" "state         not running"
    is "$JVM_NAME: and has given back its memory" "$(profile memory --json |
        jq '.components[] | select(.name == "alloc_profile") | .reserved_bytes')" 0
    "$NMTWATCH" profile alloc --match "main=Nobody;main=AllocMix*,pid=$JVM_PID" --for 1s --json \
        >"$SCRATCH/alloc.json" 2>"$SCRATCH/error"
    is "$JVM_NAME: found by a rule" "$(answer '"\(.pid) \(.classes | length >= 9)"')" "$JVM_PID true"
    # One that starts while it lasts; by user and environment, as the rules of serve.
    "$NMTWATCH" profile alloc --match "main=AllocMix,user=$(id -un),env:MATCH_ME=y*" --for 60s \
        --json >"$SCRATCH/alloc.json" 2>"$SCRATCH/error" &
    local asked=$! first=$JVM_PID out=$JVM_OUT log=$JVM_LOG name=$JVM_NAME later
    MATCH_ME=yes jvm_start "$jdk" later AllocMix 20 2 60
    later=$JVM_PID
    wait_for 30 eval 'profile status 2>&1 | grep -q "^allocations"'
    sleep 1
    kill -INT $asked
    wait $asked
    is "$JVM_NAME: a JVM that started meanwhile is taken, others are not" \
        "$? $(answer '"\(.pid) \(.classes | length >= 9)"')" "0 $later true"
    kill_jvm "$later"
    JVM_PID=$first JVM_OUT=$out JVM_LOG=$log JVM_NAME=$name
    check "$JVM_NAME: starts with allocations" profile start --alloc 512k --cpu 10ms --file "$file"
    contains "$JVM_NAME: a profiler at work is left alone" "$(profile alloc --for 1s 2>&1)" \
        "already running"
    sleep 1
    profile alloc --json >"$SCRATCH/alloc.json"
    is "$JVM_NAME: its table can be asked for" "$(answer '.classes | length >= 9')" true
    check "$JVM_NAME: it stops" profile stop
    check "$JVM_NAME: starts with an engine that cannot walk here" \
        profile start --alloc 512k --engine agct --jmethodid none --file "$file"
    contains "$JVM_NAME: and says so" "$(profile status)" "without stacks"
    contains "$JVM_NAME: also at the end" "$(profile stop)" "samples have no stack"

    "$NMTWATCH" profile "$JVM_PID" alloc --for 60s --json >"$SCRATCH/alloc.json" 2>"$SCRATCH/error" &
    wait_for 30 eval 'profile status 2>&1 | grep -q "^allocations"'
    kill -INT $!
    wait $!
    is "$JVM_NAME: interrupted, it stops and reports" "$? $(answer '.total_bytes > 0')" "0 true"
    contains "$JVM_NAME: and nothing goes on" "$(profile status)" "state         not running"

    "$NMTWATCH" profile "$JVM_PID" alloc --for 60s --end-after 2s >"$SCRATCH/out" 2>&1 &
    wait_for 30 eval 'profile status 2>&1 | grep -q "^allocations"'
    kill -KILL $!
    wait $! 2>/dev/null
    check "$JVM_NAME: with nobody left to stop it, it ends by itself" \
        wait_for 10 eval 'profile status | grep -q "^state *not running"'
    rm -rf "$(dirname "$(profile status --json | jq -r .file)")"

    check "$JVM_NAME: starts with less memory than it needs" profile start --memory 8m \
        --alloc 1k --live 1048576 --cpu 1ms --chunk 1s --file "$file"
    check "$JVM_NAME: sheds load" wait_for 20 eval 'profile status | grep -q "^breaker *shedding"'
    sleep 1
    profile alloc --json >"$SCRATCH/alloc.json"
    is "$JVM_NAME: what it did not look at is in no total" "$(answer \
        '.stopped_early and (.total_bytes | . > 0) and .total_bytes < 1.2 * ([.classes[].bytes] | add)')" true
    contains "$JVM_NAME: which is said" "$(profile stop)" "note: The agent stopped sampling"
    "$NMTWATCH" profile "$JVM_PID" alloc --for 60s >"$SCRATCH/out" 2>&1 &
    wait_for 30 eval 'profile status 2>&1 | grep -q "^allocations"'
    kill_jvm "$JVM_PID"
    wait $!
    is "$JVM_NAME: where the JVM ends, it ends" $? 12
}

scalar_replaced() {
    jvm_start "$jdk" escape AllocEscape
    jvm_wait ready || return
    profile alloc --for 2s --alloc-interval 16k --json >"$SCRATCH/alloc.json"
    is "$JVM_NAME: what C2 does away with is not seen, what stays is" \
        "$(answer '[.classes[] | select(.class == "AllocEscape$Kept" and .samples > 100),
            select(.class == "AllocEscape$Gone") | .class] | join(" ")')" 'AllocEscape$Kept'
    kill_jvm "$JVM_PID"
}

for jdk in $(agent_jdks); do
    file=$SCRATCH/$jdk.jfr
    mix 512k
    [ "$jdk" -lt 25 ] || unbiased
    mix 64k
    [ "$jdk" -lt 25 ] || unbiased
    threads short 1000
    [ "$jdk" -lt 21 ] || threads virtual 1000 virtual
    another_interval
    on_demand
    scalar_replaced
done
done_testing
