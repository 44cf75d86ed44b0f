#!/bin/bash
# verbs: the list of verbs in README.md, from what `nmtwatch help` prints, and that of their schemas in docs/json.md, from
# nmtwatch/commands/commands.def.
#
# usage: verbs.sh NMTWATCH [--update]; without --update both lists go to standard output

set -eu
list=$("$1" help | sed -n 's/^  /    /p')
# A line of JSON for each event.
schemas=$(printf '| output | schema |\n|--|--|\n'
    sed -n 's/^COMMAND(\([a-z]*\), .*, "\([a-z-]*\)", "\([a-z]*\)")$/| `\1 --json` | [`\2.json`](json\/\3.md) |/p' \
        "$(dirname "$0")/../../nmtwatch/commands/commands.def" | sed '/watch-line/s/ |$/, a line each |/')
put() { # FILE TEXT
    LIST=$2 perl -0pi -e 's/(<!-- verbs: begin[^\n]*\n).*(<!-- verbs: end -->)/$1$ENV{LIST}\n$2/s' "$1"
}
if [ "${2-}" = --update ]; then
    put README.md "$list"
    put docs/json.md "$schemas"
else
    printf '%s\n' "$list" "$schemas"
fi
