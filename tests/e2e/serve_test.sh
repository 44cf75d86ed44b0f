#!/bin/bash
# `nmtwatch serve` on a real JVM and on simulated ones: what it exports, whom it watches, what a
# restart keeps, and that no client and no target can hold it up.
# shellcheck disable=SC2016 # $ of jq

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
PROMTOOL=${PROMTOOL:-promtool}
for program in "$NMTWATCH" "$FAKE_JVM"; do
    need_built "$program"
done
need curl
need_library 'libmicrohttpd\.so\.12'

# SERVE_USER=54323: as two processes (user = ...), whose service owns this folder.
own=$SCRATCH/own
mkdir "$own"
if [ -n "${SERVE_USER-}" ]; then
    chmod 755 "$SCRATCH"
    chown "$SERVE_USER" "$own"
fi
mine=$(id -un)/serve$$ # nothing else on this machine is watched

fake() { # NAME OPTION...: pid in $SPAWNED
    local name=$1
    shift
    SERVE_TEST=${mine#*/}-$name spawn "$FAKE_JVM" --for 200 --socket now "$@" >"$SCRATCH/$name.out"
    wait_for 10 grep -q '^ready' "$SCRATCH/$name.out"
}

configure() { # LINE...: the same for all, and these
    cat >"$SCRATCH/serve.ini" <<END
[thresholds]
internal_investigate_bytes = 50MB
[serve]
listen = 127.0.0.1:${PORT:-0}
discover = 500ms
min_age = 100ms
target = %{env:SERVE_TEST|main}
include = label:$mine-*
state = $own/state
recordings = $own/recordings
notify = { cat; echo; } >>$own/notified
${SERVE_USER:+user = $SERVE_USER}
END
    printf '%s\n' "$@" >>"$SCRATCH/serve.ini"
}

serve_start() {
    "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >>"$SCRATCH/log" 2>>"$SCRATCH/err" &
    SERVE=$!
    TAP_PIDS+=("$SERVE")
    wait_for 10 port_known
}
port_known() {
    PORT=$(sed -n 's|^listening on http://127.0.0.1:\([0-9]*\)/$|\1|p' "$SCRATCH/log" | tail -n 1)
    [ -n "$PORT" ] && curl -s -o "$SCRATCH/health" "http://127.0.0.1:$PORT/healthz"
}
get() { # PATH [CURL OPTION...]
    curl -s --max-time 10 "${@:2}" "http://127.0.0.1:$PORT$1"
}
status() { # PATH [CURL OPTION...]
    get "$1" -o /dev/null -w '%{http_code}' "${@:2}"
}
metric() { # SERIES
    get /metrics | awk -v series="$1" 'index($0, series " ") == 1 { print $NF }'
}
label() {
    printf '%s{target="%s-%s"}' "$1" "$mine" "$2"
}
is_metric() { # SERIES VALUE
    [ "$(metric "$1")" = "$2" ]
}
raised() { # NAME: alerts that were raised, told by the command of `notify`
    grep "\"target\":\"$mine-$1\"" "$own/notified" 2>/dev/null | grep -c '"state":"raised"'
}

# --- targets come, and are distinguished -------------------------------------------------------------

touch "$own/notified"
chown --reference="$own" "$own/notified"
fake calm
fake twin
fake twin
twin=$SPAWNED
fake stuck --answer silent
fake explodes --rate 5
exploding=$SPAWNED
configure
serve_start
check "all are found" wait_for 10 is_metric nmtwatch_targets 5
check "the second of a name gets a number" wait_for 15 is_metric "$(label nmtwatch_up 'twin#2')" 1
check "one that does not answer is not up" wait_for 15 is_metric "$(label nmtwatch_up stuck)" 0
polls=$(metric "$(label nmtwatch_polls_total calm)")
sleep 4
is "and it delays nobody: a look a second" \
    "$(($(metric "$(label nmtwatch_polls_total calm)") - polls >= 3))" 1

# --- what is exported -----------------------------------------------------------------------------

get /metrics >"$SCRATCH/metrics"
if command -v "$PROMTOOL" >/dev/null; then
    check "promtool check metrics" "$PROMTOOL" check metrics <"$SCRATCH/metrics"
else
    fail "promtool check metrics" "promtool is not installed"
fi
for name in jvm_native_memory_committed_bytes jvm_native_memory_reserved_bytes \
    jvm_classes_currently_loaded jvm_classes_loaded_total jvm_classes_unloaded_total \
    jvm_memory_pool_committed_bytes jvm_memory_pool_max_bytes process_resident_memory_bytes \
    process_start_time_seconds nmtwatch_poll_duration_seconds_count nmtwatch_pause_seconds_total \
    nmtwatch_alerts_active nmtwatch_process_open_fds; do
    check "$name is there" grep -q "^${name}[{ ]" "$SCRATCH/metrics"
done
is "the pid is in no series but the one about the target" \
    "$(grep -v '^nmtwatch_target_info' "$SCRATCH/metrics" | grep -c 'pid=')" 0
get /metrics -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5' >"$SCRATCH/om"
is "OpenMetrics ends as it has to" "$(tail -n 1 "$SCRATCH/om")" "# EOF"
contains "and names the unit" "$(cat "$SCRATCH/om")" "# UNIT jvm_native_memory_committed_bytes bytes"
missing=$("$NMTWATCH" rules --json | jq -r '.groups[].rules[].expr' |
    grep -oE '\b(jvm|process|nmtwatch)_[a-z_]+' | sort -u | while read -r name; do
    grep -q "\"${name%_total}\"" nmtwatch/serve/metrics.c reports/metrics/sample_metrics.* || echo "$name"
done)
is "every series that the rules ask for is there" "$missing" ""
# Of one snapshot, when none comes between the two: a series begins when there is something to say.
same_text() {
    [ "$(get /metrics --compressed | grep -c '^# TYPE')" = "$(get /metrics | grep -c '^# TYPE')" ]
}
check "gzip is the same text" wait_for 10 same_text
get / >"$SCRATCH/page"
contains "the page shows a target" "$(cat "$SCRATCH/page")" ">$mine-calm<"
lacks_in "and has no script" "$SCRATCH/page" "<script"
# A browser takes a gigabyte of packages: NMTWATCH_BROWSER=chromium tests/e2e/serve_test.sh
if [ -n "${NMTWATCH_BROWSER-}" ]; then
    browser() {
        timeout $((60 * TAP_PATIENCE)) "$NMTWATCH_BROWSER" --headless --no-sandbox --disable-gpu --user-data-dir="$SCRATCH/chromium" \
            "$@" "http://127.0.0.1:$PORT/" 2>"$SCRATCH/chromium.log"
    }
    contains "a browser shows the page" "$(browser --dump-dom)" ">$mine-calm</a>"
    browser --window-size=1000,1400 --screenshot="$SCRATCH/page.png" >"$SCRATCH/chromium.out"
    check "and draws something" test "$(stat -c %s "$SCRATCH/page.png" 2>/dev/null || echo 0)" -gt 20000
    lacks_in "without a complaint about its own policy" "$SCRATCH/chromium.log" "Content Security Policy"
fi
is "the list of targets is JSON" "$(get /api/v1/targets | jq '.targets | length')" 5
is "health" "$(get /healthz)" ok

# --- an alert -------------------------------------------------------------------------------------

check "an explosion is told" wait_for 60 is_metric \
    "nmtwatch_alerts_active{target=\"$mine-explodes\",finding=\"class-explosion\",severity=\"critical\"}" 1
get /api/v1/findings >"$SCRATCH/findings"
is "as a finding" "$(jq -r '.findings[0].finding.family' "$SCRATCH/findings")" groovy-shell
started=$(jq -r '.findings[0].started_ms' "$SCRATCH/findings")
contains "on the page, with advice" "$(get /)" "nmtwatch explain class-explosion"
contains "in the counters of families" "$(get /metrics)" \
    "nmtwatch_family_loads_total{target=\"$mine-explodes\",family=\"groovy-shell\"}"
is "and once to the command" "$(raised explodes)" 1

# --- kill -9 at any moment ------------------------------------------------------------------------

for i in 1 2 3 4 5 6 7 8; do
    sleep "0.$((RANDOM % 90 + 10))"
    kill -KILL "$SERVE"
    wait "$SERVE" 2>/dev/null
    : >"$SCRATCH/log"
    configure # with the port it had
    serve_start || break
done
check "after eight of them all are watched" wait_for 10 is_metric nmtwatch_targets 5
is "the alert is up" "$(get /api/v1/findings | jq -r '.findings[].finding.id')" class-explosion
is "it began when it began" "$(get /api/v1/findings | jq -r '.findings[0].started_ms')" "$started"
is "and was not told again" "$(raised explodes)" 1
is "labels stay" "$(get /metrics | grep -c '^nmtwatch_up')" 5
is "recordings are whole" "$(for file in "$own"/recordings/*.nmt.gz; do
    "$NMTWATCH" replay "$file" 2>&1 >/dev/null | grep damaged
done)" ""

