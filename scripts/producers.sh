#!/bin/bash
# producers: docs/runbooks/producers.md from analyzers/classes/families.def: who generates classes, why
# they multiply, what to change. A test holds the page against the table.
#
# usage: producers.sh >docs/runbooks/producers.md

set -eu
cd "$(dirname "$0")/.."
cat <<'END'
# Producers of generated classes

The alert names a family; this is what nmtwatch knows about it, written by `scripts/producers.sh` from
the table that the alerts are made of. What to do first stands in [class explosion](class-explosion.md).

END
# The compiler joins the pieces of long texts; one family is one line then.
printf '#define FAMILY(id, producer, role, evidence, must, pattern, cause, fix) \\\n' >/dev/null
sed -n '/^FAMILY(/,$p' analyzers/classes/families.def |
    awk '
        # Takes the next "text" (adjacent ones are one) from the line.
        function text(   part, out) {
            out = ""
            while (match(rest, /^[ ,]*"([^"\\]|\\.)*"/)) {
                part = substr(rest, RSTART, RLENGTH)
                if (out != "" && part ~ /,/ && part ~ /^ *,/) break
                sub(/^[ ,]*"/, "", part); sub(/"$/, "", part)
                out = out part
                rest = substr(rest, RLENGTH + 1)
            }
            gsub(/\\"/, "\"", out); gsub(/\\\\/, "\\", out)
            return out
        }
        function safe(out) { gsub(/[*_<]/, "\\\\&", out); gsub(/\|/, "\\|", out); return out }
        function family(   id, producer) {
            rest = row
            sub(/^FAMILY\(/, "", rest)
            id = text(); producer = text()
            sub(/^[ ,]*[A-Z]+, *[A-Z]+/, "", rest)
            text(); text()
            cause = text(); fix = text()
            printf "## %s\n\n%s. %s\n\n%s\n\n", id, safe(producer), safe(cause), safe(fix)
        }
        /^FAMILY\(/ { if (row != "") family(); row = "" }
        { sub(/^ +/, " "); row = row $0 }
        END { family() }' | sed '$d'
