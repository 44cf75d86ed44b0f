#!/bin/bash
# The verdict of real JVMs' series (tests/series): it may not know, but it must not be wrong.

. "$(dirname "$0")/../tap.sh"

export NMTWATCH=${NMTWATCH:-build/nmtwatch}
need_built "$NMTWATCH"
need jq

RIGHT_PERCENT=85 # one that never knows would never be wrong either

check "every recording has a label" test -z "$(
    for recording in tests/series/*.csv.gz; do
        grep -q "^$(basename "$recording" .csv.gz)	" tests/series/labels.tsv || echo "$recording"
    done
)"
is "no label without a recording, no recording without a recipe" "$(
    cut -f1 tests/series/labels.tsv | grep -v '^#' | sort -u | while read -r name; do
        [ -e "tests/series/$name.csv.gz" ] || echo "$name: no recording"
        grep -q "^$name	" tests/series/recipes.tsv || echo "$name: no recipe"
    done
)" ""
silent "no recording is large" find tests/series -name '*.csv.gz' -size +60k

tests/series/judge.sh >"$SCRATCH/judged"
while read -r name; do
    awk -F'\t' -v file="$name" '$2 == file {
        printf "# %-11s %s %s%s: %s %s MB/h, wanted %s: %s\n", $1, $2, $3,
            $4 == "-" ? "" : " until " $4 " s", $5, $6, $7, $8
    }' "$SCRATCH/judged"
    silent "$name" awk -F'\t' -v file="$name" '$1 == "WRONG" && $2 == file' "$SCRATCH/judged"
done < <(cut -f2 "$SCRATCH/judged" | uniq)

read -r right known < <(awk -F'\t' '
    $1 == "exact" || $1 == "right" { right++ }
    $1 != "open" { known++ }
    END { print right + 0, known + 0 }' "$SCRATCH/judged")
check "it knows: $right of $known series are right, at least $RIGHT_PERCENT %" \
    test $((right * 100)) -ge $((known * RIGHT_PERCENT))

is "README.md shows these answers (tests/series/judge.sh --write renews it)" \
    "$(tests/series/judge.sh --readme | diff tests/series/README.md -)" ""

done_testing
