#!/bin/bash
# `nmtwatch verdict`: what it understands of a file, what it answers, and that nothing it is given makes
# it crash or keep silent about what it passed over.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
need_built "$NMTWATCH"

# A series: awk expression of h (hours) in MB, hours, seconds between lines; a little noise of its own.
series() { # EXPRESSION HOURS EVERY
    awk -v hours="$2" -v every="$3" "BEGIN {
        for (s = 0; s < hours * 3600; s += every) {
            h = s / 3600
            seed = (seed * 16807 + 11) % 2147483647
            mb = $1
            printf \"%d,%d\n\", s, int(mb * 1024 + seed % 64) * 1024
        }
    }"
}

answers() { # NAME CODE STATE ARGUMENTS...: input on stdin
    local name=$1 code=$2 state=$3
    shift 3
    exits "$name: exit code" "$code" "$NMTWATCH" verdict - "$@"
    contains "$name: state" "$OUTPUT" "$state"
}

# --- states and codes ------------------------------------------------------------------------------

answers "flat" 0 CONVERGED: < <(series 80 12 10)
answers "eight points, ten minutes apart" 1 LINEAR: --sparse < <(series '80 + 6 * h' 1.3 600)
answers "eight points that bend" 3 WARMING: --sparse < <(series '80 + 60 * (1 - exp(-h))' 1.3 600)
answers "seven points" 3 TOO_SHORT: --sparse < <(series '80 + 6 * h' 1.1 600)
answers "leak" 1 LINEAR: < <(series '80 + 5 * h' 2 5)
answers "slow leak" 1 LINEAR: < <(series '80 + h' 24 20)
answers "accelerating" 1 ACCELERATING: < <(series '80 + h * h' 12 10)
answers "creep" 1 SLOWING: < <(series '80 + 20 * log(1 + h / 0.2)' 24 20)
answers "start-up" 3 WARMING: < <(series '80 + 100 * (1 - exp(-h / 2))' 2 5)
answers "start-up, over" 0 CONVERGED: < <(series '80 + 60 * (1 - exp(-h / 0.3))' 12 10)
answers "step" 0 STEPPED: < <(series '80 + (h > 20) * 30' 48 20)
answers "teeth" 0 SAWTOOTH: < <(series '80 + 50 * (h * 4 - int(h * 4))' 24 10)
answers "leak under teeth" 1 LINEAR: < <(series '80 + 3 * h + 50 * (h * 4 - int(h * 4))' 24 10)
answers "too short" 3 TOO_SHORT: < <(series 80 0.01 5)
answers "two samples" 3 TOO_SHORT: <<<$'0,100\n5,200'
answers "constant" 0 CONVERGED: < <(for ((s = 0; s < 3600; s += 10)); do echo "$s,5000000"; done)
answers "nothing" 3 TOO_SHORT: </dev/null
answers "no value in any line" 3 TOO_SHORT: < <(for ((s = 0; s < 3600; s += 10)); do echo "$s,"; done)

# --- the form of the file --------------------------------------------------------------------------

series '80 + 5 * h' 2 5 >"$SCRATCH/plain.csv"
plain=$("$NMTWATCH" verdict "$SCRATCH/plain.csv")
same() { # NAME FILE
    is "$1" "$("$NMTWATCH" verdict "$2" 2>&1)" "$plain"
}
{
    printf '\xef\xbb\xbfseconds,bytes\r\n# a comment\r\n\r\n'
    sed 's/,/ , /; s/^/  /; s/$/\r/' "$SCRATCH/plain.csv"
} >"$SCRATCH/dressed.csv"
same "header, comment, blank line, CR LF, spaces, byte order mark" "$SCRATCH/dressed.csv"
gzip -k "$SCRATCH/plain.csv"
same "gzip" "$SCRATCH/plain.csv.gz"
sed 's/,/.000,/; s/$/.0/' "$SCRATCH/plain.csv" >"$SCRATCH/decimal.csv"
same "decimals" "$SCRATCH/decimal.csv"
head -c -1 "$SCRATCH/plain.csv" >"$SCRATCH/cut.csv"
same "no newline at the end" "$SCRATCH/cut.csv"
sed 's/$/,7,text/' "$SCRATCH/plain.csv" >"$SCRATCH/wide.csv"
same "further columns" "$SCRATCH/wide.csv"
is "standard input" "$("$NMTWATCH" verdict - <"$SCRATCH/plain.csv")" "$plain"

awk -F, 'NR % 5 == 0 { print $1 ","; next } NR % 7 == 0 { print $1 ",nan"; next } { print }' \
    "$SCRATCH/plain.csv" >"$SCRATCH/missing.csv"
