#!/bin/bash
# Names of threads, of many threads: 5 000 that live and 12 000 that end, renamed by others and by
# themselves; what naming them costs, and that commands are answered meanwhile.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

file=$SCRATCH/app.jfr
names=$SCRATCH/names
live=5000
ended=12000
# JDK 25 starts and renames threads under a JVMTI agent more slowly on a busy machine: fewer there, all of them
# with AGENT_SCALE=2.
fewer() {
    [ "${AGENT_SCALE:-1}" -gt 1 ] || { live=2000 && ended=5000; }
}

if [ "$(ulimit -u)" != unlimited ] && [ "$(ulimit -u)" -lt $((live + 1000)) ]; then
    skip_all "refused: this user may not have $live threads: ulimit -u is $(ulimit -u)"
fi

threads_cpu_ticks() { # NAME: of the JVM's thread
    local task
    for task in /proc/"$JVM_PID"/task/*; do
        if [ "$(cat "$task/comm" 2>/dev/null)" = "$1" ]; then
            sed 's/.*) //' "$task/stat" | awk '{ print $12 + $13 }'
            return
        fi
    done
    echo 0
}

# Of a printed recording: "TID NAME" of each thread with an allocation. Threads of the JVM itself and of
# the test's frame are not in the workload's list.
sampled_threads() {
    "$JVM_JFR" print --events jdk.ObjectAllocationSample --json --stack-depth 1 "$file" |
        jq -r '.recording.events[].values.eventThread | "\(.osThreadId) \(.javaName)"' | sort -u
}

all_names() {
    local found wrong
    [ "$jdk" = 17 ] || fewer
    jvm_start "$jdk" names "-Dgo=$SCRATCH/go" ManyThreads $live $ended "$names"
    jvm_wait ready 120 || return
    check "$JVM_NAME: starts" profile start --cpu 10ms --alloc 64k --classes false --file "$file"
    touch "$SCRATCH/go"
    jvm_wait result 180 || return
    rm "$SCRATCH/go"
    check "$JVM_NAME: stops" profile stop
    sort "$names" >"$SCRATCH/known"
    sampled_threads >"$SCRATCH/sampled"
    # Only ids that the workload prints: one name for each, and the right one.
    wrong=$(awk 'NR == FNR { name[$1] = $0; next } $1 in name && name[$1] != $0' \
        "$SCRATCH/known" "$SCRATCH/sampled")
    is "$JVM_NAME: no thread has another name" "$(head -n 5 <<<"$wrong")" ""
    found=$(comm -12 "$SCRATCH/known" "$SCRATCH/sampled" | wc -l)
    if [ "$found" -ge $(((live + ended) * 7 / 10)) ]; then
        pass "$JVM_NAME: $found of $((live + ended)) threads are there by name"
    else
        fail "$JVM_NAME: threads are there by name" \
            "$found of $((live + ended)); $(wc -l <"$SCRATCH/sampled") in the recording, such as
$(comm -13 "$SCRATCH/known" "$SCRATCH/sampled" | head -n 5)"
    fi
    kill_jvm "$JVM_PID"
    rm -f "$file"*
}

renaming() {
    local before after began took
    jvm_start "$jdk" renaming -Drename=true ManyThreads 1500 0 "$names"
    jvm_wait result 120 || return
    check "$JVM_NAME: starts" profile start --cpu 10ms --wall 5ms --wall-threads 64 --chunk 1s \
        --classes false --file "$file"
    sleep 2
    before=$(threads_cpu_ticks nmtagent)
    sleep 5
    after=$(threads_cpu_ticks nmtagent)
    # A pass over all threads for each name took 400 ticks for two chunks.
    if [ $((after - before)) -le 100 ]; then
        pass "$JVM_NAME: 5 chunks with 1500 names take $((after - before)) ticks"
    else
        fail "$JVM_NAME: 5 chunks with 1500 names" "$((after - before)) ticks of the agent's thread"
    fi
    began=$(date +%s%N)
    check "$JVM_NAME: jcmd is answered" timeout 30 "$(agent_jdk "$jdk")/bin/jcmd" "$JVM_PID" VM.version
    check "$JVM_NAME: stop is answered" profile stop
    took=$((($(date +%s%N) - began) / 1000000))
    [ $took -le 10000 ] && pass "$JVM_NAME: both in $took ms" || fail "$JVM_NAME: both" "$took ms"
    kill_jvm "$JVM_PID"
    rm -f "$file"*
}

for jdk in $(agent_jdks); do
    all_names
done
renaming
done_testing
