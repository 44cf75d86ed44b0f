#!/bin/bash
# findings: what is made of analyzers/judge/findings.def: the index in docs/runbooks/README.md and the ids in
# docs/schema/definitions.json.
#
# usage: findings.sh            prints what is not as it has to be; exit 1 when there is any
#        findings.sh --update   writes both

set -eu
cd "$(dirname "$0")/../.."
index=docs/runbooks/README.md schema=docs/schema/definitions.json
# ID SEVERITY PAGE of each: a row is two lines.
rows=$(sed -n '/^FINDING(/{N; s/\n//; p}' analyzers/judge/findings.def |
    sed -nE 's/^FINDING\([A-Z_]+, "([a-z-]+)", ([A-Z]+),.*"([a-z-]+)"\)$/\1 \2 \3/p')
table=$(printf '| alert or finding | severity | page |\n|---|---|---|\n'
    while read -r id severity page; do
        echo "| \`$id\` | $severity | [${page//-/ }]($page.md) |"
    done <<<"$rows")
ids=$(sed 's/^\([^ ]*\) .*/        "\1",/; $s/,$//' <<<"$rows")
made() { # FILE
    case $1 in
    "$index") TABLE=$table perl -0pe 's/^\| alert or finding .*?(?=\n\n)/$ENV{TABLE}/ms' "$1" ;;
    "$schema") IDS=$ids perl -0pe 's/("finding_id": \{\n\s+"enum": \[\n).*?(\n\s+\])/$1$ENV{IDS}$2/s' "$1" ;;
    esac
}
code=0
for file in "$index" "$schema"; do
    text=$(made "$file")
    if [ "${1-}" = --update ]; then
        printf '%s\n' "$text" >"$file"
    else
        diff "$file" - <<<"$text" || code=1
    fi
done
exit $code
