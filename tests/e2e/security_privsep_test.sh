#!/bin/bash
# timeout: 300
# `serve` in two processes: the one that parses, judges and answers has no rights and does all the
# same what serve promises; the end of either ends both.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
for program in "$NMTWATCH" "$FAKE_JVM"; do
    need_built "$program"
done
need curl
need_library 'libmicrohttpd\.so\.12'
[ "$(id -u)" = 0 ] || skip_all "refused: needs root, which it is about"
setpriv --reuid 54321 --clear-groups true 2>/dev/null || skip_all "refused: setpriv cannot change the user here"
case $NMTWATCH in
build/asan/*) skip_all "refused: a sanitizer's run-time library makes other system calls" ;;
esac

service=54323
one=54321
two=54322
cp "$FAKE_JVM" "$SCRATCH/fake_jvm"
chmod 755 "$SCRATCH" "$SCRATCH/fake_jvm"
mkdir "$SCRATCH/own"
chown "$service" "$SCRATCH/own"
mine=privsep$$
declare -A user_of=([boxed]=$one) # by name: it is in front of the label

fake() { # USER NAME OPTION...: pid in $SPAWNED
    local user=$1 name=$2
    shift 2
    user_of[$name]=$user
    SERVE_TEST=$mine-$name spawn setpriv --reuid "$user" --regid "$user" --clear-groups \
        "$SCRATCH/fake_jvm" --for 250 --socket now "$@" >"$SCRATCH/$name.out"
    wait_for 20 grep -q '^ready' "$SCRATCH/$name.out"
}
serve_start() { # LINE...
    {
        printf '[thresholds]\ninternal_investigate_bytes = 50MB\n[serve]\nlisten = 127.0.0.1:0\n'
        printf 'discover = 500ms\nmin_age = 100ms\ntarget = %%{env:SERVE_TEST|main}\n'
        printf 'include = label:%s-*\n' "$mine"
        printf '%s\n' "$@"
        printf '[watch]\nnmt_interval = 1s\n'
    } >"$SCRATCH/serve.ini"
    chmod 600 "$SCRATCH/serve.ini"
    : >"$SCRATCH/log"
    # No shell between: the helper is this pid.
    spawn "$NMTWATCH" serve --config "$SCRATCH/serve.ini" --for 200s >"$SCRATCH/log" 2>"$SCRATCH/err"
    HELPER=$SPAWNED
    wait_for 20 grep -q '^listening' "$SCRATCH/log" || cat "$SCRATCH/err" >&2
    URL=$(sed -n 's|^listening on \(.*\)/$|\1|p' "$SCRATCH/log")
    SERVICE=$(tr ' ' '\n' <"/proc/$HELPER/task/$HELPER/children" | while read -r child; do
        [ -n "$child" ] && awk -v child="$child" -v user="$service" \
            '/^Uid:/ && $2 == user { print child }' "/proc/$child/status" 2>/dev/null
    done | head -n 1)
}
metric() { curl -s --max-time 10 "$URL/metrics" | awk -v series="$1" 'index($0, series " ") == 1 { print $NF }'; }
is_metric() { [ "$(metric "$1")" = "$2" ]; }
up() { printf 'nmtwatch_up{target="%s/%s-%s"}' "${user_of[$1]}" "$mine" "$1"; }
raised() { grep "\"target\":\"${user_of[$1]}/$mine-$1\"" "$SCRATCH/own/notified" 2>/dev/null | grep -c '"state":"raised"'; }
has_raised() { [ "$(raised "$1")" -ge 1 ]; }
field() { sed -n "s/^$2:[[:space:]]*\([^[:space:]]*\).*/\1/p" "/proc/$1/status"; }
gone() { ! kill -0 "$1" 2>/dev/null || [ "$(field "$1" State)" = Z ]; }

fake "$one" calm
fake "$two" grows --rate 5
# In mounts of its own, as in a container: its /tmp is another.
boxes=0
if unshare -m true 2>/dev/null; then
    box=$(mktemp -d /var/tmp/privsep.XXXXXX)
    cp "$FAKE_JVM" "$box/fake_jvm"
    chmod -R a+rX "$box"
    SERVE_TEST=$mine-boxed spawn unshare -m sh -c "mount -t tmpfs tmpfs /tmp &&
        exec setpriv --reuid $one --regid $one --clear-groups $box/fake_jvm --for 250 --socket now" \
        >"$SCRATCH/boxed.out"
    wait_for 20 grep -q '^ready' "$SCRATCH/boxed.out"
    rm -r "$box"
    boxes=1
fi
set -- "user = $service" "state = $SCRATCH/own/state" "recordings = $SCRATCH/own/recordings" \
    "notify = { id -u >>$SCRATCH/own/who; cat; echo; } >>$SCRATCH/own/notified"
serve_start "$@"

# --- what the serving process may do --------------------------------------------------------------

check "there is a serving process" test -n "$SERVICE"
is "it is the user of the configuration" "$(field "$SERVICE" Uid)" "$service"
for what in CapInh CapPrm CapEff CapAmb; do
    is "$what is empty" "$(field "$SERVICE" "$what")" 0000000000000000
done
is "no new privileges" "$(field "$SERVICE" NoNewPrivs)" 1
is "no groups" "$(sed -n 's/^Groups:[[:space:]]*//p' "/proc/$SERVICE/status")" ""
is "a filter, in every thread" "$(grep -h '^Seccomp:' "/proc/$SERVICE"/task/*/status | sort -u)" \
    "$(printf 'Seccomp:\t2')"
