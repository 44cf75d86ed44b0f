#!/bin/bash
# fleet-storage: what the series of many hosts cost a Prometheus, measured on a small part of them.
#
# Scrapes `nmtwatch serve` over some real and some simulated JVMs, lays the scrapes out as HOURS of
# data of HOSTS hosts, has promtool make blocks of them, and computes a fleet of FLEET hosts from that.
# docs/fleet.md holds the result.
#
# usage: fleet-storage.sh [BUILD]     HOSTS=10 HOURS=2 FLEET=10000 JVMS=8 FAKES=8 SCRAPES=60

set -eu
. "$(dirname "$0")/../lib.sh"
build=${1:-build}
hosts=${HOSTS:-10} hours=${HOURS:-2} fleet=${FLEET:-10000} scrapes=${SCRAPES:-60}
jvms=${JVMS:-8} fakes=${FAKES:-8}
interval=15 # seconds between scrapes, as laid out
port=${PORT:-29780}
jdk=${JDK_HOME:-$(jdk_home 17 || true)}
promtool=$(PATH=$PATH:build/tools/usr/bin command -v promtool) || {
    echo "fleet-storage: promtool is not installed" >&2
    exit 1
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/nmtwatch-storage.XXXXXX")
pids=()
cleanup() {
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 143' TERM INT

# Allocates and collects now and then, so that its figures move as those of a working JVM.
cat >"$scratch/Working.java" <<'END'
class Working {
    public static void main(String[] a) throws Exception {
        java.util.ArrayDeque<byte[]> kept = new java.util.ArrayDeque<>();
        for (int i = 0; ; i++) {
            kept.add(new byte[20000 + i % 7 * 1000]);
            if (kept.size() > 300 + i % 200) kept.clear();
            if (i % 50 == 0) new Thread(() -> { }).start();
            Thread.sleep(20);
        }
    }
}
END
"$jdk/bin/javac" -d "$scratch" "$scratch/Working.java"
for ((i = 0; i < jvms; i++)); do
    "$jdk/bin/java" -Xmx32m -XX:NativeMemoryTracking=summary -cp "$scratch" Working &
    pids+=($!)
done
for ((i = 0; i < fakes; i++)); do
    "$build/fake_jvm" --for 3600 --socket now --rate $((i % 3)) --internal $((i * 1000)) >/dev/null &
    pids+=($!)
done
cat >"$scratch/serve.ini" <<END
[serve]
listen = 127.0.0.1:$port
include = main:Working
include = main:com.example.Fake
END
"$build/nmtwatch" serve --config "$scratch/serve.ini" >"$scratch/log" 2>&1 &
pids+=($!)
sleep 20
for ((i = 0; i < scrapes; i++)); do
    curl -s "http://127.0.0.1:$port/metrics" | grep -v '^#' >"$scratch/scrape.$i"
    sleep 2
done
bytes=$(curl -s "http://127.0.0.1:$port/metrics" | wc -c)
packed=$(curl -s -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/metrics" | wc -c)

# The scrapes one after the other, again and again, back and forth so that nothing jumps.
points=$((hours * 3600 / interval))
start=$(($(date +%s) / 7200 * 7200 - hours * 3600 - 7200))
for ((p = 0; p < points; p++)); do
    at=$((p % (2 * scrapes)))
    [ $at -lt "$scrapes" ] || at=$((2 * scrapes - 1 - at))
    awk -v ts=$((start + p * interval)) '{
        value = $NF
        sub(/ [^ ]*$/, "")
        if ($0 !~ /}$/) $0 = $0 "{}"
        printf "%s\t%d\t%s\n", $0, ts, value
    }' "$scratch/scrape.$at"
done | sort -s -t "$(printf '\t')" -k1,1 -k2,2n >"$scratch/rows"
for ((h = 0; h < hosts; h++)); do
    awk -F '\t' -v host="host-$h" '{
        series = $1
        sub(/\}$/, (series ~ /\{\}$/ ? "" : ",") "instance=\"" host "\"}", series)
        print series "\t" $2 "\t" $3
    }' "$scratch/rows"
done | sort -s -t "$(printf '\t')" -k1,1 | awk -F '\t' '{ print $1, $3, $2 } END { print "# EOF" }' >"$scratch/data.om"
samples=$(($(wc -l <"$scratch/data.om") - 1))
"$promtool" tsdb create-blocks-from openmetrics --quiet "$scratch/data.om" "$scratch/tsdb" >"$scratch/blocks" 2>&1 || {
    tail -n 3 "$scratch/blocks" >&2
    exit 1
}
series=$(($(cut -f 1 "$scratch/rows" | uniq | wc -l) * hosts))
"$promtool" tsdb list "$scratch/tsdb" >"$scratch/list"
chunks=$(find "$scratch/tsdb" -path '*chunks*' -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
index=$(find "$scratch/tsdb" -name index -printf '%s\n' | awk '{ n += $1 } END { print n }')

echo "promtool    $(awk 'NR > 1 { n += $5; if ($7 > s) s = $7 } END { print NR - 1, "blocks,", n, "samples,", s, "series" }' "$scratch/list")"
awk -v samples="$samples" -v series="$series" -v chunks="$chunks" -v idx="$index" -v hosts="$hosts" \
    -v jvms=$((jvms + fakes)) -v fleet="$fleet" -v interval=$interval -v bytes="$bytes" -v packed="$packed" \
    -v points=$points 'BEGIN {
    per_host = series / hosts
    printf "measured    %d hosts of %d JVMs, %d series, %d samples\n", hosts, jvms, series, samples
    printf "a JVM       %.0f series\n", per_host / jvms
    printf "a host      %.0f series, a scrape of %.0f KB, %.0f KB gzip\n", per_host, bytes / 1024, packed / 1024
    printf "storage     %.2f bytes a sample in chunks, %.0f bytes a series in the index of a block\n", chunks / samples, idx / series
    total = per_host * fleet
    printf "%d hosts %.1f million series, %.0f thousand samples a second, %.1f GB a day, %.0f MB/s of scrapes (%.0f gzip)\n", \
        fleet, total / 1e6, total / interval / 1e3, total * 86400 / interval * chunks / samples / 1e9, \
        fleet * bytes / interval / 1e6, fleet * packed / interval / 1e6
}'
