#!/bin/bash
# bench-classlog: nmtwatch classlog beside wc, ripgrep, mawk and sort|uniq on the same log.
#
#   bench-classlog.sh [MB]      size of the log (1024); it is generated, read once, and removed
#
# CPU time (user + system) on one core, from the page cache, median of five interleaved rounds.
set -u
cd "$(dirname "$0")/.." || exit 1
nmtwatch=${NMTWATCH:-build/nmtwatch}
[ -x "$nmtwatch" ] || { echo "bench-classlog: $nmtwatch is not built" >&2; exit 1; }
megabytes=${1:-1024}
log=$(mktemp /tmp/nmtwatch-classlog.XXXXXX) || exit 1
times=$(mktemp) || exit 1
trap 'rm -f "$log" "$times"' EXIT

# What a busy application server with four generators writes.
awk -v bytes=$((megabytes * 1048576)) 'BEGIN {
    while (size < bytes) {
        t = sprintf("[%d.%03ds][info][class,load] ", n / 2000, n / 2 % 1000)
        line = t "Script" n " source: file:/groovy/shell\n" \
            t "com.acme.web.Controller$$EnhancerBySpringCGLIB$$" sprintf("%08x", n * 2654435761 % 4294967296) \
            " source: file:/app/lib/app.jar\n" \
            t "com.acme.Host$$Lambda/0x" sprintf("%016x", 140000000000 + n * 1024) " source: com.acme.Host\n" \
            t "jdk.internal.reflect.GeneratedMethodAccessor" n % 50000 " source: __JVM_DefineClass__\n"
        printf "%s", line
        size += length(line)
        n++
    }
}' >"$log"
cat "$log" >/dev/null

tools=(wc)
commands=("wc -l")
command -v rg >/dev/null && { tools+=(ripgrep); commands+=("rg -c class,load"); }
command -v mawk >/dev/null && { tools+=(mawk); commands+=("mawk '/class,load/{n++}END{print n}'"); }
tools+=("classlog --count" classlog)
commands+=("$nmtwatch classlog --count" "$nmtwatch classlog")
for _ in 1 2 3 4 5; do
    for i in "${!tools[@]}"; do
        TIMEFORMAT="$i %U %S"
        { time taskset -c 0 bash -c "exec ${commands[$i]} $log" >/dev/null; } 2>>"$times"
    done
done
# The pipeline people write; once, on the first 64 MB: it would take minutes.
TIMEFORMAT="pipeline %U %S"
head -c 67108864 "$log" >"$log.part"
{ time taskset -c 0 bash -c "sed 's/.*load\] //; s/ source.*//; s/[0-9]*\$//' '$log.part' | sort | uniq -c | sort -rn | head" \
    >/dev/null; } 2>>"$times"
rm -f "$log.part"

size=$(stat -c %s "$log")
printf '%-20s %10s %10s\n' tool GB/s "of wc -l"
for i in "${!tools[@]}"; do
    awk -v i="$i" '$1 == i { print $2 + $3 }' "$times" | sort -n | sed -n 3p |
        awk -v size="$size" -v tool="${tools[$i]}" -v file="$times.wc" '{
            speed = size / 1e9 / ($1 > 0 ? $1 : 0.001)
            if (tool == "wc") { print speed > file } else { getline wc < file }
            printf "%-20s %10.2f %10.2f\n", tool, speed, tool == "wc" ? 1 : speed / wc
        }'
done
awk '$1 == "pipeline" { printf "%-20s %10.3f\n", "sed|sort|uniq -c", 0.067108864 / ($2 + $3) }' "$times"
rm -f "$times.wc"
