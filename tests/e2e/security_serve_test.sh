#!/bin/bash
# timeout: 300
# Users of a host against root's `serve`: each part plays the attacker. What he wants: the memory of the
# daemon, its time, its connections, the name of somebody else's JVM, and its log.
# Users are numbers that are nobody's here; the rest of the machine is left out by rules of serve.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
if [ ! -x "$NMTWATCH" ] || [ ! -x "$FAKE_JVM" ]; then
    skip_all "nmtwatch or fake_jvm is not built"
fi
[ "$(id -u)" = 0 ] || skip_all "refused: needs root: it starts processes of other users"
ldconfig -p | grep -q 'libmicrohttpd\.so\.12' || skip_all "libmicrohttpd is not installed"
command -v curl >/dev/null || skip_all "curl is not installed"
setpriv --reuid 54321 --clear-groups true 2>/dev/null || skip_all "refused: setpriv cannot change the user here"

evil=54321
bank=54322
cp "$FAKE_JVM" "$SCRATCH/fake_jvm"
chmod 755 "$SCRATCH" "$SCRATCH/fake_jvm"
mkdir "$SCRATCH/evil"
chown "$evil" "$SCRATCH/evil"

as() { # USER COMMAND...
    local user=$1
    shift
    spawn setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}
fake() { # USER MAIN OPTION...: pid in $SPAWNED
    local user=$1 main=$2 log
    shift 2
    log=$SCRATCH/fake.$((++FAKES))
    as "$user" "$SCRATCH/fake_jvm" --for 200 --socket now --main "$main" "$@" >"$log" 2>&1
    wait_for 20 grep -q '^ready' "$log"
}
FAKES=0
serve() { # NAME LINE...: with these lines of [serve]; log in $LOG, address in $URL
    LOG=$SCRATCH/$1.log
    {
        printf '[serve]\nlisten = 127.0.0.1:0\ndiscover = 1s\nmin_age = 100ms\n'
        printf 'include = user:%s\ninclude = user:%s\n' "$evil" "$bank"
        printf '%s\n' "${@:2}"
        printf '[watch]\nnmt_interval = 1s\n'
    } >"$SCRATCH/$1.ini"
    spawn "$NMTWATCH" serve --config "$SCRATCH/$1.ini" --for 180s >"$LOG" 2>&1
    SERVE=$SPAWNED
    wait_for 20 grep -q '^listening' "$LOG"
    URL=$(sed -n 's|^listening on \(.*\)/$|\1|p' "$LOG")
}
metrics() { curl -s --max-time 10 "$URL/metrics"; }
value() { # NAME [PART OF LABELS]: of a metric, as an integer; 0 when it is not there
    metrics | awk -v name="$1" -v part="${2-}" '
        ($1 == name || index($1, name "{") == 1) && index($0, part) { sum += $NF } END { printf "%d\n", sum }'
}
at_least() { [ "$(value "$1" "$3")" -ge "$2" ]; }
end() { # PID...
    local pid
    for pid; do kill_jvm "$pid"; done
}

# --- memory: replies of 200 MB that do not end, of four JVMs at once ------------------------------------

fakes=()
for i in 1 2 3 4; do
    fake "$evil" "big.Reply$i" --pad-mb 200 --hold 30
    fakes+=("$SPAWNED")
done
fake "$bank" com.bank.App
fakes+=("$SPAWNED")
serve memory
check "the JVM of another user is asked all the same" \
    wait_for 30 at_least jvm_native_memory_committed_bytes 1 com.bank.App
sleep 12
peak_mb=$(($(awk '/^VmHWM/ { print $2 }' "/proc/$SERVE/status") / 1024))
if [ "$peak_mb" -lt 256 ]; then
    pass "four replies of 200 MB at once stay within the memory for replies ($peak_mb MB at most)"
else
    fail "four replies of 200 MB at once stay within the memory for replies" "resident: $peak_mb MB"
fi
check "and it is counted" at_least nmtwatch_replies_refused_total 1 ""
check "the daemon lives" kill -0 "$SERVE"
end "${fakes[@]}" "$SERVE"

# --- time: 60 executables with 65 535 sections each, looked at again and again -----------------------------

