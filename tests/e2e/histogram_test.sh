#!/bin/bash
# Class histograms and counts of methods of real JVMs: told before, inside the budget, no GC, what grows is ranked.
# timeout: 60
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

for jdk in $(agent_jdks); do
    jvm_start "$jdk" histogram -XX:NativeMemoryTracking=summary LiveLeak 1
    jvm_wait ready || done_testing
    eval "pid_$jdk=$JVM_PID"
done
for jdk in $(agent_jdks); do
    pid=pid_$jdk
    spawn "$NMTWATCH" watch "${!pid}" --json --histogram 2s --methods 2s --for 6s --cpu-pressure ignore \
        --pause-budget 5s/10min >"$SCRATCH/watch$jdk"
    spawn "$NMTWATCH" record "${!pid}" --histogram 2s --for 4s --cpu-pressure ignore \
        --pause-budget 1ms/10min -o "$SCRATCH/refused$jdk.rec" >/dev/null
done
sleep 8
for jdk in $(agent_jdks); do
    lines=$SCRATCH/watch$jdk
    pid=pid_$jdk
    check "$jdk: histograms come" jq -es '[.[] | select(.type == "histogram")] | length >= 2' "$lines"
    check "$jdk: what each will cost is told before the first" jq -es '
        (map(.type == "note" and (.text // "" | startswith("class histograms, every 2.0 s: each stops"))) | index(true))
        < (map(.command == "GC.class_histogram -all") | index(true))' "$lines"
    check "$jdk: a histogram is no GC" jq -es '[.[].gc_old | values] | unique | length == 1' "$lines"
    check "$jdk: the class that leaks has grown, and each of its objects is a kilobyte" jq -es '
        [.[] | select(.type == "histogram")][-1].rows[] | select(.class == "LiveLeak$Leaky")
        | .instances_growth > 100 and (.bytes / .instances | . > 1000 and . < 1040)' "$lines"
    check "$jdk: most bytes first" jq -es '[.[] | select(.type == "histogram")][-1].rows | map(-.bytes) | . == sort' "$lines"
    is "$jdk: methods are counted from outside" \
        "$(jq -cs '[.[] | select(.type == "tick" and .methods).methods_source] | unique' "$lines")" "[2]"
    "$NMTWATCH" observe "${!pid}" methods --json >"$SCRATCH/methods$jdk"
    is "$jdk: as many methods as observe counts" \
        "$(jq -cs '[.[] | select(.type == "methods")][-1] | [.own_classes, .own_methods]' "$lines")" \
        "$(jq -c '[.own_classes, .own_methods]' "$SCRATCH/methods$jdk")"
    is "$jdk: the families are all of it" "$(jq -cs '[.[] | select(.type == "methods")][-1]
        | (.families | length == 32) and (.families | map(-.methods) | . == sort)' "$lines")" true
    check "$jdk: over the budget none is taken, which is said" jq -es '
        any(.[]; .type == "cost" and .measured_us == -1 and (.skipped | contains("of the budget")))
        and all(.[]; .type != "histogram")' <(zcat "$SCRATCH/refused$jdk.rec")
    check "$jdk: with the budget that allows one" jq -es '
        any(.[]; .type == "note" and (.text | test("--pause-budget 1s/600s allows one")))' <(zcat "$SCRATCH/refused$jdk.rec")
done
done_testing
