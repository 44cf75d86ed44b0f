#!/bin/bash
# What SECURITY.md promises where no unit test shows it: hostile names on their way to terminals, pages,
# metrics, JSON, gnuplot and shells; forged files in /tmp; links where we write; who may look.
# shellcheck disable=SC2016 # $ of others

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
if [ ! -x "$NMTWATCH" ] || [ ! -x "$FAKE_JVM" ]; then
    bail "nmtwatch or fake_jvm is not built"
fi
other=12345 # a user id that is nobody's here

fake() { # OPTION...: starts one, pid in $FAKE
    spawn "$FAKE_JVM" --for 100 --socket now "$@" >"$SCRATCH/fake"
    FAKE=$SPAWNED
    wait_for 10 grep -q '^ready' "$SCRATCH/fake"
}

# --- names ----------------------------------------------------------------------------------------

# A title for the terminal, markup, an override of the direction of writing, what JSON, labels of
# Prometheus, gnuplot, the shell and a monitoring plugin's line would take for their own, bytes that
# are no UTF-8.
touched=$SCRATCH/touched
evil=$'x\e]0;owned\a<script>alert(1)</script>"\'}\\|`touch${IFS}'"$touched"'`$(touch${IFS}'"$touched"')'
evil+=$'\u202egpj.exe\xff\x9b31m'

harmless() { # NAME FILE: no control character but line ends, valid UTF-8, no override
    if [ ! -s "$2" ]; then
        fail "$1" "nothing was written"
    elif ! iconv -f UTF-8 -t UTF-8 "$2" >"$SCRATCH/utf8" 2>&1; then
        fail "$1" "it is not UTF-8"
    elif LC_ALL=C.UTF-8 grep -nP '[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{202a}-\x{202e}]' "$2" \
        >"$SCRATCH/found"; then
        fail "$1" "$(head -n 3 "$SCRATCH/found" | cat -v)"
    else
        pass "$1"
    fi
}

fake --rate 60 --class-stem "com.acme.$evil\$\$EnhancerByCGLIB\$\$" --main "com.acme.$evil"
"$NMTWATCH" list >"$SCRATCH/list.txt"
"$NMTWATCH" check "$FAKE" >"$SCRATCH/check.txt"
is "check's performance data begin at the only |" "$(head -n 1 "$SCRATCH/check.txt" | tr -dc '|')" "|"
"$NMTWATCH" record "$FAKE" -o "$SCRATCH/evil.nmt.gz" --for 80s --warmup 1s --interval 200ms \
    --notify "{ cat; echo; env >$SCRATCH/environment; } >>$SCRATCH/notified" >"$SCRATCH/watch.txt" 2>&1 &
watch=$!
TAP_PIDS+=("$watch")
recorded=$FAKE
if ldconfig -p | grep -q 'libmicrohttpd\.so\.12' && command -v curl >/dev/null; then
    fake --rate 60 --class-stem "com.acme.$evil" --main "served$$.$evil"
    printf '[serve]\nlisten = 127.0.0.1:0\ninclude = main:served%s.*\n' $$ >"$SCRATCH/serve.ini"
    spawn "$NMTWATCH" serve --config "$SCRATCH/serve.ini" --for 14s >"$SCRATCH/serve.log" 2>&1
    sleep 10
    url=$(sed -n 's|^listening on \(.*\)/$|\1|p' "$SCRATCH/serve.log")
    for path in "" metrics api/v1/targets api/v1/findings; do
        curl -s --max-time 5 "$url/$path" >"$SCRATCH/serve.${path//\//-}"
        harmless "serve /$path" "$SCRATCH/serve.${path//\//-}"
    done
    lacks_in "serve's page: no markup of the target's" "$SCRATCH/serve." "<script"
    if command -v "${PROMTOOL:-promtool}" >/dev/null; then
        check "serve's metrics are read by promtool" \
            bash -c "'${PROMTOOL:-promtool}' check metrics <'$SCRATCH/serve.metrics'"
    else
        fail "serve's metrics are read by promtool" "promtool is not installed"
    fi
    check "serve's targets are JSON" jq -e '.targets | length == 1' "$SCRATCH/serve.api-v1-targets"
    kill "$FAKE"
