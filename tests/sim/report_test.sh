#!/bin/bash
# `nmtwatch report` from a made-up recording: every format, no gnuplot, damage, and what goes wrong.

. "$(dirname "$0")/../tap.sh"

nmtwatch=$PWD/${NMTWATCH:-build/nmtwatch}
need_built "$nmtwatch"

# Two minutes: warm-up, then 12 classes/s of a family that never unloads. The names are hostile.
recording=$SCRATCH/made.json
awk 'BEGIN {
    main = "a.<script>alert(1)</script>"
    printf "{\"type\":\"header\",\"schema\":1,\"nmtwatch\":\"0.1.0\",\"wall_start_ms\":1760000000000,"
    printf "\"warmup_s\":20,\"target\":{\"pid\":4711,\"nspid\":4711,\"start_time_ticks\":1,"
    printf "\"uptime_ms\":900,\"jdk\":\"17.0.15\",\"jdk_major\":17,\"main\":\"%s\",\"nmt\":\"summary\"},", main
    print "\"thresholds\":{}}"
    for (s = 0; s < 120; s++) {
        loaded = 2600 + (s > 40 ? (s - 40) * 12 : 0)
        printf "{\"type\":\"tick\",\"ms\":%d,\"pid\":4711,\"classes_loaded\":%d,", s * 1000, loaded
        printf "\"classes_unloaded\":0,\"rss_bytes\":%d", 150000000 + loaded * 8000
        if (s % 5 == 0) {
            printf ",\"nmt\":{\"Internal\":{\"reserved_bytes\":900000,\"committed_bytes\":900000},"
            printf "\"Class\":{\"reserved_bytes\":9000000,\"committed_bytes\":%d},", loaded * 700
            printf "\"Metaspace\":{\"reserved_bytes\":90000000,\"committed_bytes\":%d}}", loaded * 5000
        }
        print "}"
        if (s > 44 && s < 75) {
            loads = (s - 44) * 12
            printf "{\"type\":\"names\",\"ms\":%d,\"pid\":4711,\"method\":\"tap\",\"tap\":1,", s * 1000
            printf "\"last\":false,\"from_ms\":44000,\"loads\":%d,\"unloads\":0,\"lost_bytes\":0,", loads
            printf "\"families\":[{\"family\":\"groovy-shell\",\"stem\":\"Script#\","
            printf "\"example\":\"Script1\\\"><img src=x>\",\"source\":\"\",\"invokes\":\"\","
            printf "\"loads\":%d,\"unloads\":0,\"names\":%d,", loads, loads
            printf "\"max_same_name\":1,\"repeating\":%d}]}\n", loads
        }
    }
}' >"$recording"

exits "every format" 0 "$nmtwatch" report "$recording" -o "$SCRATCH/new/dir" --format html,md,json,png,svg
for file in report.html report.md report.json; do
    check "$file is there" test -s "$SCRATCH/new/dir/$file"
    contains "$file is named" "$OUTPUT" "$SCRATCH/new/dir/$file"
