#!/bin/bash
# The documentation does what it says: every command that is shown on a line of its own is run, with a
# simulated JVM for PID and seconds for minutes; every option that is mentioned exists; every link
# leads somewhere; every verb is described.
# shellcheck disable=SC2016 # $ and backquotes of others

. "$(dirname "$0")/../tap.sh"
NMTWATCH=$(realpath "${NMTWATCH:-build/nmtwatch}")
FAKE_JVM=$(realpath "${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}")
if [ ! -x "$NMTWATCH" ] || [ ! -x "$FAKE_JVM" ]; then
    bail "nmtwatch or fake_jvm is not built"
fi
tree=$PWD
texts=(README.md CONTRIBUTING.md SECURITY.md docs/*.md docs/{internals,json,runbooks}/*.md)
pages=(docs/nmtwatch.1 docs/man/*.1)
"$NMTWATCH" help | sed -n 's/^  \([a-z]*\) .*/\1/p' >"$SCRATCH/verbs"

# --- commands on lines of their own ---------------------------------------------------------------

# A command ends before a comment or the description in its table; a backslash continues it.
shown() {
    {
        sed -e ':a' -e '/\\$/N; s/ *\\\n */ /; ta' "${texts[@]}" |
            sed -nE 's/^    (\$ )?(nmtwatch [a-z].*)/\2/p'
        sed -nE 's/^\.Dl (nmtwatch [a-z].*)/\1/p' "${pages[@]}" | sed 's/\\e/\\/g'
    } | sed -E 's/ +#.*//; s/   *.*//; s/ \| --all//; s/\.\.\.//g; s/\|DIR//; s/start\|.*/start/' |
        grep -vE '^nmtwatch +help VERB' | sort -u
}

# What stands for something is replaced by something; nothing but the simulated JVM is watched.
made_real() { # COMMAND
    local command=$1
    # These go on until they are interrupted, or for a minute.
    if [[ $command =~ ^nmtwatch\ (watch|top|record|triage|serve) && $command != *--for* ]]; then
        command="${BASH_REMATCH[0]} --for 1s${command#"${BASH_REMATCH[0]}"}"
    fi
    sed -E "s/\b(PID|4711|17124|4712)\b/$JVM/g; s/--(for|window) [0-9]+[smhd]/--for 1s/g
        s/observe --all\b/observe --match main=nobody/; s/--all\b/$JVM/
        s/--from $JVM/& --look 1s/; s/^nmtwatch top --for 1s( .*[a-z])?$/& $JVM/; s/--classes N\b/--classes 1000/; s/\bsleep [0-9]+/sleep 1/
        s,/etc/nmtwatch/serve.ini,serve.ini,; s/serve --for 1s$/& --config serve.ini/
        s,(/var)?/tmp/,tmp/,g; s,--record tmp/,&new-,; s/main=[^ ,']*/main=nobody.*/
        s/-o FILE\b/-o new.nmt.gz/; s/(report|replay) FILE/\1 main.nmt.gz/
        s/(analyze|classlog) (FILE|FOLDER)/\1 case-1234/; s/FILE\.csv/heap.csv/
        s/-o (tmp\/)?([a-z-]+\.nmt\.gz)/-o new-\2/; s/--report [a-z]+/&-new/" <<<"$command"
}

cd "$SCRATCH" || exit 1
spawn "$FAKE_JVM" --for 110 --socket now --rate 1 >fake
JVM=$SPAWNED
wait_for 10 grep -q '^ready' fake
mkdir -p bin tmp/triage tmp/results case-1234 report
ln -s "$NMTWATCH" bin/nmtwatch
for stub in mvn mail curl load-test.sh redeploy-again-and-again; do
    printf '#!/bin/sh\necho 1\nexec sleep 1\n' >bin/$stub
    chmod +x bin/$stub
done
cp bin/load-test.sh .
printf '[serve]\nlisten = 127.0.0.1:0\ninclude = main:nobody\n' >serve.ini
"$NMTWATCH" record "$JVM" -o main.nmt.gz --for 2s >/dev/null
for name in churn before internal rss report/soak tmp/jvm-"$JVM"; do cp main.nmt.gz "$name.nmt.gz"; done
cp "$tree/tests/golden/jdk17/nmt_summary.txt" case-1234/
seq 0 700 | awk '{ print $1 "," 100000000 + 10000 * $1 }' | tee heap.csv >rss.csv
cp "$tree"/tests/fuzz/seeds/jfr_read/one_chunk.jfr FILE.jfr
export PATH=$SCRATCH/bin:$PATH

run() { # NUMBER COMMAND
    timeout $((20 * TAP_PATIENCE)) bash -c "$2" >"$1.out" 2>&1 </dev/null
    echo $? >"$1.code"
}
(cd "$tree" && shown) >shown
number=0
while read -r command; do
    number=$((number + 1))
    [ $((number % 12)) != 0 ] || wait -n
    run $number "$(made_real "$command")" &
done <shown
while [ -n "$(jobs -r | grep -v fake)" ] && [ "$(ls ./*.code 2>/dev/null | wc -l)" -lt "$number" ]; do
    sleep 0.1
done
number=0
while read -r command; do
    number=$((number + 1))
    code=$(cat $number.code 2>/dev/null)
    if [ -z "$code" ] || [ "$code" = 64 ] || [ "$code" = 74 ] || [ "$code" -ge 124 ] ||
        grep -qE 'see nmtwatch help|unknown command|command not found' $number.out; then
        fail "$command" "$(made_real "$command") -> exit $code"$'\n'"$(head -n 5 $number.out)"
    else
        pass "$command (exit $code)"
    fi
done <shown
check "commands were found at all" test "$number" -gt 25
kill "$JVM"

cd "$tree" || exit 1
sed "s|^listen.*|listen = 127.0.0.1:0|; s|/var/lib/nmtwatch|$SCRATCH/lib|; \$a [watch]" packaging/serve.ini \
    >"$SCRATCH/packaged.ini"
sed -i '/^\[serve\]/a include = main:nobody' "$SCRATCH/packaged.ini"
mkdir "$SCRATCH/lib"
if [ "$(id -u)" = 0 ]; then # its user is made by the package
    sed -i 's/^user = nmtwatch$/user = 54323/' "$SCRATCH/packaged.ini"
    chmod 755 "$SCRATCH"
    chown 54323 "$SCRATCH/lib"
fi
exits "the configuration that is installed is understood" 0 \
    "$NMTWATCH" serve --config "$SCRATCH/packaged.ini" --for 1s

# --- options that are mentioned -------------------------------------------------------------------

wrong=
while IFS= read -r command; do
    read -r _ verb rest <<<"$command"
    verb=${verb%%[^a-z]*}
    if ! grep -qx "$verb" "$SCRATCH/verbs"; then
        wrong+="$command: no such verb"$'\n'
        continue
    fi
    help=$("$NMTWATCH" help "$verb")
    for option in $(grep -oE -- '(^| )--[a-z-]+' <<<"${rest%% -- *}"); do
        grep -qE -- "^ .*$option( |$)" <<<"$help" || wrong+="$command: no $option"$'\n'
    done
done < <(grep -hoE '`nmtwatch [a-z][^`]*`' "${texts[@]}" | tr -d '`' | grep -vE '^nmtwatch/' | sort -u)
is "commands within sentences: verbs and options exist" "$wrong" ""

# --- verbs, links, scripts ------------------------------------------------------------------------

is "the man page has every verb" "$(while read -r verb; do
    grep -q "^\.It Cm $verb\$\|^\.Cm $verb\$\|^\.Nm\$" docs/nmtwatch.1 && grep -q "^\.Cm $verb\$" docs/nmtwatch.1 ||
        echo "$verb"
done <"$SCRATCH/verbs")" ""
is "help has no line of more than 80 columns, and none that ends with a space" "$({
    "$NMTWATCH" help
    while read -r verb; do "$NMTWATCH" help "$verb" </dev/null; done <"$SCRATCH/verbs"
} | LC_ALL=C.UTF-8 grep -E '^.{81}| $')" ""
is "every relative link leads somewhere" "$(for text in "${texts[@]}"; do
    grep -oE '\]\([^)#:]+' "$text" | cut -c 3- | while read -r link; do
        [ -e "$(dirname "$text")/$link" ] || echo "$text: $link"
    done
