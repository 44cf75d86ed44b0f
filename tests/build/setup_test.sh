#!/bin/bash
# What set-up promises is all that the scripts of this tree call; a command that is not promised is found.
. "$(dirname "$0")/../tap.sh"

check "every command that a script calls is promised" scripts/setup.sh --check

called() { # SCRIPT_TEXT: what the scan finds
    printf '%s\n' "$1" >"$SCRATCH/script.sh"
    perl scripts/test/commands_used.pl "$SCRATCH/script.sh" | cut -f 1 | sort -u | paste -sd ' '
}
is "a pipe" "$(called 'sum=$(printf 1 | bc)')" bc
is "a list" "$(called 'one && two || ! three; four & { five; }')" "five four one three two"
is "what stands in quotes is no command" "$(called "echo 'one | two' \"three; four\"")" ""
is "a substitution in quotes is" "$(called 'echo "one $(two "$(three)") four"')" "three two"
is "words before a command" "$(called 'A=1 timeout -k 3 10 one; if command -v two; then exec three; fi')" \
    "one three timeout two"
is "a shell's argument" "$(called "bash -c 'one | two'; jq -c 'three | four'")" "bash jq one two"
is "a here-document is text, its substitutions are not" "$(called 'one <<END
two $(three)
END
four <<"END"
$(five)
END')" "four one three"
is "patterns of case, arrays, arithmetic, functions" "$(called 'case $1 in
one | two) three ;;
esac
list=(four "five" $(six))
for ((i = 0; i < 3; i++)); do seven; done
eight() { nine; }
eight')" "nine seven six three"
done_testing
