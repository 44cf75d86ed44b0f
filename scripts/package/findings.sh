#!/bin/bash
# findings: what is made of analyzers/judge/findings.def: the index in docs/runbooks/README.md, the ids in
# docs/schema/definitions.json and in docs/json/check.md.
#
# usage: findings.sh            prints what is not as it has to be; exit 1 when there is any
#        findings.sh --update   writes them

set -eu
cd "$(dirname "$0")/../.."
index=docs/runbooks/README.md schema=docs/schema/definitions.json page=docs/json/check.md
# ID SEVERITY PAGE of each: a row is two lines.
rows=$(sed -n '/^FINDING(/{N; s/\n//; p}' analyzers/judge/findings.def |
    sed -nE 's/^FINDING\([A-Z_]+, "([a-z-]+)", ([A-Z]+),.*"([a-z-]+)"\)$/\1 \2 \3/p')
table=$(printf '| alert or finding | severity | page |\n|---|---|---|\n'
    while read -r id severity book; do
        echo "| \`$id\` | $severity | [${book//-/ }]($book.md) |"
    done <<<"$rows")
ids=$(sed 's/^\([^ ]*\) .*/        "\1",/; $s/,$//' <<<"$rows")
quoted() { # "ID..." on standard input, a line each
    sed 's/.*/`&`/' | paste -sd , | sed 's/,/, /g'
}
all=$(cut -d ' ' -f 1 <<<"$rows")
watched=$(sed '/^\/\* Only a triage/,$d' analyzers/judge/findings.def | grep -c '^FINDING(')
kinds="the kind: $(head -n "$watched" <<<"$all" | quoted); of a triage also $(tail -n +"$((watched + 1))" <<<"$all" | quoted)"
made() { # FILE
    case $1 in
    "$index") TABLE=$table perl -0pe 's/^\| alert or finding .*?(?=\n\n)/$ENV{TABLE}/ms' "$1" ;;
    "$schema") IDS=$ids perl -0pe 's/("finding_id": \{\n\s+"enum": \[\n).*?(\n\s+\])/$1$ENV{IDS}$2/s' "$1" ;;
    "$page") KINDS=$kinds perl -pe 's/^\| `id` \| the kind.*/| `id` | $ENV{KINDS} |/' "$1" ;;
    esac
}
code=0
for file in "$index" "$schema" "$page"; do
    text=$(made "$file")
    if [ "${1-}" = --update ]; then
        printf '%s\n' "$text" >"$file"
    else
        diff "$file" - <<<"$text" || code=1
    fi
done
exit $code