exits "empty values and nan are gaps" 1 "$NMTWATCH" verdict "$SCRATCH/missing.csv"
lacks "and no bad lines" "$OUTPUT" warning

{
    cat "$SCRATCH/plain.csv"
    printf 'what,is this\n7300,0x10\n7305\n,5\n7310,5 apples\n'
    head -c 6000 /dev/zero | tr '\0' x
    printf '\n7315,\x1b[31m\n'
} >"$SCRATCH/bad.csv"
exits "bad lines do not count" 1 "$NMTWATCH" verdict "$SCRATCH/bad.csv"
contains "but are counted" "$OUTPUT" "warning: 7 of 1447 lines"
contains "and the first is shown" "$OUTPUT" "line 1441: what,is this"
exits "only bad lines: no verdict" 74 "$NMTWATCH" verdict - <<<$'0;\n0x5,1\nwhat'
exits "no such file" 74 "$NMTWATCH" verdict "$SCRATCH/none.csv"
contains "and says so" "$OUTPUT" "No such file"
exits "a folder" 74 "$NMTWATCH" verdict "$SCRATCH"
head -c 3000 "$SCRATCH/plain.csv.gz" >"$SCRATCH/torn.csv.gz"
exits "a torn gzip file is judged up to the tear" 1 "$NMTWATCH" verdict "$SCRATCH/torn.csv.gz"
contains "and that is told" "$OUTPUT" "in the middle of a gzip member"

# --- odd clocks and numbers --------------------------------------------------------------------------

awk -F, '{ t = $1; if (NR > 500) t -= 900; if (NR % 100 == 0) t -= 5; print t "," $2 }' \
    "$SCRATCH/plain.csv" >"$SCRATCH/back.csv"
exits "a clock that steps back" 1 "$NMTWATCH" verdict "$SCRATCH/back.csv"
awk -F, '{ print $1 + 1.8e9 "," $2 }' OFMT='%.3f' CONVFMT='%.3f' "$SCRATCH/plain.csv" >"$SCRATCH/epoch.csv"
exits "seconds since 1970" 1 "$NMTWATCH" verdict "$SCRATCH/epoch.csv"
for value in 9223372036854775807 -9223372036854775808 99999999999999999999999 -5 1e300 inf; do
    awk -v v="$value" 'BEGIN { for (s = 0; s < 3600; s += 5) print s "," (s % 10 ? v : 0) }' |
        "$NMTWATCH" verdict --json --limit 1G - >"$SCRATCH/out" 2>&1
    code=$?
    check "values around $value: an answer" test $code -le 3
done

# --- what it prints ------------------------------------------------------------------------------------

"$NMTWATCH" verdict --json --limit 1G "$SCRATCH/plain.csv" >"$SCRATCH/json"
json() { # JQ EXPRESSION
    jq -r "$1" "$SCRATCH/json"
}
is "json: state and answer" "$(json '.state + " " + .answer')" "LINEAR growing"
is "json: the interval holds 5 MB/h" \
    "$(json '.ci95[0] <= 5242880 and .ci95[1] >= 5242880 and .ci95[0] > 5000000')" true
is "json: it grew 10 MB" "$(json '.growth_bytes / 1048576 | round')" 10
is "json: when the limit is reached" "$(json '.eta_seconds / 3600 | round')" 187
is "json: no counter, nothing explained" "$(json .explained_share)" null
contains "the sentence names slope and limit" "$(json .sentence)" "reaches the limit in"
awk -F, '{ print $1 "," $2 "," 5000 + int($1 / 2) }' "$SCRATCH/plain.csv" |
    "$NMTWATCH" verdict --json --regressor-column - >"$SCRATCH/json"
is "json: explained by classes" "$(json '.explained_share > 0.95')" true
is "json: bytes per class" "$(json '.bytes_per_class / 100 | round')" 29
awk -F, '{ print $1 "," $2 "," ($1 < 5400 ? 9000 : 300) + $1 }' "$SCRATCH/plain.csv" |
    "$NMTWATCH" verdict --json --regressor-column - >"$SCRATCH/json"
is "json: a counter that falls is a restart" "$(json .restarts)" 1

exits "no file" 64 "$NMTWATCH" verdict
exits "two files" 64 "$NMTWATCH" verdict a b
exits "help" 0 "$NMTWATCH" help verdict

# A day at 1 Hz in less than two seconds; sanitizers take longer.
series '80 + h / 10' 24 1 >"$SCRATCH/day.csv"
began=$EPOCHREALTIME
"$NMTWATCH" verdict "$SCRATCH/day.csv" >/dev/null
took_ms=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
limit_ms=2000
[ "$NMTWATCH" = build/nmtwatch ] || limit_ms=20000
check "24 h at 1 Hz: $took_ms ms" test "$took_ms" -lt "$limit_ms"
done_testing
