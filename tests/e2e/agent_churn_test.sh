#!/bin/bash
# Classes come and go under 1 kHz sampling, with several collectors: nothing happens to the application,
# and what the agent knew of a class goes when the class has gone.
# timeout: 1800
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

count=$((6000 * AGENT_SCALE))
collectors="G1 Z" # agent_unloaded and agent_endurance have the others
[ "$AGENT_SCALE" = 1 ] || collectors="Serial Parallel G1 Z"
for jdk in $(agent_jdks); do
    jvm_start "$jdk" alone ClassChurn $count
    jvm_wait result 600
    expected=$(jvm_result)
    jvm_end 0
    for collector in $collectors; do
        file=$SCRATCH/$jdk-$collector.jfr
        jvm_start "$jdk" $collector "-agentpath:$AGENT=start,cpu=1ms,chunk=300ms,file=$file" \
            -XX:+Use${collector}GC ClassChurn $count
        if jvm_wait result 600; then
            is "$JVM_NAME: $count classes came and went" "$(jvm_result)" "$expected"
            sleep 1.5 # chunks without these classes
            memory=$(profile memory --json)
            is "$JVM_NAME: the account adds up" \
                "$(jq -c '[.total.reserved_bytes == ([.components[].reserved_bytes] | add), .damaged_blocks]' <<<"$memory")" "[true,0]"
            forgotten=$(jq '[.components[] | select(.name == "line_tables" or .name == "method_map")
                | .reserved_bytes] | add' <<<"$memory")
            if [ "$forgotten" -lt 300000 ]; then
                pass "$JVM_NAME: methods that are gone are forgotten ($forgotten bytes left)"
            else
                fail "$JVM_NAME: methods that are gone are forgotten" "$forgotten bytes are left"
            fi
            profile_stops_right "$file"
            if jfr_text "$file" | grep -q 'ChurnVictim_[0-9]*\.mix(long)'; then
                pass "$JVM_NAME: they are seen"
            else
                fail "$JVM_NAME: they are seen" "no sample with a method of theirs"
            fi
        fi
        jvm_end 0
        rm -f "$file"*
    done
done
done_testing
