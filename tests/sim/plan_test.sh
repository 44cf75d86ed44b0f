#!/bin/bash
# `nmtwatch plan` without a JVM: what it prints, letter by letter, its exit codes, what it refuses;
# and what a class will cost, predicted from the first part of real JVMs' series against the rest.
# After a change that is meant to print something else: UPDATE_GOLDEN=1 tests/sim/plan_test.sh

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
need_built "$NMTWATCH"
need jq
golden=tests/golden/plan
stack_bytes=$("$NMTWATCH" plan --classes 1 --json | jq .input.stack_bytes)
other_stacks="refused: the texts are those of stacks of 1 MB"

# --- what it prints -----------------------------------------------------------------------------

prints() { # NAME CODE ARGUMENTS...: the text of golden/NAME
    local name=$1 code=$2
    shift 2
    exits "$name: exit code" "$code" "$NMTWATCH" plan "$@"
    [ -z "${UPDATE_GOLDEN-}" ] || printf '%s\n' "$OUTPUT" >"$golden/$name.golden"
    if [ "$stack_bytes" = 1048576 ]; then
        is "$name: as before" "$OUTPUT" "$(cat "$golden/$name.golden")"
    else
        skip "$name: as before" "$other_stacks"
    fi
}
prints ordinary 0 --classes 40000 --methods-per-class 15 --threads 300 --heap 1G
prints churn 1 --classes 1M --churn 5/s --for 7d --jdk 25 --heap 4G --limit 16G
prints explosion 2 --classes 30K --growth 20/s --for 12h --limit 2G --heap 512M
prints generated.markdown 0 --classes 20000 --loaders 20000 --methods-per-class 3 --generated \
    --jdk 26 --markdown
prints ordinary.json 0 --classes 40000 --methods-per-class 15 --threads 300 --heap 1G --json

# The documented ranges are there, to the digit.
text=$("$NMTWATCH" plan --classes 50000)
for range in "10-150 MB" "40 KB - 1.6 MB" "11-44 MB" "512 KB" "112 KB - 8 MB" "1.1 MB" "32 KB" \
    "104 KB - 1 MB" "6-64 KB" "14-56 MB" "24-206 MB"; do
    contains "ordinary: $range" "$text" "  $range "
done
text=$("$NMTWATCH" plan --classes 2M)
for range in "1+ GB" "1-10 MB" "50-200 MB" "10-50 MB" "64-256 KB" "63-273 MB"; do
    contains "churn: $range" "$text" "  $range "
done

# The guide quotes it.
command=$(sed -n 's/^    \$ nmtwatch plan //p' docs/capacity.md | head -n 1)
# shellcheck disable=SC2086 # words
"$NMTWATCH" plan $command >"$SCRATCH/guide"
[ "$stack_bytes" = 1048576 ] || skip "docs/capacity.md quotes plan" "$other_stacks"
[ "$stack_bytes" != 1048576 ] || is "docs/capacity.md: each line that it quotes of plan $command" "$(
    sed -n '/^    \$ nmtwatch plan /,/^## /{ /^    \$/d; s/^    //p; }' docs/capacity.md |
        grep -v '\.\.\.$' | while IFS= read -r line; do
        grep -qxF -- "$line" <(sed 's/ *$//' "$SCRATCH/guide") || echo "$line"
    done)" ""

# --- verdicts -----------------------------------------------------------------------------------

verdict() { # WANTED_CODE WORD ARGUMENTS...
    local code=$1 word=$2
    shift 2
    exits "$word for $*" "$code" "$NMTWATCH" plan "$@"
    contains "and says so" "$OUTPUT" "$word: "
}
verdict 0 APPROPRIATE --classes 100K
verdict 0 APPROPRIATE --classes 100001
verdict 0 APPROPRIATE --classes 1M
verdict 1 CAUTION --classes 1000001
verdict 2 'NOT APPROPRIATE' --classes 2M
verdict 2 'NOT APPROPRIATE' --classes 9.1M
verdict 2 'NOT APPROPRIATE' --classes 10M
verdict 1 CAUTION --classes 10K --churn 2/s
verdict 2 'NOT APPROPRIATE' --classes 10K --growth 2/s
verdict 2 'NOT APPROPRIATE' --classes 10K --churn 20/s --for 6d
verdict 1 CAUTION --classes 10K --heap 1G --limit 512M

# --- what it refuses, in one line ---------------------------------------------------------------

