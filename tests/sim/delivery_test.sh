#!/bin/bash
# Alerts on their way from `nmtwatch serve` to receivers: nothing is lost and nothing comes in the
# wrong order, whatever the receiver does, and over KILLS kill -9 at random moments.
# shellcheck disable=SC2016 # $ of jq
# timeout: 600

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
FAKE_RECEIVER=${FAKE_RECEIVER:-$(dirname "$NMTWATCH")/fake_receiver}
kills=${KILLS:-20}
for program in "$NMTWATCH" "$FAKE_JVM" "$FAKE_RECEIVER"; do
    need_built "$program"
done
need curl
need_library 'libcurl.*\.so\.4'
need_library 'libmicrohttpd\.so\.12'

mine=$(id -un)/delivery$$
log=$SCRATCH/received
: >"$log"

mood() {
    echo "$*" >"$SCRATCH/mood.new" && mv "$SCRATCH/mood.new" "$SCRATCH/mood"
}
receiver_start() { # [PORT]
    spawn "$FAKE_RECEIVER" "$SCRATCH/port" "$log" "$SCRATCH/mood" "$@" 2>>"$SCRATCH/receiver.err"
    RECEIVER=$SPAWNED
    wait_for 5 test -s "$SCRATCH/port"
}
fake() { # NAME BYTES_A_SECOND: Internal grows, three alerts as it passes three thresholds
    SERVE_TEST=${mine#*/}-$1 spawn "$FAKE_JVM" --for 300 --socket now --internal "$2" >"$SCRATCH/$1.out"
    wait_for 10 grep -q '^ready' "$SCRATCH/$1.out"
}
serve_start() {
    "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >>"$SCRATCH/log" 2>>"$SCRATCH/err" &
    SERVE=$!
    TAP_PIDS+=("$SERVE")
}
serve_kill() { # SIGNAL
    kill "-$1" "$SERVE"
    wait "$SERVE" 2>/dev/null
}
metric() { # NAME
    local port
    port=$(sed -n 's|^listening on http://127.0.0.1:\([0-9]*\)/$|\1|p' "$SCRATCH/log" | tail -n 1)
    curl -s --max-time 5 "http://127.0.0.1:$port/metrics" |
        awk -v name="$1" '$1 == name { print $2 }'
}
is_metric() { # NAME VALUE
    [ "$(metric "$1")" = "$2" ]
}
metric_is_there() { # TARGET
    [ -n "$(metric "nmtwatch_polls_total{target=\"$mine-$1\"}")" ]
}
posts() { # PATH [STATUS]: bodies that came there
    awk -v path="$1" -v status="${2:-200}" '$1 == status && $2 == path' "$log" | cut -d ' ' -f 3-
}
# What serve says that it handed on: the truth to compare with.
told() {
    sed -n 's/^\(ALERT\|CLEARED\) [A-Z]* \([^ ]*\) (pid [0-9]*): \(.*\)/\1 \2 \3/p' \
        "$SCRATCH/log" | sort -u
}
hooked() { # the same of what the webhook took
    posts /hook | jq -r '"\(if .state == "raised" then "ALERT" else "CLEARED" end) \(.target) \(.finding.title)"' |
        sort -u
}

mood 200
receiver_start
port=$(cat "$SCRATCH/port")
cat >"$SCRATCH/serve.ini" <<END
[thresholds]
internal_investigate_bytes = 2MB
internal_explosion_bytes = 8MB
internal_unacceptable_bytes = 16MB
[watch]
nmt_interval = 1s
warmup = 1s
[serve]
listen = 127.0.0.1:0
discover = 300ms
target = %{env:SERVE_TEST|main}
include = label:$mine-*
state = $SCRATCH/state
[receiver hook]
kind = webhook
url = http://127.0.0.1:$port/hook
timeout = 2s
[receiver am]
kind = alertmanager
url = http://127.0.0.1:$port/am
timeout = 2s
END

# --- killed at random moments, with a receiver that fails every other time --------------------------

mood flaky
jvms=(one two three four five six)
pids=()
for i in "${!jvms[@]}"; do
    fake "${jvms[i]}" $((500000 + i * 150000))
    pids+=("$SPAWNED")
done
for ((i = 0; i < kills; i++)); do
    serve_start
    sleep "$((RANDOM % 2)).$((RANDOM % 900 + 100))"
    serve_kill KILL
    # The JVMs end while serve is away, or right before: what they had raised has to be over.
    late=$((i - kills / 2))
    if [ $late -ge 0 ] && [ $late -lt 6 ] && [ $((late % 2)) = 1 ]; then
        kill "${pids[late / 2]}"
    fi
done
serve_start
mood 200
raised() {
    [ "$(hooked | grep -c '^ALERT')" -ge ${#jvms[@]} ]
}
check "alerts come through" wait_for 60 raised
for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null
done
empty() {
    [ "$(find "$SCRATCH/state/queue" -type f | wc -l)" = 0 ] &&
        [ "$(told | grep -c ^ALERT)" = "$(told | grep -c ^CLEARED)" ]
}
check "after $kills kill -9: nothing waits, nothing is up" wait_for 60 empty
is "the webhook has all that was handed on, and nothing else" "$(hooked)" "$(told)"
is "nothing was raised after it was over, or over before it was raised" \
    "$(posts /hook | jq -rn '[inputs] | group_by(.key | sub("-[a-z]*$"; ""))[] |
        map(.state) | join(" ") | select(test("^(raised ?)+(cleared ?)+$") | not)')" ""
am() { # STATE: distinct alerts that Alertmanager was told of like that
    posts /am/api/v2/alerts | jq -r '.[] | [.labels.target, .labels.finding,
        (if .endsAt < (now | todate) then "cleared" else "raised" end)] | join(" ")' |
        sort -u | wc -l
}
is "Alertmanager has as many" "$(am)" "$(posts /hook | jq -r .key | sort -u | wc -l)"

# --- a receiver that is away, slow, in trouble ----------------------------------------------------

alert_of() { # TARGET: it has one, and what serve has told is waiting
    grep -q "^ALERT .*$mine-$1 " "$SCRATCH/log" && queued 1
}
queued() { # AT_LEAST
    [ "$(metric nmtwatch_delivery_queued)" -ge "$1" ]
}
hook_has() { # TARGET
    posts /hook | jq -r .target | grep -qx "$mine-$1"
}
kill "$RECEIVER"
wait "$RECEIVER" 2>/dev/null
fake away 3000000
away=$SPAWNED
check "a receiver that is away: alerts wait" wait_for 30 alert_of away
serve_kill TERM
serve_start
check "also over a restart" wait_for 15 queued 2
wait_for 15 metric_is_there away
polls=$(metric "nmtwatch_polls_total{target=\"$mine-away\"}")
sleep 4
is "the watching goes on" \
    "$(($(metric "nmtwatch_polls_total{target=\"$mine-away\"}") - polls >= 2))" 1
receiver_start "$port"
check "and they come when it is back" wait_for 20 hook_has away
check "all of them" wait_for 20 is_metric nmtwatch_delivery_queued 0
kill "$away"

mood hang
fake hangs 3000000
hangs=$SPAWNED
check "one that does not answer: they wait" wait_for 30 alert_of hangs
polls=$(metric "nmtwatch_polls_total{target=\"$mine-hangs\"}")
sleep 4
is "it holds up nothing" \
    "$(($(metric "nmtwatch_polls_total{target=\"$mine-hangs\"}") - polls >= 2))" 1
