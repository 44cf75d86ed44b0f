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
groovy=/usr/share/java/groovy-all.jar

# What is short-lived and whose collector is no matter: half the CPU.
quick=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC)

# By the first JDK, for all.
build() { # HOME
    local out=$SCRATCH/programs kind sources=(tests/e2e/holders/{Host,TomcatHost,plugin/Plugin}.java)
    [ ! -e "$out/base-leak" ] || return 0
    mkdir -p "$out"/{host,plugin,tomcat,groovy,plugins} || return
    [ ! -r "$groovy" ] || sources+=(tests/e2e/holders/groovy/GroovyHost.java)
    "$1/bin/javac" "${quick[@]/#/-J}" --release 17 -proc:none -nowarn -cp "$tomcat:$groovy" -d "$out/host" "${sources[@]}" &&
        mv "$out"/host/Plugin*.class "$out/plugin" && mv "$out"/host/TomcatHost*.class "$out/tomcat" &&
        gcc -shared -fPIC -I"$1/include" -I"$1/include/linux" -o "$out/libpin.so" tests/e2e/holders/pin.c || return
    [ ! -r "$groovy" ] || mv "$out"/host/GroovyHost*.class "$out/groovy" || return
    for kind in $kinds jni; do
        cp -r "$out/plugin" "$out/plugins/$kind"
    done
    for kind in $tomcat_kinds; do
        mkdir -p "$out/base-"{leak,fixed}"/$kind/WEB-INF" && cp -r "$out/plugin" "$out/base-leak/$kind/WEB-INF/classes" &&
            cp -r "$out/plugin" "$out/base-fixed/$kind/WEB-INF/classes" || return
    done
}

declare -A HOSTS
start_host() { # NAME COMMAND...: all of them at once; they wait for each other at most for the processors
    spawn "${@:2}" >"$SCRATCH/$1.log" 2>&1
    HOSTS[$1]=$SPAWNED
}

host_ready() { # NAME: its pid in $HOST
    HOST=${HOSTS[$1]}
    wait_for 60 grep -q ready "$SCRATCH/$1.log" || {
        fail "$1 starts" "$(tail -5 "$SCRATCH/$1.log")"
        return 1
    }
}

# The histogram counts java.lang.Class objects; a dump has a record for each class instead, and those nine of
# primitive types and void. Threads of the JVM work between the two: until they are equal, five times at most.
dump() { # NAME HOME [equal]: its dump, and it is gone
    host_ready "$1" || return
    local file=$SCRATCH/$1 got=none wanted=
    for _ in 1 2 3 4 5; do
        rm -f "$file.hprof"
        {
            echo "GC.heap_dump $file.hprof"
            [ "${3-}" != equal ] || printf '%s\n' GC.class_histogram VM.classloader_stats
        } >"$file.commands"
        jcmd "$2" "$HOST" -f "$file.commands" >"$file.jcmd"
        [ "${3-}" = equal ] || break
        sed -n '/^ num /,/^Total/p' "$file.jcmd" >"$file.histogram"
        sed -n '/^ClassLoader /,$p' "$file.jcmd" >"$file.loaders"
        got=$("$NMTWATCH" holders --json "$file.hprof" |
            jq -r '.dump | "\(.objects - 9) \(.object_bytes) \(.classes + 9)"')
        wanted=$(awk '$4 == "java.lang.Class" { n = $2; bytes = $3 } /^Total/ { print $2 - n, $3 - bytes, n }' "$file.histogram")
        [ "$got" != "$wanted" ] || break
    done
    kill_jvm "$HOST"
    check "$1: a dump" test -s "$file.hprof"
    [ "${3-}" != equal ] || is "$1: objects, bytes and classes are those of the histogram" "$got" "$wanted"
}

holder_of() { # JSON GROUP: cause of the path that most loaders have, "cut STEP" for an unknown one
    jq -r --arg name "$2" '[.groups[] | select((.name | endswith($name)) or (.name | endswith($name + "/")))][0]
        | if . == null then "no group" elif .verdict == "none" then "nothing"
          else (if .verdict == "soft" then "softly " else "" end) + (.paths[0] | .holder // ("cut " + .cut)) end' "$1"
}
count_of() { # JSON GROUP
    jq -r --arg name "$2" '[.groups[] | select((.name | endswith($name)) or (.name | endswith($name + "/")))
        | .loaders] | add // 0' "$1"
}

