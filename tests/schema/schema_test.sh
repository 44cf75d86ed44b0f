#!/bin/bash
# JSON: the examples of docs/json.md and what the program prints, against docs/schema.
# shellcheck disable=SC2016 # $defs and `code` are JSON and Markdown

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-build/fake_jvm}
build=${BUILD:-build}
checker=$build/schema_check
schemas=docs/schema

check "schema_check is built" make -s BUILD="$build" "$checker"

# --- the checker can say no ------------------------------------------------------------------------

verdict() { # NAME WANTED_CODE SCHEMA TEXT [OPTION]
    printf '%s' "$3" >"$SCRATCH/schema.json"
    printf '%s' "$4" >"$SCRATCH/text.json"
    # shellcheck disable=SC2086
    exits "checker: $1" "$2" "$checker" ${5-} "$SCRATCH/schema.json" "$SCRATCH/text.json"
}
verdict "a type that fits" 0 '{"type":"integer"}' 5
verdict "a type that does not" 1 '{"type":"integer"}' '"5"'
verdict "none of several types" 1 '{"type":["string","null"]}' 5
verdict "a real is no integer" 1 '{"type":"integer"}' 5.5
verdict "a missing member" 1 '{"required":["a"]}' '{"b":1}'
verdict "a wrong member" 1 '{"properties":{"a":{"type":"null"}}}' '{"a":1}'
verdict "a member too many" 1 '{"properties":{"a":true},"additionalProperties":false}' '{"b":1}'
verdict "a member too many, open" 0 '{"properties":{"a":true}}' '{"b":1}'
verdict "a member too many, closed" 1 '{"properties":{"a":true}}' '{"b":1}' --closed
verdict "a wrong value of a map" 1 '{"additionalProperties":{"type":"integer"}}' '{"b":"x"}'
verdict "a wrong item" 1 '{"items":{"enum":["a","b"]}}' '["a","c"]'
verdict "a wrong constant" 1 '{"const":1}' 2
verdict "below the minimum" 1 '{"minimum":0}' -1
verdict "too many items" 1 '{"maxItems":1}' '[1,2]'
verdict "an empty text" 1 '{"minLength":1}' '""'
verdict "no branch" 1 '{"oneOf":[{"const":1},{"const":2}]}' 3
verdict "two branches" 1 '{"oneOf":[{"minimum":1},{"minimum":2}]}' 3
verdict "a reference followed" 1 '{"$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}}' 3
verdict "a reference to nothing" 2 '{"$ref":"#/$defs/b"}' 3
verdict "a reference in a circle" 2 '{"$ref":"#"}' 3
verdict "an unknown keyword" 2 '{"patern":"x"}' 3
verdict "no JSON" 1 true '{'
verdict "the same member twice" 1 true '{"a":1,"a":2}'
verdict "nothing at all" 2 true ''
verdict "one bad line of three" 1 '{"type":"integer"}' $'1\n"x"\n3\n' --lines
contains "checker: it says where" "$OUTPUT" "text.json:2: /: is not of type integer"

# --- the documents ---------------------------------------------------------------------------------

valid() { # NAME SCHEMA FILE [OPTION]
    # shellcheck disable=SC2086
    check "$1" "$checker" --closed ${4-} "$schemas/$2.json" "$3"
}

# Blocks that begin with ```json SCHEMA.
awk -v out="$SCRATCH/example" '
    /^```json [a-z-]+$/ { file = out "." (++n) "." $2; next }
    /^```$/ { file = "" }
    file { print >file }' docs/json/*.md
examples=0
for example in "$SCRATCH"/example.*; do
    examples=$((examples + 1))
    valid "docs/json.md: example of ${example##*.}, $(head -c 30 "$example" | tr -d '\n')" \
        "${example##*.}" "$example"
done
is "every JSON block of docs/json.md was checked" "$examples" "$(cat docs/json.md docs/json/*.md | grep -c '^```json')"
for schema in "$schemas"/*.json; do
    name=$(basename "$schema" .json)
    [ "$name" = definitions ] || contains "docs/json.md names $name" "$(cat docs/json.md)" "\`$name.json\`"
done

is "tables of fields are those of the schemas (scripts/package/json-fields.sh --update)" \
    "$(for page in docs/json/*.md; do scripts/package/json-fields.sh "$page" | cmp -s - "$page" || echo "$page"; done)" ""

keys() { # what a schema's properties are called
    jq -r "$1 | keys[]" "$2"
}
sample_keys=$(sed -n 's/^SAMPLE_FIELD([A-Z_]*, "\([a-z_]*\)".*/\1/p' analyzers/model/sample_fields.def)
tick_keys=$(keys '."$defs".tick.properties' $schemas/recording-line.json)
shared_keys=$(keys '."$defs".sample.properties' $schemas/definitions.json)
missing=$(for key in $sample_keys; do
    grep -qx "$key" <<<"$tick_keys" || echo "$key in recording-line.json"
    grep -qx "$key" <<<"$shared_keys" || echo "$key in definitions.json"
done)
is "every field of a sample is in the schemas" "$missing" ""
rows=$(sed -n 's/^SAMPLE_FIELD([A-Z_]*, "\([a-z_]*\)", \([a-z]*\), "\(.*\)")$/| `\1` | \2 | \3 |/p' \
    analyzers/model/sample_fields.def)