else
    fail "names in serve" "libmicrohttpd or curl is not installed"
fi
# --- files that somebody else has put there -------------------------------------------------------

fake --no-perfdata
mine=/tmp/hsperfdata_$(id -u)
classes() {
    timeout $((10 * TAP_PATIENCE)) "$NMTWATCH" list --json 2>/dev/null | jq -r ".jvms[] | select(.pid == $FAKE) | .classes_loaded"
}
mkdir -p "$mine"
mkfifo "$mine/$FAKE"
is "a FIFO for hsperfdata is passed by and not waited for" "$(classes)" null
rm "$mine/$FAKE"
ln -s /dev/zero "$mine/$FAKE"
is "a link is not followed" "$(classes)" null
rm "$mine/$FAKE"
{ printf '\xca\xfe\xc0\xc0\x01\x02\x00\x01' && head -c 32760 /dev/zero | tr '\0' '\377'; } >"$mine/$FAKE"
is "a forged one, all lengths -1, says nothing" "$(classes)" null
rm "$mine/$FAKE"
if [ "$(id -u)" = 0 ]; then
    forged=/tmp/hsperfdata_security$$
    spawn "$FAKE_JVM" --for 60 --socket now >"$SCRATCH/good"
    wait_for 10 grep -q '^ready' "$SCRATCH/good"
    good=$SPAWNED
    mkdir "$forged"
    cp "$mine/$good" "$forged/$FAKE"
    is "the forgery would be good, were it the user's" "$(classes)" 5000
    chown "$other" "$forged" "$forged/$FAKE"
    is "of another user it is not looked at" "$(classes)" null
    rm -r "$forged"
    kill "$good"
else
    skip "hsperfdata of another user" "refused: needs root"
fi

# --- files that somebody hands us -----------------------------------------------------------------

mkdir "$SCRATCH/case"
mkfifo "$SCRATCH/case/fifo"
ln -s /dev/zero "$SCRATCH/case/zero"
cp tests/golden/jdk17/nmt_summary.txt "$SCRATCH/case"
exits "a folder with a FIFO and a device in it is read all the same" 0 \
    timeout $((20 * TAP_PATIENCE)) "$NMTWATCH" analyze "$SCRATCH/case"
head -c 100000000 /dev/zero | gzip -1 >"$SCRATCH/bomb.gz"
exits "a recording that unpacks to a line without end is refused" 74 timeout $((20 * TAP_PATIENCE)) \
    prlimit --as=100000000 "$NMTWATCH" replay "$SCRATCH/bomb.gz"
exits "a class-load log that does is read in bounded memory" 0 timeout $((20 * TAP_PATIENCE)) \
    prlimit --as=100000000 "$NMTWATCH" classlog "$SCRATCH/bomb.gz"

# --- where we write -------------------------------------------------------------------------------

echo precious >"$SCRATCH/victim"
ln -s "$SCRATCH/victim" "$SCRATCH/link.nmt.gz"
exits "a recording does not follow a link" 74 "$NMTWATCH" record "$FAKE" -o "$SCRATCH/link.nmt.gz" \
    --force --for 1s
mkdir "$SCRATCH/planted"
ln -s "$SCRATCH/victim" "$SCRATCH/planted/report.html"
"$NMTWATCH" record "$FAKE" -o "$SCRATCH/calm.nmt.gz" --for 1s >/dev/null
exits "a report does not" 74 "$NMTWATCH" report "$SCRATCH/calm.nmt.gz" -o "$SCRATCH/planted"
mkdir "$SCRATCH/evidence"
ln -s "$SCRATCH/victim" "$SCRATCH/evidence/findings.json"
exits "a triage does not" 74 "$NMTWATCH" triage "$FAKE" --for 1s -o "$SCRATCH/evidence"
is "and nothing came to harm" "$(cat "$SCRATCH/victim")" precious

