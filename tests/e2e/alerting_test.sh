#!/bin/bash
# The whole way of an alert, on loopback: a real JVM explodes -> nmtwatch serve -> Prometheus ->
# Alertmanager -> a webhook, within a minute; and straight from serve to Alertmanager and to a webhook.
# Then the fixed version is deployed, and all of it is resolved.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_RECEIVER=${FAKE_RECEIVER:-$(dirname "$NMTWATCH")/fake_receiver}
for program in "$NMTWATCH" "$FAKE_RECEIVER"; do
    need_built "$program"
done
for program in curl prometheus prometheus-alertmanager promtool amtool; do
    command -v "$program" >/dev/null || bail "$program is not installed"
done
need_library 'libmicrohttpd\.so\.12'
need_library 'libcurl.*\.so\.4'
JDK=${JDK:-17} scripts/workloads.sh jdk >/dev/null 2>&1 || skip_all "no JDK ${JDK:-17}"
scripts/workloads.sh build >"$SCRATCH/build.log" 2>&1 || bail "$(tail -n 1 "$SCRATCH/build.log")"

mine=$(id -un)/alerting$$
free_port() {
    local port
    for _ in {1..50}; do
        port=$((20000 + RANDOM % 12000))
        (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}
application() { # MODE; pid in $SPAWNED
    JDK=${JDK:-17} SERVE_TEST=${mine#*/} spawn scripts/workloads.sh run hidden --mode "$1" --rate 20 \
        >"$SCRATCH/application.log" 2>&1
}
answers() { # URL
    curl -sf --max-time 2 -o /dev/null "$1"
}

# Debian's Alertmanager reads its templates from /usr/share: where it is only unpacked it gets a
# /usr/share of its own.
templates=prometheus/alertmanager/default.tmpl
in_place() { # COMMAND...
    if [ -e "/usr/share/$templates" ]; then
        exec "$@"
    fi
    # shellcheck disable=SC2016
    exec unshare --map-root-user --mount sh -c 'mount -t tmpfs none /usr/share &&
        cp -r "$0" /usr/share/ && exec "$@"' "$PWD/build/tools/usr/share/prometheus" "$@"
}
(in_place true) 2>/dev/null || skip_all "refused: no user namespace to put Alertmanager's templates in place"

# --- everybody takes his place --------------------------------------------------------------------

log=$SCRATCH/received
: >"$log"
echo 200 >"$SCRATCH/mood"
spawn "$FAKE_RECEIVER" "$SCRATCH/port" "$log" "$SCRATCH/mood"
wait_for 5 test -s "$SCRATCH/port"
hook=http://127.0.0.1:$(cat "$SCRATCH/port")
alertmanager=127.0.0.1:$(free_port)
prometheus=127.0.0.1:$(free_port)

sed -e "s|^  group_wait:.*|  group_wait: 1s|; s|^  group_interval:.*|  group_interval: 1s|" \
    -e "s|url: http.*|url: $hook/alertmanager|" \
    packaging/prometheus/alertmanager.yml >"$SCRATCH/alertmanager.yml"
spawn in_place prometheus-alertmanager --config.file="$SCRATCH/alertmanager.yml" \
    --storage.path="$SCRATCH/alertmanager" --web.listen-address="$alertmanager" \
    --cluster.listen-address= >"$SCRATCH/alertmanager.log" 2>&1
cat >"$SCRATCH/serve.ini" <<END
[thresholds]
family_span_s = 5
clear_after_s = 5
[serve]
listen = 127.0.0.1:0
discover = 500ms
target = %{env:SERVE_TEST|main}
include = label:$mine
state = $SCRATCH/state
runbooks = https://wiki.example/nmtwatch
[receiver alertmanager-itself]
kind = alertmanager
url = http://$alertmanager
[receiver chat]
url = $hook/direct
END
spawn "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >"$SCRATCH/serve.log" 2>"$SCRATCH/serve.err"
wait_for 10 grep -q listening "$SCRATCH/serve.log"
serve=$(sed -n 's|^listening on http://\(.*\)/$|\1|p' "$SCRATCH/serve.log")

cp packaging/prometheus/prometheus.yml "$SCRATCH/"
sed -i "s|15s|1s|; s|localhost:9093|$alertmanager|" "$SCRATCH/prometheus.yml"
printf -- "- targets: ['%s']\n" "$serve" >"$SCRATCH/nmtwatch-targets.yml"
"$NMTWATCH" rules --config "$SCRATCH/serve.ini" >"$SCRATCH/nmtwatch-rules.yml"
check "promtool: the whole configuration" promtool check config "$SCRATCH/prometheus.yml"
spawn prometheus --config.file="$SCRATCH/prometheus.yml" --storage.tsdb.path="$SCRATCH/tsdb" \
    --web.listen-address="$prometheus" >"$SCRATCH/prometheus.log" 2>&1
for ready in "$alertmanager" "$prometheus"; do
    if ! wait_for 20 answers "http://$ready/-/ready"; then
        fail "Prometheus and Alertmanager start" "$(tail -n 3 "$SCRATCH/"{prometheus,alertmanager}.log)"
        done_testing
    fi
done

# --- it explodes ----------------------------------------------------------------------------------

# What came to the webhook: by Alertmanager, for an alert that Prometheus (job is set) or serve sent.
by_alertmanager() { # STATUS BY_PROMETHEUS
    awk '$2 == "/alertmanager"' "$log" | cut -d ' ' -f 3- |
        jq -r --arg status "$1" --argjson prometheus "$2" --arg target "$mine" \
            '.alerts[] | select(.status == $status and .labels.target == $target and
                (.labels.job == "nmtwatch") == $prometheus) | .labels.alertname'
}
direct() { # STATE
    awk '$2 == "/direct"' "$log" | cut -d ' ' -f 3- |
        jq -r --arg state "$1" 'select(.state == $state).alert'
}
has() { # ALERT COMMAND...
    "${@:2}" | grep -qx "$1"
}

application explode
exploding=$SPAWNED
began=$SECONDS
check "straight to a webhook" wait_for 60 has NmtwatchClassExplosion direct raised
echo "# after $((SECONDS - began)) s"
check "straight to Alertmanager" wait_for 20 has NmtwatchClassExplosion by_alertmanager firing false
check "serve -> Prometheus -> Alertmanager -> webhook" \
    wait_for 60 has NmtwatchClassExplosion by_alertmanager firing true
took=$((SECONDS - began))
echo "# after $took s"
check "within a minute" test "$took" -le $((60 * TAP_PATIENCE))
amtool --alertmanager.url="http://$alertmanager" alert query "target=$mine" -o json >"$SCRATCH/alerts"
is "both are one alert to those who group by target" \
    "$(jq -r '.[].labels.alertname' "$SCRATCH/alerts" | sort -u | grep -c Explosion)" 1
is "with a runbook and a fix" "$(jq -r '[.[] | select(.labels.job == null).annotations |
    (.runbook_url == "https://wiki.example/nmtwatch/class-explosion.md") and
    (.description | length > 20)] | all' "$SCRATCH/alerts")" true