# --- they go --------------------------------------------------------------------------------------

kill "$exploding"
cleared() {
    grep "\"target\":\"$mine-explodes\"" "$own/notified" | grep -q '"state":"cleared"'
}
check "the alert of a JVM that ends is over" wait_for 10 cleared
kill "$twin"
check "a target that ended is gone" wait_for 10 is_metric nmtwatch_targets 3
ended() { # FILTER
    get /api/v1/targets | jq -r ".ended[] | select(.target == \"$mine-twin#2\") | $1"
}
is_listed() {
    [ "$(ended .pid)" = "$twin" ]
}
check "a target that ended is listed as such" wait_for 10 is_listed
is "with how it ended" "$(ended .how | grep -cE '^(killed by signal|exit status|ended; how is not known)')" 1
is "which was no lack of memory" "$(ended .out_of_memory)" false
fake twin
check "its successor takes its name" wait_for 15 is_metric "$(label nmtwatch_up 'twin#2')" 1
is "no state is left of those that ended" "$(find "$own/state" -name '*.json' | wc -l)" 4

# --- SIGHUP ---------------------------------------------------------------------------------------

configure "exclude = label:*-twin"
kill -HUP "$SERVE"
check "a rule that is new counts at once" wait_for 10 is_metric nmtwatch_targets 2
polls=$(metric "$(label nmtwatch_polls_total calm)")
configure "no_such = key"
kill -HUP "$SERVE"
check "a bad configuration is told" wait_for 5 grep -q "no_such" "$SCRATCH/err"
check "and not taken" wait_for 5 is_metric nmtwatch_config_reload_success 0
is "the old one stays" "$(metric nmtwatch_targets)" 2
configure
kill -HUP "$SERVE"
check "back again" wait_for 10 is_metric nmtwatch_targets 4

