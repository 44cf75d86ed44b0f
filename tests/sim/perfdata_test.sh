#!/bin/bash
# The figures of `check` as monitoring plugins write them, read back by somebody else's parser: that of
# Monitoring::Plugin (Debian: libmonitoring-plugin-perl), which Nagios' and Icinga's plugins use.
# shellcheck disable=SC2016 # $ of Perl

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
for program in "$NMTWATCH" "$FAKE_JVM"; do
    need_built "$program"
done
/usr/bin/perl -MMonitoring::Plugin::Performance -e 1 2>/dev/null ||
    bail "Monitoring::Plugin of Perl is not installed"

# One line a figure: label, value, unit, warning, critical; dies of what it cannot read.
parse() {
    /usr/bin/perl -MMonitoring::Plugin::Performance -e '
        my $text = join "", <STDIN>;
        my @all = Monitoring::Plugin::Performance->parse_perfstring($text) or die "not perfdata\n";
        printf "%s %s %s %s %s\n", $_->label, $_->value, $_->uom || "-",
            map { my $end = $_; $end && $end->end ? $end->end : "-" }
            $_->threshold->warning, $_->threshold->critical for @all;'
}

spawn "$FAKE_JVM" --for 60 --socket now >"$SCRATCH/out"
wait_for 10 grep -q '^ready' "$SCRATCH/out"
printf '[thresholds]\ninternal_investigate_bytes = 100MB\n' >"$SCRATCH/nmtwatch.ini"
"$NMTWATCH" check --config "$SCRATCH/nmtwatch.ini" "$SPAWNED" >"$SCRATCH/check"
head -n 1 "$SCRATCH/check" | sed 's/^[^|]*|//' >"$SCRATCH/perfdata"
parse <"$SCRATCH/perfdata" >"$SCRATCH/parsed" 2>"$SCRATCH/err"
silent "it is read without a word" cat "$SCRATCH/err"
is "every figure is read" "$(wc -l <"$SCRATCH/parsed")" "$(grep -o "'[a-z_]*'=" "$SCRATCH/perfdata" | wc -l)"
check "there are some" test "$(wc -l <"$SCRATCH/parsed")" -ge 8
is "labels are their own" "$(cut -d ' ' -f 1 "$SCRATCH/parsed" | sort | uniq -d)" ""
is "values are numbers" "$(cut -d ' ' -f 2 "$SCRATCH/parsed" | grep -cv '^[0-9]*$')" 0
is "Internal with its unit and thresholds" \
    "$(awk '$1 == "internal" { print $3, $4, $5 }' "$SCRATCH/parsed")" "B 104857600 2147483648"
is "a counter is one" "$(awk '$1 == "classes_loaded" { print $3 }' "$SCRATCH/parsed")" c
is "no figure, no perfdata" "$("$NMTWATCH" check $$ | grep -c '|')" 0
exits "the parser refuses what is none" 255 /usr/bin/perl -MMonitoring::Plugin::Performance -e '
    Monitoring::Plugin::Performance->parse_perfstring("nothing") or die "not perfdata\n"'
done_testing
