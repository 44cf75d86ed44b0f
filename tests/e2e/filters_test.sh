#!/bin/bash
# JVMs under system call filters (seccomp) that kill: every verb that asks or loads leaves them alive, and says why
# something is missing; what a filter permits, or refuses with an error, is asked.
# timeout: 900

. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh
[ "$(id -u)" = 0 ] || skip_all "needs root: the kernel shows a filter to CAP_SYS_ADMIN only"
if emulated; then skip_all "the emulator makes calls of its own"; fi
if grep -q '^Seccomp:[[:space:]]*[12]' /proc/self/status; then
    skip_all "refused: this test runs under a system call filter itself, so the kernel shows it no other"
fi

"${CC:-gcc}" -O1 -o "$SCRATCH/filtered" tests/e2e/filtered.c || bail "filtered.c does not compile"
echo 'int Agent_OnAttach(void *vm, char *options, void *unused) { return 0; }' >"$SCRATCH/trivial.c"
"${CC:-gcc}" -shared -fPIC -o "$SCRATCH/libtrivial.so" "$SCRATCH/trivial.c" || bail "trivial.c does not compile"
cat >"$SCRATCH/Idle.java" <<'JAVA'
public class Idle {
    static Object kept;
    public static void main(String[] a) throws Exception {
        System.out.println("ready");
        long end = System.nanoTime() + Long.parseLong(a[0]) * 1000000000L;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 100; i++) kept = new byte[10000];
            Thread.sleep(10);
        }
    }
}
JAVA
"$(agent_jdk "$(agent_jdks | head -n 1)")/bin/javac" --release 11 -d "$SCRATCH" "$SCRATCH/Idle.java" || bail "Idle.java"

under() { # MODE...: a JVM under this filter, its pid in $JVM_PID
    spawn "$SCRATCH/filtered" "$@" "$HOME_OF_JVM/bin/java" -Xmx64m -XX:NativeMemoryTracking=summary \
        -cp "$SCRATCH" Idle 600 >"$SCRATCH/out" 2>&1
    JVM_PID=$SPAWNED
    wait_for 60 grep -q ready "$SCRATCH/out" || fail "the JVM starts under $*" "$(tail -n 3 "$SCRATCH/out")"
}

lives() { # NAME: a JVM that was killed is a zombie of this shell
    sleep 0.3
    check "$1: the JVM lives" grep -q '^State:[[:space:]]*[RSD]' "/proc/$JVM_PID/status"
}

verb() { # CODE PART WORD...: PART is in its output
    local code=$1 part=$2
    shift 2
    exits "$NAME: $1 ends with $code" "$code" timeout 120 "$NMTWATCH" "$@"
    contains "$NAME: $1 says it" "$(tr -s ' \n' '  ' <<<"$OUTPUT")" "$part"
    lives "$NAME: $*"
}

