#!/bin/bash
# A recording replays to exactly the alerts of the live run, and survives the death of its writer.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

alerts() { # FILE of JSON lines -> what an alert says, without live-only members
    jq -c 'select(.type == "alert") | {id, state, severity, family, title}' "$1"
}

jdk=17
have_jdk 17 || jdk=25
have_jdk $jdk || skip_all "no JDK 17 or 25 in /usr/lib/jvm"
fleet_start $jdk hidden --rate 20 --quiet 5 --seconds 100
fleet_start $jdk proxy --rate 20 --quiet 5 --seconds 100
fleet_ready

recording=$SCRATCH/live.nmt.gz
"$NMTWATCH" watch "${FLEET_PID[$jdk/hidden]}" --json --for 35s --record "$recording" \
    >"$SCRATCH/live.jsonl"
alerts "$SCRATCH/live.jsonl" >"$SCRATCH/live.alerts"
check "the live run raised something" test -s "$SCRATCH/live.alerts"
"$NMTWATCH" replay --json "$recording" >"$SCRATCH/replay.jsonl"
alerts "$SCRATCH/replay.jsonl" >"$SCRATCH/replay.alerts"
check "the replay raises the same" diff "$SCRATCH/live.alerts" "$SCRATCH/replay.alerts"
check "zcat | jq reads it" sh -c "zcat '$recording' | jq -e .type >/dev/null"

spawn "$NMTWATCH" record "${FLEET_PID[$jdk/proxy]}" -o "$SCRATCH/killed.nmt.gz" >/dev/null
recorder=$SPAWNED
exits "a profile meanwhile" 0 "$NMTWATCH" profile "${FLEET_PID[$jdk/proxy]}" start --cpu 1ms --file "$SCRATCH/profile.jfr"
sleep 8
exits "which ends" 0 "$NMTWATCH" profile "${FLEET_PID[$jdk/proxy]}" stop
kill -KILL "$recorder"
lines=$(zcat "$SCRATCH/killed.nmt.gz" 2>/dev/null | jq -c 'select(.ms != null)' | wc -l)
if [ "$lines" -ge 5 ]; then
    pass "kill -9 of record leaves $lines lines"
else
    fail "kill -9 of record leaves what was seen" "$lines lines"
fi
exits "and it replays" 0 "$NMTWATCH" replay "$SCRATCH/killed.nmt.gz"

check "report writes a page" "$NMTWATCH" report "$recording" -o "$SCRATCH/report" --format html,md,json
contains "the page names the family" "$(cat "$SCRATCH/report/report.html")" hidden-other
lacks_in "and loads nothing from a network" "$SCRATCH/report/report.html" 'src="http'

# --- for other programs ----------------------------------------------------------------------------

jfr_of() { # JDK
    ls -d /usr/lib/jvm/*"$1"*/bin/jfr 2>/dev/null | head -n 1
}
rows() { # of NMT in the recording: category and committed bytes, in its order
    zcat "$recording" | jq -r 'select(.type == "tick" and .nmt != null) | .nmt | to_entries[] |
        "\(.key) \(.value.committed_bytes)"' | sort
}
exits "export as JFR" 0 "$NMTWATCH" export "$recording" -o "$SCRATCH/history.jfr"
# The same with what cannot be seen everywhere: methods counted, and who asked for the classes.
lines() { # TYPE FILTER: of the recording's lines of this type
    zcat "$SCRATCH/methods.nmt.gz" | jq -c "select(.type == \"$1\") | $2"
}
pid=$(zcat "$recording" | jq -s '.[0].target.pid')
zcat "$recording" | jq -c --argjson pid "$pid" 'if .type == "end" then
    {type: "methods", ms, pid: $pid, loaders: 3, classes: 700, methods: 9000, own_classes: 200, own_methods: 1000,
     families: [{family: "java.util.*", classes: 150, methods: 2700}, {family: "Script#", classes: 90, methods: 720}]},
    {type: "callers", ms, pid: $pid, last: true, from_ms: 0, for_ms: 5000, classes: 90, problem: "",
     families: [{family: "Script#", call_site: "com.acme.Rules.eval:88", classes: 90, stacks: 85}]},
    {type: "histogram", ms, pid: $pid, first_ms: 0, classes: 3, instances: 30, bytes: 3000, rows: [
     {class: "[B", family: "", classes: 1, instances: 20, bytes: 2000, instances_growth: 2, bytes_growth: 200},
     {class: "a,\"b\"#", family: "unknown:a", classes: 2, instances: 10, bytes: 1000, instances_growth: 1, bytes_growth: 10},
     {class: "=1+1", family: "", classes: 1, instances: 1, bytes: 16, instances_growth: 0, bytes_growth: 0}]},
    . else . end' |
    gzip >"$SCRATCH/methods.nmt.gz"
