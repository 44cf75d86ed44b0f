#!/bin/bash
# JVMs in containers of many kinds: list, check, watch and profile work, or say exactly why not, with
# a code of their own; and nothing is left in the container.
# timeout: 240
. "$(dirname "$0")/containers.sh"

ITS_USER=(setpriv --reuid 4711 --regid 4711 --clear-groups)
ANOTHER=(setpriv --reuid 4712 --regid 4712 --clear-groups)
OURS=$SCRATCH/nmtwatch

works() { # WHAT PID TMP COMMAND...: check, watch and profile; TMP is its /tmp as we reach it
    local what=$1 pid=$2 tmp=$3 out
    shift 3
    out=$SCRATCH/out-$RANDOM
    mkdir -m 777 "$out"
    exits "$what: check" 0 timeout $((20 * TAP_PATIENCE)) "$@" check "$pid"
    exits "$what: watch" 0 timeout $((20 * TAP_PATIENCE)) "$@" watch "$pid" --for 1s --json
    contains "$what: watch has its NMT numbers" "$OUTPUT" '"nmt_committed_bytes"'
    exits "$what: profile" 0 timeout $((20 * TAP_PATIENCE)) "$@" profile "$pid" --for 1s --cpu 1ms -o "$out/o.txt"
    # It mostly sleeps: a second may pass without a sample.
    grep -q "workloads.Workload.main" "$out/o.txt" || "$@" profile "$pid" --for 3s --cpu 1ms -o "$out/o.txt"
    check "$what: there are Java frames" grep -q "workloads.Workload.main" "$out/o.txt"
    exits "$what: the agent is found again" 0 timeout $((20 * TAP_PATIENCE)) "$@" profile "$pid" status
    is "$what: nothing is left in its /tmp" "$(find "$tmp" -name "nmtwatch*")" ""
}

refuses() { # WHAT CODE SENTENCE COMMAND...
    local what=$1 code=$2 sentence=$3
    shift 3
    exits "$what" "$code" timeout $((20 * TAP_PATIENCE)) "$@"
    contains "$what: says why" "$OUTPUT" "$sentence"
}

listed() { # NAME FILTER
    jq -r --argjson pid "${C_PID[$1]}" ".jvms[] | select(.pid == \$pid) | $2" <<<"$LIST"
}

