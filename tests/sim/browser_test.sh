#!/bin/bash
# Every page of HTML: its policy (CSP) names what is in it by hashes and nothing else; and in a headless
# Chromium: click, zoom, search, back, a span of time, a difference, hostile names, a large profile.
#
# Without a Chromium (chromium, or what NMTWATCH_BROWSER names) only the policies are looked at: a browser
# takes a gigabyte of packages, which set-up does not install.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
need_built "$NMTWATCH"
need python3
golden=tests/golden
profile=$golden/profile/java-17-g1.jfr
recording=$golden/recordings/2026-11-22.nmt.gz

# --- the pages --------------------------------------------------------------------------------------

printf 'main;run;parse 50\nmain;run;eval;groovy 10\nmain;gc [libjvm.so] 20\nmain;old 5\n' >"$SCRATCH/before.txt"
printf 'main;run;parse 30\nmain;run;eval;groovy 190\nmain;gc [libjvm.so] 21\nmain;new 9\n' >"$SCRATCH/after.txt"
{
    printf '</script><script>owned=1</script>;<img src=x onerror=owned=1>;"onload="owned=1 7\n'
    printf "main;]]>--><b>x</b>;'\"\`\\\\u003c/script>\\\\ 5\n"
    printf 'main;\xe2\x80\xae evil \xe2\x81\xa6;\x1b[31m\x07\x7f\xc2\x9b 4\nmain;\xff\xfe\xc0\xaf 3\n'
} >"$SCRATCH/hostile.txt"
# 100 000 places, a million samples.
awk 'BEGIN { for (i = 0; i < 100000; i++)
    printf "com.acme.Main.main;com.acme.p%d.Service.handle;com.acme.q%d.Rule.eval;com.acme.generated.Script%d.run %d\n",
        i % 40, i % 2000, i, i % 19 + 1 }' >"$SCRATCH/large.txt"

page() { # NAME EXIT COMMAND...: writes NAME.html, or a folder NAME of pages
    local name=$1 expected=$2
    shift 2
    exits "$name is written" "$expected" "$@"
}
page flame 0 "$NMTWATCH" flamegraph "$profile" -o "$SCRATCH/flame.html"
page difference 0 "$NMTWATCH" flamegraph "$SCRATCH/before.txt" "$SCRATCH/after.txt" -o "$SCRATCH/difference.html"
page hostile 0 "$NMTWATCH" flamegraph "$SCRATCH/hostile.txt" -o "$SCRATCH/hostile.html"
page large 0 "$NMTWATCH" flamegraph "$SCRATCH/large.txt" -o "$SCRATCH/large.html"
check "the page of a large profile is bounded" test "$(stat -c %s "$SCRATCH/large.html")" -lt $((12 << 20))
page report 0 "$NMTWATCH" report "$recording" -o "$SCRATCH/report" --format html
"$NMTWATCH" plan --classes 40000 --html >"$SCRATCH/plan.html"
"$NMTWATCH" analyze tests/golden/ticket --html >"$SCRATCH/analyze.html" 2>"$SCRATCH/analyze.out"
"$NMTWATCH" soak --replay "$recording" --report "$SCRATCH/soak" >"$SCRATCH/soak.out" 2>&1
spawn "$NMTWATCH" serve --listen 127.0.0.1:0 --state "$SCRATCH/state" >"$SCRATCH/serve.out" 2>&1
port() { grep -om1 '127\.0\.0\.1:[0-9]*' "$SCRATCH/serve.out"; }
if check "serve listens" wait_for 10 port; then
    curl -s -D "$SCRATCH/serve.head" "http://$(port)/" -o "$SCRATCH/serve.html"
fi
mapfile -t pages < <(find "$SCRATCH" -name '*.html' | sort)
check "${#pages[@]} pages are there" test "${#pages[@]}" -ge 8

# --- their policies ---------------------------------------------------------------------------------

for page in "${pages[@]}"; do
    name=${page#"$SCRATCH"/}
    heads=()
    [ "$name" != serve.html ] || heads=("$SCRATCH/serve.head")
    is "$name: policy" "$(python3 tests/policy.py "$page" "${heads[@]}" 2>&1)" ""
done
sed 's/<h1/<h1 style="x"/' "$SCRATCH/plan.html" >"$SCRATCH/wrong"
check "a style attribute would be seen" test -n "$(python3 tests/policy.py "$SCRATCH/wrong")"
sed 's/<style>/<style>*{}/' "$SCRATCH/plan.html" >"$SCRATCH/wrong"
check "so would a style that was changed" test -n "$(python3 tests/policy.py "$SCRATCH/wrong")"

# --- in a browser -----------------------------------------------------------------------------------

browser=${NMTWATCH_BROWSER-$(command -v chromium)}
if [ -z "$browser" ]; then
    skip "in a browser: click, zoom, search, back" "not installed: chromium"
    done_testing
fi
in_browser() { # SCENARIO ARGUMENT...
    mkdir -p "$SCRATCH/browser"
    local line looked=0
    while IFS= read -r line; do
        looked=$((looked + 1))
        case $line in
        "ok "*) check "${line#ok }" true ;;
        *) fail "${line%%: *}" "${line#*: }" ;;
        esac
    done < <(timeout $((60 * TAP_PATIENCE)) python3 tests/sim/browser.py "$browser" "$SCRATCH/browser" "$@" 2>"$SCRATCH/browser.log")
    check "$1: $looked things were looked at" test "$looked" -gt 1
}
in_browser all "$(
    cat <<END
flame file://$SCRATCH/flame.html Mix.burn
difference file://$SCRATCH/difference.html parse gone
hostile file://$SCRATCH/hostile.html
large file://$SCRATCH/large.html
pages $(printf 'file://%s ' "${pages[@]}")
END
)"
done_testing
