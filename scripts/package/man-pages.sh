#!/bin/bash
# man-pages: nmtwatch-VERB.1 for each verb, from what `nmtwatch help VERB` prints: the tables that
# parse the options also document them. A verb with a page in docs/man has that one. nmtwatch.1 gets the lists of verbs and
# findings.
#
# usage: man-pages.sh NMTWATCH FOLDER [EMULATOR...]     EMULATOR runs a program of another machine

set -eu
folder=$2
nmtwatch=("${@:3}" "$1")
written=$(dirname "$0")/../../docs/man
date=$(sed -n 's/^\.Dd //p' "$(dirname "$0")/../../docs/nmtwatch.1")

page() { # VERB SUMMARY, help on standard input
    awk -v verb="$1" -v summary="$2" -v date="$date" '
        function quoted(text) {
            gsub(/\\/, "\\e", text)
            gsub(/-/, "\\-", text)
            return text
        }
        # A control line begins with a dot or a quote; text must not.
        function line(text) {
            print (text ~ /^[.\x27]/ ? "\\&" : "") text
        }
        # Sentences begin on lines of their own, as mdoc wants them.
        function prose(text,   words, count, i, out) {
            count = split(quoted(text), words, " ")
            for (i = 1; i <= count; i++) {
                if (out != "" && (length(out " " words[i]) > 78 || out ~ /[.?!]$/)) {
                    line(out)
                    out = words[i]
                } else
                    out = out (out == "" ? "" : " ") words[i]
            }
            if (out != "") line(out)
        }
        # The words of a value, of which none may be taken for a macro.
        function value(text) {
            text = quoted(text)
            gsub(/ /, " \\\\\\&", text)
            return text == "" ? "" : " Ar \\&" text
        }
        function flag(text) {
            return "Fl " quoted(substr(text, 2))
        }
        function option(text,   left, help, at, parts, count, names, i, out) {
            sub(/^ +/, "", text)
            at = match(text, /  +/)
            help = at ? substr(text, at + RLENGTH) : ""
            left = at ? substr(text, 1, at - 1) : text
            at = match(left, /--[a-z0-9-]+/)
            out = left ~ /^-[a-z],/ ? flag(substr(left, 1, 2)) " , " : ""
            print ".It " out flag(substr(left, at, RLENGTH)) value(substr(left, at + RLENGTH + 1))
            prose(help)
        }
        function flush(   text) {
            text = paragraph
            paragraph = ""
            if (text == "") return
            if (sub(/^Exit( codes)?: */, "", text)) {
                exits = toupper(substr(text, 1, 1)) substr(text, 2)
                return
            }
            if (said++) print ".Pp"
            prose(text)
        }
        function close_literal() {
            if (literal) print ".Ed"
            literal = 0
        }
        NR == 1 {
            print ".\\\" Written by scripts/package/man-pages.sh from `nmtwatch help " verb "`."
            print ".Dd " date "\n.Dt NMTWATCH-" toupper(verb) " 1\n.Os\n.Sh NAME"
            print ".Nm nmtwatch-" verb "\n.Nd " quoted(summary)
            print ".Sh SYNOPSIS\n.Bd -literal"
        }
        part == "" && /^(Usage:|      ) nmtwatch/ { line(quoted(substr($0, 8))); next }
        part == "" {
            print ".Ed\n.Sh DESCRIPTION"
            part = "prose"
        }
        /^Options:/ {
            flush(); close_literal()
            print ".Sh OPTIONS\n.Bl -tag -width indent"
            part = "options"
            next
        }
        part == "options" && /^  (-|    --)/ { if (row != "") option(row); row = $0; next }
        part == "options" { sub(/ +$/, "", row); sub(/^ +/, (row ~ /  [^ -]/ ? " " : "  ")); row = row $0; next }
        /^$/ { flush(); close_literal(); next }
        /^  / {
            flush()
            if (!literal++) print ".Bd -literal -offset indent"
            line(quoted(substr($0, 3)))
            next
        }
        { close_literal(); paragraph = paragraph " " $0; sub(/^ /, "", paragraph) }
        END {
            if (row != "") option(row)
            print ".El"
            if (exits != "") { print ".Sh EXIT STATUS"; prose(exits) }
            print ".Sh SEE ALSO\n.Xr nmtwatch 1"
        }'
}

mkdir -p "$folder"
"${nmtwatch[@]}" help | sed -n 's/^  \([a-z]*\)  *\(.*\)/\1 \2/p' | while read -r verb summary; do
    case $verb in
    help | version) continue ;;
    esac
    if [ -e "$written/nmtwatch-$verb.1" ]; then
        cp "$written/nmtwatch-$verb.1" "$folder/"
    else
        "${nmtwatch[@]}" help "$verb" </dev/null | page "$verb" "$summary" >"$folder/nmtwatch-$verb.1"
    fi
done
items() { # WIDTH MACRO, "NAME TEXT" on standard input
    printf '.Bl -tag -width %s\n' "$1"
    sed -e 's/\\/\\e/g' -e 's/^\([a-z-]*\)  */.It '"$2"' \1\n/' -e 's/-/\\-/g'
    printf '.El\n'
}
"${nmtwatch[@]}" help | sed -n 's/^  \([a-z]\)/\1/p' | items flamegraph Cm >"$folder/verbs"
"${nmtwatch[@]}" explain </dev/null | sed -n 's/^  \([a-z-]*\)  *[A-Z]*  */\1 /p' | sed '/^$/,$d' |
    items internal-growth-unacceptable "" >"$folder/findings"
sed -e "/^\.\\\\\" verbs:/{
        r $folder/verbs
        d
    }" -e "/^\.\\\\\" findings:/{
        r $folder/findings
        d
    }" "$(dirname "$0")/../../docs/nmtwatch.1" >"$folder/nmtwatch.1"
rm "$folder/verbs" "$folder/findings"
