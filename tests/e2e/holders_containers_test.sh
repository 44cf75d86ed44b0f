#!/bin/bash
# nmtwatch holders on containers as they are: an application has the name that its container gives, and what was stopped is told.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh
need jq
NMTWATCH=${NMTWATCH:-build/nmtwatch}
jars=${HOLDERS_JARS:-/usr/share/java}
sources=tests/e2e/holders
have_jdk 17 || skip_all "no JDK 17 in /usr/lib/jvm"
home=$(JDK=17 scripts/workloads.sh jdk)
jetty=$(printf "$jars/jetty9-%s.jar:" server webapp servlet util http io security xml)$jars/servlet-api.jar
felix=$jars/org.apache.felix.framework.jar
equinox=$jars/eclipse-osgi.jar

build() {
    mkdir -p "$SCRATCH/host" "$SCRATCH/war/WEB-INF/classes" "$SCRATCH/war/META-INF" &&
        "$home/bin/javac" --release 17 -nowarn -Xlint:none -d "$SCRATCH/host" $sources/kinds/host/srv/*.java &&
        "$home/bin/javac" -source 17 -target 17 -nowarn -Xlint:none -cp "$SCRATCH/host" -d "$SCRATCH/war/WEB-INF/classes" $sources/kinds/app/shop/*.java 2>/dev/null &&
        printf '%s\n' 'Bundle-ManifestVersion: 2' 'Bundle-SymbolicName: shop.bundle' 'DynamicImport-Package: *' >"$SCRATCH/manifest" &&
        "$home/bin/jar" cfm "$SCRATCH/bundle.jar" "$SCRATCH/manifest" -C "$SCRATCH/war/WEB-INF/classes" .
}

container() { # NAME PACKAGE CLASSPATH HOST FILE WANTED: "NAME LOADERS LEFT-BEHIND CAUSE" of what is suspect, four times and twice
    local times got
    if [ ! -r "${3##*:}" ] || [ ! -r "${3%%:*}" ]; then
        skip "$1" "not installed: $2"
        return
    fi
    check "$1: its host is built" "$home/bin/javac" -nowarn -cp "$3" -d "$SCRATCH/host" "$sources/containers/$4.java" $sources/containers/Dump.java
    for times in 4 2; do
        "$home/bin/java" -Xmx96m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$SCRATCH/host:$3" "$4" "$SCRATCH/$1-$times.hprof" \
            "$SCRATCH/$5" $times "$SCRATCH/storage-$1-$times" >"$SCRATCH/$1.log" 2>&1
        got=$("$NMTWATCH" holders --json "$SCRATCH/$1-$times.hprof" | jq -r '(.findings[0].evidence.loaders | tostring) as $left
            | [.groups[] | select(.suspect) | "\(.name) \(.loaders) \($left) \(.paths[0].holder)"] | join("; ")')
        is "$1: redeployed, $times in all" "$got" "$6 $times $((times - ${7-1})) shutdown-hook"
    done
}

check "the application is built" build || done_testing
container jetty libjetty9-java "$jetty" JettyHost war /shop
container felix libfelix-framework-java "$felix" BundleHost bundle.jar shop.bundle
container equinox libeclipse-osgi-java "$equinox" BundleHost bundle.jar shop.bundle 0
done_testing
