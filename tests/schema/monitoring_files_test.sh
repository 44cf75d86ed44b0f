#!/bin/bash
# What is in packaging/ for Prometheus, Alertmanager, Grafana, Kubernetes, GitHub and GitLab: their own tools or
# schemas, where they are here, accept it, and it names what there is. (What the files of packaging/ci do:
# tests/e2e/builds_test.sh.)
# timeout: 240
# shellcheck disable=SC2016 # $ of Grafana

. "$(dirname "$0")/../tap.sh"
nmtwatch=${NMTWATCH:-build/nmtwatch}
promtool=${PROMTOOL:-promtool}
amtool=${AMTOOL:-amtool}
dashboard=packaging/grafana/nmtwatch.json
need_built "$nmtwatch"

# --- expressions ----------------------------------------------------------------------------------

fleet=packaging/grafana/nmtwatch-fleet.json
jq -r '.. | .expr? // empty' "$dashboard" "$fleet" |
    sed -E 's/\$(target|instance|application)/.*/g; s/\$__rate_interval/5m/g' >"$SCRATCH/expressions"
jq -r '.templating.list[] | .definition // empty | capture("label_values\\((?<m>.*), *[a-z]+\\)$").m' \
    "$dashboard" "$fleet" | sed -E 's/\$instance/.*/' >>"$SCRATCH/expressions"
check "the dashboard has expressions" test "$(wc -l <"$SCRATCH/expressions")" -gt 20
is "every panel has its place, and none overlaps" "$(jq '[.panels[].gridPos] |
    [.[] as $a | .[] as $b | select($a != $b and $a.x < $b.x + $b.w and $b.x < $a.x + $a.w and
        $a.y < $b.y + $b.h and $b.y < $a.y + $a.h)] | length' "$dashboard" "$fleet" | sort -u)" 0