if [ "$(id -u)" = 0 ]; then
    mkdir "$SCRATCH/theirs"
    chown "$other" "$SCRATCH/theirs"
    exits "a triage keeps no evidence in another user's folder" 74 \
        "$NMTWATCH" triage "$FAKE" --for 1s -o "$SCRATCH/theirs"

    # --- who may look -----------------------------------------------------------------------------

    chmod 711 "$SCRATCH"
    cp "$NMTWATCH" "$SCRATCH/nmtwatch"
    chmod 755 "$SCRATCH/nmtwatch"
    as_other=(setpriv --reuid "$other" --regid "$other" --clear-groups "$SCRATCH/nmtwatch")
    exits "another user's JVM is not asked" 13 "${as_other[@]}" watch "$FAKE" --for 1s
    contains "and the sentence says why" "$OUTPUT" "user"
    exits "nor listed with anything but what /proc shows" 0 "${as_other[@]}" list --json
    is "nor signalled" "$(grep -c 'thread dump' "$SCRATCH/fake")" 0
else
    skip "another user" "refused: needs root"
fi
kill "$FAKE"

# --- what the programs can do at all --------------------------------------------------------------

agent=$(dirname "$NMTWATCH")/libnmtagent.so
if [ -e "$agent" ]; then
    is "the agent opens no socket and starts no process" \
        "$(nm -D --undefined-only "$agent" | awk '{ sub(/@.*/, "", $NF); print $NF }' |
            grep -xE 'socket|bind|listen|accept4?|connect|system|popen|execv[pe]*|execl[pe]*|fork|posix_spawnp?')" ""
else
    fail "the agent opens no socket" "it is not built"
fi
is "nmtwatch runs nothing through a shell but --notify and --per" \
    "$(grep -rlE '"/bin/sh"|\b(system|popen)\(' nmtwatch reports analyzers floor agent --include='*.c' | sort | tr '\n' ' ')" \
    "nmtwatch/alert/notify.c nmtwatch/soak/counter.c "

# --- names, when they have come to an alert -------------------------------------------------------

# An explosion has to go on for a while to be called so.
check "the explosion is told" wait_for 50 test -s "$SCRATCH/notified"
kill -INT "$watch"
wait "$watch"
"$NMTWATCH" replay "$SCRATCH/evil.nmt.gz" >"$SCRATCH/replay.txt"
"$NMTWATCH" replay --json "$SCRATCH/evil.nmt.gz" >"$SCRATCH/replay.json"
zcat "$SCRATCH/evil.nmt.gz" >"$SCRATCH/recorded.json"
contains "JSON gives the name back as it was, but for what is no UTF-8" \
    "$(jq -r 'select(.type == "names").families[].example' "$SCRATCH/recorded.json" | head -n 1)" \
    $'x\e]0;owned\a<script>'
"$NMTWATCH" report "$SCRATCH/evil.nmt.gz" -o "$SCRATCH/report" --format html,md,png,json >/dev/null 2>&1
"$NMTWATCH" soak --replay "$SCRATCH/evil.nmt.gz" --no-report --junit "$SCRATCH/soak.xml" \
    >"$SCRATCH/soak.txt" 2>&1
for file in list.txt check.txt watch.txt replay.txt replay.json recorded.json notified soak.txt soak.xml \
    report/report.html report/report.md report/report.json; do
    harmless "$file" "$SCRATCH/$file"
done
lacks_in "the report: no markup of the target's" "$SCRATCH/report/report.html" "<script>alert"
lacks_in "the text for a ticket: none either" "$SCRATCH/report/report.md" "<script>alert"
check "notify: the alert is JSON on standard input" jq -es 'length > 0' "$SCRATCH/notified"
check "neither gnuplot nor a shell has run any of it" test ! -e "$touched"
kill "$recorded"

done_testing
