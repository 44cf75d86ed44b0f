#!/bin/bash
# nmtwatch holders on the kinds of leaks that the literature knows: how many loaders, and the cause or the cut of the first path.
# timeout: 240
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh
need jq
NMTWATCH=${NMTWATCH:-build/nmtwatch}
quick=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC)
times=4

# The kinds of App.java, and what has to be found: a row of holders.def, or the field to cut at. In one JVM; those at
# the end block threads that the others need.
kinds="tl-list:thread-local tl-subclass:thread-local tl-pool:thread-local tl-self:thread-local tl-inherited:srv.Server.INSTALLED
    sched:scheduled-task timer-task:timer-task own-pool:executor own-pool-plain:executor own-fork-join:executor
    own-sched:executor own-timer:context-class-loader cf-timeout:scheduled-task cf-delayed:scheduled-task
    cf-never:srv.Server.NEVER thread:running-thread thread-class:running-thread thread-tccl:context-class-loader
    uncaught:uncaught-handler uncaught-thread:uncaught-handler authenticator:authenticator proxies:proxy-selector
    cookies:cookie-handler responses:jvm-default properties:system-properties
    signal:signal-handler time-zone:jvm-default verifier:jvm-default ssl:jvm-default log-writer:jvm-default
    login:login-configuration hook:shutdown-hook jdbc:jdbc-driver jul-filter:logging-filter jul-level:logging-level
    jul-handler:logging-handler jul-formatter:logging-part jul-errors:logging-part mbean:jmx-mbean mbean-server:jmx-mbean
    memory-listener:jmx-mbean gc-listener:jmx-mbean provider:security-provider cleaner:cleaner class-value:class-value
    image-io:image-io transformer:class-transformer registry:srv.Server.REGISTRY weak-map:srv.Server.WEAK
    cache:srv.Server.CACHE changes:srv.Server.CHANGES publisher:srv.Server.publisher proxy:srv.Server.REGISTRY
    exception:srv.Server.REGISTRY service-loader:srv.Server.CACHE system-out:system-stream none:-
    hook+tl-pool:shutdown-hook,thread-local hook+jdbc+registry:shutdown-hook,srv.Server.REGISTRY,jdbc-driver
    registry+naming:srv.Server.REGISTRY,set-once registry+serial-filter:srv.Server.REGISTRY,set-once
    registry+url-factory:srv.Server.REGISTRY,url-handler"
declare -A OF=([17]="thread-group:thread-group" [25]="virtual-park:virtual-thread virtual-latch:virtual-thread
    virtual-pool:virtual-thread upcall:upcall scoped-value:scoped-value thread-group:-")
last="pool-running:context-class-loader pool-queued:pooled-task common-pool:pooled-task http-server:http-server process:process-exit, finalizer:finalizer"

build() {
    mkdir -p "$SCRATCH/host" "$SCRATCH/app" && printf 'Premain-Class: srv.Server\n' >"$SCRATCH/manifest" &&
        "$1/bin/javac" "${quick[@]/#/-J}" --release 17 -nowarn -Xlint:none -d "$SCRATCH/host" tests/e2e/holders/kinds/host/srv/*.java &&
        "$1/bin/javac" "${quick[@]/#/-J}" -source 17 -target 17 -nowarn -Xlint:none -cp "$SCRATCH/host" -d "$SCRATCH/app" \
            tests/e2e/holders/kinds/app/shop/*.java 2>/dev/null && "$1/bin/jar" cfm "$SCRATCH/agent.jar" "$SCRATCH/manifest"
}

run() { # NAME HOME KIND...: $SCRATCH/NAME.json
    cp -r "$SCRATCH/app" "$SCRATCH/$1-app" && mkdir -p "$SCRATCH/$1" && mv "$SCRATCH/$1-app" "$SCRATCH/$1/app"
    "$2/bin/java" -Xmx128m "${quick[@]}" -Djava.util.prefs.userRoot="$SCRATCH" \
        -javaagent:"$SCRATCH/agent.jar" -cp "$SCRATCH/host" srv.Server "$SCRATCH/$1.hprof" $times "$SCRATCH/$1" "${@:3}" >"$SCRATCH/$1.log" 2>&1
    check "$1: a dump" test -s "$SCRATCH/$1.hprof"
    "$NMTWATCH" holders --json "$SCRATCH/$1.hprof" >"$SCRATCH/$1.json"
}

# "LOADERS CAUSE..." of the group of a kind.
found() { # JSON KIND
    jq -r --arg name "/$2/" '[.groups[] | select((.name | endswith($name)) and .suspect)][0]
        | if . == null then "nothing" else "\(.loaders) " + ([.paths[] | select(.in_use | not) | .holder // .cut] | join(" ")) end' "$1"
}

kinds() { # JDK HOME
    local name=kinds-$1 list=() row kind wanted got alive one
    # shellcheck disable=SC2206
    rows=($kinds ${OF[$1]-} $last)
    for row in "${rows[@]}"; do
        list+=("${row%%:*}")
    done
    run "$name" "$2" "${list[@]}"
    for row in "${rows[@]}"; do
        kind=${row%%:*}
        wanted=${row#*:}
        alive=$(sed -n "s/^alive $kind //p" "$SCRATCH/$name.log")
        [ "$kind" != finalizer ] || alive=$times # weak references are cleared before finalize()
        got=$(found "$SCRATCH/$name.json" "$kind")
        if [ "$wanted" = - ]; then
            is "JDK $1: $kind: nothing" "$got $alive" "nothing 0"
            continue
        fi
        is "JDK $1: $kind: loaders" "${got%% *}" "$alive"
        for one in ${wanted//,/ }; do
            contains "... held by $one" "$got " " $one "
        done
        [ "${wanted/,/}" != "$wanted" ] || is "... first of all" "$(cut -d' ' -f2 <<<"$got")" "$wanted"
    done
}

for jdk in ${HOLDERS_JDKS:-17 25}; do
    if have_jdk $jdk; then
        home=$(JDK=$jdk scripts/workloads.sh jdk)
        [ -e "$SCRATCH/agent.jar" ] || check "programs are built" build "$home" || break
        kinds $jdk "$home"
    else
        skip "kinds of leaks on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
    fi
done
done_testing