exits "export of methods and callers" 0 "$NMTWATCH" export "$SCRATCH/methods.nmt.gz" -o "$SCRATCH/methods.jfr"
check "the report has the same file" cmp "$SCRATCH/history.jfr" <("$NMTWATCH" report - \
    -o "$SCRATCH/jfr" --format jfr <"$recording" >/dev/null && cat "$SCRATCH/jfr/recording.jfr")
for version in 17 25; do
    jfr=$(jfr_of $version)
    if [ -z "$jfr" ]; then
        skip "jfr of JDK $version reads the export" "no JDK $version in /usr/lib/jvm"
        continue
    fi
    summary=$("$jfr" summary "$SCRATCH/history.jfr")
    for event in JVMInformation NativeMemoryUsageTotal ResidentSetSize ClassLoadingStatistics \
        MetaspaceSummary GCHeapMemoryUsage; do
        check "jfr of $version: there are jdk.$event" grep -q "jdk.$event  *[1-9]" <<<"$summary"
    done
    is "jfr of $version: each category at each moment" "$("$jfr" print --json --events jdk.NativeMemoryUsage \
        "$SCRATCH/history.jfr" | jq -r '.recording.events[].values | "\(.type) \(.committed)"' | sort)" "$(rows)"
    is "jfr of $version: the alerts" "$("$jfr" print --json --events nmtwatch.Finding "$SCRATCH/history.jfr" |
        jq -r '.recording.events[].values | "\(.finding) \(.state) \(.family)"')" \
        "$(jq -r '"\(.id) \(.state) \(.family // "")"' "$SCRATCH/live.alerts")"
    values=(jq -c '.recording.events[].values | del(.startTime) | [.[]]')
    is "jfr of $version: methods" "$("$jfr" print --json --events nmtwatch.Methods "$SCRATCH/methods.jfr" | "${values[@]}")" \
        "$(lines methods '[.methods, .classes, .loaders, .own_methods, .own_classes, "counted"]')"
    is "jfr of $version: by family" "$("$jfr" print --json --events nmtwatch.MethodFamily "$SCRATCH/methods.jfr" |
        "${values[@]}")" "$(lines methods '.families[] | [.family, .classes, .methods]')"
    is "jfr of $version: who asked for classes" "$("$jfr" print --json --events nmtwatch.ClassCaller \
        "$SCRATCH/methods.jfr" | "${values[@]}")" \
        "$(lines callers '.families[] | [.family, .call_site, .classes, .stacks]')"
    is "jfr of $version: class histograms" "$("$jfr" print --json --events jdk.ObjectCount "$SCRATCH/methods.jfr" |
        "${values[@]}")" "$(lines histogram '.rows[] | [-1, .class, .instances, .bytes, .family // "", .classes]')"
done
jfr=$(jfr_of 25)
[ -z "$jfr" ] || contains "jfr view of 25 shows it for JDK $jdk" \
    "$("$jfr" view native-memory-committed "$SCRATCH/history.jfr")" "Metaspace"
[ -z "$jfr" ] || contains "and class histograms" "$("$jfr" view object-statistics "$SCRATCH/methods.jfr")" "[B"
exits "class histograms as CSV" 0 "$NMTWATCH" export "$SCRATCH/methods.nmt.gz" --format csv --histograms
is "a row for each class" "$(sed 's/^[^,]*,[^,]*,//' <<<"$OUTPUT")" 'class,family,classes,instances,bytes
"[B","",1,20,2000
"a,""b""#","unknown:a",2,10,1000
"'"'"'=1+1","",1,1,16'
exits "class histograms as nothing else" 64 "$NMTWATCH" export "$recording" --format openmetrics --histograms

# A recording whose writer was killed, and a profile of the same time.
exits "export with a profile" 0 "$NMTWATCH" export "$SCRATCH/killed.nmt.gz" -o "$SCRATCH/both.jfr" \
    --profile "$SCRATCH/profile.jfr"
events() { # JFR FILE EVENT: how many
    "$1" print --events "$3" "$2" | grep -c "^$3 {"
}
for version in 17 25; do
    jfr=$(jfr_of $version)
    [ -n "$jfr" ] || continue
    samples=$(events "$jfr" "$SCRATCH/profile.jfr" jdk.ExecutionSample)
    check "jfr of $version: the profile has samples: $samples" test "$samples" -gt 0
    is "jfr of $version: and one file both" "$(events "$jfr" "$SCRATCH/both.jfr" jdk.ExecutionSample) $(events "$jfr" \
        "$SCRATCH/both.jfr" jdk.ResidentSetSize)" \
        "$samples $(zcat "$SCRATCH/killed.nmt.gz" 2>/dev/null | jq -c 'select(.type == "tick" and .rss_bytes != null)' | wc -l)"
    is "jfr of $version: each type once in its summary" \
        "$("$jfr" summary "$SCRATCH/both.jfr" | grep -c '^ jdk.ExecutionSample  *[0-9]')" 1