done
contains "the verdict names the family" "$(jq -r .verdict "$SCRATCH/new/dir/report.json")" groovy-shell
is "the status" "$(jq -r .status "$SCRATCH/new/dir/report.json")" CRITICAL
html=$SCRATCH/new/dir/report.html
is "foreign names are no elements" "$(grep -c '<script\|<img' "$html")" 0
is "the page loads nothing" "$(grep -c 'src="\|@import\|<link\|url(http' "$html")" 0
if command -v gnuplot >/dev/null; then
    check "pictures are inside of the page" grep -q '<svg role="img"' "$html"
    is "a PNG is a PNG" "$(head -c 4 "$SCRATCH/new/dir/classes.png" | od -An -c | tr -d ' ')" '211PNG'
    contains "an SVG is an SVG" "$(head -c 200 "$SCRATCH/new/dir/memory.svg")" "<svg"
    is "ids in the page are unique" \
        "$(grep -o "[ <]id=[\"'][^\"']*" "$html" | sort | uniq -d)" ""
else
    fail "pictures" "gnuplot is not installed"
fi

mkdir "$SCRATCH/empty"
OUTPUT=$(PATH=$SCRATCH/empty "$nmtwatch" report "$recording" -o "$SCRATCH/bare" 2>&1)
is "without gnuplot the report is written" "$?" 0
if emulated; then
    skip "and says so" "refused: the emulator does not pass on that a program is missing"
else
    contains "and says so" "$OUTPUT" "gnuplot is not installed"
    check "in the page too" grep -q "gnuplot is not installed" "$SCRATCH/bare/report.html"
fi
printf '#!/bin/sh\necho "no such terminal" >&2\nexit 1\n' >"$SCRATCH/empty/gnuplot"
chmod +x "$SCRATCH/empty/gnuplot"
OUTPUT=$(PATH=$SCRATCH/empty:$PATH "$nmtwatch" report "$recording" -o "$SCRATCH/bad" 2>&1)
is "with a gnuplot that fails too" "$?" 0
contains "and its complaint is told" "$OUTPUT" "no such terminal"

exits "as JSON" 0 "$nmtwatch" report "$recording" -o "$SCRATCH/j" --format md --json
is "the files are listed" "$(jq -r '.files[]' <<<"$OUTPUT")" "$SCRATCH/j/report.md"
gzip -c "$recording" | head -c 1000 >"$SCRATCH/cut.nmt.gz"
exits "a cut recording is reported" 0 "$nmtwatch" report "$SCRATCH/cut.nmt.gz" -o "$SCRATCH/c" --format md
contains "with a warning" "$OUTPUT" "damaged"
check "in the report too" grep -q damaged "$SCRATCH/c/report.md"
head -n 1 "$recording" >"$SCRATCH/header.json"
exits "a recording without samples" 0 "$nmtwatch" report "$SCRATCH/header.json" -o "$SCRATCH/h"
check "is a page that says so" grep -q "holds no sample" "$SCRATCH/h/report.html"

# Recordings that earlier versions wrote, of a simulated JVM that explodes: schema 1 stays readable.
alerts() { # lines of JSON -> what the alerts say
    jq -c 'select(.type == "alert") | [.ms, .id, .state, .severity, .family]'
}
for old in tests/golden/recordings/*.nmt.gz; do
    was=$(zcat "$old" | alerts)
    contains "$old has an alert" "$was" class-explosion
    is "... which replay raises again" "$("$nmtwatch" replay --json "$old" | alerts)" "$was"
    exits "... and report reads" 0 "$nmtwatch" report "$old" -o "$SCRATCH/old" --format json
    is "... to its end" "$(jq -r '.status, .damage // "none"' "$SCRATCH/old/report.json" | paste -sd' ')" "CRITICAL none"
    check "... with the cost" jq -e '.cost.watcher != null' "$SCRATCH/old/report.json"
    exits "... and soak judges" 1 "$nmtwatch" soak --no-report --replay "$old"
done
sed 's/"schema":1/"schema":2/' "$recording" >"$SCRATCH/later.json"
exits "a schema of a later version" 74 "$nmtwatch" replay "$SCRATCH/later.json"
contains "is named" "$OUTPUT" "schema 2"

exits "no recording" 64 "$nmtwatch" report -o "$SCRATCH/x"
exits "no directory" 64 "$nmtwatch" report "$recording"
exits "an unknown format" 64 "$nmtwatch" report "$recording" -o "$SCRATCH/x" --format html,gif
exits "a missing recording" 74 "$nmtwatch" report "$SCRATCH/none" -o "$SCRATCH/x"
exits "a file that is no recording" 74 "$nmtwatch" report /etc/passwd -o "$SCRATCH/x"
exits "a directory that cannot be" 74 "$nmtwatch" report "$recording" -o /proc/none
ln -s /dev/full "$SCRATCH/j/report.html"
exits "a link is not followed" 74 "$nmtwatch" report "$recording" -o "$SCRATCH/j" --format html
mkdir "$SCRATCH/k"
ln -s /dev/full "$SCRATCH/k/report.json"
exits "a file of a report cannot be written" 74 "$nmtwatch" report "$recording" -o "$SCRATCH/k" --format html,md,json,jfr
is "... then none of them is there" "$(ls -A "$SCRATCH/k")" report.json
rm "$SCRATCH/k/report.json"
echo before >"$SCRATCH/k/report.html"
limited() ( # a full disk, as far as one file of it
    trap '' XFSZ
    ulimit -f 4
    exec "$@"
)
exits "a full disk" 74 limited "$nmtwatch" report "$recording" -o "$SCRATCH/k" --format html,md
is "... leaves what was there" "$(cat "$SCRATCH/k/"*)" before
exits "... also of an export" 74 limited "$nmtwatch" export "$recording" --format openmetrics -o "$SCRATCH/k/report.html"
is "... which leaves what was there" "$(cat "$SCRATCH/k/"*)" before
exits "with room again" 0 "$nmtwatch" report "$recording" -o "$SCRATCH/k" --format html,md
is "... both are there" "$(cd "$SCRATCH/k" && echo *)" "report.html report.md"
lacks "... anew" "$(head -c 100 "$SCRATCH/k/report.html")" before
done_testing
