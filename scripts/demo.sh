#!/bin/bash
# demo: a JVM that generates classes without end, seen, named and reported by nmtwatch.
#
# usage: demo.sh BUILD
#
# The first JVM makes JDK proxies in new class loaders; where groovy is installed a second one
# evaluates scripts without a cache. Ends by itself within a minute and leaves no process behind.
# Exit status 0 when class-explosion was raised for each.

set -u
. "$(dirname "$0")/lib.sh"
build=${1:-build}
dir=$build/demo

jvms=()
cleanup() {
    local pid
    for pid in "${jvms[@]}"; do
        kill -TERM "$pid" 2>/dev/null # so that the JVM takes its attach socket with it
    done
    for _ in $(seq 30); do
        [ -n "$(jobs -rp)" ] || return
        sleep 0.1
    done
    for pid in "${jvms[@]}"; do
        kill -KILL "$pid" 2>/dev/null
    done
    wait 2>/dev/null
}
trap cleanup EXIT
trap 'exit 143' TERM INT HUP

ready() { # KIND
    for _ in $(seq 150); do
        grep -q ready "$dir/$1.log" && return
        sleep 0.1
    done
    echo "demo: the JVM did not start: $(head -n 3 "$dir/$1.log")" >&2
    exit 1
}

rm -rf "$dir"
mkdir -p "$dir"
scripts/workloads.sh build || exit 1
kinds=(proxy)
if scripts/workloads.sh kinds | grep -qx groovy; then
    kinds+=(groovy)
fi

for kind in "${kinds[@]}"; do
    # An ordinary start-up first, so that there is something to tell the explosion from.
    scripts/workloads.sh run "$kind" --warmup-classes 2000 --quiet 8 --rate 25 --seconds 120 \
        >"$dir/$kind.log" 2>&1 &
    jvms+=($!)
done
for kind in "${kinds[@]}"; do
    ready "$kind"
done

for i in "${!kinds[@]}"; do
    echo "demo: JVM ${jvms[$i]} (${kinds[$i]}) runs, and soon generates 25 classes a second"
done
echo "demo: nmtwatch watch ${jvms[*]} --for 36s --record $dir/%p.nmt.gz"
# Its exit status tells of alerts; what was raised is looked up below.
"$build/nmtwatch" watch "${jvms[@]}" --for 36s --interval 1s --record "$dir/%p.nmt.gz" \
    2>&1 </dev/null | tee "$dir/watch.txt"

status=0
for i in "${!kinds[@]}"; do
    out=$dir
    [ "$i" = 0 ] || out=$dir/${kinds[$i]}
    recording=$dir/${kinds[$i]}.nmt.gz
    mv "$dir/${jvms[$i]}.nmt.gz" "$recording" || exit 1
    "$build/nmtwatch" report "$recording" -o "$out" --format html,md,png,json >"$dir/report.log" 2>&1 || {
        cat "$dir/report.log" >&2
        status=1
    }
    if zcat "$recording" 2>/dev/null | grep '"type": *"alert"' | grep -q '"id": *"class-explosion"'; then
        echo "demo: class-explosion of ${kinds[$i]}: see $out/report.html and the pictures beside it"
    else
        echo "demo: no class-explosion of ${kinds[$i]} was seen" >&2
        status=1
    fi
done
exit $status