refuses() { # WANTED_PART ARGUMENTS...
    local part=$1
    shift
    exits "refused: $*" 64 "$NMTWATCH" plan "$@"
    contains "says why" "$OUTPUT" "$part"
    is "in one line" "$(wc -l <<<"$OUTPUT")" 1
}
refuses "--classes N is needed, or --from"
refuses "--classes '-5'" --classes -5
refuses "--classes '1e5'" --classes 1e5
refuses "--classes '0x10'" --classes 0x10
refuses "--classes ''" --classes ''
refuses "--classes" --classes 0
refuses "--classes" --classes 99999999999999999999
refuses "--classes" --classes 999999999999
refuses "a whole number" --classes 1.5
refuses "--methods-per-class" --classes 5 --methods-per-class 65536
refuses "more loaders than classes" --classes 5 --loaders 6
refuses "--churn" --classes 5 --churn 5/w
refuses "10^10" --classes 5 --churn 1000000/s --for 30d
refuses "--jdk '7'" --classes 5 --jdk 7
refuses "--jdk 'seventeen'" --classes 5 --jdk seventeen
refuses "--gc 'cms'" --classes 5 --gc cms
refuses "--heap" --classes 5 --heap 1
refuses "either" --classes 5 --json --markdown
refuses "unexpected operand" --classes 5 4711
exits "a version as the JVM writes it" 0 "$NMTWATCH" plan --classes 5 --jdk 1.8.0_504
contains "is understood" "$OUTPUT" "JDK 8"
exits "no such recording" 74 "$NMTWATCH" plan --from "$SCRATCH/none.nmt.gz"
echo rubbish >"$SCRATCH/rubbish"
exits "no recording" 74 "$NMTWATCH" plan --from "$SCRATCH/rubbish"
exits "no such process" 12 "$NMTWATCH" plan --from 4194304

# --- predicted against measured -------------------------------------------------------------------

recording() { # JDK: a series on standard input as a recording
    echo '{"type":"header","schema":1,"nmtwatch":"0","wall_start_ms":1,"warmup_s":-1,"target":{"pid":1,"nspid":1,"start_time_ticks":1,"uptime_ms":1000,"jdk_major":'"$1"',"jdk":"'"$1"'","main":"Series","nmt":"summary"},"thresholds":{}}'
    awk -F, '{ printf "{\"type\":\"tick\",\"ms\":%d,\"pid\":1,\"uptime_ms\":%d,\"classes_loaded\":%d," \
        "\"classes_unloaded\":0,\"rss_bytes\":%d,\"metaspace_committed_bytes\":%d," \
        "\"nmt_committed_bytes\":%d,\"nmt\":{\"Class\":{\"reserved_bytes\":%d,\"committed_bytes\":%d}," \
        "\"Metaspace\":{\"reserved_bytes\":%d,\"committed_bytes\":%d}}}\n",
        $1 * 1000, 1000 + $1 * 1000, $7, $6, $4, $5, $3 - $4, $3 - $4, $4, $4 }'
}

# Class and Metaspace of 10 000 classes: from the first 300 s, and what the rest shows.
tried=0
for series in tests/series/*-explode-*.csv.gz; do
    name=$(basename "$series" .csv.gz)
    zcat "$series" | awk -F, 'NR > 1 && $3 != "" && $7 != ""' >"$SCRATCH/series"
    awk -F, '$1 <= 300' "$SCRATCH/series" | recording "${name##*-}" >"$SCRATCH/first"
    is_true=$(awk -F, '$1 > 300 && !n { n = $7; b = $3 } { m = $7; c = $3 }
        END { if (m - n >= 200) printf "%d", (c - b) / (m - n) * 10000 }' "$SCRATCH/series")
    predicted=$("$NMTWATCH" plan --from "$SCRATCH/first" --json |
        jq 'select(.classes.basis == "growth") | .sensitivity[] | select(.key == "classes").classes_bytes')
    if [ -z "$is_true" ] || [ -z "$predicted" ]; then
        continue # too few classes before or after
    fi
    tried=$((tried + 1))
    off=$(((predicted - is_true) * 1000 / is_true))
    check "$name: predicted $((predicted >> 10)) KB, came $((is_true >> 10)) KB" \
        test "${off#-}" -le 100
done
check "$tried series were tried, at least 8" test "$tried" -ge 8

# --- does it grow? ------------------------------------------------------------------------------

wrong=
for series in tests/series/*-{explode,cached}-*.csv.gz; do
    name=$(basename "$series" .csv.gz)
    zcat "$series" | awk -F, 'NR > 1 && $3 != "" && $7 != ""' | recording "${name##*-}" >"$SCRATCH/all"
    "$NMTWATCH" plan --from "$SCRATCH/all" --json >"$SCRATCH/plan"
    case $name:$? in
    *-cached-*:0 | *-explode-*:[12]) ;;
    *) wrong+="$name: $(jq -r .verdict "$SCRATCH/plan") " ;;
    esac
done
is "explosions are not APPROPRIATE, the same with a cache is" "$wrong" ""
exits "a page of HTML" 0 "$NMTWATCH" plan --classes 40000 --html
contains "is one page with its policy" "$OUTPUT" "Content-Security-Policy"
exits "one form at a time" 64 "$NMTWATCH" plan --classes 40000 --html --json
done_testing
