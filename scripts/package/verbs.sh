#!/bin/bash
# verbs: the list of verbs in README.md, from what `nmtwatch help` prints.
#
# usage: verbs.sh NMTWATCH [--update]; without --update the list goes to standard output

set -eu
list=$("$1" help | sed -n 's/^  /    /p')
if [ "${2-}" = --update ]; then
    LIST=$list perl -0pi -e 's/(<!-- verbs: begin[^\n]*\n).*(<!-- verbs: end -->)/$1$ENV{LIST}\n$2/s' README.md
else
    echo "$list"
fi
