#!/bin/bash
# json-fields: the tables of fields in docs/json/*.md, from the schemas.
#
# usage: json-fields.sh PAGE...      prints each page as it has to be
#        json-fields.sh --update     writes all of them

set -eu

fields() { # SCHEMA: a row for each member
    jq -r '
        def kind:
            if has("$ref") then (.["$ref"] | sub(".*/"; ""))
            elif has("const") then "`" + (.const | tojson) + "`"
            elif has("enum") then (.enum | if length > 12 then "text" else map("`" + tojson + "`") | join(", ") end)
            elif has("oneOf") then (.oneOf | map(kind) | join(" or "))
            elif has("anyOf") then (.anyOf | map(kind) | join(" or "))
            elif has("type") then (.type | if type == "array" then join(" or ") else . end)
            else "any" end;
        def rows(path):
            (.required // []) as $required |
            ((.properties // {}) | to_entries[] | .key as $key | .value as $value |
                "| `\(path)\($key)` | \($value | kind) | \(if $required | index($key) then "yes" else "" end) | \(($value.description // "") | gsub("\\|"; "\\|")) |",
                ($value | rows(path + $key + "."))),
            (if (.items | type) == "object" then .items | rows((path | rtrimstr(".")) + "[].") else empty end);
        (if has("oneOf") then "| one of | \(kind) | | |" else empty end),
        (rows("")),
        ((.["$defs"] // {}) | to_entries[] | .key as $name | .value | rows($name + ": "))
    ' "docs/schema/$1.json"
}

page() { # FILE
    local line schema skip=
    while IFS= read -r line; do
        case $line in
        '<!-- fields of '*)
            schema=${line#'<!-- fields of '}
            schema=${schema%%:*}
            printf '%s\n\n## Fields of %s.json\n\n| field | type | always | |\n|--|--|--|--|\n' "$line" "$schema"
            fields "$schema"
            echo
            skip=1
            ;;
        '<!-- fields: end -->') skip= ;;
        esac
        [ -n "$skip" ] || echo "$line"
    done <"$1"
}

case ${1-} in
--update)
    for file in docs/json/*.md; do
        page "$file" >"$file.new"
        mv "$file.new" "$file"
    done
    ;;
*) for file in "$@"; do page "$file"; done ;;
esac