# --- clients --------------------------------------------------------------------------------------

is "POST" "$(status /metrics -X POST -d x)" 405
is "DELETE" "$(status / -X DELETE)" 405
is "a page that is none" "$(status /etc/passwd)" 404
is "a way out of it" "$(status /../../etc/passwd --path-as-is)" 404
is "a name that somebody made point here" "$(status / -H 'Host: evil.example')" 403
is "localhost is a name of ours" "$(status / -H 'Host: localhost:9779')" 200
is "HEAD" "$(status /metrics -I)" 200
large=$(status / -H "X-Large: $(head -c 60000 /dev/zero | tr '\0' a)")
check "a head too large is refused" test "$large" -ge 400 -o "$large" = 000
printf 'rubbish\r\n\r\n' >"/dev/tcp/127.0.0.1/$PORT"
head -c 100000 /dev/urandom >"/dev/tcp/127.0.0.1/$PORT" 2>/dev/null

slow=()
for ((i = 0; i < 60; i++)); do # connected, and silent; or asking, and not reading
    exec {fd}<>"/dev/tcp/127.0.0.1/$PORT"
    [ $((i % 2)) = 0 ] || printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$fd"
    slow+=("$fd")
done
for ((i = 0; i < 100; i++)); do
    printf 'url = "http://127.0.0.1:%s/metrics"\noutput = /dev/null\n' "$PORT"
done >"$SCRATCH/hundred"
codes=$(curl -s --max-time 20 --parallel --parallel-immediate --parallel-max 60 \
    -w '%{http_code}\n' -K "$SCRATCH/hundred" 2>"$SCRATCH/curl.err" | sort | uniq -c | tr -s ' ')
is "100 clients beside 60 slow ones" "$codes" " 100 200"
for fd in "${slow[@]}"; do
    exec {fd}>&-
