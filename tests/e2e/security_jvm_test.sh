#!/bin/bash
# A user of the host against root's nmtwatch: what a target's user puts in the way of root, as a mount,
# a link, a terminal, a library, harms nothing and shows nothing.
# timeout: 200
# shellcheck disable=SC2016 # $ of others

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
if [ "$(id -u)" != 0 ]; then
    skip_all "refused: not root; the attacks are on root's nmtwatch"
fi
evil=12345
as_evil=(setpriv --reuid "$evil" --regid "$evil" --clear-groups)
chmod 755 "$SCRATCH"
mkdir -m 755 "$SCRATCH/victim"
mkdir -p "$SCRATCH/theirs/tmp" "$SCRATCH/theirs/jdk/lib/server"
head -c 4096 /dev/zero >"$SCRATCH/theirs/jdk/lib/server/libjvm.so"
chown -R "$evil:$evil" "$SCRATCH/theirs"
agent=$(dirname "$NMTWATCH")/libnmtagent.so

# --- a mount over the folder through which command and agent talk -----------------------------------

if [ ! -e "$agent" ]; then
    skip "a mount over the new folder" "the agent is not built"
elif ! "${CC:-cc}" -D_GNU_SOURCE -pthread -o "$SCRATCH/mount_race" tests/e2e/mount_race.c >"$SCRATCH/cc" 2>&1; then
    fail "mount_race.c can be compiled" "$(cat "$SCRATCH/cc")"
else
    spawn "${as_evil[@]}" "$SCRATCH/mount_race" "$SCRATCH/victim" "$SCRATCH/theirs/tmp" \
        "$SCRATCH/theirs/jdk/lib/server/libjvm.so" 150 >"$SCRATCH/race" 2>&1
    race=$SPAWNED
    wait_for 10 grep -q ready "$SCRATCH/race"
    if ! grep -q ready "$SCRATCH/race"; then
        skip "a mount over the new folder" "refused: no user namespace for an ordinary user here: $(head -n 1 "$SCRATCH/race")"
    else
        owned=0 emptied=0
        for _ in $(seq "${ATTEMPTS:-12}"); do
            echo precious >"$SCRATCH/victim/recording.jfr"
            timeout -s INT 2 "$NMTWATCH" profile "$race" start --agent "$agent" >"$SCRATCH/said" 2>&1
            [ "$(stat -c %u "$SCRATCH/victim")" = 0 ] || owned=$((owned + 1))
            [ -e "$SCRATCH/victim/recording.jfr" ] || emptied=$((emptied + 1))
            chown 0:0 "$SCRATCH/victim"
        done
        check "the attacker mounted in time at least once" grep -q "mounted over" "$SCRATCH/race"
        is "root's folder never changes hands" "$owned" 0
        is "nor is anything removed from it" "$emptied" 0
        kill_jvm "$race"
    fi
fi

# --- release and library files that are something else ----------------------------------------------

cat >"$SCRATCH/mapper.py" <<'PY'
import mmap, signal, sys, time
f = open(sys.argv[1], "rb")
m = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE)
signal.signal(signal.SIGQUIT, lambda *a: None)
print("ready", flush=True)
time.sleep(100)
PY
PYTHON=/usr/bin/python3 # one that every user may run
if [ -x "$PYTHON" ]; then
    spawn "${as_evil[@]}" "$PYTHON" "$SCRATCH/mapper.py" "$SCRATCH/theirs/jdk/lib/server/libjvm.so" >"$SCRATCH/mapper"
    mapper=$SPAWNED
    wait_for 10 grep -q ready "$SCRATCH/mapper"
    release=$SCRATCH/theirs/jdk/lib/server/release
    printf 'JAVA_VERSION="99.secret"\n' >"$SCRATCH/secret"
    chmod 600 "$SCRATCH/secret"
    jdk() { timeout 10 "$NMTWATCH" list --json | jq -r ".jvms[] | select(.pid == $mapper) | .jdk"; }
    ln -s "$SCRATCH/secret" "$release"
    lacks "a release file that links to what only root may read shows nothing" "$(jdk)" "99"
    chmod 644 "$SCRATCH/secret"
    is "one that links to what its user may read is read" "$(jdk)" "99.secret"
    rm "$release"
    mkfifo "$release"
    check "a FIFO is not waited for" timeout 10 "$NMTWATCH" list
    rm "$release"

    # A terminal: a session leader without one that opens it would have it as its own.
    cat >"$SCRATCH/terminal.py" <<'PY'
