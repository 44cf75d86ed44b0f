#!/bin/bash
# timeout: 240
# The packaged unit, played with setpriv, a mount namespace and its filter of system calls: its user, its
# capabilities, its own /tmp, nothing at home. Watched are JVMs of other users, outside of all that. The score
# of `systemd-analyze security` is a part of it.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
for program in "$NMTWATCH" "$FAKE_JVM"; do
    need_built "$program"
done
need curl jq python3 systemd-analyze
need_library 'libmicrohttpd\.so\.12'
unit=packaging/nmtwatch.service

score=$(systemd-analyze security --offline=true "$unit" | sed -n 's/.*exposure level.*: \([0-9.]*\) .*/\1/p')
check "the unit's score is at most 2.5 (it is $score)" awk -v score="$score" 'BEGIN { exit !(score > 0 && score <= 2.5) }'

[ "$(id -u)" = 0 ] || {
    skip "the unit, played" "refused: needs root, to become other users"
    done_testing
}
setpriv --reuid 54321 --clear-groups true 2>/dev/null || {
    skip "the unit, played" "refused: setpriv cannot change the user here"
    done_testing
}
unshare -m mount -t tmpfs tmpfs /tmp 2>/dev/null || {
    skip "the unit, played" "refused: unshare -m"
    done_testing
}
case $NMTWATCH in
build/asan/*) skip_all "refused: a sanitizer's run-time library makes other system calls" ;;
esac

# --- what the unit says -----------------------------------------------------------------------------

setting() { sed -n "s/^$1=//p" "$unit"; }
capabilities() { setting "$1" | tr ' ' '\n' | sed 's/^CAP_/+/' | tr 'A-Z\n' 'a-z,' | sed 's/,$//'; }
as_bits() { # of the names: as /proc/PID/status prints a set
    python3 - "$1" <<'PY'
import re, sys
numbers = {name.lower(): int(number) for name, number in
           re.findall(r"#define (CAP_\w+)\s+(\d+)", open("/usr/include/linux/capability.h").read())}
print("%016x" % sum(1 << numbers["cap_" + name.lstrip("+")] for name in sys.argv[1].split(",")))
PY
}
# In the order of the lines, as systemd takes them; a list of what is allowed has @default in it.
python3 - "$unit" >"$SCRATCH/only.h" <<'PY'
import subprocess, sys
groups, group = {}, None
for line in subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True).stdout.splitlines():
    if line.startswith("@"):
        group = groups.setdefault(line.strip(), [])
    elif line.startswith("    ") and not line.strip().startswith("#") and group is not None:
        group.append(line.strip())
def calls(name):
    return set().union(*map(calls, groups[name])) if name.startswith("@") else {name}
allowed = calls("@default")
for line in open(sys.argv[1]):
    if line.startswith("SystemCallFilter="):
        words = line.strip().split("=", 1)[1]
        named = set().union(*map(calls, words.lstrip("~").split()))
        allowed = allowed - named if words.startswith("~") else allowed | named
for name in sorted(allowed):
    print(f"#ifdef SYS_{name}\nSYS_{name},\n#endif")
PY
check "its filter of system calls can be played" "${CC:-cc}" -D_GNU_SOURCE -DONLY="\"$SCRATCH/only.h\"" \
    -o "$SCRATCH/only" tests/e2e/deny.c

one=54321
two=54322
service=54323
helper=54324
mine=unit$$
chmod 755 "$SCRATCH"
cp "$NMTWATCH" "$FAKE_JVM" "$SCRATCH"
chmod 755 "$SCRATCH/nmtwatch" "$SCRATCH/fake_jvm"
mkdir -m 700 "$SCRATCH/own" "$SCRATCH/home"
chown "$service" "$SCRATCH/own"

# /mnt is what the unit sees of this test. setpriv has no file of its own at home, nmtwatch neither.
in_unit() { # COMMAND...
    local user=$helper set
    set=$(capabilities AmbientCapabilities)
    unshare -m sh -c '
        mount --bind "$1" /mnt && shift || exit 99
        mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /var/tmp || exit 99
        for home in /home /root; do mount -t tmpfs -o mode=000 tmpfs $home || exit 99; done
        cd /mnt && exec "$@"' sh "$SCRATCH" \
        setpriv --reuid "$user" --regid "$user" --clear-groups \
        --bounding-set="-all,$(capabilities CapabilityBoundingSet)" --inh-caps="-all,$set" \
        --ambient-caps="-all,$set" --no-new-privs /mnt/only "$@"
}
is "the unit asks for what is played here" \
    "$(for key in PrivateTmp ProtectHome ProtectSystem NoNewPrivileges NotifyAccess; do setting $key; done | paste -sd ' ')" \
    "yes yes strict yes main"
is "its user is not the one of serve.ini" "$(setting User) $(sed -n 's/^user = //p' packaging/serve.ini)" \
    "nmtwatch-helper nmtwatch"
is "and both are made by its package" "$(for user in nmtwatch nmtwatch-helper; do
    grep -q "^u $user " packaging/nmtwatch.sysusers && grep -q "adduser .* $user\$" packaging/debian/nmtwatch.postinst &&
        echo $user
done | paste -sd ' ')" "nmtwatch nmtwatch-helper"

# --- the JVMs -----------------------------------------------------------------------------------------

cat >"$SCRATCH/Sleeps.java" <<'JAVA'
class Sleeps { public static void main(String[] a) throws Exception { Thread.sleep(300000); } }
JAVA
names=()
declare -A user_of=([boxed]=$two) # by name: it is in front of the label
as() { # USER NAME COMMAND...
    local user=$1 name=$2
    shift 2
    user_of[$name]=$(id -un "$user" 2>/dev/null || echo "$user")
    UNIT_TEST=$mine-$name spawn setpriv --reuid "$user" --regid "$user" --clear-groups "$@" >"$SCRATCH/$name.out" 2>&1
    names+=("$name")
}
user=$one
declare -A real
for jdk in 17 25; do
    if home=$(jdk_home $jdk) && setpriv --reuid $one --regid $one --clear-groups test -x "$home/bin/java"; then
        as $user jdk$jdk "$home/bin/java" -XX:NativeMemoryTracking=summary "$SCRATCH/Sleeps.java"
        real[$jdk]=$SPAWNED
        user=$two
    else
        skip "JDK $jdk" "no JDK $jdk here that every user may run"
    fi
done
as $one pretends "$SCRATCH/fake_jvm" --for 200 --socket now
pretends=$SPAWNED
as 0 roots "$SCRATCH/fake_jvm" --for 200 --socket now
# In mounts of its own, as in a container: its /tmp is another.
UNIT_TEST=$mine-boxed spawn unshare -m sh -c "cp '$SCRATCH/fake_jvm' /mnt 2>/dev/null
    mount --bind '$SCRATCH' /mnt && mount -t tmpfs tmpfs /tmp &&
    exec setpriv --reuid $two --regid $two --clear-groups /mnt/fake_jvm --for 200 --socket now" >"$SCRATCH/boxed.out"
boxed=$SPAWNED
names+=(boxed)
for name in pretends roots boxed; do
    wait_for 20 grep -q '^ready' "$SCRATCH/$name.out"
done
for pid in "${real[@]}"; do
    wait_for 30 find /tmp -maxdepth 2 -path "/tmp/hsperfdata_*/$pid" -size +0
