#!/bin/bash
# `nmtwatch rules`: what Prometheus' own tool says of the rules, and each rule firing and silent.

. "$(dirname "$0")/../tap.sh"

nmtwatch=${NMTWATCH:-build/nmtwatch}
promtool=${PROMTOOL:-promtool}
need_built "$nmtwatch"

exits "rules are printed" 0 "$nmtwatch" rules
"$nmtwatch" rules >"$SCRATCH/rules.yml"
"$nmtwatch" rules --json >"$SCRATCH/rules.json"
is "one rule for each kind of alert" \
    "$(jq '.groups[0].rules | length' "$SCRATCH/rules.json")" \
    "$(sed '/Only a triage/,$d' analyzers/judge/findings.def | grep -c '^FINDING(')"
is "every runbook is there" \
    "$(jq -r '.groups[].rules[].annotations.runbook_url' "$SCRATCH/rules.json" |
        sed 's,^file:///usr/share/doc/nmtwatch/,docs/,' | sort -u | xargs ls -d 2>&1 | grep -c 'cannot access')" 0

is "every rule has what a reader of its alert needs" \
    "$(jq -r '.groups[].rules[] | select((.for | length) == 0 or .keep_firing_for != "30s" or
        (.labels.severity | IN("info", "warning", "critical") | not) or
        (.annotations | (.summary | test("\\$labels.instance") | not) or
            (.description | length) < 20 or (.runbook_url | length) == 0)).alert' "$SCRATCH/rules.json")" ""
contains "runbooks are where one says" "$("$nmtwatch" rules --runbooks https://wiki.example/nmt)" \
    'runbook_url: "https://wiki.example/nmt/class-explosion.md"'

printf '[thresholds]\ninternal_investigate_bytes = 100MB\n' >"$SCRATCH/nmtwatch.ini"
contains "a configuration reaches the rules" \
    "$("$nmtwatch" rules --config "$SCRATCH/nmtwatch.ini" --json |
        jq -r '.groups[].rules[] | select(.alert == "NmtwatchInternalGrowthInvestigate").expr')" \
    "> 104857600"
printf '[thresholds]\nno_such_key = 1\n' >"$SCRATCH/bad.ini"
exits "a bad configuration is refused" 64 "$nmtwatch" rules --config "$SCRATCH/bad.ini"
contains "and its line is named" "$OUTPUT" "bad.ini:2"
exits "an operand is refused" 64 "$nmtwatch" rules 4711

if ! command -v "$promtool" >/dev/null; then
    fail "promtool check rules" "promtool is not installed"
    fail "promtool test rules" "promtool is not installed"
    done_testing
fi
check "promtool check rules: YAML" "$promtool" check rules "$SCRATCH/rules.yml"
check "promtool check rules: JSON" "$promtool" check rules "$SCRATCH/rules.json"
cp tests/schema/rules_promtool.yml "$SCRATCH/"
check "promtool test rules" "$promtool" test rules "$SCRATCH/rules_promtool.yml"
# The test above must be able to fail: a rule with a threshold out of reach fires no more.
sed -i 's/> 524288000/> 52428800000/' "$SCRATCH/rules.yml"
exits "and it notices a wrong rule" 1 "$promtool" test rules "$SCRATCH/rules_promtool.yml"
done_testing