is "ids of panels are their own" \
    "$(jq '[.panels[].id] | length - (unique | length)' "$dashboard" "$fleet" | sort -u)" 0
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
            ([(.containers + (.initContainers // []))[].volumeMounts[]?.name] - [.volumes[].name])[]' \
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
    is "an init container makes its folders" \
        "$(jq -c '.[] | select(.kind == "DaemonSet").spec.template.spec.initContainers[0] |
            [.args[-1], .securityContext.capabilities.add[]]' "$SCRATCH/daemonset.yaml.json")" '["--make-folders","CHOWN"]'
    is "the sidecar those of its pod" \
        "$(jq '.[] | select(.kind == "Deployment").spec.template.spec.shareProcessNamespace' \
            "$SCRATCH/sidecar.yaml.json")" true
else
    fail "Kubernetes" "python3-yaml is not installed"
fi

# --- schemas of others, from npm ---------------------------------------------------------------------

# What the API of Kubernetes takes: the compiler checks manifests against the types of its OpenAPI, names that
# are not in it included; `validate` adds formats (quantities, base64). One run of the compiler for all.
typed() { # NAME: $SCRATCH/NAME.json as a program
    jq -r 'to_entries[] | .key as $n | .value |
        (.apiVersion | if . == "v1" then . else sub("^(?<g>[a-z]+)/"; "\(.g)/") end) as $path |
        "import { I\(.kind) as I\($n), \(.kind) as K\($n) } from \"kubernetes-models/\($path)\";",
        "const m\($n): I\($n) = \(tojson);",
        "new K\($n)(m\($n)).validate();"' "$SCRATCH/$1.json" >"$SCRATCH/types/$1.ts"
}
compile() {
    (cd "$SCRATCH/types" && node node_modules/typescript/bin/tsc --strict --skipLibCheck --module commonjs \
        --target es2020 --moduleResolution node --preserveSymlinks ./*.ts >said)
}
kubernetes_says() { # NAME
    grep "^$1.ts" "$SCRATCH/types/said" ||
        (cd "$SCRATCH/types" && NODE_PATH=$modules node --preserve-symlinks "$1.js" 2>&1 | grep -m 1 Error)
}

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
    skip "schemas of Kubernetes, GitHub and GitLab" "not installed: npm, nodejs"
    done_testing
fi
if ! modules=$(npm_packages 2>"$SCRATCH/npm"); then
    skip "schemas of Kubernetes, GitHub and GitLab" "not installed: $(<"$SCRATCH/npm")"
    done_testing
fi
mkdir "$SCRATCH/types"
ln -s "$modules" "$SCRATCH/types/node_modules"
wrong() { # NAME FILTER: of the DaemonSet's spec
    jq "(.[] | select(.kind == \"DaemonSet\").spec) |= ($2)" "$SCRATCH/daemonset.yaml.json" >"$SCRATCH/$1.json"
    typed "$1"
}
for file in packaging/kubernetes/*.yaml; do
    typed "$(basename "$file")"
done
wrong name '.template.spec.containers[0] |= (.imagee = .image)'
wrong needed 'del(.selector)'
wrong quantity '.template.spec.containers[0].resources.limits.memory = "256 MB"'
compile
for file in packaging/kubernetes/*.yaml; do
    silent "$file is what the API of Kubernetes takes" kubernetes_says "$(basename "$file")"
done
contains "... which has no such name" "$(kubernetes_says name)" "imagee"
contains "... needs that one" "$(kubernetes_says needed)" "selector"
contains "... and has quantities of its own" "$(kubernetes_says quantity)" "memory"

github_says() { # Action|Workflow FILE
    NODE_PATH=$modules node -e 'const v = require("@action-validator/core");
        const s = v["validate" + process.argv[1]](require("fs").readFileSync(process.argv[2], "utf8"));
        for (const e of s.errors) console.log(JSON.stringify(e));' "$@"
}
silent "packaging/ci/action.yml is an action" github_says Action packaging/ci/action.yml
silent "packaging/ci/github-workflow.yml is a workflow" github_says Workflow packaging/ci/github-workflow.yml
sed '/shell: bash/d' packaging/ci/action.yml >"$SCRATCH/action.yml"
contains "an action whose steps name no shell is none" "$(github_says Action "$SCRATCH/action.yml")" "shell"
is "the workflow uses inputs and outputs that the action has" "$(python3 - <<'END'
import re, yaml
action, text = yaml.safe_load(open("packaging/ci/action.yml")), open("packaging/ci/github-workflow.yml").read()
for job in yaml.safe_load(text)["jobs"].values():
    for step in job["steps"]:
        if "/packaging/ci@" in step.get("uses", ""):
            print(*(set(step["with"]) - set(action["inputs"])))
            print(*(name for name, i in action["inputs"].items() if i.get("required") and name not in step["with"]))
            print(*(set(re.findall(r"steps\.%s\.outputs\.([a-z-]+)" % step["id"], text)) - set(action["outputs"])))
END
)" ""

mkdir "$SCRATCH/gitlab"
cp packaging/ci/soak.gitlab-ci.yml "$SCRATCH/gitlab/"
printf '%s\n' 'include: [{local: soak.gitlab-ci.yml}]' 'soak: {extends: .nmtwatch-soak, variables: {SOAK_COMMAND: true}}' \
    >"$SCRATCH/gitlab/.gitlab-ci.yml"
git -C "$SCRATCH/gitlab" init -q
gitlab_says() {
    (cd "$SCRATCH/gitlab" && node "$modules/gitlab-ci-local/src/index.js" --list-all 2>&1)
}
exits "packaging/ci/soak.gitlab-ci.yml is a template for a job" 0 gitlab_says
contains "and the job is there" "$OUTPUT" "soak"
sed -i 's/when: always/when: ever/' "$SCRATCH/gitlab/soak.gitlab-ci.yml"
exits "GitLab's schema would not take everything" 1 gitlab_says
done_testing