slow=$SCRATCH/evil/slow
cp "$(command -v sleep)" "$slow"
size=$(stat -c %s "$slow")
size=$(((size + 63) / 64 * 64))
truncate -s $((size + 64 * 65535)) "$slow"
bytes() { # NUMBER COUNT: little endian
    local number=$1 count=$2 text=''
    while ((count-- > 0)); do
        text+=$(printf '\\x%02x' $((number & 255)))
        number=$((number >> 8))
    done
    printf '%b' "$text"
}
patch_at() { dd of="$slow" bs=1 seek="$1" conv=notrunc status=none; } # OFFSET: from standard input
bytes "$size" 8 | patch_at 40
bytes 64 2 | patch_at 58
bytes 65535 2 | patch_at 60
bytes 1 2 | patch_at 62
chmod 755 "$slow"
if "$slow" 0; then
    fakes=()
    for ((i = 0; i < 60; i++)); do
        as "$evil" "$slow" 100
        fakes+=("$SPAWNED")
    done
    serve time
    wait_for 30 at_least nmtwatch_discoveries_total 6 ""
    spent=$(value nmtwatch_discovery_cpu_seconds_total)
    looks=$(value nmtwatch_discoveries_total)
    if [ "$looks" -ge 6 ] && [ "$spent" -lt 3 ]; then
        pass "60 executables with 65 535 sections each cost little ($looks looks, $spent s)"
    else
        fail "60 executables with 65 535 sections each cost little" "$looks looks took $spent s of CPU"
    fi
    end "${fakes[@]}" "$SERVE"
else
    skip "executables with 65 535 sections" "refused: the kernel does not run one"
fi

# --- room: more JVMs than one user may have ---------------------------------------------------------------

fakes=()
for ((i = 0; i < 8; i++)); do
    fake "$evil" "many.App$i"
    fakes+=("$SPAWNED")
done
fake "$bank" com.bank.App
fakes+=("$SPAWNED")
serve room 'max_targets = 6' 'max_targets_per_user = 4'
wait_for 20 at_least nmtwatch_up 5 ""
sleep 3
is "four JVMs of a user are watched" "$(value nmtwatch_up many.App)" 4
is "and those of others" "$(value nmtwatch_up com.bank.App)" 1
is "what is left out is counted" "$(value nmtwatch_jvms_over_limit)" 4
contains "and told" "$(cat "$LOG")" "4 JVMs of user $evil are watched (max_targets_per_user)"
end "${fakes[0]}" "${fakes[1]}" "${fakes[2]}" "${fakes[3]}" "${fakes[4]}"
check "room that becomes free is used" wait_for 20 at_least nmtwatch_up 3 many.App
end "${fakes[@]:5}" "$SERVE"

# --- connections: 300 that are held open, a byte now and then ---------------------------------------------

serve connections
port=${URL##*:}
hold_connections() {
    local fds=() i
    for ((;;)); do
        for ((i = 0; i < 300; i++)); do
            if [ -z "${fds[i]-}" ] || ! printf y >&"${fds[i]}"; then
                # shellcheck disable=SC1083 # an element of an array
                [ -z "${fds[i]-}" ] || exec {fds[i]}>&-
                fds[i]=
                # shellcheck disable=SC1083 # an element of an array
                exec {fds[i]}<>"/dev/tcp/127.0.0.1/$port" || fds[i]=
                [ -z "${fds[i]-}" ] || printf 'GET / HTTP/1.1\r\nHost: localhost\r\nX: ' >&"${fds[i]}"
            fi
        done
        sleep 0.3
    done
}
(
    trap '' PIPE
    hold_connections
) 2>/dev/null &
holder=$!
TAP_PIDS+=("$holder")
sleep 3
good=0
for ((i = 0; i < 10; i++)); do
    if curl -s --max-time 3 "$URL/metrics" 2>/dev/null | grep -q nmtwatch_build; then
        good=$((good + 1))
    fi
    sleep 0.3
done
if [ "$good" -ge 9 ]; then
    pass "scrapes are answered beside 300 connections that are held open ($good of 10)"
else
    fail "scrapes are answered beside 300 connections that are held open" "$good of 10"
fi
check "those that gave way are counted" at_least nmtwatch_http_connections_displaced_total 40 ""
end "$holder" "$SERVE"

# --- names: a stranger's JVM comes while the bank's is restarted -----------------------------------------

info() { metrics | grep '^nmtwatch_target_info'; }
label_of() { info | sed -n "s/.*{target=\"\([^\"]*\)\".*pid=\"$1\".*/\1/p"; } # PID
known() { [ -n "$(label_of "$1")" ]; }
fake "$bank" com.bank.App
first=$SPAWNED
serve names
wait_for 20 known "$first"
is "the user is part of a name" "$(label_of "$first")" "$bank/com.bank.App"
contains "user and control group are told" "$(info)" "user=\"$bank\",cgroup="
end "$first" "$SERVE"

fake "$bank" com.bank.App
first=$SPAWNED
fake "$evil" com.bank.App
stranger=$SPAWNED
serve names-by-main 'target = %{main}'
wait_for 20 known "$first"
is "it is part of a name whose template does not have it" "$(label_of "$first")" "$bank/com.bank.App"
wait_for 20 known "$stranger"
is "so a stranger's JVM of that class has another name" "$(label_of "$stranger")" "$evil/com.bank.App"
end "$first" "$stranger" "$SERVE"

done_testing