for JDK in $(agent_jdks); do
    HOME_OF_JVM=$(agent_jdk "$JDK")

    # What @system-service leaves out.
    under without mincore,perf_event_open kill
    NAME="JDK $JDK without mincore"
    verb 3 "VM.native_memory leads to mincore()" check "$JVM_PID"
    contains "$NAME: check has Metaspace all the same" "$OUTPUT" metaspace
    exits "$NAME: check --json" 3 "$NMTWATCH" check --json "$JVM_PID"
    is "$NAME: reason" "$(jq -r .missing <<<"$OUTPUT")" seccomp
    verb 0 "NMT is not watched" watch --for 4s "$JVM_PID"
    verb 0 "NMT is not watched" record --for 3s -o "$SCRATCH/r$JDK.nmt.gz" "$JVM_PID"
    verb 33 "VM.native_memory leads to mincore()" plan --from "$JVM_PID"
    verb 1 "kills it for NMT (mincore)" doctor "$JVM_PID"
    OUTPUT=$(timeout 120 "$NMTWATCH" triage "$JVM_PID" --for 1s --level thorough -o "$SCRATCH/t$JDK" 2>&1)
    contains "$NAME: triage says it" "$(tr -s ' \n' '  ' <<<"$OUTPUT")" "was not asked"
    lives "$NAME: triage"
    exits "$NAME: holders" 0 timeout 120 "$NMTWATCH" holders "$JVM_PID" --allow-pause
    lives "$NAME: holders"
    exits "$NAME: list" 0 "$NMTWATCH" list
    timeout 60 "$NMTWATCH" soak --for 4s --report "$SCRATCH/soak$JDK" "$JVM_PID" >"$SCRATCH/soak" 2>&1
    lives "$NAME: soak"
    exits "$NAME: observe" 0 timeout 60 "$NMTWATCH" observe "$JVM_PID" classes --for 1s
    lives "$NAME: observe"
    exits "$NAME: a profile starts" 0 "$NMTWATCH" profile "$JVM_PID" start --cpu 1ms --file "$SCRATCH/p$JDK.jfr"
    sleep 2
    exits "$NAME: its memory" 0 "$NMTWATCH" profile "$JVM_PID" memory
    contains "$NAME: beside NMT" "$OUTPUT" "NMT could not be asked"
    exits "$NAME: it stops" 0 "$NMTWATCH" profile "$JVM_PID" stop
    verb 33 "perf_event_open()" profile "$JVM_PID" start --timer perf
    printf '[serve]\nlisten = 127.0.0.1:0\nstate = %s/state%s\nscan_interval = 1s\n' "$SCRATCH" "$JDK" >"$SCRATCH/serve.ini"
    timeout -k 5 20 "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >"$SCRATCH/serve" 2>&1
    lives "$NAME: serve"
    kill_jvm "$JVM_PID"

    # The question is asked all the same: the end is said by its cause.
    under without mincore kill
    NAME="JDK $JDK asked anyway"
    FIRST=$JVM_PID
    under without mincore kill
    OUTPUT=$(timeout 60 "$NMTWATCH" watch --for 8s --nmt-under-seccomp ask "$FIRST" 2>&1)
    contains "$NAME: how it ended" "$(tr -s ' \n' '  ' <<<"$OUTPUT")" "killed by signal 31 (SIGSYS)"
    contains "$NAME: the finding" "$OUTPUT" killed-by-question
    exits "$NAME: check" 3 "$NMTWATCH" check --nmt-under-seccomp ask "$JVM_PID"
    contains "$NAME: check says how" "$OUTPUT" "killed by signal 31 (SIGSYS)"
    contains "$NAME: and after what" "$OUTPUT" "after VM.native_memory"

    # An error is no obstacle.
    under without mincore errno
    NAME="JDK $JDK mincore is refused"
    exits "$NAME: check has NMT" 0 "$NMTWATCH" check --json "$JVM_PID"
    is "$NAME: nothing is missing" "$(jq -r .missing <<<"$OUTPUT")" null
    lives "$NAME"
    kill_jvm "$JVM_PID"

    # The default profile of a container runtime: nothing is missing but what perf events give.
    under without runtime errno
    NAME="JDK $JDK under a container runtime's profile"
    exits "$NAME: check has NMT" 0 "$NMTWATCH" check --json "$JVM_PID"
    is "$NAME: nothing is missing" "$(jq -r .missing <<<"$OUTPUT")" null
    exits "$NAME: a profile starts" 0 "$NMTWATCH" profile "$JVM_PID" start --cpu 1ms --file "$SCRATCH/d$JDK.jfr"
    sleep 2
    exits "$NAME: it stops" 0 "$NMTWATCH" profile "$JVM_PID" stop
    exits "$NAME: holders" 0 timeout 120 "$NMTWATCH" holders "$JVM_PID" --allow-pause
    timeout 120 "$NMTWATCH" profile "$JVM_PID" start --timer perf >"$SCRATCH/perf" 2>&1 # EPERM, in one way or another
    lives "$NAME: perf events"
    "$NMTWATCH" profile "$JVM_PID" stop >/dev/null 2>&1
    OUTPUT=$(timeout 120 "$NMTWATCH" triage "$JVM_PID" --for 1s -o "$SCRATCH/td$JDK" 2>&1)
    lives "$NAME: triage"
    kill_jvm "$JVM_PID"

    # What an idle JVM calls and nothing else: not even attach.
    timeout 120 "$SCRATCH/filtered" learn "$SCRATCH/idle$JDK" "$HOME_OF_JVM/bin/java" -Xmx64m -cp "$SCRATCH" Idle 3 >/dev/null
    under only "$SCRATCH/idle$JDK" kill -
    NAME="JDK $JDK idle calls only"
    verb 3 "leads to" check "$JVM_PID"
    verb 33 "leads to" profile "$JVM_PID" start
    verb 33 "leads to" watch --for 2s "$JVM_PID"
    verb 33 "leads to" holders "$JVM_PID" --allow-pause
    kill_jvm "$JVM_PID"

    # What a JVM calls when another agent is loaded, and nothing else: ours calls no more, but for a timer.
    "$SCRATCH/filtered" learn "$SCRATCH/load$JDK" "$HOME_OF_JVM/bin/java" -Xmx64m -cp "$SCRATCH" Idle 600 \
        >"$SCRATCH/out" 2>&1 &
    LEARNER=$!
    wait_for 60 grep -q ready "$SCRATCH/out"
    LEARNED=$(pgrep -P $LEARNER)
    "$HOME_OF_JVM/bin/jcmd" "$LEARNED" JVMTI.agent_load "$SCRATCH/libtrivial.so" >"$SCRATCH/jcmd" 2>&1
    sleep 5
    kill "$LEARNED"
    wait $LEARNER
    NAME="JDK $JDK calls of another agent only"
    under only "$SCRATCH/load$JDK" kill -
    verb 33 "sampling needs timer_create()" profile "$JVM_PID" start
    verb 33 "sampling needs" profile "$JVM_PID" start --cpu 0 --wall 20ms
    exits "$NAME: allocations" 0 "$NMTWATCH" profile "$JVM_PID" start --cpu 0 --alloc 512k --live 100 --classes \
        --file "$SCRATCH/a$JDK.jfr"
    sleep 3
    for WORD in status memory dump alloc stop; do
        exits "$NAME: $WORD" 0 "$NMTWATCH" profile "$JVM_PID" $WORD
        lives "$NAME: $WORD"
    done
    kill_jvm "$JVM_PID"

    NAME="JDK $JDK with timer_create"
    under only "$SCRATCH/load$JDK" kill timer_create,timer_delete,timer_settime
    exits "$NAME: start" 0 "$NMTWATCH" profile "$JVM_PID" start --cpu 1ms --file "$SCRATCH/c$JDK.jfr"
    sleep 4
    exits "$NAME: stop" 0 "$NMTWATCH" profile "$JVM_PID" stop
    check "$NAME: samples" grep -qE '^samples +[1-9]' <<<"$OUTPUT"
    lives "$NAME"
    kill_jvm "$JVM_PID"
