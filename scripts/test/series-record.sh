#!/bin/bash
# series-record: makes the recordings of tests/series/recipes.tsv again. Takes as long as they say;
# a few run side by side, niced.
#
# usage: series-record.sh FOLDER [NAME...]
#
# Writes FOLDER/NAME.nmt.gz and what is kept of it, FOLDER/NAME.csv.gz. What is there already is left
# out. A command "joined A B" is no recording of its own: B is what came after A was restarted.
#
# JOBS=6          how many at a time
# NMTWATCH=PATH   the recorder (build/nmtwatch)

set -u
. "$(dirname "$0")/../lib.sh"
recorder=${NMTWATCH:-build/nmtwatch}
jobs=${JOBS:-6}
out=build/series
classes=build/workloads/classes
# Whether a heap is touched for the first time is no part of the question.
steady="-Xms128m -Xmx128m -XX:+AlwaysPreTouch"
g1="-XX:-UseSerialGC -XX:+UseG1GC -XX:TieredStopAtLevel=4"

die() {
    echo "series-record: $1" >&2
    exit 1
}

tomcat_path() {
    local part path=$out:$classes
    for part in catalina coyote juli api servlet-api util util-scan annotations-api jaspic-api jni \
        el-api jsp-api; do
        path=$path:/usr/share/java/tomcat10-$part.jar
    done
    echo "$path"
}

build() {
    local home
    scripts/workloads.sh build || exit 1
    home=$(scripts/workloads.sh jdk)
    mkdir -p $out
    gcc -O1 -shared -fPIC -I"$home/include" -I"$home/include/linux" \
        -o $out/jmethodid_agent.so tests/workloads/jmethodid_agent.c || die "the agent does not compile"
    if [ -r /usr/share/java/tomcat10-catalina.jar ]; then
        "$home/bin/javac" --release 17 -nowarn -d $out -cp "$(tomcat_path)" \
            tests/series/TomcatRedeploy.java || die "TomcatRedeploy does not compile"
    fi
}

# Becomes the JVM.
become() { # NAME JDK FLAGS COMMAND
    local name=$1 jdk=$2 flags=$steady home
    case $3 in
    G1) flags="$flags $g1" ;;
    AGENT) flags="$flags -agentpath:$PWD/$out/jmethodid_agent.so" ;;
    esac
    local -a words
    read -ra words <<<"$4"
    set -- "${words[@]}"
    export JDK=$jdk JVM_FLAGS=$flags
    home=$(scripts/workloads.sh jdk) || die "no JDK $jdk"
    flags="-XX:NativeMemoryTracking=summary -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $flags"
    case $1 in
    tomcat) # shellcheck disable=SC2086
        exec "$home/bin/java" $flags -cp "$(tomcat_path)" TomcatRedeploy "$2" \
            "$folder/$name.webapp" --seconds 3600 "${@:3}"
        ;;
    WarmingCache | SlowLeak) # shellcheck disable=SC2086
        exec "$home/bin/java" $flags -cp $classes "workloads.$1" "${@:2}" --seconds 3600
        ;;
    javac | jruby | clojure) exec scripts/workloads.sh run "$@" ;;
    *)
        case " $* " in
        *" --seconds "*) exec scripts/workloads.sh run "$@" ;;
        esac
        exec scripts/workloads.sh run "$@" --seconds 3600
        ;;
    esac
}

record() { # NAME JDK SECONDS FLAGS COMMAND
    local log=$folder/$1.log pid tries=0
    echo "$(date +%H:%M:%S) $1"
    (become "$1" "$2" "$4" "$5") >"$log" 2>&1 &
    pid=$!
    # Wanted is the start-up, too, but not a target whose JVM does not exist yet.
    until [ -e "/proc/$pid/exe" ] && [[ $(readlink "/proc/$pid/exe") = */java ]]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || break
        sleep 0.05
    done
    sleep 0.7
    "$recorder" record "$pid" -o "$folder/$1.part" --force --no-tap --no-color \
        --interval 1s --nmt-interval 1s --for "${3}s" </dev/null >>"$log" 2>&1
    if kill "$pid" 2>/dev/null; then
        mv "$folder/$1.part" "$folder/$1.nmt.gz"
    else
        echo "series-record: $1: the JVM was gone before its time, see $log" >&2
    fi
    wait "$pid" 2>/dev/null
    rm -rf "$folder/$1.webapp" "/tmp/.java_pid$pid" /tmp/hsperfdata_*/"$pid"
}

cut() { # NAME RECORDING...
    local name=$1
    shift
    [ ! -e "$folder/$name.csv.gz" ] || return
    scripts/test/series-from-recording.sh "${@/%/.nmt.gz}" >"$folder/$name.csv" &&
        gzip -9n "$folder/$name.csv"
}

[ $# -ge 1 ] || die "usage: series-record.sh FOLDER [NAME...]"
mkdir -p "$1" || exit 1
folder=$(cd "$1" && pwd)
shift
wanted=" $* "
build
renice -n 5 -p $$ >/dev/null

# Tabs are turned into something that read does not fold: a field may be empty.
recipes=$(grep -v '^#' tests/series/recipes.tsv | tr '\t' '\037')
while IFS=$'\037' read -r name jdk seconds flags command; do
    if [[ $wanted != "  " && $wanted != *" $name "* ]] || [[ $command = joined* ]] ||
        [ -e "$folder/$name.nmt.gz" ]; then
        continue
    fi
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    record "$name" "$jdk" "$seconds" "$flags" "$command" &
    sleep 2 # JVMs that start at the same moment disturb each other
done <<<"$recipes"
wait

while IFS=$'\037' read -r name jdk seconds flags command; do
    if [[ $command = joined* ]]; then
        read -r _ first second <<<"$command"
        if [ -e "$folder/$first.nmt.gz" ] && [ -e "$folder/$second.nmt.gz" ]; then
            cut "$name" "$folder/$first" "$folder/$second"
        fi
    elif [ -e "$folder/$name.nmt.gz" ]; then
        cut "$name" "$folder/$name"
    fi
done <<<"$recipes"