is "and a page to look at" "$(curl -s "http://$serve/api/v1/findings" |
    jq -r '.findings[0].finding.id')" class-explosion
schema_check=$(dirname "$NMTWATCH")/schema_check
if [ -x "$schema_check" ]; then
    awk '$2 == "/direct"' "$log" | cut -d ' ' -f 3- >"$SCRATCH/webhook"
    check "the webhook's text is what is documented" \
        "$schema_check" --closed --lines docs/schema/webhook.json "$SCRATCH/webhook"
fi

# --- and is fixed ---------------------------------------------------------------------------------

kill_jvm "$exploding"
application cached
began=$SECONDS
check "resolved: straight to a webhook" wait_for 30 has NmtwatchClassExplosion direct cleared
check "resolved: straight to Alertmanager" \
    wait_for 30 has NmtwatchClassExplosion by_alertmanager resolved false
check "resolved: by Prometheus" wait_for 60 has NmtwatchClassExplosion by_alertmanager resolved true
echo "# after $((SECONDS - began)) s"
# Prometheus sends what is over again for a while, and a target that was gone for a moment is an alert too.
still_fires() {
    local answer
    answer=$(amtool --alertmanager.url="http://$alertmanager" alert query "target=$mine" -o json) || {
        echo "amtool gave no answer"
        return
    }
    jq -r '.[] | "\(.labels.alertname) by \(.labels.job // "serve"), until \(.endsAt)"' <<<"$answer"
}
wait_for 60 eval '[ -z "$(still_fires)" ]'
is "nothing fires any more" "$(still_fires)" ""
is "each change came to the webhook once" \
    "$(awk '$2 == "/direct"' "$log" | cut -d ' ' -f 3- | jq -r .key | sort | uniq -d)" ""
is "nothing waits" "$(find "$SCRATCH/state/queue" -type f | wc -l)" 0
silent "and nobody complained" cat "$SCRATCH/serve.err"
done_testing
