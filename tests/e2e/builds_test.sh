#!/bin/bash
# docs/examples/build with Maven and with Gradle, as Debian has them and without a network: a build that passes
# and one that leaks. Each really runs: the build's JVM, nmtwatch, the application. Time passes BUILD_SPEED times as
# fast for nmtwatch (tests/sim/fast_time.c), because a soak that passes takes more than a minute; 1: as it does.
# timeout: 100

. "$(dirname "$0")/../tap.sh"
NMTWATCH=$(realpath "${NMTWATCH:-build/nmtwatch}")
need_built "$NMTWATCH"
speed=${BUILD_SPEED:-5}

cat >"$SCRATCH/nmtwatch" <<END
#!/bin/sh
LD_PRELOAD=$SCRATCH/fast_time.so FAST_TIME=$speed FAST_TIME_ALONE=1 exec $NMTWATCH "\$@"
END
chmod +x "$SCRATCH/nmtwatch"
"${CC:-gcc}" -O2 -shared -fPIC -o "$SCRATCH/fast_time.so" tests/sim/fast_time.c || bail "fast_time.so"

builds=()
build() { # NAME FOLDER-OF-OUTPUT COMMAND...: in a copy of the example, in the background
    builds+=("$1")
    cp -r docs/examples/build "$SCRATCH/$1"
    (cd "$SCRATCH/$1" && exec "${@:3}") >"$SCRATCH/$1.log" 2>&1 </dev/null &
    pid[$1]=$! output[$1]=$SCRATCH/$1/$2
}
declare -A pid output

if ! command -v mvn >/dev/null; then
    skip "Maven" "not installed: mvn"
elif [ ! -e /usr/share/maven-repo/org/codehaus/mojo/exec-maven-plugin/3.1.0 ] ||
    [ ! -e /usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin/2.12.4 ]; then
    skip "Maven" "not installed: the plugins of docs/examples/build/pom.xml"
else
    cp -as /usr/share/maven-repo "$SCRATCH/repository" # Maven writes into it
    for mode in cached leak; do
        build "maven-$mode" target mvn -o -B -q -Dmaven.repo.local="$SCRATCH/repository" verify \
            -Dnmtwatch="$SCRATCH/nmtwatch" -Dsoak.for=80s -Dsoak.warmup=10s -Dorders.mode=$mode
    done
fi
if ! command -v gradle >/dev/null; then
    skip "Gradle" "not installed: gradle"
else
    for mode in cached leak; do
        build "gradle-$mode" build env GRADLE_USER_HOME="$SCRATCH/home-$mode" gradle --offline --no-daemon -q check \
            -Pnmtwatch="$SCRATCH/nmtwatch" -PsoakFor=80s -PsoakWarmup=10s -PordersMode=$mode
    done
fi

for name in "${builds[@]}"; do
    wanted=0 failures=0
    [ "${name#*-}" = cached ] || wanted=1 failures=2 # the soak, and the explosion
    code=0
    wait "${pid[$name]}" || code=$?
    is "$name: exit code of the build" "$code" $wanted
    [ "$code" = $wanted ] || sed 's/^/# /' "$SCRATCH/$name.log" | tail -n 40
    report=${output[$name]}/soak.xml
    check "$name: JUnit is valid" xmllint --noout --schema tests/schema/junit.xsd "$report"
    is "$name: what it says" "$(xmllint --xpath 'concat(/testsuites/@failures, " ", /testsuites/@errors)' "$report")" \
        "$failures 0"
    check "$name: the page is there" test -s "${output[$name]}/soak/soak.html"
    if [ $wanted = 1 ]; then
        contains "$name: the generator is named" "$(<"$SCRATCH/$name.log")" "JDK java.lang.reflect.Proxy"
        contains "$name: and the build is what fails" "$(<"$SCRATCH/$name.log")" "exit"
    fi
    silent "$name: nothing is left running" pgrep -f "$SCRATCH/$name/"
done
done_testing