declare -A WANTED=([thread-local]=thread-local [timer]=context-class-loader [executor]=executor
    [shutdown-hook]=shutdown-hook [jdbc]=jdbc-driver [logging]=logging-handler [mbean]=jmx-mbean
    [registry]="cut Host.REGISTRY" [soft]="softly cut Host.SOFT" [jni]=jni-global)

# Other forms of the heap, each on one JDK: pointers of 8 bytes, collectors that do not compact, headers of 8 bytes.
declare -A FORMS=([17]="-XX:+UseZGC -XX:-UseCompressedOops" [25]="-XX:+UseShenandoahGC -XX:+UseCompactObjectHeaders")

start_all() { # JDK HOME
    local out=$SCRATCH/programs mode
    check "JDK $1: programs are built" build "$2" || return
    for mode in leak fixed; do
        # Without CDS: its archive has java.lang.Class objects of classes that are not loaded.
        start_host "plugins-$1-$mode" "$2/bin/java" -Xshare:off -Xmx64m "${quick[@]}" -XX:SoftRefLRUPolicyMSPerMB=100000 \
            -Dpin="$out/libpin.so" -cp "$out/host" Host $mode 5 "$out/plugins" $kinds jni
        start_host "tomcat-$1-$mode" "$2/bin/java" -Xmx128m "${quick[@]}" -cp "$out/tomcat:$out/host:$tomcat" \
            TomcatHost $mode 20 "$out/base-$mode" $tomcat_kinds
    done
    start_host "softly-$1" "$2/bin/java" -Xmx64m "${quick[@]}" -XX:SoftRefLRUPolicyMSPerMB=100000 \
        -cp "$out/host" Host leak 5 "$out/plugins" soft
    for mode in ${FORMS[$1]-}; do
        start_host "form-$1$mode" "$2/bin/java" -Xmx64m -XX:TieredStopAtLevel=1 $mode -cp "$out/host" Host leak 5 "$out/plugins" registry
    done
}

form() { # JDK HOME FLAG
    local name=form-$1$3
    if grep -q "Unrecognized VM option\|not supported\|Error occurred during init" "$SCRATCH/$name.log"; then
        skip "$name" "refused: $(grep -m 1 "option\|supported" "$SCRATCH/$name.log")"
        return
    fi
    dump "$name" "$2" || return
    exits "$name: exit code" 1 sh -c "$NMTWATCH holders --json $SCRATCH/$name.hprof >$SCRATCH/$name.json"
    is "$name: the holder of all" "$(holder_of "$SCRATCH/$name.json" /registry) $(count_of "$SCRATCH/$name.json" /registry)" \
        "cut Host.REGISTRY 5"
}

softly() { # JDK HOME: copies that only soft references hold are no alarm, and are told
    local name=softly-$1
    dump "$name" "$2" || return
    exits "$name: exit code" 0 sh -c "$NMTWATCH holders --json $SCRATCH/$name.hprof >$SCRATCH/$name.json"
    is "$name: the holder" "$(holder_of "$SCRATCH/$name.json" /soft) $(jq '.findings | length' "$SCRATCH/$name.json")" \
        "softly cut Host.SOFT 0"
    contains "$name: in words" "$("$NMTWATCH" holders "$SCRATCH/$name.hprof")" "only soft references hold them"
}

plugins() { # JDK HOME MODE CODE
    local name=plugins-$1-$3 json kind
    dump "$name" "$2" equal || return
    json=$SCRATCH/$name.json
    exits "$name: exit code" "$4" sh -c "$NMTWATCH holders --json $SCRATCH/$name.hprof >$json"
    for kind in $kinds jni; do
        if [ "$3" = leak ]; then
            is "$name: $kind" "$(holder_of "$json" "/$kind")" "${WANTED[$kind]}"
            is "$name: $kind: all are held" "$(count_of "$json" "/$kind")" 5
        else
            is "$name: $kind holds nothing" "$(jq --arg name "/$kind/" '[.groups[] | select((.name | endswith($name)) and .verdict != "none")] | length' "$json")" 0
        fi
    done
    [ "$3" = leak ] || return
    is "$name: soft references are told apart" "$(jq '[.groups[] | select(.name | endswith("/soft/")) | .held.soft] | add' "$json")" 5
}

