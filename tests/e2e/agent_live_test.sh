#!/bin/bash
# Objects that stay: a map that leaks beside much more garbage is the first in the table, with the
# stack that fills it; weak references are bounded, counted and given back.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

for jdk in $(agent_jdks); do
    jvm_start "$jdk" leak -Xmn32m LiveLeak 5
    if jvm_wait ready 60; then
        if answer=$(profile live --for 6s --chunk 700ms --json -o "$SCRATCH/live.jfr" \
            2>"$JVM_OUT/error"); then
            is "$JVM_NAME: the leak comes first, with its stack" "$(jq -r '.sites[0]
                | [.class, (.frames[:3][] | sub(":[0-9]+$"; ""))] | join(" ")' <<<"$answer")" \
                'LiveLeak$Leaky LiveLeak.keep LiveLeak.leak LiveLeak.lambda$main$0'
            check "$JVM_NAME: it is nearly all that stays, and has survived" jq -e \
                '(.sites[0].bytes > .bytes * 0.8) and .sites[0].most_survived >= 3' <<<"$answer"
            check "$JVM_NAME: the JDK reads the events" [ "$("$JVM_JFR" print --events \
                nmtagent.LiveObject "$SCRATCH/live.jfr" | grep -c 'LiveLeak$Leaky')" -gt 1 ]
        else
            fail "$JVM_NAME: profile live" "$(cat "$JVM_OUT/error")"
        fi
        profile start --live 20 --alloc 64k --cpu 0 --chunk 500ms --file "$SCRATCH/few.jfr" \
            >"$JVM_OUT/start" 2>&1 || fail "$JVM_NAME: starts" "$(cat "$JVM_OUT/start")"
        sleep 3
        is "$JVM_NAME: at its bound it refuses, and counts" "$(profile status --json | jq -c '.live
            | [.sampled == .held + .collected + .refused, .held <= 20, .refused > 0]')" \
            "[true,true,true]"
        check "$JVM_NAME: what the JVM holds for us is reported" jq -e \
            '.jvm.weak_references | .count > 0 and .bytes == .count * 10' \
            <<<"$(profile memory --json)"
        profile stop >"$JVM_OUT/stop" 2>&1 || fail "$JVM_NAME: stops" "$(cat "$JVM_OUT/stop")"
        is "$JVM_NAME: and given back" \
            "$(profile memory --json | jq -c '[.jvm.weak_references.count, (.components[]
                | select(.name == "live_objects") | .reserved_bytes)]')" "[0,0]"
    fi
    jvm_end 0
done
done_testing