done

# --- serve --------------------------------------------------------------------------------------------

printf 'scraper:secret\n' >"$SCRATCH/home/users"
chmod 600 "$SCRATCH/home/users"
{
    printf '[serve]\nlisten = 127.0.0.1:0\ndiscover = 500ms\nmin_age = 100ms\nuser = %s\n' $service
    printf 'target = %%{env:UNIT_TEST|main}\ninclude = label:%s-*\n' "$mine"
    printf 'state = /mnt/own/state\nrecordings = /mnt/own/recordings\nuser_file = /mnt/home/users\n'
    printf '[watch]\nnmt_interval = 1s\n'
} >"$SCRATCH/serve.ini"
chmod 600 "$SCRATCH/serve.ini"
# systemd's end of NOTIFY_SOCKET: who said what.
cat >"$SCRATCH/systemd.py" <<'PY'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\0" + sys.argv[1])
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
print("listens", flush=True)
while True:
    text, control, _, _ = s.recvmsg(4096, 4096)
    print(struct.unpack("3i", control[0][2][:12])[0], text.decode().replace("\n", " "), flush=True)
PY
spawn python3 "$SCRATCH/systemd.py" "$mine" >"$SCRATCH/told"
wait_for 10 grep -q '^listens' "$SCRATCH/told"
export NOTIFY_SOCKET=@$mine WATCHDOG_USEC=2000000
spawn in_unit /mnt/nmtwatch serve --config /mnt/serve.ini --for 180s >"$SCRATCH/log" 2>"$SCRATCH/err"
unset NOTIFY_SOCKET WATCHDOG_USEC
wait_for 20 grep -q '^listening' "$SCRATCH/log" || cat "$SCRATCH/log" "$SCRATCH/err" >&2
URL=$(sed -n 's|^listening on \(.*\)/$|\1|p' "$SCRATCH/log")
of_user() { # UID: processes of this test
    local status
    for status in /proc/[0-9]*/status; do
        awk -v user="$1" '/^Name:/ { name = $2 } /^Pid:/ { pid = $2 }
            /^Uid:/ && $2 == user && $3 == user && name == "nmtwatch" { print pid }' "$status" 2>/dev/null
    done
}
HELPER=$(of_user $helper | head -n 1)
SERVICE=$(of_user $service | head -n 1)
field() { sed -n "s/^$2:[[:space:]]*\([^[:space:]]*\).*/\1/p" "/proc/$1/status"; }
check "there are two processes, of two users" test -n "$HELPER" -a -n "$SERVICE"
is "the service is the helper's child" "$(field "$SERVICE" PPid)" "$HELPER"
for what in CapInh CapPrm CapEff CapBnd CapAmb; do
    is "the service's $what is empty" "$(field "$SERVICE" $what)" 0000000000000000