tomcat() { # JDK HOME MODE CODE
    local name=tomcat-$1-$3 json kind found
    dump "$name" "$2" || return
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

# A script gives String another method: Groovy's ClassInfo of String keeps it, and all that the script loaded.
start_groovy() { # JDK HOME
    local mode
    [ -r $groovy ] || return 0
    for mode in leak fixed cached; do
        start_host "groovy-$1-$mode" "$2/bin/java" -Xmx96m "${quick[@]}" \
            --add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED \
            --add-opens java.base/java.lang.reflect=ALL-UNNAMED -cp "$SCRATCH/programs/groovy:$groovy" GroovyHost $mode 12
    done
}

groovy() { # JDK HOME MODE CODE
    local name=groovy-$1-$3
    if [ ! -r $groovy ]; then
        skip "$name" "no $groovy: make setup"
        return
    fi
    dump "$name" "$2" || return
    exits "$name: exit code" "$4" sh -c "$NMTWATCH holders --json $SCRATCH/$name.hprof >$SCRATCH/$name.json"
    if [ "$3" = leak ]; then
        is "$name: all are held by ClassInfo" "$(jq -c '[.groups[] | select(.suspect) | [.type, .loaders, .held.strong] +
            ([.paths[].holder] | unique)]' "$SCRATCH/$name.json")" \
            '[["groovy.lang.GroovyClassLoader$InnerLoader",12,12,"groovy-class-info"]]'
    elif [ "$3" = fixed ]; then
        is "$name: nothing is held" "$(jq '[.groups[] | select(.suspect or (.type | startswith("groovy")))] | length' "$SCRATCH/$name.json")" 0
    else # each script parsed once and its class kept, as is advised: no alarm
        is "$name: all are there, none is suspect" "$(jq -c '[.groups[] | select(.scripts) | [.loaders, .suspect]]' "$SCRATCH/$name.json")" "[[12,false]]"
        contains "$name: a remark" "$("$NMTWATCH" holders --markdown "$SCRATCH/$name.hprof")" "scripts that are cached, or never dropped"
    fi
}

declare -A HOMES
for jdk in ${HOLDERS_JDKS:-17 25}; do
    if have_jdk $jdk; then
        HOMES[$jdk]=$(JDK=$jdk scripts/workloads.sh jdk)
        start_all $jdk "${HOMES[$jdk]}"
        start_groovy $jdk "${HOMES[$jdk]}"
    else
        skip "holders on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
    fi
done
tried=
for jdk in "${!HOMES[@]}"; do
    home=${HOMES[$jdk]}
    plugins $jdk "$home" leak 1
    plugins $jdk "$home" fixed 0
    softly $jdk "$home"
    tomcat $jdk "$home" leak 1
    tomcat $jdk "$home" fixed 0
    groovy $jdk "$home" leak 1
    groovy $jdk "$home" fixed 0
    groovy $jdk "$home" cached 0
    for flag in ${FORMS[$jdk]-}; do
        form $jdk "$home" "$flag"
    done
    tried=$SCRATCH/plugins-$jdk-leak.hprof
    before=$SCRATCH/plugins-$jdk-fixed.hprof
done
[ -n "$tried" ] || done_testing

# --- two dumps, pages, analyze --------------------------------------------------------------------------

exits "two dumps" 1 "$NMTWATCH" holders --json "$before" "$tried"
printf '%s\n' "$OUTPUT" >"$SCRATCH/two.json"
is "... loaders of the registry are new" "$(jq -c '[.groups[] | select(.name | endswith("/registry/"))][0]
    | [.loaders_before, .loaders, .paths[0].loaders_before, .paths[0].loaders]' "$SCRATCH/two.json")" "[0,5,0,5]"
contains "... in words" "$("$NMTWATCH" holders --baseline "$before" "$tried")" "+5"
contains "... the same dump twice: nothing grew" "$("$NMTWATCH" holders "$tried" "$tried")" "No path holds more class loaders"
is "... other way round: they are gone" "$("$NMTWATCH" holders --json "$tried" "$before" |
    jq '[.baseline.gone[] | select(.name | endswith("/registry/"))][0].loaders_before')" 5
exits "a page" 1 "$NMTWATCH" holders --html "$tried"
contains "... has the path as a picture" "$OUTPUT" "<svg role=\"img\" aria-label=\"The path from a GC root to the class loader\""
contains "... with the step to cut at" "$OUTPUT" "Host.REGISTRY (cut here)"
mkdir "$SCRATCH/saved"
cp "$tried" "$SCRATCH/saved/heap.hprof"
cp "$SCRATCH/plugins-$jdk-leak.histogram" "$SCRATCH/saved/histogram.txt"
exits "analyze: a folder with a heap dump" 1 "$NMTWATCH" analyze --json "$SCRATCH/saved"
printf '%s\n' "$OUTPUT" >"$SCRATCH/analyze.json"
is "... names the holders" "$(jq -r '[.findings[] | select(.id == "loaders-held") | .evidence.holder // empty] | unique | join(" ")' "$SCRATCH/analyze.json")" \
    "context-class-loader executor jdbc-driver jmx-mbean jni-global logging-handler shutdown-hook thread-local"
