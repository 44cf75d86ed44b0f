#!/bin/bash
# What stands around a pasted text changes no figure: each kind of text in 34 kinds of wrappers.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
need iconv jq
golden=tests/golden
box=$SCRATCH/box
mkdir -p "$box"

before() { # TEXT: in front of each line
    awk -v text="$1" '{ print text $0 }'
}

wrap() { # WRAPPER <text >wrapped
    local escape=$'\033'
    case $1 in
        crlf) sed 's/$/\r/' ;;
        ind4) before '    ' ;;
        ind8) before '        ' ;;
        tab) before $'\t' ;;
        quote) before '> ' ;;
        quote2) before '> > ' ;;
        hash) before '# ' ;;
        slashes) before '// ' ;;
        star) before ' * ' ;;
        pipe) before '| ' ;;
        docker) before '2026-05-01T10:00:00.123456789Z ' ;;
        k8scri) before '2026-05-01T10:00:00.123456789Z stdout F ' ;;
        compose) before 'app_1  | ' ;;
        composeansi) before "${escape}[36mapp-1  |${escape}[0m " ;;
        syslog) before 'May  1 10:00:00 host java[1234]: ' ;;
        journald) before '2026-05-01T10:00:00+0200 host java[1234]: ' ;;
        kubectl) before '[pod/app-7d9/app] ' ;;
        logback) before '2026-05-01 10:00:00.123 [main] INFO  com.acme.Dump - ' ;;
        timecol) before '15:57:06  ' ;;
        ansi) sed "s/^/${escape}[32m/; s/\$/${escape}[0m/" ;;
        fence) printf 'Hi, here is the output:\n\n```\n' && cat && printf '```\n\nThanks a lot = bye - me\n' ;;
        fencelang) printf '```bash\n$ a command\n' && cat && printf '```\n' ;;
        details) printf '<details><summary>output</summary>\n\n```\n' && cat && printf '```\n</details>\n' ;;
        pre) printf '<pre>\n' && cat && printf '</pre>\n' ;;
        htmlesc) printf '<pre><code>' && sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' && printf '</code></pre>\n' ;;
        nbsp) sed $'s/  /\xc2\xa0 /g' ;;
        flat) sed 's/[ \t][ \t]*/ /g; s/^ //; s/ $//' ;;
        noblank) grep -v '^[[:space:]]*$' ;;
        dblblank) awk '{ print; print "" }' ;;
        trailsp) sed 's/$/   /' ;;
        bom) printf '\xef\xbb\xbf' && cat ;;
        jsonlog) jq -R -c '{log: (. + "\n"), stream: "stdout", time: "2026-05-01T10:00:00Z"}' ;;
        escnl) awk '{ gsub(/\t/, "\\t"); printf "%s\\n", $0 }' && echo ;;
        utf16le) printf '\xff\xfe' && sed 's/$/\r/' | iconv -f UTF-8 -t UTF-16LE ;;
        utf16be) printf '\xfe\xff' && iconv -f UTF-8 -t UTF-16BE ;;
        nested) before '> ' | jq -R -c '{level: "info", message: .}' | before '2026-05-01T10:00:00Z ' ;;
    esac
}
wrappers="crlf ind4 ind8 tab quote quote2 hash slashes star pipe docker k8scri compose composeansi syslog journald kubectl
    logback timecol ansi fence fencelang details pre htmlesc nbsp flat noblank dblblank trailsp bom jsonlog escnl utf16le
    utf16be nested"

# What was recognised and every figure of it; what was taken away, and prose around it, is no figure. A line
# for each file, [[]] where there was no answer.
figures() { # FILE...
    local file
    for file; do
        echo '"answer"'
        "$NMTWATCH" analyze --json "$file" 2>/dev/null
    done | jq -cs 'to_entries as $all | $all[] | select(.value == "answer") | $all[.key + 1].value |
        if type == "object" then [([.inputs[] | select(.used) | [.kind, .jdk, .pid]]), .findings, .jvms] else [[]] end'
}

# An error file, made up.
{
    printf '#\n# There is insufficient memory for the Java Runtime Environment to continue.\n'
    printf '# Native memory allocation (mmap) failed to map 65536 bytes for committing reserved memory.\n'
    printf '# Possible reasons:\n#   The system is out of physical RAM or swap space\n'
    printf '#\n#  Out of Memory Error (os_linux.cpp:2798), pid=17371, tid=17372\n#\n'
    printf '# JRE version: OpenJDK Runtime Environment (17.0.21+9) (build 17.0.21+9)\n#\n\n'
    printf '%s  S U M M A R Y %s\n\nCommand Line: -Xmx512m -agentpath:/x/libsome.so Main\n\n' --------------- ------------
    sed 1d $golden/jdk17/nmt_summary.txt
} >"$box/hs_err"
for kind in nmt_summary nmt_summary_diff_grow nmt_detail class_histogram classloader_stats metaspace classlog_default; do
    cp "$golden/jdk17/$kind.txt" "$box/$kind"
done
cp $golden/jdk25/nmt_detail.txt "$box/nmt_detail_25"
cp $golden/jdk8/nmt_summary.txt "$box/nmt_summary_8"

