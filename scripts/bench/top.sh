#!/bin/bash
# bench-top: what `nmtwatch top` costs with many JVMs, all of them simulated (tests/sim/fake_jvm.c), in a terminal of
# 200 x 60 (tmux).
#
# usage: bench/top.sh [BUILD]      TARGETS=200 SECONDS_MEASURED=30
#
# Prints CPU (share of one core) and resident memory; the goal is 3 % of a core for 200 JVMs. Ends with 1 when it is
# missed. Other JVMs of the host are on the screen too: the figures are for a host without.

set -eu
. "$(dirname "$0")/../lib.sh"
build=${1:-build}
targets=${TARGETS:-200}
measured=${SECONDS_MEASURED:-30}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/nmtwatch-top.XXXXXX")
pids=()

cleanup() {
    tmux -S "$scratch/tmux" kill-server 2>/dev/null || true
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 143' TERM INT

for ((i = 0; i < targets; i++)); do
    "$build/fake_jvm" --for $((measured + 120)) --socket now --main "com.example.Fake$i" >/dev/null &
    pids+=($!)
done
tmux -f /dev/null -S "$scratch/tmux" new-session -d -x 200 -y 60 \
    "LC_ALL=C.UTF-8 exec $(realpath "$build/nmtwatch") top"
screen() {
    tmux -S "$scratch/tmux" capture-pane -p
}
for ((i = 0; i < 60; i++)); do
    ! screen | grep -q "top: $targets JVMs" || break
    sleep 1
done
screen | head -n 1
sleep 15 # warm-up, and the first loader statistics
pid=$(tmux -S "$scratch/tmux" display-message -p '#{pane_pid}')

cpu_ticks() {
    awk '{ print $14 + $15 }' "/proc/$pid/stat"
}
before=$(cpu_ticks)
sleep "$measured"
after=$(cpu_ticks)
rss_kb=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
awk -v ticks=$((after - before)) -v s="$measured" -v hz="$(getconf CLK_TCK)" -v kb="$rss_kb" -v targets="$targets" 'BEGIN {
    cpu = ticks / hz / s * 100
    printf "targets      %d\n", targets
    printf "cpu          %.2f %% of a core (goal 3)\n", cpu
    printf "resident     %.1f MB\n", kb / 1024
    exit cpu > 3
}'