contains "... in words" "$("$NMTWATCH" analyze "$SCRATCH/saved")" "What holds the class loaders of"
cp "$SCRATCH/plugins-$jdk-leak.loaders" "$SCRATCH/saved/loaders.txt"
exits "... with a VM.classloader_stats" 1 "$NMTWATCH" analyze "$SCRATCH/saved"
bytes=$(awk '/ \+ / { n += own ? $2 : 0; next } { own = $NF == "java.net.URLClassLoader"; n += own ? $5 : 0 }
    END { if (n < 1048576) printf "%.1f KB", n / 1024 + 0.001; else printf "%.1f MB", n / 1048576 + 0.001 }' "$SCRATCH/saved/loaders.txt")
contains "... has the Metaspace of its loaders" "$OUTPUT" "loaders of this type take $bytes of Metaspace"
cp "$SCRATCH/saved/loaders.txt" "$SCRATCH/saved/later.txt"
contains "... with two of them" "$("$NMTWATCH" analyze "$SCRATCH/saved")" "2 VM.classloader_stats are beside it, none was used"

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
for version in "${!HOMES[@]}"; do # two types of loaders, one of them with two names
    log=
    [ "$version" -lt 22 ] || log=-Xlog:heapdump
    # shellcheck disable=SC2086
    start_host "metaspace-$version" "${HOMES[$version]}/bin/java" -Xmx64m -XX:TieredStopAtLevel=1 -XX:+UseG1GC $log \
        -cp "$SCRATCH/programs/host" Host leak 5 "$SCRATCH/programs/plugins" registry
    start_host "names-$version" "${HOMES[$version]}/bin/java" -Xmx64m "${quick[@]}" \
        -cp "$SCRATCH/programs/host" Host leak 5 "$SCRATCH/programs/plugins" registry executor
done
metaspace_of() { # of all loaders of URLClassLoader, by the JVM's own tool
    jcmd "$1" "$HOST" VM.classloader_stats | awk '$NF == "java.net.URLClassLoader" { n += $5 } END { print n }'
}
for version in "${!HOMES[@]}"; do
    host_ready "metaspace-$version" || continue
    exits "JDK $version: of a PID" 1 "$NMTWATCH" holders --allow-pause --json "$HOST"
    bytes=$(metaspace_of "$version")
    is "... has the Metaspace of its loaders" "$(sed -n '/^{/,$p' <<<"$OUTPUT" |
        jq -c '.groups[] | select(.type == "java.net.URLClassLoader") | [.loaders, .metaspace_bytes, .type_metaspace_bytes]')" \
        "[5,$bytes,$bytes]"
    exits "... in Markdown" 1 "$NMTWATCH" holders --allow-pause --markdown "$HOST"
    contains "... with a column" "$OUTPUT" "| Metaspace |"
    if [ "$version" -ge 22 ] && [ "$(nproc)" -gt 1 ]; then
        contains "... the dump by several threads" "$(cat "$SCRATCH/metaspace-$version.log")" "parallelism true"
    fi
    kill_jvm "$HOST"
    host_ready "names-$version" || continue
    exits "... of loaders of several names" 1 "$NMTWATCH" holders --allow-pause --json "$HOST"
    is "... is known of the type" "$(sed -n '/^{/,$p' <<<"$OUTPUT" |
        jq -c '[.groups[] | select(.type == "java.net.URLClassLoader") | [.metaspace_bytes, .type_metaspace_bytes]] | unique')" \
        "[[null,$(metaspace_of "$version")]]"
    contains "... in words" "$("$NMTWATCH" holders --allow-pause "$HOST" 2>/dev/null)" "The classes of all loaders of this type take"
    kill_jvm "$HOST"
