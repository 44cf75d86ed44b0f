#!/bin/bash
# Which code is a library's is known from where its classes come from: a jar among jars, beside a folder of classes or
# the jar of the main class. No table knows this library's package.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

way() { # FILE: the caller and the library's frame of most definitions, without the library's line
    jq -r '.families[] | select(.family == "ChurnVictim_#") | .ways[0]
        | [.caller, .through, .definer | . // "-" | if startswith("org") then sub(":[0-9]+$"; "") else . end] | join(" ")' "$1"
}

mkdir -p "$SCRATCH/app" "$SCRATCH/lib"
cp "$AGENT_CLASSES"/AskedFor.class "$AGENT_CLASSES"/ChurnVictim_0000000.class "$SCRATCH/app"
jar=$(agent_jdk 17)/bin/jar
"$jar" cf "$SCRATCH/lib/maker.jar" -C "$AGENT_CLASSES" org/unknown/maker
"$jar" cf "$SCRATCH/lib/app.jar" -C "$SCRATCH/app" .
line=$(awk '/Maker.make/ { print NR }' tests/workloads/agent/AskedFor.java)
right="AskedFor.rule:$line org.unknown.maker.Maker.make org.unknown.maker.Maker\$Loader.define"

for jdk in $(agent_jdks); do
    for path in app:lib/maker.jar lib/app.jar:lib/maker.jar; do
        what="$path, JDK $jdk"
        (cd "$SCRATCH" && exec "$(agent_jdk "$jdk")/bin/java" -Xmx64m -XX:+UseSerialGC -cp "$path" AskedFor) \
            >"$SCRATCH/log" 2>&1 &
        JVM_PID=$!
        wait_for 60 grep -q ready "$SCRATCH/log"
        if "$NMTWATCH" observe "$JVM_PID" classes --for 2s --json >"$SCRATCH/answer" 2>"$SCRATCH/error"; then
            is "$what: the application's line, the library's frame" "$(way "$SCRATCH/answer")" "$right"
        else
            case $(cat "$SCRATCH/error") in
            *"ermitted"* | *"ermission denied"* | *"cannot do it"* | *"no uprobes"* | *"not implemented"*) skip "$what" "refused: $(cut -c 1-200 "$SCRATCH/error")" ;;
            *) fail "$what: can be observed" "$(cat "$SCRATCH/error")" ;;
            esac
        fi
        kill_jvm "$JVM_PID"
    done
done
done_testing
