#!/bin/bash
# categories: docs/runbooks/categories.md from analyzers/judge/categories.def: what each category of
# Native Memory Tracking means, from when it is a finding, why it is large, what decides, what to change.
# A test holds the page against the table.
#
# usage: categories.sh >docs/runbooks/categories.md

set -eu
. "$(dirname "$0")/../lib.sh"
cat <<'END'
# Categories of Native Memory Tracking

Finding: `nmt-largest`.

What the advice of `analyze` and `triage` says of each, written by `scripts/package/categories.sh` from its
table. A level far above that of a JVM at its start is a finding for each category (docs/thresholds.md);
growth is counted between two measurements, or in a difference that the JVM printed. The causes are in the
order of their probability.

END
names=$(sed -n 's/^NMT_CATEGORY(\([A-Z_]*\), "\(.*\)")$/\1=\2/p' analyzers/parse/nmt_categories.def | tr '\n' '|')
{
    echo '#define CATEGORY(id, growth, share, finding, meaning, causes, command, fix) \'
    echo '    @@ #id @ growth @ share @ meaning @ causes @ command @ fix'
    cat analyzers/judge/categories.def
} | sed 's/#id/id/' | ${CC:-gcc} -E -P -x c - | tr '\n' ' ' | sed 's/@@/\n@@/g' | awk -F ' @ ' -v names="$names" '
    function text(field) {
        gsub(/" +"/, "", field)
        sub(/^ *(@@)? *"?/, "", field)
        sub(/"? *$/, "", field)
        gsub(/\\"/, "\"", field)
        gsub(/[*_<|]/, "\\\\&", field)
        return field
    }
    BEGIN {
        count = split(names, list, "|")
        for (i = 1; i <= count; i++) {
            at = index(list[i], "=")
            name[substr(list[i], 1, at - 1)] = substr(list[i], at + 1)
        }
    }
    /^@@/ {
        id = text($1)
        gsub(/\\/, "", id)
        growth = $2 + 0 > 0 ? "Growth of " $2 + 0 " MB is a finding." : "Growth is no finding of its own."
        share = $3 + 0 > 0 ? " Noted from " $3 + 0 " % of what is committed beside the heap." : ""
        printf "%s## %s\n\n%s. %s%s\n\n**Causes:** %s.\n\n**To decide:** %s.\n\n**Fix:** %s\n",
            separator, name[id], text($4), growth, share, text($5), text($6), text($7)
        separator = "\n"
    }' | fmt -s -w 100