done

# `serve` that was told to ask kills one. The next `serve` asks none that is like it, though that one has no filter.
NAME="JDK $JDK like one that was killed"
listening() { grep -q '^listening' "$SCRATCH/log"; }
nmt_of() { curl -s -m 5 "$URL/metrics" >"$SCRATCH/metrics"; }
watched() { nmt_of && grep -q '^nmtwatch_up' "$SCRATCH/metrics"; }
serving() { # SETTING: of the next serve
    printf '[serve]\nlisten = 127.0.0.1:0\nstate = %s/kept\nmin_age = 100ms\ndiscover = 1s\ninclude = main:Idle\n%s\n' \
        "$SCRATCH" "$1" >"$SCRATCH/serve.ini"
    spawn "$NMTWATCH" serve --config "$SCRATCH/serve.ini" >"$SCRATCH/log" 2>&1
    SERVE=$SPAWNED
    wait_for 20 listening
    URL=$(sed -n 's|^listening on \(.*\)/$|\1|p' "$SCRATCH/log")
}
under without mincore kill
serving "[watch]
nmt_under_seccomp = ask"
check "$NAME: its question killed the first" wait_for 30 has_ended "$JVM_PID"
check "$NAME: that is kept" wait_for 20 test -s "$SCRATCH/kept/killed"
kill -KILL "$SERVE"
: >"$SCRATCH/out"
spawn "$HOME_OF_JVM/bin/java" -Xmx64m -XX:NativeMemoryTracking=summary -cp "$SCRATCH" Idle 600 >"$SCRATCH/out" 2>&1
JVM_PID=$SPAWNED
wait_for 60 grep -q ready "$SCRATCH/out"
serving ""
check "$NAME: the next one is watched" wait_for 30 watched
sleep 3
nmt_of
is "$NAME: and not asked for NMT" "$(grep -c '^jvm_native_memory_committed_bytes' "$SCRATCH/metrics")" 0
says_why() { curl -s -m 5 "$URL/api/v1/targets" | grep -q "of the same kind was killed"; }
check "$NAME: its page says why" wait_for 20 says_why
kill -KILL "$SERVE"
rm "$SCRATCH/kept/killed"
serving ""
has_nmt() { nmt_of && grep -q '^jvm_native_memory_committed_bytes' "$SCRATCH/metrics"; }
check "$NAME: without that file it is asked" wait_for 30 has_nmt
kill_jvm "$JVM_PID"

done_testing
