#!/bin/bash
# workloads: JVMs that generate classes, for the demo and the tests. What they do and their options
# stand in tests/workloads/Workload.java.
#
#   workloads.sh build              compiles what the installed libraries allow (idempotent)
#   workloads.sh kinds              prints the kinds that were built
#   workloads.sh jdk                prints the JDK used
#   workloads.sh run KIND ARGS...   becomes a JVM running it (same pid)
#
# KIND: one of `kinds`, or gap-meter, javac, jruby, clojure (see below).
# JDK=17|25|/path   which JDK; default: 17, else one of 11 to 27
# JVM_FLAGS="..."   more flags for the JVM; NMT=off|detail in place of summary

set -u
. "$(dirname "$0")/lib.sh"
out=build/workloads
jars=/usr/share/java

die() {
    echo "workloads: $1" >&2
    exit 1
}

find_jdk() {
    local version
    if [ -n "${JDK-}" ]; then
        jdk_home "$JDK"
        return
    fi
    for version in 17 25 24 23 22 21 20 19 18 26 27 16 15 14 13 12 11; do
        jdk_home $version && return
    done
    if [ -n "${JAVA_HOME-}" ]; then
        jdk_home "$JAVA_HOME"
        return
    fi
    false
}

# kind -> source, and the jars it needs
sources() {
    cat <<TABLE
idle Idle
numbered UnknownGenerator
random UnknownGenerator
loader PluginRedeploy
hidden HiddenClass
lambda LambdaSpinning
proxy JdkProxy
xslt XsltCompile
reflect ReflectAccessor
reflect-serial ReflectAccessor
groovy GroovyEval groovy antlr asm asm-tree asm-util asm-analysis asm-commons commons-cli
groovy-new-shell GroovyEval groovy antlr asm asm-tree asm-util asm-analysis asm-commons commons-cli
cglib CglibProxy cglib asm
bytebuddy ByteBuddySubclass byte-buddy
javassist JavassistProxy javassist
TABLE
}

class_path() { # JAR...
    local path=$out/classes jar
    for jar in "$@"; do
        path=$path:$jars/$jar.jar
    done
    echo "$path"
}

have_jars() { # JAR...
    local jar
    for jar in "$@"; do
        [ -r "$jars/$jar.jar" ] || return 1
    done
}

compile() { # CLASSPATH SOURCE...
    local path=$1
    shift
    "$home/bin/javac" -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC --release "$level" -proc:none -nowarn -XDignore.symbol.file \
        -cp "$path" -d $out/classes "$@"
}

build() {
    local kind source needs library last='' plain=(tests/workloads/*.java)
    mkdir -p $out/classes
    exec 9>$out/.lock
    flock 9
    if [ -e $out/kinds ] && [ -z "$(find tests/workloads "$0" $jars -maxdepth 2 \
        -newer $out/kinds -print -quit 2>/dev/null)" ]; then
        return
    fi
    home=$(find_jdk) || die "no JDK found (JDK=${JDK-}): install openjdk-17-jdk-headless"
    level=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release")
    [ "$level" -lt 17 ] || level=17
    rm -rf $out/classes
    mkdir -p $out/classes
    : >$out/kinds.new
    while read -r kind source needs; do
        [ -n "$needs" ] || [ "$source" = "$last" ] || plain+=("tests/workloads/kinds/$source.java")
        last=$source
    done < <(sources)
    # sun.reflect is in jdk.unsupported, which --release does not show
    local compiler=("$home/bin/javac" -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -source "$level" -target "$level" -proc:none -nowarn
        -XDignore.symbol.file -sourcepath tests -d "$out/classes")
    "${compiler[@]}" "${plain[@]}" 2>$out/javac.log ||
        if [ "$level" = 17 ]; then
            die "does not compile: $(cat $out/javac.log)"
        else # what an older JDK does not have is left out
            for source in "${plain[@]}"; do "${compiler[@]}" "$source" 2>>$out/javac.log || true; done
            [ -e $out/classes/workloads/Workload.class ] || die "does not compile: $(cat $out/javac.log)"
        fi
    last=
    while read -r kind source needs; do
        # shellcheck disable=SC2086
        if [ "$source" = "$last" ] || if [ -z "$needs" ]; then [ -e "$out/classes/workloads/kinds/$source.class" ]; else
            have_jars $needs &&
                compile "$(class_path $needs)" "tests/workloads/kinds/$source.java" 2>>$out/javac.log
        fi; then
            echo "$kind" >>$out/kinds.new
            last=$source
        fi
    done < <(sources)
    if [ -r "$home/include/jvmti.h" ] && command -v gcc >/dev/null; then
        for library in jvmti_hog jmethodid_agent native_leak; do
            gcc -O1 -shared -fPIC -I"$home/include" -I"$home/include/linux" -o $out/$library.so \
                tests/workloads/$library.c -pthread || rm -f $out/$library.so
        done
    fi
    mv $out/kinds.new $out/kinds
}

run() { # KIND ARGS...
    local kind=$1 needs flags
    shift
    home=$(find_jdk) || die "no JDK ${JDK-} found in /usr/lib/jvm"
    flags=(-XX:NativeMemoryTracking="${NMT:-summary}" -Xmx256m -Xss512k -XX:+UseSerialGC
        -XX:TieredStopAtLevel=1)
    # shellcheck disable=SC2206
    flags+=(${JVM_FLAGS-})
    case $kind in
    gap-meter) exec "$home/bin/java" "${flags[@]}" -cp $out/classes workloads.GapMeter "$@" ;;
    javac) exec "$home/bin/java" "${flags[@]}" -cp $out/classes workloads.JavacBurst "${1:-60}" ;;
    jruby)
        command -v jruby >/dev/null || die "jruby is not installed"
        JAVA_HOME=$home JAVA_OPTS="${flags[*]/-Xss512k/}" exec jruby \
            tests/workloads/burst.rb "${1:-60}"
        ;;
    clojure)
        have_jars clojure spec.alpha core.specs.alpha || die "clojure is not installed"
        exec "$home/bin/java" "${flags[@]}" \
            -cp "$(class_path clojure spec.alpha core.specs.alpha)" \
            clojure.main tests/workloads/burst.clj "${1:-60}"
        ;;
    esac
    grep -qx -- "$kind" $out/kinds 2>/dev/null ||
        die "there is no workload $kind (built: $(tr '\n' ' ' <$out/kinds))"
    needs=$(sources | sed -n "s/^$kind [A-Za-z]* *//p")
    case $kind in
    groovy* | cglib | javassist)
        flags+=(--add-opens java.base/java.lang=ALL-UNNAMED
            --add-opens java.base/java.util=ALL-UNNAMED
            --add-opens java.base/java.lang.reflect=ALL-UNNAMED)
        ;;
    bytebuddy) flags+=(-Dnet.bytebuddy.experimental=true) ;;
    reflect*) flags+=(--add-opens java.base/java.lang=ALL-UNNAMED) ;;
    esac
    # shellcheck disable=SC2086
    exec "$home/bin/java" "${flags[@]}" -cp "$(class_path $needs)" workloads.Workload "$kind" "$@"
}

case ${1-} in
build) build ;;
kinds) cat $out/kinds ;;
jdk) find_jdk ;;
run)
    shift
    [ $# -gt 0 ] || die "run what?"
    run "$@"
    ;;
*) die "build, kinds, jdk or run" ;;
esac
