#!/bin/bash
# bench-sample: what a sample costs: CPU time of a fixed load under the agent beyond that without it.
#
# usage: [BASE=COMMIT] [GROUPS_OF=7] [INTERVAL=1ms] [ROUNDS=60000] bench/sample.sh BUILD
#
# Three JVMs side by side in each group: without an agent, with the agent of BASE, with that of this
# tree. The load is tests/workloads/agent/RandomStacks, one thread, stacks of 40 frames that hardly
# ever repeat, the worst a storage of stacks can meet; compilers work in the foreground. Prints medians of the
# groups: microseconds of CPU a sample, user and system. No goal is a condition: exit status 1 means
# that a measurement failed.
. "$(dirname "$0")/../../tests/tap.sh"
NMTWATCH=${1:-build}/nmtwatch
. tests/e2e/agent.sh # AGENT, AGENT_CLASSES, agent_jdk

base=${BASE:-daf1d46}
interval=${INTERVAL:-1ms}
jdk=$(agent_jdk 17)
declare -A library=([none]="" [this]=$AGENT)
if git cat-file -e "$base^{commit}" 2>/dev/null; then
    mkdir "$SCRATCH/base"
    git archive "$base" | tar x -C "$SCRATCH/base"
    make -s -C "$SCRATCH/base" build/libnmtagent.so >"$SCRATCH/make.log" 2>&1 || bail "$base was not built"
    library[base]=$SCRATCH/base/build/libnmtagent.so
fi

run() { # WHICH: "user system samples" in its file
    local options=() TIMEFORMAT='%U %S'
    [ -z "${library[$1]}" ] ||
        options=("-agentpath:${library[$1]}=start,cpu=$interval,file=$SCRATCH/$1.jfr")
    { time "$jdk/bin/java" -Xms128m -Xmx128m -XX:+UseSerialGC -Xbatch "${options[@]}" \
        -cp "$AGENT_CLASSES" RandomStacks "${ROUNDS:-60000}" 1 >/dev/null 2>&1; } 2>"$SCRATCH/$1.time"
}

for ((group = 0; group < ${GROUPS_OF:-7}; group++)); do
    for which in "${!library[@]}"; do run "$which" & done
    wait
    for which in "${!library[@]}"; do
        samples=0
        [ "$which" = none ] ||
            samples=$("$jdk/bin/jfr" summary "$SCRATCH/$which.jfr" | awk '$1 == "jdk.ExecutionSample" { print $2 }')
        echo "$which $(tail -n 1 "$SCRATCH/$which.time") $samples" >>"$SCRATCH/group$group"
    done
    awk '{ user[$1] = $2; sys[$1] = $3; n[$1] = $4 }
        END { for (w in n) if (n[w] > 0)
            print w, (user[w] - user["none"]) * 1e6 / n[w], (sys[w] - sys["none"]) * 1e6 / n[w], n[w],
                (user[w] + sys[w]) / (user["none"] + sys["none"]) }' "$SCRATCH/group$group" >>"$SCRATCH/all"
done

echo "us of CPU a sample at $interval: user, system; samples; CPU against none (medians of ${GROUPS_OF:-7} groups)"
for which in base this; do
    [ -n "${library[$which]-}" ] || continue
    for column in 2 3 4 5; do
        awk -v which="$which" -v column=$column '$1 == which { print $column }' "$SCRATCH/all" | sort -g |
            awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
    done | xargs printf '  %-5s %6.1f %6.1f  %6.0f  %.3f\n' "$which"
done
