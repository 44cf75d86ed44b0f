#!/bin/bash
# Pages for people who see little, use a keyboard or have it read to them: axe-core, at the version of tests/npm, has
# no violation to tell of any page, in light and in dark colours. One browser looks at all of them.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
for program in "$NMTWATCH" "$FAKE_JVM"; do
    need_built "$program"
done
need curl
need_library 'libmicrohttpd\.so\.12'
# A browser is too large for set-up (a gigabyte), and axe-core comes from npm.
for command in chromium npm; do
    command -v "$command" >/dev/null || skip_all "not installed: $command"
done
modules=$(npm_packages 2>"$SCRATCH/npm") || skip_all "not installed: $(<"$SCRATCH/npm")"

page() { # NAME COMMAND...: $SCRATCH/pages/NAME.html, its standard output
    "${@:2}" >"$SCRATCH/pages/$1.html" 2>"$SCRATCH/$1.err"
    check "$1 is a page" grep -q '^</html>$\|</body></html>$' "$SCRATCH/pages/$1.html"
}
fake() { # NAME OPTION...: its pid in $SPAWNED
    ACCESSIBLE_TEST=accessible$$ spawn "$FAKE_JVM" --for 200 --socket now "${@:2}" >"$SCRATCH/$1.out"
    wait_for 10 grep -q '^ready' "$SCRATCH/$1.out"
}
mkdir "$SCRATCH/pages"
fake explodes --rate 60 --speed 20 --internal 500000
jvm=$SPAWNED
fake calm

cat >"$SCRATCH/serve.ini" <<END
[thresholds]
internal_investigate_bytes = 20MB
[watch]
warmup = 1s
[serve]
listen = 127.0.0.1:0
discover = 500ms
min_age = 100ms
user =
target = %{env:ACCESSIBLE_TEST|main}
include = label:accessible$$*
END
spawn "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >"$SCRATCH/serve.log" 2>"$SCRATCH/serve.err"
status_page() {
    curl -s "$(sed -n 's/^listening on //p' "$SCRATCH/serve.log")"
}
has_finding() {
    [[ $(status_page) == *'class="alert'* ]]
}

recording=tests/golden/recordings/2026-11-22.nmt.gz
"$NMTWATCH" report "$recording" -o "$SCRATCH/report" >"$SCRATCH/report.out" 2>&1
page report cat "$SCRATCH/report/report.html"
contains "with charts" "$(<"$SCRATCH/pages/report.html")" "<figure"
"$NMTWATCH" soak --replay "$recording" --report "$SCRATCH/soak" >"$SCRATCH/soak.out" 2>&1
page soak cat "$SCRATCH/soak/soak.html"
"$NMTWATCH" triage "$jvm" --for 1s --observe never -o "$SCRATCH/triage" >"$SCRATCH/triage.out" 2>&1
page triage cat "$SCRATCH/triage/report.html"
page plan "$NMTWATCH" plan --classes 40000 --html
page analyze "$NMTWATCH" analyze tests/golden/ticket --html
profile=tests/golden/profile/java-17-g1.jfr
"$NMTWATCH" flamegraph "$profile" -o "$SCRATCH/flame.html" >"$SCRATCH/flame.out" 2>&1
page flamegraph cat "$SCRATCH/flame.html"
contains "with a heat map" "$(<"$SCRATCH/pages/flamegraph.html")" '"slots":['
printf 'Mix.main;Mix.burn 30\nMix.main;Mix.gone 9\n' >"$SCRATCH/stacks.txt"
"$NMTWATCH" flamegraph "$SCRATCH/stacks.txt" "$profile" -o "$SCRATCH/difference.html" >"$SCRATCH/flame.out" 2>&1
page difference cat "$SCRATCH/difference.html"
check "the status page has a finding" wait_for 30 has_finding || sed "s/^/# /" "$SCRATCH/serve.err"
page serve status_page

# The harness itself: a page without a language and with grey on white is told.
sed 's/<html lang="en">/<html>/; s/<body>/<body><p style="color:#bbb">grey/' "$SCRATCH/pages/plan.html" >"$SCRATCH/pages/wrong.html"
python3 tests/e2e/accessible.py "$modules/axe-core/axe.min.js" "$SCRATCH/pages"/*.html >"$SCRATCH/harness.html"
timeout $((60 * TAP_PATIENCE)) chromium --headless --no-sandbox --disable-gpu --user-data-dir="$SCRATCH/chromium" \
    --virtual-time-budget=600000 --dump-dom "file://$SCRATCH/harness.html" 2>"$SCRATCH/chromium.log" |
    sed -n '/<pre id="said">/,/<\/pre>/ { s/.*<pre id="said">//; s/<\/pre>.*//; p }' >"$SCRATCH/said"
is "the browser came to the end" "$(tail -n 1 "$SCRATCH/said")" "all were looked at"
for name in analyze difference flamegraph plan report serve soak triage; do
    for scheme in light dark; do
        said=$(grep "^$name, $scheme: " "$SCRATCH/said")
        check "$name was looked at in $scheme colours" grep -q 'rules passed$' <<<"$said"
        is "... and nothing is wrong with it" "$(grep -v 'rules passed$' <<<"$said")" ""
    done
done
contains "what is wrong is told: no language" "$(<"$SCRATCH/said")" "wrong, light: html-has-lang"
contains "... and grey on white" "$(<"$SCRATCH/said")" "wrong, light: color-contrast"
done_testing