for jdk in 17 25; do
    have_jdk $jdk || {
        skip "containers of JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    }
    contain $jdk box UID_IN=4711 --
    contain $jdk link TMP=link --
    contain $jdk chroot IN=chroot UID_IN=4711 --
    contain $jdk private IN=private UID_IN=4711 -- -Djava.io.tmpdir=/var/tmp -XX:-UsePerfData
    contain $jdk noexec TMP=noexec --
    contain $jdk frozen TMP=readonly --
    contain $jdk bare TMP=none UID_IN=4711 --
    contain $jdk mapped UID_IN=4711 USERS=map --
    contain $jdk unmapped UID_IN=4711 USERS=none --
    contain $jdk denied UID_IN=4711 DENY=1 --
    contain $jdk musl MUSL=1 --
    contain $jdk named IN=private UID_IN=65534 --
    contain $jdk twice UID_IN=4711 --
    contain $jdk first TMP=shared --
    contain $jdk second TMP=shared --
    contained

    LIST=$("$OURS" list --json)
    for name in "${C_NAMES[@]}"; do
        is "$name: list" "$(listed "$name" '[.jdk_major, .nmt, .container, .main] | join(" ")')" \
            "$jdk summary true workloads.Workload"
    done
    is "$jdk: the first of its pid namespace" "$(listed $jdk/box '[.nspid, .uid] | join(" ")')" "1 4711"

    # What doctor says before anybody has attached, and which line mends it.
    doctor=$("$OURS" doctor --json)
    while read -r name of wanted; do
        contains "$jdk/$name: doctor, $of" "$(jq -r --argjson pid "${C_PID[$jdk/$name]}" --arg of "$of" \
            '.jvms[] | select(.pid == $pid) | .checks[] | select(.name == $of) | "\(.state): \(.mend)"' <<<"$doctor")" \
            "$wanted"
    done <<'END'
box attach ok: null
box hsperfdata as a user with a name
named hsperfdata ok: null
noexec attach ok: null
noexec agent missing: put libnmtagent.so into its image
musl agent missing: build nmtwatch in that image
frozen attach missing: give it a /tmp that its user may write
bare attach missing: give it a /tmp that its user may write
unmapped attach missing: start it with a mapping of its user
END

    for name in box chroot private mapped denied; do
        works "$jdk/$name" "${C_PID[$jdk/$name]}" "${C_ROOT[$jdk/$name]}/tmp" "$OURS"
    done
    works "$jdk/link" "${C_PID[$jdk/link]}" "${C_ROOT[$jdk/link]}/elsewhere/tmp" "$OURS"
    check "$jdk/link: its folder of that name is not ours" test ! -e /elsewhere
    if [ $jdk = 17 ]; then # the log of class loads goes through its /tmp
        exits "$jdk/link: triage" 2 "$OURS" triage "${C_PID[$jdk/link]}" --for 12s -o "$SCRATCH/triage"
        contains "$jdk/link: triage names the generator" "$OUTPUT" "jdk.proxy"
        is "$jdk/link: triage leaves nothing" \
            "$(find "${C_ROOT[$jdk/link]}/elsewhere/tmp" -name "nmtwatch*")" ""
    fi
    for name in box mapped; do
        works "$jdk/$name, its own user" "${C_PID[$jdk/$name]}" "${C_ROOT[$jdk/$name]}/tmp" \
            "${ITS_USER[@]}" "$OURS"
    done
    for name in box chroot private mapped link; do
        pid=${C_PID[$jdk/$name]}
        refuses "$jdk/$name, another user" 13 "belongs to another user" \
            "${ANOTHER[@]}" "$OURS" watch "$pid" --for 1s
        exits "$jdk/$name, another user: check" 3 "${ANOTHER[@]}" "$OURS" check "$pid"
        refuses "$jdk/$name, another user: doctor" 13 "fix: run as that user, or as root" \
            "${ANOTHER[@]}" "$OURS" doctor "$pid"
        contains "$jdk/$name, another user: doctor has this machine" "$OUTPUT" "only JVMs of uid"
    done

    pid=${C_PID[$jdk/unmapped]}
    refuses "$jdk: a user without a number" 30 "without a number" "$OURS" watch "$pid" --for 1s
    exits "$jdk: a user without a number: check" 3 "$OURS" check "$pid"

    # Each brings a copy of the agent into the container.
    pid=${C_PID[$jdk/twice]}
    for name in 1 2; do
        "$OURS" profile "$pid" start >"$SCRATCH/twice-$name" 2>&1 &
        twice[name]=$!
    done
    codes=
    for name in 1 2; do
        wait "${twice[name]}"
        codes+="$? "
    done
    is "$jdk: two first starts at once: one does it" "$(tr ' ' '\n' <<<"$codes" | sort | xargs)" "0 23"
    contains "$jdk: two first starts at once: the other is told" "$(cat "$SCRATCH"/twice-[12])" \
        "already running: stop it first"
    exits "$jdk: two first starts at once: status" 0 "$OURS" profile "$pid" status
    contains "$jdk: two first starts at once: it runs" "$OUTPUT" "running"
    exits "$jdk: two first starts at once: stop" 0 "$OURS" profile "$pid" stop

    exits "$jdk: no native frames without libunwind" 0 "$OURS" profile "${C_PID[$jdk/box]}" start
    contains "$jdk: and says why" "$OUTPUT" "libunwind-$(uname -m).so.8 is not installed"
    exits "$jdk: stop" 0 "$OURS" profile "${C_PID[$jdk/box]}" stop

    pid=${C_PID[$jdk/noexec]}
    exits "$jdk: a /tmp mounted noexec: check" 0 "$OURS" check "$pid"
    refuses "$jdk: a /tmp mounted noexec: profile" 29 "noexec" "$OURS" profile "$pid" start
    exits "$jdk: the agent in its image" 0 "$OURS" profile "$pid" start --agent /opt/agent/libnmtagent.so
    exits "$jdk: the agent in its image, stopped" 0 "$OURS" profile "$pid" stop

    refuses "$jdk: musl" 28 "another C library" "$OURS" profile "${C_PID[$jdk/musl]}" start
    exits "$jdk: musl: check" 0 "$OURS" check "${C_PID[$jdk/musl]}"

    is "$jdk: a user with a name has hsperfdata" "$(listed $jdk/named '.classes_loaded > 300')" true

    # Two of one number in one /tmp: whose socket is there tells who called listen(2).
    pid=${C_PID[$jdk/second]}
    exits "$jdk: a shared /tmp: the one whose socket is there" 0 "$OURS" check "${C_PID[$jdk/first]}"
    refuses "$jdk: a shared /tmp: the other" 31 "shares its /tmp" "$OURS" watch "$pid" --for 1s
    exits "$jdk: a shared /tmp: the other: check" 3 "$OURS" check "$pid"

    for name in frozen bare; do
        pid=${C_PID[$jdk/$name]}
        exits "$jdk/$name: check" 3 "$OURS" check "$pid"
        contains "$jdk/$name: check says why" "$OUTPUT" "no /tmp to write to"
        refuses "$jdk/$name: watch" 24 "no /tmp to write to" "$OURS" watch "$pid" --for 1s
        refuses "$jdk/$name: profile" 24 "no /tmp to write to" "$OURS" profile "$pid" start
        lacks_in "$jdk/$name: no thread dump in its log" "${C_LOG[$jdk/$name]}" "Full thread dump"
    done
    for name in "${C_NAMES[@]}"; do
        check "$name: is unharmed" kill -0 "${C_PID[$name]}"
        lacks_in "$name: no thread dump in its log" "${C_LOG[$name]}" "Full thread dump"
    done
    contain_end
done
done_testing
