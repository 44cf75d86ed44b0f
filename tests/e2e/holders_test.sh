#!/bin/bash
# nmtwatch holders on dumps of real JVMs: each leak names its holder, each fixed twin holds nothing.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh
need jq gcc
[ -r /usr/share/java/tomcat10-embed-core.jar ] || bail "libtomcat10-embed-java is not installed: make setup"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
kinds="thread-local timer executor shutdown-hook jdbc logging mbean registry soft"
tomcat_kinds="thread-local timer executor shutdown-hook registry"
tomcat=/usr/share/java/tomcat10-embed-core.jar:/usr/share/java/tomcat10-embed-el.jar

build() { # HOME OUT
    mkdir -p "$2/host" "$2/plugin" "$2/tomcat" "$2/plugins" "$2/base" &&
        "$1/bin/javac" -nowarn -d "$2/host" tests/e2e/holders/Host.java &&
        "$1/bin/javac" -nowarn -cp "$2/host" -d "$2/plugin" tests/e2e/holders/plugin/Plugin.java &&
        gcc -shared -fPIC -I"$1/include" -I"$1/include/linux" -o "$2/libpin.so" tests/e2e/holders/pin.c || return
    local kind
    for kind in $kinds jni; do
        cp -r "$2/plugin" "$2/plugins/$kind"
    done
    for kind in $tomcat_kinds; do
        mkdir -p "$2/base/$kind/WEB-INF" && cp -r "$2/plugin" "$2/base/$kind/WEB-INF/classes"
    done
    "$1/bin/javac" -nowarn -cp "$2/host:$tomcat" -d "$2/tomcat" tests/e2e/holders/TomcatHost.java
}

run_host() { # NAME LOG COMMAND...
    spawn "${@:2}" >"$SCRATCH/$1.log" 2>&1
    HOST=$SPAWNED
    wait_for 60 grep -q ready "$SCRATCH/$1.log" || {
        fail "$1 starts" "$(tail -5 "$SCRATCH/$1.log")"
        return 1
    }
}

dump() { # HOME FILE
    "$1/bin/jcmd" "$HOST" GC.heap_dump "$2" >"$2.log" 2>&1
    [ -s "$2" ]
}

holder_of() { # JSON GROUP: cause of the path that most loaders have, "cut STEP" for an unknown one
    jq -r --arg name "$2" '[.groups[] | select((.name | endswith($name)) or (.name | endswith($name + "/")))][0]
        | if . == null then "no group" elif .suspect then (.paths[0] | .holder // ("cut " + .cut)) else "nothing" end' "$1"
}
count_of() { # JSON GROUP
    jq -r --arg name "$2" '[.groups[] | select((.name | endswith($name)) or (.name | endswith($name + "/")))
        | .loaders] | add // 0' "$1"
}

declare -A WANTED=([thread-local]=thread-local [timer]=context-class-loader [executor]=executor
    [shutdown-hook]=shutdown-hook [jdbc]=jdbc-driver [logging]=logging-handler [mbean]=jmx-mbean
    [registry]="cut Host.REGISTRY" [soft]="cut Host.SOFT" [jni]=jni-global)

plugins() { # JDK HOME MODE CODE
    local name=plugins-$1-$3 out=$SCRATCH/$1 json kind
    run_host "$name" "$2/bin/java" -Xmx64m -XX:+UseSerialGC -Dpin="$out/libpin.so" -cp "$out/host" \
        Host "$3" 5 "$out/plugins" $kinds jni || return
    dump "$2" "$SCRATCH/$name.hprof" || {
        fail "$name: a dump" "$(cat "$SCRATCH/$name.hprof.log")"
        return
    }
    "$2/bin/jcmd" "$HOST" GC.class_histogram >"$SCRATCH/$name.histogram"
    kill_jvm "$HOST"
    json=$SCRATCH/$name.json
    exits "$name: exit code" "$4" sh -c "$NMTWATCH holders --json $SCRATCH/$name.hprof >$json"
    for kind in $kinds jni; do
        if [ "$3" = leak ]; then
            is "$name: $kind" "$(holder_of "$json" "/$kind")" "${WANTED[$kind]}"
            is "$name: $kind: all are held" "$(count_of "$json" "/$kind")" 5
        else
            is "$name: $kind holds nothing" "$(jq --arg name "/$kind/" '[.groups[] | select((.name | endswith($name)) and .suspect)] | length' "$json")" 0
        fi
    done
    [ "$3" = leak ] || return
    is "$name: soft references are told apart" "$(jq '[.groups[] | select(.name | endswith("/soft/")) | .held.soft] | add' "$json")" 5
}