done
jfr=$(jfr_of 25)
if [ -n "$jfr" ]; then
    contains "jfr view of 25: methods in it" "$("$jfr" view hot-methods "$SCRATCH/both.jfr")" "Samples"
    contains "jfr view of 25: and memory" "$("$jfr" view native-memory-committed "$SCRATCH/both.jfr")" "Metaspace"
    exits "a profile that is none of ours" 74 "$NMTWATCH" export "$recording" -o "$SCRATCH/none.jfr" --profile "$jfr"
    check "and no file for it" test ! -e "$SCRATCH/none.jfr"
fi
cp "$SCRATCH/killed.nmt.gz" "$SCRATCH/same"
exits "a recording is not overwritten by itself" 64 "$NMTWATCH" export "$SCRATCH/same" --format csv -o "$SCRATCH/./same"
check "it is as it was" cmp "$SCRATCH/same" "$SCRATCH/killed.nmt.gz"
zcat "$SCRATCH/killed.nmt.gz" 2>/dev/null | head -n 1 >"$SCRATCH/empty.jsonl" # a header and no sample
for format in jfr openmetrics csv; do
    exits "nothing but a header as $format" 0 "$NMTWATCH" export "$SCRATCH/empty.jsonl" -o "$SCRATCH/empty.$format" --format $format
done
jfr=$(jfr_of 17)
[ -z "$jfr" ] || check "jfr of 17 reads that" "$jfr" summary "$SCRATCH/empty.jfr"
check "promtool, too" promtool tsdb create-blocks-from openmetrics "$SCRATCH/empty.openmetrics" "$SCRATCH/no-blocks"

exits "export for Prometheus" 0 "$NMTWATCH" export "$recording" -o "$SCRATCH/history.om"
if command -v promtool >/dev/null; then
    check "promtool makes blocks of it" promtool tsdb create-blocks-from openmetrics "$SCRATCH/history.om" \
        "$SCRATCH/blocks"
    mkdir -p "$SCRATCH/blocks/wal" # promtool tsdb dump wants one
    is "with the values of the recording" "$(promtool tsdb dump "$SCRATCH/blocks" |
        sed -n 's/^.*__name__="jvm_native_memory_committed_bytes", pool="\([^"]*\)".*} \([0-9.e+]*\) [0-9]*$/\1 \2/p' |
        grep -v '^Total ' | awk '{ n = $NF; sub(/ [^ ]*$/, ""); printf "%s %d\n", $0, n }' | sort)" "$(rows)"
else
    fail "promtool makes blocks of it" "promtool is not installed"
fi
exits "export with a name" 0 "$NMTWATCH" export "$recording" --format openmetrics --target 'orders-1 "a"'
is "which every sample has" "$(grep -v '^#' <<<"$OUTPUT" | grep -cvF '{target="orders-1 \"a\""')" 0
exits "a name for CSV" 64 "$NMTWATCH" export "$recording" --format csv --target x
exits "export as CSV" 0 "$NMTWATCH" export "$recording" --format csv
is "CSV: a row for each sample" "$(wc -l <<<"$OUTPUT")" \
    "$(($(zcat "$recording" | jq -c 'select(.type == "tick")' | wc -l) + 1))"
is "CSV: all rows have the columns of the head" "$(awk -F, '{ print NF }' <<<"$OUTPUT" | sort -u | wc -l)" 1
is "CSV: what was resident" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "rss_bytes") c = i }
    NR > 1 && $c != "" { print $c }' <<<"$OUTPUT")" \
    "$(zcat "$recording" | jq -r 'select(.type == "tick" and .rss_bytes != null) | .rss_bytes')"
exits "a format that there is not" 64 "$NMTWATCH" export "$recording" -o "$SCRATCH/history.xls"
exits "no recording" 74 "$NMTWATCH" export "$SCRATCH/none" -o "$SCRATCH/none.csv"
check "and no file for it" test ! -e "$SCRATCH/none.csv"
exits "a full disk" 74 "$NMTWATCH" export "$recording" --format openmetrics -o /dev/full
check "which is a device still" test -c /dev/full
exits "a disk that becomes full" 74 bash -c 'trap "" XFSZ; ulimit -f 4; exec "$0" export "$1" --format csv -o "$2"' \
    "$NMTWATCH" "$recording" "$SCRATCH/half.csv"
check "no half a file stays" test ! -e "$SCRATCH/half.csv"
done_testing
