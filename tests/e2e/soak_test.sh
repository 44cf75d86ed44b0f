#!/bin/bash
# nmtwatch soak over real JVMs: the Groovy explosion fails within three minutes with its family
# named, its cached twin passes, and passes against itself; a leak of direct buffers is seen without
# any class; the command may be a script.
# timeout: 500
. "$(dirname "$0")/../tap.sh"
. tests/e2e/fleet.sh

declare -A SOAK_PID

soak() { # NAME JDK OPTION... -- COMMAND...: in the background; output in $SCRATCH/NAME.out
    JDK=$2 spawn "$NMTWATCH" soak "${@:3}" >"$SCRATCH/$1.out" 2>"$SCRATCH/$1.err" </dev/null
    SOAK_PID[$1]=$SPAWNED
}

finished() { # NAME
    CODE=0
    wait "${SOAK_PID[$1]}" || CODE=$?
    OUTPUT=$(cat "$SCRATCH/$1.out" "$SCRATCH/$1.err")
}

java=$(JDK=17 scripts/workloads.sh jdk 2>/dev/null)/bin/java
[ -x "$java" ] || skip_all "no JDK 17 in /usr/lib/jvm"
kind=groovy
family=groovy-shell
if ! have_kind groovy; then
    kind=proxy
    family="jdk-proxy"
fi
jdks=()
began=$SECONDS
for jdk in 17 25; do
    if ! have_jdk $jdk; then
        skip "soak on JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    fi
    jdks+=("$jdk")
    soak explode-$jdk $jdk --for 170s --fail-fast --report "$SCRATCH/explode-$jdk" \
        --junit "$SCRATCH/explode-$jdk.xml" -- \
        scripts/workloads.sh run $kind --rate 12 --quiet 15 --seconds 400
    soak twin-$jdk $jdk --for 170s --report "$SCRATCH/twin-$jdk" -- \
        bash -c "scripts/workloads.sh run $kind --mode cached --rate 12 --quiet 15 --seconds 400; exit"
done

mkdir "$SCRATCH/leak"
cat >"$SCRATCH/leak/Leak.java" <<'JAVA'
/** 256 KB of direct buffers a second that nobody frees, and a count of them in a file. */
public class Leak {
    public static void main(String[] args) throws Exception {
        var kept = new java.util.ArrayList<java.nio.ByteBuffer>();
        for (int i = 0;; i++) {
            kept.add(java.nio.ByteBuffer.allocateDirect(args.length > 1 ? 262144 : 1));
            java.nio.file.Files.writeString(java.nio.file.Path.of(args[0]), i + "\n");
            Thread.sleep(1000);
        }
    }
}
JAVA
"${java}c" -d "$SCRATCH/leak" "$SCRATCH/leak/Leak.java"
soak leak 17 --for 150s --nmt --no-report --json --per "cat $SCRATCH/leak/count" -- \
    "$java" -Xmx64m -cp "$SCRATCH/leak" Leak "$SCRATCH/leak/count" leak
for jdk in "${jdks[@]}"; do
    finished "explode-$jdk"
    took=$((SECONDS - began))
    is "$jdk: the $kind explosion fails" "$CODE" 1
    contains "$jdk: the family is named" "$OUTPUT" "$family"
    check "$jdk: after $took s, within three minutes" test $took -le 180
    check "$jdk: its report is there" test -s "$SCRATCH/explode-$jdk/report.html"
    if command -v xmllint >/dev/null; then
        check "$jdk: its JUnit file is valid" xmllint --noout --schema tests/schema/junit.xsd \
            "$SCRATCH/explode-$jdk.xml"
    else
        fail "$jdk: its JUnit file is valid" "xmllint is not installed"
    fi
done
for jdk in "${jdks[@]}"; do
    finished "twin-$jdk"
    is "$jdk: its cached twin passes" "$CODE" 0
    [ "$CODE" = 0 ] || sed 's/^/# /' "$SCRATCH/twin-$jdk.out"
    contains "$jdk: and says so" "$OUTPUT" "Converged"
done
finished leak
is "a leak of direct buffers fails" "$CODE" 1
other=$(tail -n 1 "$SCRATCH/leak.out" | jq -c '.jvms[0].series[] | select(.key == "other")')
is "Other is what grows" "$(jq -r .answer <<<"$other")" FAIL
check "by 256 KB each: $(jq -c .per_iteration <<<"$other")" \
    jq -e '.per_iteration | .low <= 262200 and .high >= 262100 and .high - .low < 100000' <<<"$other"
soak again 17 --for 120s --report "$SCRATCH/again" --against "$SCRATCH/twin-17/soak.nmt.gz" -- \
    scripts/workloads.sh run $kind --mode cached --rate 12 --quiet 15 --seconds 400
finished again
is "the same build again is no worse" "$CODE" 0
[ "$CODE" = 0 ] || sed 's/^/# /' "$SCRATCH/again.out"
done_testing
