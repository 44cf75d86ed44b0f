#!/bin/bash
# series-from-recording: cuts recordings of `nmtwatch record` down to the series a verdict is asked
# for. Several recordings are one service that was restarted: the times go on by the wall clock.
#
# usage: series-from-recording.sh RECORDING... >NAME.csv
#
# Columns, empty where the JVM did not say: seconds, bytes of Internal (with JNI from JDK 26 on),
# of Class + Metaspace, of Metaspace, of all NMT counts, of RSS; classes loaded since start-up.
# One line for each NMT summary.

set -u
[ $# -gt 0 ] || {
    echo "usage: series-from-recording.sh RECORDING..." >&2
    exit 64
}

echo "seconds,internal,class_metaspace,metaspace,nmt_total,rss,classes_loaded_total"
first=
for recording in "$@"; do
    if ! header=$(zcat -f -- "$recording" 2>/dev/null | head -n 1 |
        jq -er 'select(.type == "header") | "\(.wall_start_ms) \(.target.jdk_major)"'); then
        echo "series-from-recording: $recording: no recording of nmtwatch" >&2
        exit 1
    fi
    read -r start jdk <<<"$header"
    first=${first:-$start}
    # A recording that was cut off ends in half a member or line: what is whole is used.
    zcat -f -- "$recording" 2>/dev/null |
        jq -rR --argjson offset $((start - first)) --argjson jdk "$jdk" '
            def bytes(name): .nmt[name].committed_bytes;
            fromjson? | select(.type == "tick" and .nmt != null) | [
                (.ms + $offset) / 1000,
                (bytes("Internal")
                    | if . != null and $jdk >= 26 then . + (bytes("JNI") // 0) else . end),
                bytes("Class") + (bytes("Metaspace") // 0),
                bytes("Metaspace"),
                .nmt_committed_bytes, .rss_bytes, .classes_loaded
            ] | map(if . == null then "" else tostring end) | join(",")'
done
