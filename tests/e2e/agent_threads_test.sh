#!/bin/bash
# Names of threads, of many threads: 2 000 that live and 5 000 that end (with AGENT_SCALE 5 000 and 12 000),
# renamed by others and by themselves; what naming them costs, and that commands are answered meanwhile.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

file=$SCRATCH/app.jfr
names=$SCRATCH/names
# On a busy machine the JVM starts and renames threads slowly, under a JVMTI agent more so.
live=2000 ended=5000
[ "${AGENT_SCALE:-1}" = 1 ] || live=5000 ended=12000

if [ "$(ulimit -u)" != unlimited ] && [ "$(ulimit -u)" -lt $((live + 1000)) ]; then
    skip_all "refused: this user may not have $live threads: ulimit -u is $(ulimit -u)"
fi

threads_cpu_ticks() { # NAME: of the JVM's thread
    local comm
    comm=$(grep -lx -m 1 "$1" /proc/"$JVM_PID"/task/*/comm 2>/dev/null | head -n 1)
    [ -n "$comm" ] || { echo 0 && return; }
    sed 's/.*) //' "${comm%/comm}/stat" | awk '{ print $12 + $13 }'
}

# Of a printed recording: "TID NAME" of each thread with an allocation. Threads of the JVM itself and of
# the test's frame are not in the workload's list.
sampled_threads() {
    "$JVM_JFR" print --events jdk.ObjectAllocationSample --json --stack-depth 1 "$file" |
        jq -r '.recording.events[].values.eventThread | "\(.osThreadId) \(.javaName)"' | sort -u
}

all_names() {
    local found wrong
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
    sleep 1
    before=$(threads_cpu_ticks nmtagent)
    sleep 3
    after=$(threads_cpu_ticks nmtagent)
    # A pass over all threads for each name took 400 ticks for two chunks.
    if [ $((after - before)) -le 100 ]; then
        pass "$JVM_NAME: 3 chunks with 1500 names take $((after - before)) ticks"
    else
        fail "$JVM_NAME: 3 chunks with 1500 names" "$((after - before)) ticks of the agent's thread"
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
