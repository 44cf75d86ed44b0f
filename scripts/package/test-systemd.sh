#!/bin/bash
# test-systemd: the Debian package's service under a systemd of its own, booted in a container: JVMs of users that are
# made for a unit and with a /tmp of their own, reload, every process killed, the watchdog, a child that is out of memory,
# a wrong configuration. Three to five minutes; `make test-deb` runs it.
#
# usage: test-systemd.sh [BUILD|PACKAGE]    needs root, systemd-nspawn (systemd-container), debootstrap, a JDK 17, curl;
#                                           $NMTWATCH_ROOT: a system that debootstrap has made, to be copied

set -eu
. "$(dirname "$0")/../lib.sh"
package=${1:-build}
[ ! -d "$package" ] || package=$(ls "$package"/deb/nmtwatch_*.deb "$package"/release/nmtwatch_*.deb 2>/dev/null | head -n 1)
fail() {
    echo "test-systemd: $*" >&2
    exit 1
}
[ -f "$package" ] || fail "there is no package ${1:-in build/deb or build/release}: make deb, or make release"
[ "$(id -u)" = 0 ] || fail "needs root"
for command in systemd-nspawn debootstrap nsenter curl; do
    command -v $command >/dev/null || fail "$command is missing"
done
jdk=$(jdk_home 17) || fail "no JDK 17"
trial_begin systemd

# --- the system ------------------------------------------------------------------------------------

if [ -n "${NMTWATCH_ROOT:-}" ]; then
    cp -a "$NMTWATCH_ROOT" "$root"
else
    nice debootstrap --variant=minbase \
        --include=systemd,systemd-sysv,dbus,openjdk-17-jre-headless,libmicrohttpd12,libunwind8,adduser,procps \
        bookworm "$root" "$(debian_mirror)" >"$scratch/debootstrap" 2>&1 || fail "debootstrap: $(tail -n 1 "$scratch/debootstrap")"
fi
mkdir -p "$root/opt/test"
cat >"$scratch/Idle.java" <<'JAVA'
public class Idle { public static void main(String[] a) throws Exception { Thread.sleep(3600000); } }
JAVA
cat >"$scratch/Explodes.java" <<'JAVA'
import java.lang.reflect.Proxy;
import java.util.*;
public class Explodes {
    public static void main(String[] a) throws Exception {
        List<Object> kept = new ArrayList<>();
        for (;; Thread.sleep(20))
            kept.add(Proxy.newProxyInstance(new ClassLoader() { }, new Class<?>[] {Runnable.class}, (p, m, x) -> null));
    }
}
JAVA
"$jdk/bin/javac" -d "$root/opt/test" "$scratch"/*.java
cp "$package" "$root/opt/test/nmtwatch.deb"
inside dpkg -i /opt/test/nmtwatch.deb >"$scratch/install" 2>&1 || fail "dpkg: $(tail -n 1 "$scratch/install")"
unit=$(cd "$root" && find usr/lib/systemd lib/systemd -name nmtwatch.service | head -n 1)
step "the unit is where systemd looks" test -n "$unit"
cp "$root/etc/nmtwatch/serve.ini" "$scratch/serve.ini"

# --- booted ----------------------------------------------------------------------------------------

# Without a systemd of the host: no unit for it, and a /run that nspawn may clean.
# shellcheck disable=SC2016 # for the other shell
setsid unshare -m sh -c 'mount -t tmpfs tmpfs /run && exec systemd-nspawn --quiet --directory="$0" --boot --register=no \
    --keep-unit --private-network --console=pipe --machine=nmtwatch-test' "$root" </dev/null >"$scratch/console" 2>&1 &
nspawn=$!
power_off() {
    kill -KILL "$nspawn" ${leader:+"$leader"} 2>/dev/null || true
    wait "$nspawn" 2>/dev/null || true
}
trap 'power_off; rm -rf --one-file-system "$scratch"' EXIT
booted() { # COMMAND... in there
    nsenter -t "$leader" -m -p -i -u -n -C /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"
}
until_true() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.5
    done
}
leader=""
find_leader() {
    local pid
    for pid in $(cat "/proc/$nspawn/task/$nspawn/children" 2>/dev/null); do
        [ "$(cat "/proc/$pid/comm")" != systemd ] || leader=$pid
    done
    [ -n "$leader" ]
}
up() { booted systemctl is-system-running | grep -qE 'running|degraded'; }
until_true 60 find_leader || fail "the container does not start: $(tail -n 3 "$scratch/console")"
until_true 120 up || fail "systemd does not come up: $(tail -n 3 "$scratch/console")"

property() { booted systemctl show -P "$1" nmtwatch; }
active() { [ "$(property ActiveState)" = active ]; }
metrics() { nsenter -t "$leader" -n curl -s --max-time 5 http://127.0.0.1:9779/metrics; }
processes() { # of the service, by their numbers in there
    booted sh -c 'cat /proc/[0-9]*/cgroup /dev/null >/dev/null 2>&1; for p in /proc/[0-9]*; do
        grep -q nmtwatch.service $p/cgroup 2>/dev/null && echo ${p#/proc/}; done; true'
}
java() { # UNIT MAIN PROPERTY...
    local name=$1 main=$2
    shift 2
    booted systemd-run --quiet --unit="$name" "${@/#/--property=}" java -XX:NativeMemoryTracking=summary -Xmx64m \
        -XX:TieredStopAtLevel=1 -cp /opt/test "$main" "$name"
}
journal() { booted journalctl -q -o cat -u nmtwatch "$@"; }

