#!/bin/bash
# bench-fleet: what `nmtwatch serve` costs with many JVMs, most of them simulated ones
# (tests/sim/fake_jvm.c: the same files, sockets and replies from outside).
#
# usage: bench/fleet.sh [BUILD]      TARGETS=200 JVMS=20 STUCK=2 SECONDS_MEASURED=30 RECORD=0|1
#
# JVMS of the targets are real ones (Debian's JDK 17, a heap of 16 MB, idle), if there is a JDK.
#
# Prints CPU (share of one core), resident memory, and the time of a scrape; the goals are 5 % of a
# core and 64 MB for 200 JVMs at 1 Hz, and 50 ms for 5 000 series. Ends with 1 when one is missed.

set -eu
. "$(dirname "$0")/../lib.sh"
build=${1:-build}
targets=${TARGETS:-200}
stuck=${STUCK:-2}
jvms=${JVMS:-20}
jdk=${JDK_HOME:-$(jdk_home 17 || true)}
[ -x "$jdk/bin/javac" ] || jvms=0
measured=${SECONDS_MEASURED:-30}
port=${PORT:-29779}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/nmtwatch-fleet.XXXXXX")
pids=()

cleanup() {
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 143' TERM INT

lasts=$((measured + 120))
if [ "$jvms" -gt 0 ]; then
    echo 'class BenchFleet { public static void main(String[] a) throws Exception { Thread.sleep(600000); } }' \
        >"$scratch/BenchFleet.java"
    "$jdk/bin/javac" -d "$scratch" "$scratch/BenchFleet.java"
fi
for ((i = 0; i < jvms; i++)); do
    "$jdk/bin/java" -Xmx16m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:NativeMemoryTracking=summary \
        -cp "$scratch" BenchFleet &
    pids+=($!)
    sleep 0.1
done
for ((i = jvms; i < targets; i++)); do
    flags=(--socket now)
    [ $((i - jvms)) -ge "$stuck" ] || flags+=(--answer silent)
    "$build/fake_jvm" --for $lasts "${flags[@]}" >/dev/null &
    pids+=($!)
done

cat >"$scratch/serve.ini" <<END
[serve]
listen = 127.0.0.1:$port
include = main:com.example.Fake
include = main:BenchFleet
state = $scratch/state
END
[ "${RECORD:-0}" = 0 ] || echo "recordings = $scratch/recordings" >>"$scratch/serve.ini"
"$build/nmtwatch" serve --config "$scratch/serve.ini" >"$scratch/log" 2>&1 &
serve=$!
pids+=("$serve")

metric() { # NAME
    curl -s "http://127.0.0.1:$port/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}
for ((i = 0; i < 60; i++)); do
    [ "$(metric nmtwatch_targets)" != "$targets" ] || break
    sleep 1
done
sleep 15 # warm-up, and the first loader statistics

cpu_ticks() {
    awk '{ print $14 + $15 }' "/proc/$serve/stat"
}
before=$(cpu_ticks)
polls_before=$(curl -s "http://127.0.0.1:$port/metrics" | awk '/^nmtwatch_polls_total/ { n += $2 } END { print n }')
sleep "$measured"
after=$(cpu_ticks)
polls=$(($(curl -s "http://127.0.0.1:$port/metrics" | awk '/^nmtwatch_polls_total/ { n += $2 } END { print n }') - polls_before))
rss_kb=$(awk '/^VmRSS/ { print $2 }' "/proc/$serve/status")
series=$(curl -s "http://127.0.0.1:$port/metrics" | grep -vc '^#')
slowest=0 sum=0
for ((i = 0; i < 20; i++)); do
    sleep 0.3
    us=$(curl -s -o /dev/null -w '%{time_total}' "http://127.0.0.1:$port/metrics" | awk '{ printf "%d", $1 * 1000000 }')
    sum=$((sum + us))
    [ "$us" -le $slowest ] || slowest=$us
done

awk -v ticks=$((after - before)) -v s="$measured" -v hz="$(getconf CLK_TCK)" -v kb="$rss_kb" \
    -v series="$series" -v slowest=$slowest -v sum=$sum -v targets="$targets" -v polls=$polls \
    -v record="${RECORD:-0}" -v jvms="$jvms" 'BEGIN {
    cpu = ticks / hz / s * 100
    printf "targets      %d, %d of them real JVMs (%d samples in %d s, recordings %s)\n", targets, jvms, polls, s, record ? "on" : "off"
    printf "cpu          %.2f %% of a core (goal 5)\n", cpu
    printf "resident     %.1f MB (goal 64)\n", kb / 1024
    printf "scrape       %d series, mean %.1f ms, slowest %.1f ms (goal 50 for 5000)\n", series, sum / 20000, slowest / 1000
    exit cpu > 5 || kb > 65536 || sum / 20000 > 50 * (series > 5000 ? series / 5000 : 1)
}'