mood 200
check "they come" wait_for 30 is_metric nmtwatch_delivery_queued 0
kill "$hangs"

mood 500
before=$(posts /hook 500 | wc -l)
fake trouble 3000000
trouble=$SPAWNED
check "one in trouble: they wait" wait_for 30 alert_of trouble
sleep 3
check "it is not pressed: at most five requests in that time" \
    test $(($(posts /hook 500 | wc -l) - before)) -le 5
mood 200
check "they come after all" wait_for 30 is_metric nmtwatch_delivery_queued 0
kill "$trouble"
check "and end" wait_for 20 empty

mood 400
lost=$(metric nmtwatch_delivery_lost_total)
fake refused 3000000
refused=$SPAWNED
given_up() {
    [ "$(metric nmtwatch_delivery_lost_total)" -gt "$lost" ]
}
check "one that refuses: given up and counted" wait_for 30 given_up
check "and told" grep -q 'receiver hook: it answered 400.*given up' "$SCRATCH/err"
mood 200
kill "$refused"
check "the queue is empty at the end" wait_for 20 empty
serve_kill TERM

# --- TLS: the receiver is another serve, which takes no POST -----------------------------------------

if command -v openssl >/dev/null && openssl req -x509 -newkey rsa:2048 -nodes -days 1 \
    -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$SCRATCH/key" -out "$SCRATCH/cert" 2>/dev/null; then
    printf 'me:secret\n' >"$SCRATCH/users"
    chmod 600 "$SCRATCH/users"
    cat >"$SCRATCH/other.ini" <<END
[serve]
listen = 127.0.0.1:0
include = label:nobody
tls_cert = $SCRATCH/cert
tls_key = $SCRATCH/key
END
    spawn "$NMTWATCH" serve --config "$SCRATCH/other.ini" >"$SCRATCH/other.log"
    wait_for 10 grep -q listening "$SCRATCH/other.log"
    url=$(sed -n 's|^listening on ||p' "$SCRATCH/other.log")
    sed -i '/^\[receiver/,$d' "$SCRATCH/serve.ini"
    cat >>"$SCRATCH/serve.ini" <<END
[receiver known]
url = $url
ca_file = $SCRATCH/cert
user_file = $SCRATCH/users
[receiver untrusting]
url = $url
END
    serve_start
    fake over-tls 3000000
    check "over TLS" wait_for 30 \
        grep -q 'receiver known: it answered 405' "$SCRATCH/err"
    check "a certificate nobody vouches for" wait_for 5 \
        grep -qi 'receiver untrusting: .*certificate' "$SCRATCH/err"
    lacks "the password is in no message" "$(cat "$SCRATCH/err" "$SCRATCH/log")" secret
    chmod 644 "$SCRATCH/users"
    serve_kill TERM
    exits "a password that everybody may read" 74 "$NMTWATCH" serve --config "$SCRATCH/serve.ini"
else
    fail "TLS" "openssl is not installed"
fi
is "nothing was damaged" "$(grep -ci 'damaged\|sanitizer\|runtime error' "$SCRATCH/err")" 0
done_testing