step "it starts" booted systemctl start nmtwatch
step "... and is active" active
step "... as two processes" sh -c "[ $(processes | wc -l) = 2 ]"
java made Idle DynamicUser=yes
java private Idle PrivateTmp=yes User=nobody
java filtered Idle SystemCallFilter=@system-service User=daemon # which kills it for NMT's mincore()
printf '[serve]\nlisten = 127.0.0.1:9779\nstate = /var/lib/nmtwatch/state\nuser = nmtwatch\ntarget = %%{user}-%%{main}\n' \
    >"$root/etc/nmtwatch/serve.ini"
step "a right configuration is taken" booted systemctl reload nmtwatch
sed -i 's/^listen/lisden/' "$root/etc/nmtwatch/serve.ini"
step "a wrong one fails the reload" sh -c "! $(declare -f booted); leader=$leader; ! booted systemctl reload nmtwatch"
step "... with the reason" sh -c "$(declare -f booted journal); leader=$leader; journal | grep -q \"unknown key 'lisden'\""
step "... and it is active as before" active
sed -i 's/^lisden/listen/' "$root/etc/nmtwatch/serve.ini"
two_seen() { [ "$(metrics | grep -cE '^jvm_native_memory_committed_bytes\{target="[^"]*Idle[^"]*",pool="Internal"\} [1-9]')" = 2 ]; }
step "NMT of a JVM with a user of its own, and of one with a /tmp of its own" until_true 60 two_seen
filtered_seen() { metrics | grep -qE '^nmtwatch_up\{target="daemon-Idle"[^}]*\} 1'; }
step "a JVM whose unit's filter kills it for NMT is watched" until_true 30 filtered_seen
pid=$(booted systemctl show -P MainPID filtered)
for words in "check $pid" "triage $pid --for 2s -o /tmp/triage" "profile $pid start" "profile $pid stop" "doctor $pid"; do
    # shellcheck disable=SC2086 # words
    booted nmtwatch $words >"$scratch/filtered" 2>&1 || true
    step "... and lives: ${words%% *}" booted systemctl is-active filtered
done
step "... as the same process" test "$(booted systemctl show -P MainPID filtered)" = "$pid"

java bad Explodes User=nobody
critical() { property StatusText | grep -qE '; 1 CRITICAL: .*Explodes'; }
step "the worst finding is in the status" until_true 90 critical
step "an alert has its priority in the journal" sh -c "$(declare -f booted journal); leader=$leader; journal -p crit | grep -q 'ALERT CRITICAL'"
booted systemctl stop bad

main=$(property MainPID)
again() { active && [ "$(property MainPID)" != "$main" ] && two_seen; }
booted kill -KILL "$main"
step "the helper is killed: it is back, and sees its JVMs" until_true 60 again
step "... and nothing of the old one stays" sh -c "[ $(processes | wc -l) = 2 ]"
main=$(property MainPID)
booted kill -KILL "$(processes | grep -vx "$main" | tail -n 1)"
step "the other process is killed: it is back" until_true 60 again
main=$(property MainPID)
booted kill -STOP "$main"
step "it is stopped: the watchdog brings it back" until_true 90 again

step "a child's lack of memory is not its end" test "$(property OOMPolicy)" = continue
main=$(property MainPID)
group=$(property ControlGroup)
booted sh -c "for f in /sys/fs/cgroup/memory$group /sys/fs/cgroup/unified$group /sys/fs/cgroup$group; do
    [ ! -e \$f/cgroup.procs ] || echo 0 >\$f/cgroup.procs; done 2>/dev/null; exec tail /dev/zero" >"$scratch/oom" 2>&1 || true
step "... a process of its group ran out of memory: it goes on" until_true 20 active
step "... as the same one" test "$(property MainPID)" = "$main"

step "it stops" booted systemctl stop nmtwatch
step "... and nothing stays" test -z "$(processes)"
echo "wrong" >>"$root/etc/nmtwatch/serve.ini"
booted systemctl start nmtwatch >/dev/null 2>&1 || true
sleep 12 # twice RestartSec
step "a wrong configuration: it fails once" test "$(property ActiveState) $(property ExecMainStatus) $(property NRestarts)" = "failed 64 0"
cp "$scratch/serve.ini" "$root/etc/nmtwatch/serve.ini"
step "the package is purged while systemd runs" booted dpkg -P nmtwatch
[ $failed = 0 ] && echo "test-systemd: $(basename "$package") is fine"
exit $failed