is "docs/json.md has the table of sample fields" \
    "$(cat docs/json/*.md | grep -Fx "$rows" | sort -u | wc -l)" "$(wc -l <<<"$sample_keys")"
ids=$(sed -n 's/^FINDING([A-Z_]*, "\([a-z-]*\)".*/\1/p' analyzers/judge/findings.def | sort)
is "the schema knows every kind of finding" \
    "$(jq -r '."$defs".finding_id.enum[]' $schemas/definitions.json | sort)" "$ids"
is "docs/json.md knows every kind of finding" \
    "$(for id in $ids; do cat docs/json/*.md | grep "\`$id\`" >/dev/null || echo "$id"; done)" ""

# --- what the program prints -----------------------------------------------------------------------

if [ ! -x "$NMTWATCH" ] || [ ! -x "$FAKE_JVM" ]; then
    fail "output of the program" "nmtwatch or fake_jvm is not built"
    done_testing
fi

fake() { # OPTIONS...: starts one, pid in $FAKE
    spawn "$FAKE_JVM" --for 100 "$@" >"$SCRATCH/out"
    FAKE=$SPAWNED
    wait_for 10 grep -q '^ready' "$SCRATCH/out"
}

"$NMTWATCH" version --json >"$SCRATCH/version"
valid "version" version "$SCRATCH/version"
"$NMTWATCH" help --json >"$SCRATCH/help"
valid "help" help "$SCRATCH/help"
for topic in "" loader-growth profiler-cost jdk-proxy; do
    # shellcheck disable=SC2086
    "$NMTWATCH" explain --json $topic >"$SCRATCH/explain"
    valid "explain $topic" explain "$SCRATCH/explain"
done
is "every verb with --json is in the table of docs/json.md" \
    "$(for verb in $(jq -r '.verbs[].name' "$SCRATCH/help"); do
        "$NMTWATCH" help "$verb" | grep -q -e '--json' || continue
        grep -q "^| .*\`$verb [^|]*\`.*\.json\`" docs/json.md || echo "$verb"
    done)" ""
"$NMTWATCH" rules --json >"$SCRATCH/rules"
valid "rules" rules "$SCRATCH/rules"

fake --for 300 --rate 20 --internal 1000000 --speed 2
"$NMTWATCH" list --json >"$SCRATCH/list"
valid "list" list "$SCRATCH/list"
"$NMTWATCH" doctor --json >"$SCRATCH/doctor"
valid "doctor" doctor "$SCRATCH/doctor"
contains "list: the JVM is there" "$(jq -c '.jvms[].pid' "$SCRATCH/list")" "$FAKE"
"$NMTWATCH" check --json "$FAKE" >"$SCRATCH/check"
valid "check" check "$SCRATCH/check"
# For 25 s, or until there was an alert: on a busy machine the names it needs are asked for later.
spawn "$NMTWATCH" watch --json --for 100s --warmup 0 --record "$SCRATCH/r.nmt.gz" "$FAKE" >"$SCRATCH/watch"
watch=$SPAWNED
sleep 25
wait_for 25 grep -q '"type": *"alert"' "$SCRATCH/watch"
kill -INT "$watch"
wait "$watch"
valid "watch" watch-line "$SCRATCH/watch" --lines
zcat "$SCRATCH/r.nmt.gz" >"$SCRATCH/lines"
valid "recording" recording-line "$SCRATCH/lines" --lines
is "recording: begins with the header" "$(head -1 "$SCRATCH/lines" | jq -r .type)" header
is "recording: ends with the end" "$(tail -1 "$SCRATCH/lines" | jq -r .type)" end
contains "watch: an alert was among the lines" "$(jq -r .type "$SCRATCH/watch")" alert
"$NMTWATCH" replay --json "$SCRATCH/r.nmt.gz" >"$SCRATCH/replay"
valid "replay" watch-line "$SCRATCH/replay" --lines
is "replay: the alerts of the recording" \
    "$(jq -c 'select(.type == "alert")' "$SCRATCH/replay")" \
    "$(jq -c 'select(.type == "alert")' "$SCRATCH/lines")"
"$NMTWATCH" report "$SCRATCH/r.nmt.gz" -o "$SCRATCH/report" --format json --json >"$SCRATCH/files"
valid "report --json" report-files "$SCRATCH/files"
valid "report.json" report "$SCRATCH/report/report.json"
"$NMTWATCH" soak --replay "$SCRATCH/r.nmt.gz" --budget internal=5MB/h,rss=1 --against "$SCRATCH/r.nmt.gz" \
    --no-report --json >"$SCRATCH/soak"
valid "soak" soak "$SCRATCH/soak"
for ((s = 0; s < 7200; s += 10)); do echo "$s,$((90000000 + s * 1400)),$((5000 + s))"; done >"$SCRATCH/series.csv"
"$NMTWATCH" verdict --json --regressor-column --limit 2G "$SCRATCH/series.csv" >"$SCRATCH/verdict"
valid "verdict" verdict "$SCRATCH/verdict"
"$NMTWATCH" verdict --json - <<<"0,5" >"$SCRATCH/verdict"
valid "verdict: too short" verdict "$SCRATCH/verdict"
"$NMTWATCH" soak --no-report --json -- true >"$SCRATCH/soak"
valid "soak: no JVM" soak "$SCRATCH/soak"
"$NMTWATCH" diff --from 3s "$SCRATCH/r.nmt.gz" --json >"$SCRATCH/diff"
valid "diff" diff "$SCRATCH/diff"
"$NMTWATCH" plan --classes 40000 --json >"$SCRATCH/plan"
valid "plan" plan "$SCRATCH/plan"
"$NMTWATCH" plan --classes 20M --churn 5/s --growth 3/s --limit 8G --jdk 26 --generated --json >"$SCRATCH/plan"
valid "plan: with everything" plan "$SCRATCH/plan"
"$NMTWATCH" plan --from "$SCRATCH/r.nmt.gz" --json >"$SCRATCH/plan"
valid "plan: from a recording" plan "$SCRATCH/plan"
"$NMTWATCH" plan --from "$FAKE" --look 1s --json >"$SCRATCH/plan"
valid "plan: from a JVM" plan "$SCRATCH/plan"

"$NMTWATCH" triage --json --for 2s -o "$SCRATCH/triage" "$FAKE" >"$SCRATCH/triage.json"
valid "triage" triage "$SCRATCH/triage.json"
valid "findings.json of triage" triage "$SCRATCH/triage/findings.json"
"$NMTWATCH" analyze --json "$SCRATCH/triage/raw" >"$SCRATCH/analyze"
valid "analyze: of a triage" analyze "$SCRATCH/analyze"
for log in tests/golden/jdk*/classlog_*.txt; do
    "$NMTWATCH" classlog --json "$log" >"$SCRATCH/classlog"
    valid "classlog: ${log#tests/golden/}" classlog "$SCRATCH/classlog"
done
for golden in tests/golden/jdk*; do
    "$NMTWATCH" analyze --json "$golden" >"$SCRATCH/analyze" 2>/dev/null
    valid "analyze: captures of ${golden##*/}" analyze "$SCRATCH/analyze"
done
kinds=$(sed -n 's/^TEXT_KIND([A-Z_]*, "\([a-z-]*\)",.*/\1/p' analyzers/parse/text_kinds.def)
is "the schema knows every kind of text" \
    "$(jq -r '.properties.inputs.items.properties.kind.enum[]' $schemas/analyze.json | sort)" \
    "$(grep -vx unrecognised <<<"$kinds" | sort)"
rss=$(sed -n 's/^RSS_KIND([A-Z_]*, "\([a-z_]*\)",.*/\1_bytes/p' analyzers/native/rss_kinds.def)
is "the schema knows every kind of resident memory" \
    "$(for key in $rss; do keys '."$defs".rss.properties' $schemas/triage.json | grep -qx "$key" || echo "$key"; done)" ""

# The same lines with one thing wrong in them are noticed.
jq -c 'if .type == "tick" then .rss_bytes = "many" else . end' "$SCRATCH/lines" >"$SCRATCH/wrong"
exits "a text for a number is noticed" 1 \
    "$checker" --closed --lines $schemas/recording-line.json "$SCRATCH/wrong"
contains "and named" "$OUTPUT" "/rss_bytes: is not of type integer"
jq -c 'del(.status)' "$SCRATCH/check" >"$SCRATCH/wrong"
exits "a missing status is noticed" 1 "$checker" --closed $schemas/check.json "$SCRATCH/wrong"
jq -c '.hidden = 1' "$SCRATCH/check" >"$SCRATCH/wrong"
exits "a member nobody documented is noticed" 1 "$checker" --closed $schemas/check.json "$SCRATCH/wrong"

fake --answer nmt-off
"$NMTWATCH" check --json "$FAKE" >"$SCRATCH/check"
valid "check: NMT off" check "$SCRATCH/check"
"$NMTWATCH" watch --json --for 2s "$FAKE" >"$SCRATCH/watch"
valid "watch: NMT off" watch-line "$SCRATCH/watch" --lines
"$NMTWATCH" check --json $$ >"$SCRATCH/check"
valid "check: not a JVM" check "$SCRATCH/check"
done_testing
