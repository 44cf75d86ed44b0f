#!/bin/bash
# What is in packaging/ for Prometheus, Alertmanager, Grafana and Kubernetes: their own tools, where
# they are here, accept it, and it names what there is.
# shellcheck disable=SC2016 # $ of Grafana

. "$(dirname "$0")/../tap.sh"
nmtwatch=${NMTWATCH:-build/nmtwatch}
promtool=${PROMTOOL:-promtool}
amtool=${AMTOOL:-amtool}
dashboard=packaging/grafana/nmtwatch.json
need_built "$nmtwatch"

# --- expressions ----------------------------------------------------------------------------------

jq -r '.. | .expr? // empty' "$dashboard" |
    sed 's/\$target/.*/g; s/\$__rate_interval/5m/g' >"$SCRATCH/expressions"
jq -r '.templating.list[] | .definition // empty | capture("label_values\\((?<m>[^,]*)").m' \
    "$dashboard" >>"$SCRATCH/expressions"
check "the dashboard has expressions" test "$(wc -l <"$SCRATCH/expressions")" -gt 20
is "every panel has its place, and none overlaps" "$(jq '[.panels[].gridPos] |
    [.[] as $a | .[] as $b | select($a != $b and $a.x < $b.x + $b.w and $b.x < $a.x + $a.w and
        $a.y < $b.y + $b.h and $b.y < $a.y + $a.h)] | length' "$dashboard")" 0
is "ids of panels are their own" "$(jq '[.panels[].id] | length - (unique | length)' "$dashboard")" 0
{
    printf 'groups:\n  - name: dashboard\n    rules:\n'
    n=0
    while IFS= read -r expression; do
        printf '      - record: dashboard:%d\n        expr: |\n          %s\n' $((++n)) "$expression"
    done <"$SCRATCH/expressions"
} >"$SCRATCH/dashboard.yml"
"$nmtwatch" rules >"$SCRATCH/nmtwatch-rules.yml"
if command -v "$promtool" >/dev/null; then
    check "promtool reads every expression of the dashboard" \
        "$promtool" check rules "$SCRATCH/dashboard.yml"
    sed 's/rate(/rite(/' "$SCRATCH/dashboard.yml" >"$SCRATCH/wrong.yml"
    exits "and would not read a wrong one" 1 "$promtool" check rules "$SCRATCH/wrong.yml"
    cp packaging/prometheus/*.yml "$SCRATCH/"
    check "promtool check config: packaging/prometheus" \
        "$promtool" check config "$SCRATCH/prometheus.yml"
else
    fail "promtool" "promtool is not installed"
fi
if command -v "$amtool" >/dev/null; then
    check "amtool check-config" "$amtool" check-config packaging/prometheus/alertmanager.yml
else
    fail "amtool check-config" "amtool is not installed"
fi

# --- names (those of metrics: tests/unit/serve/exported_names_test.c) ------------------------------

is "every finding of an alert in alertmanager.yml is one" \
    "$(grep -ohE 'finding="[a-z-]+"' packaging/prometheus/alertmanager.yml | cut -d '"' -f 2 |
        while read -r id; do grep -q "\"$id\"" analyzers/judge/findings.def || echo "$id"; done)" ""
is "and every alert a rule" \
    "$(grep -ohE 'alertname="Nmtwatch[A-Za-z]+"' packaging/prometheus/alertmanager.yml |
        cut -d '"' -f 2 | while read -r alert; do
        grep -q "alert: $alert\$" "$SCRATCH/nmtwatch-rules.yml" || echo "$alert"
    done)" ""

# --- Kubernetes -----------------------------------------------------------------------------------

if python3 -c 'import yaml' 2>/dev/null; then
    for file in packaging/kubernetes/*.yaml; do
        python3 - "$file" >"$SCRATCH/$(basename "$file").json" <<'END'
import json, sys, yaml
print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))
END
        is "$file is YAML whose parts have a kind and a name" \
            "$(jq 'all(.apiVersion and .kind and .metadata.name)' "$SCRATCH/$(basename "$file").json")" true
        jq -r '.[] | select(.kind == "ConfigMap").data["serve.ini"]' \
            "$SCRATCH/$(basename "$file").json" >"$SCRATCH/$(basename "$file").ini"
        check "and its configuration is one" "$nmtwatch" rules --config "$SCRATCH/$(basename "$file").ini"
        is "and mounts only what it has" "$(jq -r '.[] | select(.spec.template) | .spec.template.spec |
            ([.containers[].volumeMounts[]?.name] - [.volumes[].name])[]' \
            "$SCRATCH/$(basename "$file").json")" ""
    done
    is "the DaemonSet sees the processes of the node" \
        "$(jq '.[] | select(.kind == "DaemonSet").spec.template.spec.hostPID' \
            "$SCRATCH/daemonset.yaml.json")" true
    is "with the capabilities of the unit for systemd" \
        "$(jq -r '.[] | select(.kind == "DaemonSet").spec.template.spec.containers[0].securityContext.capabilities.add[]' \
            "$SCRATCH/daemonset.yaml.json" | sort | xargs)" \
        "$(sed -n 's/^CapabilityBoundingSet=//p' packaging/nmtwatch.service | sed 's/CAP_//g' |
            tr ' ' '\n' | sort | xargs)"
    is "the sidecar those of its pod" \
        "$(jq '.[] | select(.kind == "Deployment").spec.template.spec.shareProcessNamespace' \
            "$SCRATCH/sidecar.yaml.json")" true
else
    fail "Kubernetes" "python3-yaml is not installed"
fi
done_testing
