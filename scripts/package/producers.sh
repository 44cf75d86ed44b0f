#!/bin/bash
# producers: docs/runbooks/producers.md from analyzers/classes/families.def: who generates classes, why
# they multiply, what to change. A test holds the page against the table.
#
# usage: producers.sh >docs/runbooks/producers.md

set -eu
. "$(dirname "$0")/../lib.sh"
cat <<'END'
# Producers of generated classes

The alert names a family; this is what nmtwatch knows about it, written by `scripts/package/producers.sh` from
the table that the alerts are made of. What to do first stands in [class explosion](class-explosion.md).

END
# The preprocessor knows where a text ends; the pieces of one stand side by side.
{
    echo '#define FAMILY(id, producer, role, evidence, must, pattern, cause, fix) \'
    echo '    @@ id @ producer @ cause @ fix'
    cat analyzers/classes/families.def
} | ${CC:-gcc} -E -P -x c - | tr '\n' ' ' | sed 's/@@/\n@@/g' | awk -F ' @ ' '
    function text(field) {
        gsub(/" +"/, "", field)
        sub(/^ *(@@)? *"/, "", field)
        sub(/" *$/, "", field)
        gsub(/\\"/, "\"", field)
        gsub(/[*_<|]/, "\\\\&", field)
        return field
    }
    /^@@/ {
        id = text($1)
        gsub(/\\/, "", id)
        printf "%s## %s\n\n%s. %s\n\n%s\n", separator, id, text($2), text($3), text($4)
        separator = "\n"
    }' | fmt -s -w 100