done
is "its filter holds in every thread" "$(grep -h '^Seccomp:' "/proc/$SERVICE"/task/*/status | sort -u)" \
    "$(printf 'Seccomp:\t2')"
# The unit's own filter is the first.
is "it is one more than the helper's" "$(field "$SERVICE" Seccomp_filters)" $(($(field "$HELPER" Seccomp_filters) + 1))
is "the helper has what the unit gives it and no more" "$(field "$HELPER" CapPrm) $(field "$HELPER" CapBnd)" \
    "$(as_bits "$(capabilities AmbientCapabilities)") $(as_bits "$(capabilities CapabilityBoundingSet)")"

metrics() { curl -s --max-time 10 -u scraper:secret "$URL/metrics"; }
has() { metrics | grep -q "^$1"; }
is "a file of passwords that only root reads is in force" \
    "$(curl -s -o /dev/null -w '%{http_code}' "$URL/metrics")" 401
for name in "${names[@]}"; do
    label=${user_of[$name]}/$mine-$name
    check "$name: answers" wait_for 30 has "nmtwatch_up{target=\"$label\"} 1"
    check "$name: NMT" wait_for 30 has "jvm_native_memory_committed_bytes{target=\"$label\",.*pool=\"Total\"} [1-9]"
done
is "no other JVM is there" "$(metrics | grep -c '^nmtwatch_up{')" "${#names[@]}"
check "it records, as its user" wait_for 20 sh -c "ls $SCRATCH/own/recordings/*"
is "... and nobody else writes there" "$(find "$SCRATCH/own" -not -user $service)" ""
check "systemd is told that it is ready" wait_for 10 grep -q "^$HELPER READY=1" "$SCRATCH/told"
check "and that it lives" wait_for 10 grep -q "^$HELPER WATCHDOG=1" "$SCRATCH/told"
is "by the helper only" "$(grep -v '^listens' "$SCRATCH/told" | cut -d ' ' -f 1 | sort -u)" "$HELPER"
silent "nothing was refused" cat "$SCRATCH/err"