done)" ""
# FILE.md#HEADING, with the name that GitHub gives a heading.
is "every link to a heading finds it" "$(perl -e '
    sub headings {
        open(my $in, "<", $_[0]) or return;
        my %names;
        while (<$in>) {
            next unless s/^#+ +//;
            s/\s+$//; s/\[([^]]*)\]\([^)]*\)/$1/g; s/[^\w\- ]//g; s/ /-/g;
            $names{lc $_} = 1;
        }
        return \%names;
    }
    for my $file (@ARGV) {
        local ($/, @ARGV) = (undef, $file);
        (my $folder = $file) =~ s{[^/]*$}{};
        my $text = <>;
        while ($text =~ /\]\(([^()#:]*)#([^)]+)\)/g) {
            my ($other, $name) = ($1 ne "" ? "$folder$1" : $file, $2);
            local $/ = "\n";
            print "$file: $other#$name\n" if $other =~ /\.md$/ && !headings($other)->{$name};
        }
    }' "${texts[@]}")" ""
is "scripts that are named are there" "$(grep -hoE '\b(scripts|tests)/[a-z0-9_/-]+\.(sh|c)\b' "${texts[@]}" |
    sort -u | while read -r script; do [ -e "$script" ] || echo "$script"; done)" ""
is "source files that are named are there" "$(grep -hoE '`[a-z0-9_/]+\.(c|h|def|java|py)`' "${texts[@]}" | tr -d '`' |
    sort -u | while read -r file; do
        find floor agent analyzers nmtwatch reports tests packaging scripts -path "*/$file" | grep -q . || [ -e "$file" ] || echo "$file"
    done)" ""
