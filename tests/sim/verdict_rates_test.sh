#!/bin/bash
# The error rates in docs/internals/error-rates.md are those of this tree: seeds 1 and 2 of every shape are judged
# again (some 20 s) and must come out as they did when the tables were made. When they do not:
# `make verdict-error-rates`, and look at what it changes.
# timeout: 300
. "$(dirname "$0")/../tap.sh"

first=tests/verdict/first_seeds.txt
check "the program builds" make -s build/error_rates
build/error_rates --first-seeds >"$SCRATCH/first" 2>"$SCRATCH/errors"
is "it runs" "$?$(cat "$SCRATCH/errors")" 0
diff "$first" "$SCRATCH/first" | sed -n '/^[<>]/p' | head -n 20 >"$SCRATCH/changed"
silent "seeds 1 and 2 are judged as they were" cat "$SCRATCH/changed"
is "and the tables were made with them" \
    "$(sed -n 's/^First seeds: //p' docs/internals/error-rates.md)" "$(cksum <"$first")"
is "a series is the same whenever it is made" \
    "$(build/error_rates --set 1 --shape ramp --seed 7 --csv | cksum)" \
    "$(build/error_rates --set 1 --shape ramp --seed 7 --csv | cksum)"
exits "an unknown shape is refused" 64 build/error_rates --set 1 --shape nonesuch --seed 1 --csv
done_testing
