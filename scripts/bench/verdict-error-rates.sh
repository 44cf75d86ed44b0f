#!/bin/bash
# verdict-error-rates: measures how often the verdict errs and writes it into docs/internals/error-rates.md.
#
# usage: verdict-error-rates.sh [BUILD]     what `make verdict-error-rates` calls, after building
#
# Deterministic: the same tree writes the same bytes. The two sets of series run side by side. What
# the first seeds gave goes to tests/verdict/first_seeds.txt, which `make test` measures again.

set -eu
. "$(dirname "$0")/../lib.sh"
export LC_ALL=C
program=${1:-build}/error_rates
document=docs/internals/error-rates.md
first=tests/verdict/first_seeds.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$program" --set 1 >"$scratch/1" &
one=$!
"$program" --set 2 >"$scratch/2"
"$program" --set 3 >"$scratch/3"
wait "$one"
"$program" --first-seeds >"$scratch/first"

{
    sed '/<!-- error rates: begin/q' "$document"
    echo
    echo "First seeds: $(cksum <"$scratch/first")"
    for set in 1 2 3; do
        echo
        cat "$scratch/$set"
    done
    echo
    sed -n '/<!-- error rates: end/,$p' "$document"
} >"$scratch/document"

cp "$scratch/document" "$document"
cp "$scratch/first" "$first"
sed -n '/^## Set\|^| goal/,/^$/p' "$scratch/1" "$scratch/2" "$scratch/3"
