#!/bin/bash
# nmtwatch triage on real JVMs: whose memory it is, and what it costs to ask.
# timeout: 240
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

libraries=$PWD/build/workloads
need_built "$libraries/jmethodid_agent.so"

jdks=
for jdk in 17 25; do
    if have_jdk $jdk; then
        jdks="$jdks $jdk"
    else
        skip "triage on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
    fi
done
[ -n "$jdks" ] || done_testing

for jdk in $jdks; do
    fleet_start "$jdk" idle --seconds 200
    have_kind groovy-new-shell && fleet_start "$jdk" groovy-new-shell --rate 12 --seconds 200
    have_kind cglib && fleet_start "$jdk" cglib --rate 12 --seconds 200
done
fleet_ready
# Those below do not announce themselves as the fleet's workloads do; all have the same class path.
declare -A OTHER
start_other() { # NAME JDK FLAGS... -- MAIN ARGS...
    local name=$1 home
    home=$(JDK=$2 scripts/workloads.sh jdk)
    shift 2
    spawn "$home/bin/java" -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "$@" >"$SCRATCH/${name//\//-}.log" 2>&1
    OTHER[$name]=$SPAWNED
}
for jdk in $jdks; do
    start_other "leak/$jdk" "$jdk" -XX:NativeMemoryTracking=summary -cp build/workloads/classes \
        workloads.LoadLibrary "$libraries/native_leak.so" 200
    start_other "keep/$jdk" "$jdk" -XX:NativeMemoryTracking=detail -cp build/workloads/classes \
        "-agentpath:$libraries/jmethodid_agent.so=keep" \
        workloads.Workload numbered --mode churn --rate 100 --seconds 200
    # Ours asks for no ids and gives everything back: what detail makes the JVM read is not its own.
    start_other "own/$jdk" "$jdk" -XX:NativeMemoryTracking=detail -cp build/workloads/classes \
        "-agentpath:$(realpath "$(dirname "$NMTWATCH")")/libnmtagent.so=start,engine=vm,cpu=10ms,file=$SCRATCH/own-$jdk.jfr" \
        workloads.Workload numbered --mode churn --rate 300 --seconds 200
    start_other "ids/$jdk" "$jdk" -XX:NativeMemoryTracking=summary -cp build/workloads/classes \
        "-agentpath:$libraries/jmethodid_agent.so" \
        workloads.Workload numbered --mode churn --rate 100 --seconds 200
done
# Without capabilities, like a user of its own.
bare=()
if [ "$(id -u)" = 0 ] && setpriv --bounding-set=-all --inh-caps=-all true 2>/dev/null; then
    bare=(setpriv --bounding-set=-all --inh-caps=-all)
    spawn "${bare[@]}" "$(scripts/workloads.sh jdk)/bin/java" -Xmx128m -XX:NativeMemoryTracking=summary \
        -cp build/workloads/classes workloads.Workload numbered --rate 20 --seconds 200 >"$SCRATCH/bare.log" 2>&1
    OTHER[bare]=$SPAWNED
else
    skip "triage without capabilities" "needs root and setpriv"
fi
sleep 3