done
# Ctrl-C: the JVM stands still while the signal comes, so that it is surely writing; nmtwatch while it reads, and
# where the answer was there before it stood still, again.
is_there() {
    compgen -G '/tmp/nmtwatch-*/heap.hprof' >/dev/null
}
no_folder() {
    [ -z "$(find /tmp -maxdepth 1 -regextype egrep -regex '/tmp/nmtwatch-[0-9a-f]{16}' -newer "$tried")" ]
}
interrupt() { # JDK write|read CODE COMMAND...
    local code pid=$HOST
    for _ in 1 2 3 4 5; do
        spawn "$NMTWATCH" "${@:4}" --allow-pause "$HOST" >"$SCRATCH/interrupted" 2>&1
        if [ "$2" = write ]; then
            until is_there || ! kill -0 "$SPAWNED" 2>/dev/null; do moment; done
        else
            pid=$SPAWNED
            until [[ $(<"$SCRATCH/interrupted") = *"a pause of at most"* ]] || ! kill -0 "$SPAWNED" 2>/dev/null; do moment; done
        fi
        kill -STOP "$pid" 2>/dev/null
        kill -INT "$SPAWNED" 2>/dev/null
        kill -CONT "$pid" 2>/dev/null
        code=0
        wait "$SPAWNED" || code=$?
        ! grep -q interrupted "$SCRATCH/interrupted" || break
    done
    is "JDK $1: $4 interrupted during $2" "$code $(grep -c interrupted "$SCRATCH/interrupted")" "$3 1"
    check "... nothing is left" wait_for 5 no_folder # another test's may be there for a moment
    check "... the JVM is unharmed" jcmd "$1" "$HOST" VM.version
}
for version in "${!HOMES[@]}"; do
    start_host "ballast-$version" "${HOMES[$version]}/bin/java" -Xmx200m -XX:+UseSerialGC -Dballast=1000000 \
        -cp "$SCRATCH/programs/host" Host leak 0 "$SCRATCH/programs/plugins" registry
    host_ready "ballast-$version" || continue
    interrupt "$version" write 74 holders
    interrupt "$version" read 74 holders
    # What was seen before is told.
    interrupt "$version" write 0 triage --level thorough --heap --for 1s -o "$SCRATCH/ended-$version"
    check "... with its report" test -s "$SCRATCH/ended-$version/report.html"
    kill_jvm "$HOST"
done
start_host live "$home/bin/java" -Xmx64m "${quick[@]}" -cp "$SCRATCH/programs/host" Host leak 5 "$SCRATCH/programs/plugins" registry
host_ready live || done_testing
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
if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016
    start_host room unshare --mount sh -c 'mount --bind "$0" /mnt && mount -t tmpfs -o size=16m tmpfs /tmp &&
        exec "$1" -Xmx64m -cp /mnt/programs/host Host leak 0 /mnt registry' "$SCRATCH" "$home/bin/java"
    live=$HOST
    if host_ready room; then
        exits "a /tmp without room" 74 "$NMTWATCH" holders --allow-pause "$HOST"
        contains "... is told before a dump is asked for" "$OUTPUT" "no room for the dump:"
        is "... and has nothing new in it" "$(find "/proc/$HOST/root/tmp" -name '*.hprof*' -o -name 'nmtwatch-*')" ""
        kill_jvm "$HOST"
    fi
    HOST=$live
else
    skip "a /tmp without room" "refused: namespaces need root"
fi
exits "triage --heap needs --allow-pause" 64 "$NMTWATCH" triage --level thorough --heap "$HOST"
exits "triage --heap" 1 "$NMTWATCH" triage --level thorough --heap --allow-pause --for 1s -o "$SCRATCH/triage" "$HOST"
contains "... names the holder" "$OUTPUT" "Cut at Host.REGISTRY (static)"
is "... as the first of the findings" "$(jq -r '.findings[0].title | sub(" for .*are"; " are")' "$SCRATCH/triage/findings.json")" \
    "5 class loaders of java.net.URLClassLoader are held, all of them by Host.REGISTRY"
contains "... and keeps the page" "$(cat "$SCRATCH/triage/holders.html")" "Host.REGISTRY (cut here)"
for page in holders report; do
    is "... $page.html has nothing that its policy does not name" "$(python3 tests/policy.py "$SCRATCH/triage/$page.html" 2>&1)" ""
done
is "... and no dump" "$(left)" 0
if check "schema_check is built" make -s build/schema_check; then
    check "the answer is valid" build/schema_check docs/schema/holders.json "$SCRATCH/plugins-$jdk-leak.json"
    check "... of two dumps" build/schema_check docs/schema/holders.json "$SCRATCH/two.json"
    check "... of analyze" build/schema_check docs/schema/analyze.json "$SCRATCH/analyze.json"
fi
done_testing