ticket=
for file in "$golden"/ticket/*.txt; do # what stands beside a JVM's own texts
    name=ticket_$(basename "$file" .txt)
    cp "$file" "$box/$name"
    ticket+=" $name"
done
[ -n "$ticket" ] || fail "fixtures of tickets are there"

for text in nmt_summary nmt_summary_8 nmt_summary_diff_grow nmt_detail nmt_detail_25 hs_err class_histogram \
    classloader_stats metaspace classlog_default $ticket; do
    # A log has no columns that are set by blanks, and no row that a lost blank line could hide.
    plain=$(figures "$box/$text")
    if [ "$(jq '.[0] | length' <<<"$plain")" = 0 ]; then
        fail "$text is read" "$plain"
        continue
    fi
    differ=
    files=()
    for wrapper in $wrappers; do
        wrap "$wrapper" <"$box/$text" >"$box/$text.$wrapper"
        files+=("$box/$text.$wrapper")
    done
    for wrapper in $wrappers; do
        read -r found
        [ "$found" = "$plain" ] || differ+=" $wrapper"
    done < <(figures "${files[@]}")
    is "$text: the same figures in each wrapper" "$differ" ""
done

# --- pieces ---------------------------------------------------------------------------------------------
read_as() { # FILE: kind, categories, note
    "$NMTWATCH" analyze --json "$1" 2>/dev/null |
        jq -c '[.inputs[0].kind, (.jvms[0].nmt.categories // [] | length), .inputs[0].note]'
}
rows=$(grep -c '^- .*(reserved=' $golden/jdk17/nmt_summary.txt)
sed -n '/^Total:/,$p' $golden/jdk17/nmt_summary.txt >"$box/piece"
is "a table without its heading" "$(read_as "$box/piece")" "[\"nmt-summary\",$rows,null]"
printf -- '-    Internal (reserved=2890MB +1420MB, committed=2890MB +1420MB)\n  (malloc=2890MB +1420MB #42890 +18200)\n' >"$box/piece"
is "one category of a difference" "$(read_as "$box/piece")" '["nmt-summary-diff",1,null]'
is "is a finding" "$("$NMTWATCH" analyze --json "$box/piece" | jq -r '.findings[0] | .severity + " " + .id')" \
    "CRITICAL internal-growth-explosion"
printf 'Code (reserved=977086KB, committed=573642KB) # what the compiler made\nGC (reserved=4KB, committed=4KB)\n' >"$box/piece"
is "rows without dashes, with remarks" "$(read_as "$box/piece")" '["nmt-summary",2,null]'
head -c 900 $golden/jdk17/nmt_summary.txt >"$box/piece"
is "a table that was cut says so" \
    "$(read_as "$box/piece" | jq '.[2] | test("rows read; (first unread line [0-9]+|they do not add up)")')" true
printf 'x\n\n\n> Total: reserved=90KB, committed=90KB\n> - Code (reserved=50KB, committed=50KB)\n> - GC (reserved=4' >"$box/piece"
is "the first row that was not read, by its line in the file" "$(read_as "$box/piece" | jq -r '.[2]')" \
    "1 of 2 rows read; first unread line 6: - GC (reserved=4"
sed '/Code (reserved/,/^ *$/d' $golden/jdk17/nmt_summary.txt >"$box/piece"
is "rows that do not add up to the total are told" \
    "$(read_as "$box/piece" | jq '.[2] | contains("do not add up to the total")')" true
{
    printf '[0x00007f1cf215e691] JvmtiEnv::GetClassMethods(oopDesc*, int*, _jmethodID***)+0x5b1\n'
    printf '[0x00007f1cf21488cb] jvmti_GetClassMethods+0x67b\n[0x00007f1cd1148811] Profiler::loadMethodIDs+0x71\n'
    printf '                             (malloc=9291MB type=Internal #30000000)\n'
} >"$box/piece"
is "bare call sites" "$("$NMTWATCH" analyze --json "$box/piece" 2>/dev/null | jq -c '[.inputs[0].kind, .inputs[0].used]')" \
    '["nmt-detail",true]'
is "9 GB of one call site are a finding" "$("$NMTWATCH" analyze --json "$box/piece" | jq -r '.findings[0] | .severity + " " + .id')" \
    "CRITICAL agent-retains-memory"
sed -n '/^\[0x.*reserved/,/^Details:/p' $golden/jdk17/nmt_detail.txt | sed '$d' >"$box/piece"
is "a piece of the memory map" "$("$NMTWATCH" analyze --json "$box/piece" 2>/dev/null | jq -c '[.inputs[0].kind]')" \
    '["nmt-detail"]'
sed ':a; s/\([0-9]\)\([0-9]\{3\}\)\(KB\|,[0-9]\)/\1,\2\3/; ta' $golden/jdk17/nmt_summary.txt >"$box/piece"
grep -q 'reserved=[0-9]*,[0-9]*,[0-9]*KB' "$box/piece" || fail "the fixture has separators"
is "thousands separators" "$(figures "$box/piece")" "$(figures "$box/nmt_summary")"

# --- the table of categories ------------------------------------------------------------------------------
is "as text" "$("$NMTWATCH" analyze "$box/nmt_summary" | grep -c '^  Java Heap  *[0-9.]* [KMG]B  *[0-9]* %')" 1
is "as Markdown" "$("$NMTWATCH" analyze --markdown "$box/nmt_summary" | grep -c '^| Java Heap |')" 1
is "the largest first" "$("$NMTWATCH" analyze --json "$box/nmt_summary" |
    jq '.jvms[0].nmt.categories | [.[].committed_bytes] == ([.[].committed_bytes] | sort | reverse)')" true
is "the fastest first" "$("$NMTWATCH" analyze --json "$box/nmt_summary_diff_grow" |
    jq '.jvms[0].nmt.categories | .[0].change_bytes == ([.[].change_bytes] | max)')" true
done_testing
