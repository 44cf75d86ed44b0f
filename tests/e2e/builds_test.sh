#!/bin/bash
# docs/examples/build with Maven and with Gradle, as Debian has them and without a network, by the steps of the GitHub
# Action and by the GitLab template (packaging/ci): a build that passes and one that leaks. Each really runs: the
# build, nmtwatch, the application. Time passes BUILD_SPEED times as fast for nmtwatch (tests/sim/fast_time.c), because a
# soak that passes takes more than a minute; 1: as it does, which is also what a machine that is slow or loaded needs.
# timeout: 120

. "$(dirname "$0")/../tap.sh"
NMTWATCH=$(realpath "${NMTWATCH:-build/nmtwatch}")
need_built "$NMTWATCH"
speed=$((12 / TAP_PATIENCE))
[ $speed -le 4 ] || speed=4
[ $speed -ge 1 ] || speed=1
speed=${BUILD_SPEED:-$speed}

cat >"$SCRATCH/nmtwatch" <<END
#!/bin/sh
export LD_PRELOAD=$SCRATCH/fast_time.so FAST_TIME=$speed FAST_TIME_ALONE=1
[ "\$1" = soak ] || exec $NMTWATCH "\$@"
shift
exec $NMTWATCH soak --timeout $((10 * speed))s "\$@" # JVMs are as slow as ever
END
chmod +x "$SCRATCH/nmtwatch"
"${CC:-gcc}" -O2 -shared -fPIC -o "$SCRATCH/fast_time.so" tests/sim/fast_time.c || bail "fast_time.so"

# The builds' own JVMs live for seconds: half the CPU.
export MAVEN_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" GRADLE_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
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

# The steps of packaging/ci/action.yml as a runner runs them: inputs and outputs are put in, each `run` goes to
# its own bash with nothing but its environment, what it writes into GITHUB_OUTPUT is its steps.ID.outputs.
cat >"$SCRATCH/github.py" <<'END'
import os, re, subprocess, sys, yaml
path, inputs = sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2:])
action, outputs = yaml.safe_load(open(path)), {}
inputs = {n: inputs.get(n, i.get("default", "")) for n, i in action["inputs"].items()}

def put_in(text):
    def value(match):
        name = match[1].split(".")
        if name[0] == "inputs":
            return inputs[name[1]]
        if name[0] == "steps":
            return outputs[name[1]][name[3]]
        return {"github.action_path": os.path.dirname(os.path.realpath(path))}[match[1]]
    return re.sub(r"\$\{\{ ([a-z._-]+) \}\}", value, text)

for step in action["runs"]["steps"]:
    if "uses" in step:
        continue
    if "${{" in step["run"]:
        sys.exit("what a caller gives would be text of a script: " + step["name"])
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
    env = dict(os.environ, **files, **{n: put_in(v) for n, v in step.get("env", {}).items()})
    open("output", "w").close()
    code = subprocess.call(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], env=env)
    outputs[step.get("id")] = dict(line.rstrip("\n").split("=", 1) for line in open("output"))
    if code != 0:
        sys.exit(code)
END
java=$(jdk_home 17)
if [ -z "$java" ]; then
    skip "GitHub, GitLab" "no JDK 17 in /usr/lib/jvm"
else
    mkdir "$SCRATCH/classes"
    "$java/bin/javac" -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -d "$SCRATCH/classes" docs/examples/build/src/main/java/orders/Orders.java
    app="'$java/bin/java' -XX:NativeMemoryTracking=summary -cp '$SCRATCH/classes' orders.Orders"
    action=$PWD/packaging/ci/action.yml
    for mode in cached leak; do
        build "github-$mode" report python3 "$SCRATCH/github.py" "$action" nmtwatch="$SCRATCH/nmtwatch" \
            "command=$app $mode; echo not reached" for=80s nmt=false options="--warmup 10s" report=report \
            against=none.nmt.gz
    done
    if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
        skip "GitLab" "not installed: npm, nodejs"
    elif ! command -v rsync >/dev/null; then
        skip "GitLab" "not installed: rsync"
    elif ! modules=$(npm_packages 2>"$SCRATCH/npm"); then
        skip "GitLab" "not installed: $(<"$SCRATCH/npm")"
    else
        cat >"$SCRATCH/gitlab-ci.yml" <<END
include: [{local: soak.gitlab-ci.yml}]
soak:
  extends: .nmtwatch-soak
  variables:
    NMTWATCH: $SCRATCH/nmtwatch
    SOAK_COMMAND: exec $app \$MODE
    SOAK_FOR: 80s
    SOAK_OPTIONS: --fail-fast --warmup 10s
    SOAK_REPORT: build/soak
END
        for mode in cached leak; do
            build "gitlab-$mode" build/soak sh -c "cp '$PWD/packaging/ci/soak.gitlab-ci.yml' . && git init -q &&
                cp '$SCRATCH/gitlab-ci.yml' .gitlab-ci.yml && git add . &&
                node '$modules/gitlab-ci-local/src/index.js' --no-json-schema-validation --variable MODE=$mode"
        done
    fi
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
    folder=${output[$name]}
    case $name in maven-* | gradle-*) folder+=/soak ;; esac
    check "$name: the page is there" test -s "$folder/soak.html"
    if [[ $name = github-* ]]; then
        is "$name: the summary has the verdict" "$(sed -n '1s/^# \([A-Z]*\): .*/\1/p' "$SCRATCH/$name/summary")" \
            "$([ $wanted = 0 ] && echo PASS || echo FAIL)"
        is "$name: the job has its annotations" "$(sed -n 's/^::\([a-z]*\) title=.*/\1/p' "$SCRATCH/$name.log" | xargs)" \
            "warning$([ $wanted = 0 ] || echo " error")"
    fi
    if [ $wanted = 1 ]; then
        contains "$name: the generator is named" "$(<"$SCRATCH/$name.log")" "JDK java.lang.reflect.Proxy"
    fi
    silent "$name: nothing is left running" pgrep -f "$SCRATCH/$name/"
done
done_testing