tomcat() { # JDK HOME MODE CODE
    local name=tomcat-$1-$3 out=$SCRATCH/$1 json kind found
    run_host "$name" "$2/bin/java" -Xmx128m -XX:+UseSerialGC -cp "$out/tomcat:$out/host:$tomcat" \
        TomcatHost "$3" 20 "$out/base" $tomcat_kinds || return
    dump "$2" "$SCRATCH/$name.hprof" || return
    kill_jvm "$HOST"
    json=$SCRATCH/$name.json
    exits "$name: exit code" "$4" sh -c "$NMTWATCH holders --json $SCRATCH/$name.hprof >$json"
    for kind in $tomcat_kinds; do
        if [ "$3" = leak ]; then
            found=$(jq -r --arg kind "${WANTED[$kind]}" '[.groups[] | select(.suspect) | .paths[]
                | select((.holder // ("cut " + .cut)) == $kind) | .loaders] | add // 0' "$json")
            # One loader of a kind may also be held by what was under way last.
            check "$name: $kind holds its 20 loaders ($found)" test "$found" -ge 19
        fi
    done
    [ "$3" = leak ] || is "$name: only the current ones are there" "$(jq '[.groups[] | select(.suspect)] | length' "$json")" 0
}

tried=
for jdk in ${HOLDERS_JDKS:-17 25}; do
    if ! have_jdk $jdk; then
        skip "holders on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    home=$(JDK=$jdk scripts/workloads.sh jdk)
    check "JDK $jdk: programs are built" build "$home" "$SCRATCH/$jdk"
    plugins $jdk "$home" leak 1
    plugins $jdk "$home" fixed 0
    tomcat $jdk "$home" leak 1
    tomcat $jdk "$home" fixed 0
    tried=$SCRATCH/plugins-$jdk-leak.hprof
done
[ -n "$tried" ] || done_testing

# --- the same dump in other clothes -------------------------------------------------------------------

gzip -1 -k "$tried"
answer() { # FILE
    "$NMTWATCH" holders --json "$1" | jq -S 'del(.dump.name, .dump.took_ms)'
}
is "a gzipped dump gives the same answer" "$(answer "$tried.gz" | md5sum)" "$(answer "$tried" | md5sum)"
size=$(stat -c %s "$tried")
head -c $((size * 2 / 3)) "$tried" >"$SCRATCH/cut.hprof"
is "a cut dump says so" "$(answer "$SCRATCH/cut.hprof" | jq .dump.truncated)" true
contains "a cut dump says so in words" "$("$NMTWATCH" holders "$SCRATCH/cut.hprof" 2>&1)" "The dump is cut"
head -c 20 "$tried" >"$SCRATCH/header.hprof"
exits "a header alone is none" 74 "$NMTWATCH" holders "$SCRATCH/header.hprof"
contains "... and one line says so" "$OUTPUT" "its header is cut"
exits "no dump" 74 "$NMTWATCH" holders README.md
contains "no dump: said" "$OUTPUT" "does not begin with JAVA PROFILE"
exits "no file" 74 "$NMTWATCH" holders "$SCRATCH/none"

# --- a JVM that runs -------------------------------------------------------------------------------------

left() {
    find /tmp -maxdepth 2 -path '/tmp/nmtwatch-*' -name heap.hprof -newer "$tried" 2>/dev/null | wc -l
}
run_host live "$home/bin/java" -Xmx64m -cp "$SCRATCH/$jdk/host" Host leak 5 "$SCRATCH/$jdk/plugins" registry || done_testing
exits "a pause is not taken without being allowed" 64 "$NMTWATCH" holders "$HOST"
contains "... and is predicted" "$OUTPUT" "a pause of about"
exits "of a PID" 1 "$NMTWATCH" holders --allow-pause "$HOST"
contains "... the holder is named" "$OUTPUT" "Cut at Host.REGISTRY (static)"
contains "... the pause was measured" "$OUTPUT" "a pause of at most"
is "... and nothing is left" "$(left)" 0
exits "--keep" 1 "$NMTWATCH" holders --allow-pause --keep --gzip --json "$HOST"
kept=$(sed -n 's/.*the dump is kept: //p' <<<"$OUTPUT")
exits "--keep: the dump is where it was said" 1 "$NMTWATCH" holders "$kept"
rm -rf "${kept%/*}"
if check "schema_check is built" make -s build/schema_check; then
    check "the answer is valid" build/schema_check docs/schema/holders.json "$SCRATCH/plugins-$jdk-leak.json"
fi
done_testing
