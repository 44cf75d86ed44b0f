#!/bin/bash
# `nmtwatch flamegraph`: one profile, two profiles compared, and what is no profile.
. "$(dirname "$0")/../tap.sh"
need_built "$NMTWATCH"

cat >"$SCRATCH/before.txt" <<'END'
main;run;parse 50
main;run;eval;groovy 10
main;gc [libjvm.so] 20
main;old 5
END
cat >"$SCRATCH/after.txt" <<'END'
main;run;parse 30
main;run;eval;groovy 90
main;gc [libjvm.so] 21
main;<b>new 9
END

rows() { # what a table says: change, before, after, method, and whether it is new or gone
    sed -E '1d; s/^ +//; s/  +/ /g' <<<"$OUTPUT"
}
exits "two profiles, by shares" 0 "$NMTWATCH" flamegraph "$SCRATCH/before.txt" "$SCRATCH/after.txt"
is "the methods that changed" "$(rows)" "+48.24 10 90 groovy
-38.82 50 30 parse
-9.53 20 21 gc [libjvm.so]
+6.00 0 9 new <b>new
-5.88 5 0 gone old"
exits "by samples" 0 "$NMTWATCH" flamegraph --absolute "$SCRATCH/before.txt" "$SCRATCH/after.txt"
is "the same methods" "$(rows)" "+53.33 10 90 groovy
-13.33 50 30 parse
+6.00 0 9 new <b>new
-3.33 5 0 gone old
+0.67 20 21 gc [libjvm.so]"
exits "a profile compared with itself" 0 "$NMTWATCH" flamegraph "$SCRATCH/after.txt" "$SCRATCH/after.txt"
is "did not change" "$(rows | cut -d ' ' -f 1 | sort -u)" "+0.00"

exits "as a page" 0 "$NMTWATCH" flamegraph "$SCRATCH/before.txt" "$SCRATCH/after.txt" -o "$SCRATCH/d.html"
page=$(cat "$SCRATCH/d.html")
contains "what grew is red" "$(grep -A 1 '>groovy$' "$SCRATCH/d.html")" 'rect class="m4"'
contains "what shrank is blue" "$(grep -A 1 '>parse$' "$SCRATCH/d.html")" 'rect class="l4"'
contains "a frame says by how much" "$page" "before 50, -38.82 points"
contains "what is gone is in the table" "$page" "<td>gone</td><td class=\"method\">old</td>"
lacks "names are no elements" "$page" "<b>new"
lacks "and nothing is loaded" "$page" 'src="http'
exits "one profile is a flame graph" 0 "$NMTWATCH" flamegraph "$SCRATCH/after.txt" -o "$SCRATCH/one.html"
contains "with colours by kind" "$(grep -A 1 'gc \[libjvm.so\]$' "$SCRATCH/one.html")" 'rect class="n'
exits "JFR is read as well" 0 "$NMTWATCH" flamegraph tests/fuzz/seeds/jfr_read/one_chunk.jfr -o "$SCRATCH/j.html"
check "and drawn" grep -q '<svg id="flame"' "$SCRATCH/j.html"
exits "JFR becomes collapsed stacks" 0 "$NMTWATCH" flamegraph tests/fuzz/seeds/jfr_read/one_chunk.jfr -o "$SCRATCH/j.txt"
is "each line is a stack and its samples" "$(grep -cvE '^.+ [0-9]+$' "$SCRATCH/j.txt")" 0
exits "which can be read again" 0 "$NMTWATCH" flamegraph "$SCRATCH/j.txt" -o "$SCRATCH/again.txt"
is "and stay the same" "$(cat "$SCRATCH/again.txt")" "$(cat "$SCRATCH/j.txt")"
exits "two profiles have no collapsed stacks" 64 "$NMTWATCH" flamegraph "$SCRATCH/before.txt" "$SCRATCH/after.txt" -o "$SCRATCH/d.txt"

printf 'main;a 3\nno number\nmain;b -1\nmain;c 99999999999999999999\n# a comment\n' >"$SCRATCH/mixed.txt"
exits "lines that are no stacks are left out" 0 "$NMTWATCH" flamegraph "$SCRATCH/mixed.txt" -o "$SCRATCH/m.html"
contains "and counted" "$OUTPUT" "no stacks: 3 lines"
exits "a text without a stack" 74 "$NMTWATCH" flamegraph README.md -o "$SCRATCH/r.html"
contains "is told in a line" "$OUTPUT" "is neither a JFR file nor collapsed stacks"
exits "no file" 74 "$NMTWATCH" flamegraph "$SCRATCH/none" -o "$SCRATCH/r.html"
exits "no profile at all" 64 "$NMTWATCH" flamegraph
exits "one profile and nowhere to write" 64 "$NMTWATCH" flamegraph "$SCRATCH/after.txt"
exits "a full disk" 74 "$NMTWATCH" flamegraph "$SCRATCH/after.txt" -o /dev/full
# Without a bound it would take the memory of the machine.
exits "a file that is one endless line" 74 timeout 20 "$NMTWATCH" flamegraph /dev/zero -o "$SCRATCH/endless.html"
done_testing
