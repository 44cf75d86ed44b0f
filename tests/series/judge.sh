#!/bin/bash
# judge: asks `nmtwatch verdict` about every labelled series and compares.
#
# usage: judge.sh [--markdown | --readme | --write]
#
# Prints, tab-separated: result, file, series, until, state, slope in MB/h, the states wanted, reason.
# result: exact, right (same answer, another state), cannot-tell, open (any answer is fair), WRONG.
# --markdown: the table of README.md, a row a recording; --readme: README.md as it should be;
# --write: renews it.
# NMTWATCH=PATH   the program (build/nmtwatch)

set -u
cd "$(dirname "$0")/../.." || exit 1
nmtwatch=${NMTWATCH:-build/nmtwatch}

# One labelled series on standard output: seconds, bytes, classes loaded.
series() { # FILE SERIES UNTIL
    zcat "tests/series/$1.csv.gz" | awk -F, -v series="$2" -v until="$3" '
        /^#/ { next }
        !column {
            for (i = 1; i <= NF; i++) if ($i == series) column = i
            if (!column) exit 1
            next
        }
        until == "-" || $1 <= until { print $1 "," $column "," $NF }'
}

judge() {
    local file name until answer states reason output code
    while IFS=$'\t' read -r file name until answer states reason; do
        case $file in '#'*) continue ;; esac
        code=0
        output=$(series "$file" "$name" "$until" | "$nmtwatch" verdict - --regressor-column --json) ||
            code=$?
        printf '%s\t' "$file" "$name" "$until" "$answer" "$states" "$code" "$reason"
        echo "${output:-null}"
    done <tests/series/labels.tsv | jq -rR '
        split("\t") as [$file, $name, $until, $answer, $states, $code, $reason, $json]
        | ($json | fromjson? // null) as $verdict
        | {"0": "not-growing", "1": "growing", "3": "undecided"}[$code] as $said
        | [ (if $said == null or $verdict.state == null then "WRONG"
             elif $answer == "open" then "open"
             elif $said == "undecided" and (($states | split(" ")) | index($verdict.state)) then "exact"
             elif $said == "undecided" then "cannot-tell"
             elif $said != $answer then "WRONG"
             elif ($states | split(" ")) | index($verdict.state) then "exact"
             else "right" end),
            $file, $name, $until, ($verdict.state // "exit \($code)"),
            ($verdict.slope_bytes_per_hour | if . == null then "-"
                else . / 10485.76 | round / 100 | tostring end),
            $states, $reason ]
        | join("\t")'
}

markdown() {
    judge | awk -F'\t' '
        function cell(title, name) { return ((title, name) in cells) ? cells[title, name] : "" }
        BEGIN {
            print "| recording | Internal | Class + Metaspace | NMT total | RSS |"
            print "|--|--|--|--|--|"
            mark["exact"] = "right"; mark["right"] = "right answer"
            mark["cannot-tell"] = "cannot tell"; mark["open"] = "open"; mark["WRONG"] = "**WRONG**"
        }
        { count[$1]++ }
        $3 == "metaspace" { next } # the same but for its size
        {
            title = $2 ($4 == "-" ? "" : ", first " $4 " s")
            if (!(title in seen)) titles[++rows] = title
            seen[title] = 1
            cells[title, $3] = mark[$1] ": " $5
        }
        END {
            for (i = 1; i <= rows; i++)
                printf "| %s | %s | %s | %s | %s |\n", titles[i], cell(titles[i], "internal"),
                    cell(titles[i], "class_metaspace"), cell(titles[i], "nmt_total"),
                    cell(titles[i], "rss")
            decided = count["exact"] + count["right"] + count["cannot-tell"] + count["WRONG"]
            printf "\nOf %d series with a known answer: %d right (%d of them with the state that ", decided,
                count["exact"] + count["right"], count["exact"]
            printf "describes it best), %d cannot tell, %d wrong.\n", count["cannot-tell"], count["WRONG"]
        }'
}

readme() {
    sed '/^## What the verdict says/q' tests/series/README.md
    echo
    markdown
}

case ${1-} in
'') judge ;;
--markdown) markdown ;;
--readme) readme ;;
--write)
    readme >tests/series/README.md.new && mv tests/series/README.md.new tests/series/README.md
    ;;
*)
    echo "usage: judge.sh [--markdown | --readme | --write]" >&2
    exit 64
    ;;
esac