# "    nmtwatch/jvm/    attach_step: ...": the functions are in that folder.
walked=$(sed -n '/^## One byte count/,/^The analyzers/p' docs/architecture.md)
is "the walk of a byte count names functions of its folders" "$(
    grep -oE '^ +(nmtwatch|analyzers)/[a-z]+/ +[a-z_]+_[a-z_]+' <<<"$walked" | while read -r folder function; do
        grep -rqE "^[a-z].*\b$function\(" "$folder" --include='*.c' || echo "$folder: $function"
    done)" ""
is "and passes each folder once" \
    "$(grep -oE '^ +(nmtwatch|analyzers)/[a-z]+/' <<<"$walked" | tr -d ' ' | sort | uniq -d)" ""
is "the tests that SECURITY.md names are there" "$(
    grep -oE '[a-z_]+(_test|_fuzz)\.(sh|c)\b' SECURITY.md | sort -u | while read -r file; do
        find tests -name "$file" | grep -q . || echo "$file"
    done
    grep -oE '`[a-z_]+_test: [a-z_, ]+' SECURITY.md | tr -d '`' | while IFS=': ' read -r file names; do
        for name in ${names//,/ }; do
            find tests/unit -name "$file.c" -exec grep -lw "$name" {} + | grep -q . || echo "$file: $name"
        done
    done)" ""
is "make has every target that is named" "$(grep -hoE '(^|`|    )make [a-z][a-z-]*' "${texts[@]}" |
    sed 's/.*make //' | sort -u | while read -r target; do
        grep -qE "^(\.PHONY:.* )?$target( |:|\$)|^test-%:" Makefile || echo "$target"
    done)" ""
is "every finding has a runbook that is there, with what to do" \
    "$("$NMTWATCH" rules --json | jq -r '.groups[].rules[].annotations.runbook_url' |
        sed 's,^file:///usr/share/doc/nmtwatch/,docs/,' | sort -u | while read -r book; do grep -qE '^## (The fix|Five commands)|^1\. ' "$book" || echo "$book"; done)" ""
is "the index of the runbooks has every finding, with its severity and page" \
    "$(sed -n '/^FINDING(/{N; s/\n//; p}' analyzers/judge/findings.def |
        sed -nE 's/^FINDING\([A-Z_]+, "([a-z-]+)", ([A-Z]+),.*"([a-z-]+)"\)$/\1 \2 \3/p' |
        while read -r id severity book; do
            grep -qF "| \`$id\` | $severity | [${book//-/ }]($book.md) |" docs/runbooks/README.md || echo "$id"
        done)" ""
is "every page of the runbooks is in the program" \
    "$(for page in docs/runbooks/*.md; do
        name=$(basename "$page" .md)
        [ "$name" = README ] || "$NMTWATCH" explain --json "$name" | jq -j .text | cmp -s - "$page" || echo "$name"
    done)" ""
is "every family has a section" "$(sed -n 's/^## //p' docs/runbooks/producers.md | while read -r family; do
    "$NMTWATCH" explain "$family" 2>&1 | grep -qx "## $family" || echo "$family"
done)" ""
mkdir "$SCRATCH/alone"
cp "$NMTWATCH" "$SCRATCH/alone/"
is "a copied binary explains every finding" "$(cd "$SCRATCH/alone" || exit
    env -i ./nmtwatch explain --json | jq -r '.findings[].id' | while read -r id; do
        env -i ./nmtwatch explain "$id" | grep -q '^## ' || echo "$id"
    done)" ""
exits "an unknown finding is refused" 64 "$NMTWATCH" explain no-such-finding
is "README has the verbs that help prints (scripts/package/verbs.sh)" \
    "$(sed -n '/<!-- verbs: begin/,/<!-- verbs: end/{/^    /p}' README.md)" "$(scripts/package/verbs.sh "$NMTWATCH")"
is "the producers' page is that of the table" \
    "$(scripts/package/producers.sh | diff - docs/runbooks/producers.md | head -n 5)" ""
is "the categories' page is that of the table" \
    "$(scripts/package/categories.sh | diff - docs/runbooks/categories.md | head -n 5)" ""

done_testing