import fcntl, os, pty, subprocess, sys
master, slave = pty.openpty()
os.chmod(os.ttyname(slave), 0o666)
os.symlink(os.ttyname(slave), sys.argv[1])
adopted = 0
for _ in range(8):
    leader = subprocess.Popen([sys.argv[2], "list"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              start_new_session=True)
    while leader.poll() is None:
        try:
            fcntl.ioctl(master, 0x5429, b"\0\0\0\0")  # TIOCGSID: the session whose terminal it is
            adopted = 1
        except OSError:
            pass
print("adopted", adopted)
PY
    is "a terminal is not adopted" "$(timeout 60 "$PYTHON" "$SCRATCH/terminal.py" "$release" "$NMTWATCH" 2>/dev/null)" "adopted 0"
    rm -f "$release"
    kill_jvm "$mapper"
else
    skip "release files" "there is no /usr/bin/python3"
fi

# --- a library of a hostile root: named by --agent, and found there --------------------------------

FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
need_built "$FAKE_JVM"
cp "$FAKE_JVM" "$SCRATCH/fake_jvm"
chmod 755 "$SCRATCH/fake_jvm"
if [ -e "$agent" ] && unshare -m mount -t tmpfs tmpfs /mnt 2>/dev/null; then
    cp "$agent" "$SCRATCH/theirs/agent.so"
    # shellcheck disable=SC1004
    spawn unshare -m sh -c 'mount -t tmpfs -o mode=777 tmpfs /mnt && truncate -s 2T /mnt/sparse.so &&
        head -c 100 "$1/agent.so" >/mnt/cut.so && head -c 5000 "$1/agent.so" >/mnt/part.so &&
        truncate -s 60M /mnt/zeros.so && : >/mnt/empty.so && mkfifo /mnt/fifo.so && mkdir /mnt/folder.so &&
        ln -s /dev/zero /mnt/zero.so && chmod 644 /mnt/*.so && shift && exec "$@"' sh "$SCRATCH/theirs" \
        "${as_evil[@]}" "$SCRATCH/fake_jvm" --for 100 --socket now >"$SCRATCH/root"
    rooted=$SPAWNED
    wait_for 10 grep -q '^ready' "$SCRATCH/root"
    for name in sparse cut part zeros empty fifo folder zero; do
        code=0
        said=$(ulimit -v 2000000; timeout $((30 * TAP_PATIENCE)) "$NMTWATCH" profile "$rooted" start --agent "/mnt/$name.so" 2>&1) || code=$?
        # A failure of its own, in words: neither killed, nor by a signal, nor forever.
        check "--agent $name.so in a hostile root: exit $code" test "$code" -gt 0 -a "$code" -lt 124
        is "$name.so: one line says why" "$(wc -l <<<"$said")" 1
        [ $name != sparse ] || contains "the one of 2 TB is too large" "$said" "File too large"
    done
    kill_jvm "$rooted"
else
    skip "a library of a hostile root" "refused: unshare -m"
fi

# --- nmtwatch is killed while its file is there -----------------------------------------------------

spawn "${as_evil[@]}" "$SCRATCH/fake_jvm" --for 100 --socket none >"$SCRATCH/silent"
silent=$SPAWNED
wait_for 10 grep -q '^ready' "$SCRATCH/silent"
trigger=/tmp/.attach_pid$silent
spawn "$NMTWATCH" check --timeout 4s "$silent" >"$SCRATCH/asked" 2>&1
asks=$SPAWNED
wait_for 10 test -e "$trigger"
is "the trigger belongs to the JVM's user" "$(stat -c %u "$trigger")" "$evil"
worker=$(pgrep -o -P "$asks" -x nmtwatch-worker)
kill -KILL "$worker" "$asks"
wait "$asks" 2>/dev/null
check "nmtwatch and its worker killed: the file is left" test -e "$trigger"
"$NMTWATCH" check --timeout 1s "$silent" >/dev/null 2>&1
check "and the next look removes it" test ! -e "$trigger"
kill_jvm "$silent"

# --- a planted agent ------------------------------------------------------------------------------

if [ -e "$agent" ]; then
    mkdir -m 777 "$SCRATCH/open"
    cp "$NMTWATCH" "$agent" "$SCRATCH/open"
    spawn sleep 60
    exits "a library beside the program, in a folder of everybody's" 10 "$SCRATCH/open/nmtwatch" profile "$SPAWNED" start
    JVM=$(find /usr/lib/jvm -name java -path '*bin/java' 2>/dev/null | head -n 1)
    if [ -n "$JVM" ]; then
        printf 'class S { public static void main(String[] a) throws Exception { Thread.sleep(90000); } }' >"$SCRATCH/S.java"
        spawn "$JVM" -Ddb.password=hunter2 "$SCRATCH/S.java" --token abcdef
        java=$SPAWNED
        wait_for 30 test -e "/tmp/hsperfdata_root/$java"
        sleep 2
        exits "is not loaded" 22 "$SCRATCH/open/nmtwatch" profile "$java" start
        contains "and the sentence says why" "$OUTPUT" "may be written by everybody"
        chmod 755 "$SCRATCH/open"
        chown "$evil" "$SCRATCH/open/libnmtagent.so"
        exits "nor one that belongs to another user" 22 "$SCRATCH/open/nmtwatch" profile "$java" start
        contains "which is said, too" "$OUTPUT" "belongs to uid $evil"
        "$NMTWATCH" profile "$java" --for 1s -o "$SCRATCH/p.jfr" >/dev/null
        is "results are nobody else's business" "$(stat -c %a "$SCRATCH/p.jfr")" 600

        "$NMTWATCH" triage "$java" --for 1s -o "$SCRATCH/told" >"$SCRATCH/told.txt" 2>&1
        is "a triage keeps no password" "$(grep -rlE 'hunter2|abcdef' "$SCRATCH/told")" ""
        contains "and says so" "$(cat "$SCRATCH/told.txt")" "replaced by ***"
        "$NMTWATCH" triage "$java" --for 1s --no-redact -o "$SCRATCH/whole" >/dev/null 2>&1
        check "unless it is told to" grep -rq hunter2 "$SCRATCH/whole"
        is "no .attach_pid file is left" "$(ls -d "/tmp/.attach_pid$java" "/proc/$java/cwd/.attach_pid$java" 2>/dev/null)" ""
        kill_jvm "$java"
    else
        skip "a planted agent, redaction" "there is no JDK"
    fi
else
    skip "a planted agent" "it is not built"
fi

done_testing
