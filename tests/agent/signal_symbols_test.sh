#!/bin/bash
# What a signal handler can reach: the files of signal context have no other undefined symbols than
# signal_symbols.txt lists. A line is "file: symbol ..."; MACHINE is the architecture; what is listed and not used is no error
# (compilers differ: memcmp may be bcmp).
. "$(dirname "$0")/../tap.sh"

list=$SCRATCH/symbols
sed "s|/MACHINE/|/$(${CC:-gcc} -dumpmachine | sed 's|-.*||')/|" tests/agent/signal_symbols.txt >"$list"
objects=$(sed -nE 's|^([^:#]+)\.c:.*|build/obj-agent/\1.o|p' "$list")
# shellcheck disable=SC2086 # a list of words
check "the files of signal context compile" make -s $objects

while IFS=: read -r source allowed; do
    case $source in '' | '#'*) continue ;; esac
    strange=$(nm -u "build/obj-agent/${source%.c}.o" | while read -r _ symbol; do
        [[ " $allowed _GLOBAL_OFFSET_TABLE_ " == *" ${symbol%@*} "* ]] || echo "$symbol" # NAME@GLIBC_VERSION
    done)
    if [ -z "$strange" ]; then
        pass "$source reaches what is listed"
    else
        fail "$source reaches what is listed" "not listed: $(echo $strange)"
    fi
done <"$list"
done_testing