done
polls=$(metric "$(label nmtwatch_polls_total calm)")
sleep 3
is "the watching went on" "$(($(metric "$(label nmtwatch_polls_total calm)") - polls >= 2))" 1
most=41943040
! grep -q __asan_init "$NMTWATCH" || most=268435456
check "and took no more than 40 MB" test "$(metric nmtwatch_process_resident_memory_bytes)" -lt $most

# --- a real JVM -----------------------------------------------------------------------------------

if jdk_home 17 >/dev/null; then
    check "the workloads build" scripts/workloads.sh build
    JDK=17 SERVE_TEST=${mine#*/}-real spawn scripts/workloads.sh run hidden --rate 1 >"$SCRATCH/real.log" 2>&1
    check "a real JVM is watched" wait_for 30 is_metric "$(label nmtwatch_up real)" 1
    check "with its native memory" wait_for 15 test -n \
        "$(sleep 6; metric "jvm_native_memory_committed_bytes{target=\"$mine-real\",pool=\"Internal\"}")"
else
    skip "a real JVM" "no JDK 17 in /usr/lib/jvm"
fi

# --- the end, and who may listen ------------------------------------------------------------------

kill -TERM "$SERVE"
wait "$SERVE"
is "SIGTERM ends it well" $? 0
"$NMTWATCH" serve --listen 0.0.0.0:0 --for 1s >"$SCRATCH/wide" 2>&1
contains "open to everybody: said" "$(cat "$SCRATCH/wide")" "warning"
exits "an address that is none" 64 "$NMTWATCH" serve --listen nowhere
exits "an address of somebody else" 74 "$NMTWATCH" serve --listen 192.0.2.1:9779
exits "a file that is none" 64 "$NMTWATCH" serve --config "$SCRATCH/none.ini"
printf 'prom:secret\n' >"$SCRATCH/users"
chmod 644 "$SCRATCH/users"
exits "passwords that everybody may read" 74 "$NMTWATCH" serve --listen 127.0.0.1:0 \
    --user-file "$SCRATCH/users"
chmod 600 "$SCRATCH/users"
PORT=0
configure "user_file = $SCRATCH/users"
: >"$SCRATCH/log"
serve_start
is "without a password" "$(status /metrics)" 401
is "with a wrong one" "$(status /metrics -u prom:wrong)" 401
is "with the right one" "$(status /metrics -u prom:secret)" 200
is "health is for everybody" "$(status /healthz)" 200
kill -TERM "$SERVE"
wait "$SERVE"
if command -v openssl >/dev/null && openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost \
    -keyout "$SCRATCH/key" -out "$SCRATCH/cert" 2>/dev/null; then
    PORT=$PORT configure "tls_cert = $SCRATCH/cert" "tls_key = $SCRATCH/key"
    "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >"$SCRATCH/log" 2>>"$SCRATCH/err" &
    SERVE=$!
    TAP_PIDS+=("$SERVE")
    over_tls() {
        curl -s --cacert "$SCRATCH/cert" "https://localhost:$PORT/healthz"
    }
    check "TLS" wait_for 5 over_tls
    # With a level of its own library at which the client would take the older ones, as another server shows.
    speaks() { # VERSION WHERE...
        openssl s_client "-$1" -cipher DEFAULT@SECLEVEL=0 "${@:2}" </dev/null
    }
    spawn openssl s_server -quiet -unix "$SCRATCH/old" -cert "$SCRATCH/cert" -key "$SCRATCH/key" \
        -cipher DEFAULT@SECLEVEL=0 -no_tls1_3 <>/dev/zero >/dev/null 2>&1
    for version in tls1 tls1_1; do
        check "a client of $version" wait_for 10 speaks $version -unix "$SCRATCH/old"
        exits "... is refused" 1 speaks $version -connect "127.0.0.1:$PORT"
    done
    for version in tls1_2 tls1_3; do
        check "one of $version is not" speaks $version -connect "127.0.0.1:$PORT"
    done
    kill -TERM "$SERVE"
    wait "$SERVE"
else
    fail "TLS" "openssl is not installed"
fi
rows=$(sed -n 's/^SERVE_OPTION("\([a-z_]*\)".*/\1/p' nmtwatch/serve/serve_options.def)
is "docs/serve.md has every key" \
    "$(for key in $rows; do grep -q "^| .*\`$key\`" docs/serve.md || echo "$key"; done)" ""
done_testing