# What the loaders cost is part of the answers: also on a loaded machine they are counted.
printf '[watch]\ncpu_pressure = ignore\n' >"$SCRATCH/config"
declare -A RUN
triage() { # NAME PID ARGS...
    local out=$SCRATCH/triage-${1//\//-}
    local before=()
    [ "$1" != bare ] || before=("${bare[@]}")
    "${before[@]}" "$NMTWATCH" triage "$2" --for 25s --config "$SCRATCH/config" -o "$out" --json "${@:3}" >"$out.json" 2>"$out.err" &
    RUN[$1]=$!
}
for name in "${FLEET_NAMES[@]}"; do
    triage "$name" "${FLEET_PID[$name]}"
done
for name in "${!OTHER[@]}"; do
    case $name in
    keep/*) triage "$name" "${OTHER[$name]}" --level thorough ;;
    own/*) triage "$name" "${OTHER[$name]}" --level thorough --observe never ;;
    *) triage "$name" "${OTHER[$name]}" ;;
    esac
done
declare -A CODE
for name in "${!RUN[@]}"; do
    wait "${RUN[$name]}"
    CODE[$name]=$?
done

json() { # NAME FILTER
    jq -r "$2" "$SCRATCH/triage-${1//\//-}.json" 2>&1
}
# From outside, where that may be: else the reason is one line of the step.
observed() { # NAME STEP
    local note
    note=$(json "$1" ".steps[] | select(.step == \"observe $2\") | .note")
    case $note in
    "from outside"*) return 0 ;;
    *"CAP_"* | *"ermi"* | *"not implemented"* | *"cannot do it"*) skip "$1: observed" "refused: $note" ;;
    *) fail "$1: observed" "$note" ;;
    esac
    return 1
}
call_site() { # KIND: whose code asks for its classes
    local method=CglibProxy.proxy text='enhancer.create()'
    [ "$1" = cglib ] || method=GroovyEval.fresh text='shell().parse(RULE)'
    echo "workloads.kinds.$method:$(grep -nF "$text" "tests/workloads/kinds/${method%.*}.java" |
        head -n 1 | cut -d : -f 1)"
}
for jdk in $jdks; do
    is "idle on $jdk: no finding above a note" \
        "$(json "$jdk/idle" '[.findings[] | select(.severity != "INFO")] | length')" 0
    is "idle on $jdk: exit code" "${CODE[$jdk/idle]}" 0
    is "idle on $jdk: a profiler is appropriate" "$(json "$jdk/idle" .suitability)" APPROPRIATE
    for kind in groovy-new-shell:groovy-shell cglib:cglib; do
        have_kind "${kind%:*}" || continue
        name=$jdk/${kind%:*}
        is "$name: the culprit is first" \
            "$(json "$name" '.findings[0] | .id + " " + .family')" "class-explosion ${kind#*:}"
        is "$name: exit code" "${CODE[$name]}" 2
        observed "$name" classes &&
            is "$name: the line that asks for the classes" \
                "$(json "$name" '.findings[0].evidence.asked_for_by')" "$(call_site "${kind%:*}")"
        is "$name: a profiler is not appropriate" "$(json "$name" .suitability)" "NOT APPROPRIATE"
    done
    is "JNI leak on $jdk: not in NMT" \
        "$(json "leak/$jdk" '[.findings[] | select(.id == "memory-outside-nmt")] | length')" 1
    is "JNI leak on $jdk: how much" \
        "$(json "leak/$jdk" '.findings[] | select(.id == "memory-outside-nmt") |
            .evidence.growth_bytes | . > 25e6 and . < 80e6')" true
    if observed "leak/$jdk" rss; then
        is "JNI leak on $jdk: by whom" "$(json "leak/$jdk" '.findings[] |
            select(.id == "memory-outside-nmt") | .evidence.touched_by')" "leak [native_leak]"
    fi
    is "--observe never on $jdk: nothing is" \
        "$(json "own/$jdk" '[.steps[] | select(.step | startswith("observe")) | .step]')" '[]'
    is "--observe never on $jdk: no call site" \
        "$(json "own/$jdk" '[.findings[] | .evidence.asked_for_by // empty]')" '[]'
    contains "agent that forgets Deallocate on $jdk: named" \
        "$(json "keep/$jdk" '.findings[] | select(.id == "agent-retains-memory") |
            .evidence.library')" jmethodid_agent.so
    is "agent that forgets Deallocate on $jdk: below GetClassMethods" \
        "$(json "keep/$jdk" '.findings[] | select(.id == "agent-retains-memory") |
            .evidence.get_class_methods_bytes > 60000')" true
    is "our agent under churn on $jdk: its JVM is the one that was looked at" \
        "$(json "own/$jdk" '[.findings[].id] | index("class-churn") != null')" true
    is "our agent under churn on $jdk: no agent keeps anything" \
        "$(json "own/$jdk" '[.findings[] | select(.id == "agent-retains-memory") | .title]')" '[]'
    is "an agent that preallocates on $jdk: yes, and which" \
        "$(json "ids/$jdk" '.explained | .preallocates + " " + .library')" "yes jmethodid_agent.so"
    observed "ids/$jdk" methods &&
        is "an agent that preallocates on $jdk: its ids are counted" \
            "$(json "ids/$jdk" '.explained | .jmethod_ids > 2000 and .jmethod_ids_bytes > 20000')" true
    raw=$SCRATCH/triage-ids-$jdk/raw
    is "what was kept of ids on $jdk is understood again" \
        "$("$NMTWATCH" analyze "$raw" --json | jq -c '[.unrecognised, .unparsed_lines]')" '[[],0]'
    is "and says the same of the agent" \
        "$("$NMTWATCH" analyze "$raw" --json | jq -r '.jvms[0].explained.preallocates')" yes
    is "and of methods" "$("$NMTWATCH" analyze "$raw" --json | jq -c '.jvms[0].methods')" "$(json "ids/$jdk" '.methods' | jq -c .)"
done

if [ -n "${OTHER[bare]-}" ]; then
    is "without capabilities: an explosion all the same" \
        "$(json bare '.findings[0].id')" class-explosion
    is "without capabilities: no call site" "$(json bare '.findings[0].evidence.asked_for_by')" null
    is "without capabilities: one line says why" \
        "$(json bare '[.steps[] | select(.step == "observe classes") | .note | test("CAP_")] == [true]')" true
    is "without capabilities: no error" "$(cat "$SCRATCH/triage-bare.err")" ""
fi

# What it costs, on JVMs that have the machine to themselves.
for name in "${!OTHER[@]}"; do
    kill "${OTHER[$name]}" 2>/dev/null
done
fleet_stop
for jdk in $jdks; do
    "$(JDK=$jdk scripts/workloads.sh jdk)/bin/java" -Xmx256m -XX:NativeMemoryTracking=summary \
        "-Xlog:safepoint:file=$SCRATCH/safepoints-$jdk.log" -cp build/workloads/classes \
        workloads.ManyClasses 20000 5 one < <(echo && sleep 100) >"$SCRATCH/many-$jdk.log" 2>&1 &
    OTHER[many/$jdk]=$!
    TAP_PIDS+=($!)
    wait_for 30 grep -q loaded "$SCRATCH/many-$jdk.log"
    "$NMTWATCH" triage "${OTHER[many/$jdk]}" --for 5s -o "$SCRATCH/triage-many-$jdk" --json \
        >"$SCRATCH/triage-many-$jdk.json"
    kill "${OTHER[many/$jdk]}"
    # What the JVM itself says of the pauses that were not its own.
    asked=$(awk '
        /Safepoint "/ { looked = 1 }
        /Safepoint "(CollectCLDMetadata|CollectClassLoaderStats|ClassLoaderStats|[^"]*Loader)/ {
            match($0, /Total: *[0-9]+ ns/)
            sum += substr($0, RSTART + 6, RLENGTH - 9)
        }
        END { printf "%s", looked ? sum + 0 : "no safepoint in the log" }' "$SCRATCH/safepoints-$jdk.log")
    if [[ $asked =~ ^[0-9]+$ ]] && [ "$asked" -lt 50000000 ]; then
        pass "20 000 classes on $jdk: a gentle triage stops the JVM below 50 ms"
    else
        fail "20 000 classes on $jdk: a gentle triage stops the JVM below 50 ms" "$asked ns"
    fi
    is "20 000 classes on $jdk: asked or left out, and told" \
        "$(json "many/$jdk" '[.steps[] | select(.step == "VM.classloader_stats") |
            .run or (.note | startswith("left out"))] | all')" true
done
done_testing