is "the helper is root" "$(field "$HELPER" Uid)" 0
is "and answers nobody: it has no socket of the network" "$(find "/proc/$HELPER/fd" -lname 'socket:*' \
    -printf '%l\n' | tr -dc '0-9\n' | while read -r inode; do
    grep -E "^ *[0-9]+: .* $inode " /proc/net/tcp /proc/net/tcp6 /proc/net/udp
done)" ""

# --- and it does what serve does ------------------------------------------------------------------

check "JVMs of two users are watched" wait_for 20 is_metric nmtwatch_targets $((2 + boxes))
check "they answer: calm" wait_for 20 is_metric "$(up calm)" 1
check "they answer: grows" wait_for 20 is_metric "$(up grows)" 1
if [ $boxes = 1 ]; then
    check "so does one in mounts of its own" wait_for 20 is_metric "$(up boxed)" 1
else
    skip "so does one in mounts of its own" "refused: unshare -m"
fi
check "an alert is raised, and its command run" wait_for 60 has_raised grows
is "as the service's user" "$(sort -u "$SCRATCH/own/who" 2>/dev/null || sort -u "$SCRATCH/own/notified" | grep -x "$service")" "$service"
check "there are recordings" wait_for 20 sh -c "ls $SCRATCH/own/recordings/*"
is "which belong to it" "$(find "$SCRATCH/own" -not -user "$service")" ""
before=$(raised grows)
check "state is written" wait_for 20 sh -c "ls $SCRATCH/own/state/*"

# --- a reload, a restart --------------------------------------------------------------------------

chmod 600 "$SCRATCH/serve.ini"
kill -HUP "$HELPER"
check "a configuration that only root reads is read again" \
    wait_for 20 grep -q '^configuration read again' "$SCRATCH/log"
kill -TERM "$HELPER"
check "SIGTERM ends both" wait_for 20 gone "$SERVICE"
wait "$HELPER"
is "well" "$?" 0
serve_start "$@"
check "after a restart both are watched again" wait_for 20 is_metric nmtwatch_targets $((2 + boxes))
sleep 3
is "and no alert is said twice" "$(raised grows)" "$before"

# --- the end of either ----------------------------------------------------------------------------

kill -KILL "$SERVICE"
check "without the service there is no helper" wait_for 10 gone "$HELPER"
serve_start "$@"
kill -KILL "$HELPER"
check "without the helper there is no service" wait_for 10 gone "$SERVICE"
is "and nothing is left in the JVMs' /tmp" "$(find /tmp -maxdepth 1 -name '.attach_pid*' -user "$one")" ""

# --- without the key --------------------------------------------------------------------------------

serve_for_a_moment() { "$NMTWATCH" serve --listen 127.0.0.1:0 --include main:nobody --for 2s "$@" 2>&1; }
contains "an empty key: one process, which is said" "$(serve_for_a_moment --user '')" \
    "one process, as root: 'user' in [serve] is empty"
{
    grep -v '^nmtwatch:' /etc/passwd
    echo "nmtwatch:x:$service:$service::/:/bin/false"
} >"$SCRATCH/passwd"
grep -v '^nmtwatch:' /etc/passwd >"$SCRATCH/passwd-without"
with_users() { # FILE COMMAND...: with these users on the machine
    unshare -m sh -c 'mount --bind "$1" /etc/passwd && shift && exec "$@"' sh "$@"
}
mkdir "$SCRATCH/own/auto" "$SCRATCH/roots"
chown "$service" "$SCRATCH/own/auto"
if [ $boxes = 1 ]; then
    moment=("$NMTWATCH" serve --listen 127.0.0.1:0 --include main:nobody --for 2s)
    contains "no user nmtwatch: one process, which is said" "$(with_users "$SCRATCH/passwd-without" "${moment[@]}" 2>&1)" \
        "one process, as root: there is no user nmtwatch"
    said=$(with_users "$SCRATCH/passwd" "${moment[@]}" --state "$SCRATCH/roots" 2>&1)
    contains "folders of root: one process, which is said" "$said" "do not belong to the user nmtwatch"
    spawn with_users "$SCRATCH/passwd" "${moment[@]}" --for 60s --state "$SCRATCH/own/auto" >"$SCRATCH/auto" 2>&1
    wait_for 20 grep -q '^listening' "$SCRATCH/auto"
    child_of() { tr ' ' '\n' <"/proc/$1/task/$1/children" | head -n 1; } # workers come after it
    helper=$(child_of "$SPAWNED") # of the shell that runs the function
    child=$(child_of "$helper")
    is "else the user nmtwatch, without being asked for" "$(field "$child" Uid)" "$service"
    lacks_in "and no word of one process" "$SCRATCH/auto" "one process"
    kill -TERM "$helper"
    wait "$SPAWNED"
else
    skip "without the key" "refused: unshare -m"
fi

# --- what cannot be -------------------------------------------------------------------------------

exits "root is no user for it" 64 "$NMTWATCH" serve --listen 127.0.0.1:0 --user root --for 1s
exits "nor is one that is not there" 64 "$NMTWATCH" serve --listen 127.0.0.1:0 --user no-such-user --for 1s
done_testing