kill -HUP "$HELPER"
check "a reload" wait_for 20 grep -q '^configuration read again' "$SCRATCH/log"
kill -TERM "$HELPER"
gone() { ! kill -0 "$1" 2>/dev/null || [ "$(field "$1" State)" = Z ]; }
check "SIGTERM ends both" wait_for 20 gone "$SERVICE"
check "and says so" wait_for 10 grep -q "^$HELPER STOPPING=1" "$SCRATCH/told"

# --- single measurements with the same capabilities, of the same user --------------------------------------

list=$(in_unit /mnt/nmtwatch list --json 2>"$SCRATCH/err")
contained() { jq -r ".jvms[] | select(.pid == $1) | .container" <<<"$list"; } # PID
# Whoever has mounts of its own tells the host by process 1.
contained=false
if [ -e /proc/1/root/. ]; then
    is "a JVM of the host is of the host" "$(contained "$pretends")" false
else
    contained=true
    skip "a JVM of the host is of the host" "refused: process 1 cannot be looked at here"
fi
is "one with other mounts is not" "$(contained "$boxed")" true
for jdk in "${!real[@]}"; do
    pid=${real[$jdk]}
    is "$jdk: list" "$(jq -r ".jvms[] | select(.pid == $pid) | [.jdk_major, .nmt, .container] | join(\" \")" <<<"$list")" \
        "$jdk summary $contained"
    exits "$jdk: check" 0 in_unit /mnt/nmtwatch check "$pid"
    agent=$(dirname "$NMTWATCH")/libnmtagent.so
    if [ -e "$agent" ]; then
        cp "$agent" "$SCRATCH"
        chmod 755 "$SCRATCH/libnmtagent.so"
        exits "$jdk: profile" 0 in_unit /mnt/nmtwatch profile "$pid" start --file /tmp/unit-$$.jfr
        # As if a JVM had been killed; who looks has another /tmp.
        left=/tmp/.nmtagent_4194$jdk
        setpriv --reuid "$(field "$pid" Uid)" --clear-groups cp "/tmp/.nmtagent_$pid" "$left"
        in_unit /mnt/nmtwatch list >/dev/null 2>&1
        check "$jdk: what a killed JVM left in the host's /tmp is removed" test ! -e "$left"
        check "$jdk: what is in use stays" test -e "/tmp/.nmtagent_$pid"
        rm -f "$left"
        in_unit /mnt/nmtwatch profile "$pid" stop >/dev/null 2>&1
        rm -f /tmp/unit-$$.jfr*
    fi
done
is "no .attach_pid file is left" "$(find /tmp -maxdepth 1 -name '.attach_pid*' \( -user $one -o -user $two \))" ""

# --- where there is no such user, or no right to become it --------------------------------------------

printf '[serve]\nlisten = 127.0.0.1:0\nuser = %s\n' $helper >"$SCRATCH/same.ini"
exits "the helper's own user is none for the service" 64 in_unit /mnt/nmtwatch serve --config /mnt/same.ini --for 1s
contains "which is said" "$OUTPUT" "is the user of the helper"
printf '[serve]\nlisten = 127.0.0.1:0\nuser = %s\n' $service >"$SCRATCH/weak.ini"
exits "without capabilities it is one process" 0 setpriv --reuid $one --regid $one --clear-groups \
    "$SCRATCH/nmtwatch" serve --listen 127.0.0.1:0 --user $service --for 1s
contains "which is said, too" "$OUTPUT" "this is one process"
done_testing
