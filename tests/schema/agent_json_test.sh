#!/bin/bash
# JSON of the agent: every answer that `nmtwatch profile` prints about a real JVM, and the agent's
# figures in a watch, a check and a report, against docs/schema.
# timeout: 300

. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh
AGENT_FLAGS+=(-XX:TieredStopAtLevel=1) # half the CPU, and the tier is no matter here
build=${BUILD:-build}
checker=$build/schema_check
check "schema_check is built" make -s BUILD="$build" "$checker"

answers() { # SCHEMA WHAT COMMAND...: a text on standard output that the schema describes
    local schema=$1 what=$2
    shift 2
    if "$@" >"$SCRATCH/text" 2>"$SCRATCH/error"; then
        check "$JVM_NAME: $what" "$checker" --closed "docs/schema/$schema.json" "$SCRATCH/text"
    else
        fail "$JVM_NAME: $what" "$(cat "$SCRATCH/error")"
    fi
}

text() { # FILTER: of the last answer
    jq -r "$1" "$SCRATCH/text"
}

beside_nmt() { # WHERE FILTER: the agent's three figures
    is "$JVM_NAME: $1 shows what the agent costs" "$(text "$2 | map(type) | join(\" \")")" \
        "number number number"
}
figures='[.agent_reserved_bytes, .agent_resident_bytes, .agent_jmethod_id_bytes]'

for jdk in $(agent_jdks); do
    file=$SCRATCH/$jdk.jfr
    jvm_start "$jdk" schema -XX:NativeMemoryTracking=summary -Dpause=20 Checksum 1000000
    jvm_wait ready || continue
    answers check "check without the agent" "$NMTWATCH" check --json "$JVM_PID"
    is "$JVM_NAME: where there is no agent there are no figures of it" \
        "$(text ".sample | $figures | map(type) | join(\" \")")" "null null null"

    answers agent-status start profile start --cpu 1ms --wall 10ms --alloc 64k --file "$file" --json
    sleep 1
    answers agent-status status profile status --json
    is "$JVM_NAME: it is running" "$(text .running)" true
    answers agent-memory memory profile memory --json
    answers agent-memory "memory --sites at level summary" profile memory --sites --json
    is "$JVM_NAME: no sites are kept there" "$(text '"\(.level) \(.sites)"')" "summary []"
    answers agent-status dump profile dump --json
    is "$JVM_NAME: with allocations in it" "$(text '.alloc | .samples > 0 and .total_bytes > 0')" true
    answers profile-alloc alloc profile alloc --json
    is "$JVM_NAME: with classes in it" "$(text '.classes | length > 3')" true
    answers check "check with the agent" "$NMTWATCH" check --json "$JVM_PID"
    beside_nmt check ".sample | $figures"
    "$NMTWATCH" watch --json --for 1s --record "$SCRATCH/$jdk.nmt.gz" "$JVM_PID" >"$SCRATCH/lines"
    check "$JVM_NAME: watch" "$checker" --closed --lines docs/schema/watch-line.json "$SCRATCH/lines"
    zcat "$SCRATCH/$jdk.nmt.gz" >"$SCRATCH/recorded"
    check "$JVM_NAME: recording" "$checker" --closed --lines docs/schema/recording-line.json \
        "$SCRATCH/recorded"
    "$NMTWATCH" report "$SCRATCH/$jdk.nmt.gz" -o "$SCRATCH/report-$jdk" --format json >/dev/null
    answers report report.json cat "$SCRATCH/report-$jdk/report.json"
    beside_nmt "a report" '[.agent.reserved_bytes, .agent.resident_bytes, .agent.jmethod_id_bytes]'
    answers agent-stop stop profile stop --json
    is "$JVM_NAME: it runs no more" "$(text .status.running)" false
    answers agent-status "status afterwards" profile status --json
    answers agent-memory "memory afterwards" profile memory --json
    reserved=$(text .total.reserved_bytes)
    answers check "check afterwards" "$NMTWATCH" check --json "$JVM_PID"
    # The answer to a command is memory of the agent, too, while it is made.
    is "$JVM_NAME: check shows what memory says" \
        "$(text ".sample.agent_reserved_bytes - $reserved | fabs < 65536")" true

    check "$JVM_NAME: starts at level detail" profile start --memory-level detail --cpu 1ms --file "$file"
    answers agent-memory "memory --sites" profile memory --sites --json
    is "$JVM_NAME: sites name component and function, with live blocks" \
        "$(text '.sites | (length > 10) and all(.bytes >= 0 and .blocks > 0) and
            any(.component == "jfr_writer" and (.frames | index("chunk_file_open") != null))')" true
    is "$JVM_NAME: they add up to no more than the account has" \
        "$(text '([.sites[].bytes] | add) <= .total.reserved_bytes')" true
    answers agent-memory "memory --baseline" profile memory --baseline --json
    is "$JVM_NAME: there was none before" "$(text .since_baseline)" null
    sleep 1
    check "$JVM_NAME: dump" profile dump
    answers agent-memory "memory --sites after a baseline" profile memory --sites --json
    is "$JVM_NAME: it tells what has changed since" \
        "$(text '.since_baseline | .age_ms >= 1000 and .components[-1].name == "total" and
            .components[-1].allocations > 0 and (.sites | type == "array")')" true
    is "$JVM_NAME: and not what the answer itself takes" \
        "$(text '[.since_baseline.sites[] | select(.frames | index("profiler_memory_json") != null)]')" "[]"
    contains "$JVM_NAME: as a table" "$(profile memory --sites)" "chunk_file_open"
    contains "$JVM_NAME: with its growth" "$(profile memory)" "since the baseline, "
    check "$JVM_NAME: stop" profile stop

    answers agent-stop "the one-shot" "$NMTWATCH" profile --for 1s "$JVM_PID" --cpu 1ms --wall 10ms \
        -o "$SCRATCH/top.json" --json
    answers profile-top "its table" cat "$SCRATCH/top.json"
    is "$JVM_NAME: with methods in it" "$(text '(.cpu.methods | length > 0) and (.wall.samples > 0)')" \
        true
    answers profile-classes "which code makes classes" profile classes --for 1s --json
    answers profile-live "which objects stay" profile live --for 1s --alloc 16k --json
    profile start --live 100 --classes true --file "$SCRATCH/both.jfr" >/dev/null
    answers agent-status "status with classes and live objects" profile status --json
    profile stop >/dev/null
    answers profile-alloc "allocations on demand" profile alloc --for 1s --json
    head -c 100 "$file" >"$SCRATCH/tail"
    answers repair "repair of what is whole" "$NMTWATCH" repair --json "$file"
    is "$JVM_NAME: nothing is cut" "$(text .cut_bytes)" 0
    cat "$SCRATCH/tail" >>"$file"
    answers repair "repair of a torn tail" "$NMTWATCH" repair --json "$file"
    is "$JVM_NAME: it is cut" "$(text .cut_bytes)" 100

    check "$JVM_NAME: the agent's figures are in /tmp" test -s "/tmp/.nmtagent_$JVM_PID"
    kill "$JVM_PID"
    wait_for 30 eval "! kill -0 $JVM_PID"
    is "$JVM_NAME: and go when it ends" "$(ls "/tmp/.nmtagent_$JVM_PID" 2>/dev/null)" ""
done
done_testing
