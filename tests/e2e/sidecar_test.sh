#!/bin/bash
# Where nmtwatch itself may be: in a sidecar of the JVM's container, without rights, behind a /proc
# that hides or lies, in a user namespace, under a seccomp filter. It works there, or says why not.
# timeout: 180
. "$(dirname "$0")/containers.sh"

OURS=$SCRATCH/nmtwatch
PORT=0

refuses() { # WHAT CODE SENTENCE COMMAND...
    local what=$1 code=$2 sentence=$3
    shift 3
    exits "$what" "$code" "$@"
    contains "$what: says why" "$OUTPUT" "$sentence"
}

user() { # UID: words before a command
    USER_WORDS=(/bin/setpriv --reuid "$1" --regid "$1" --clear-groups)
}

# In the pid namespace of a JVM, with a root, a /tmp and a /proc of its own.
sidecar() { # PID HOME COMMAND...
    local pid=$1 home=$2
    shift 2
    mkdir -p /mnt/sidecar
    nsenter -t "$pid" -p unshare -m bash -c 'inside_pivot "$@"' sh /mnt/sidecar "$home" tmpfs "$@"
}

# Shares only the pid namespace, and has our programs.
beside() { # PID COMMAND...
    local pid=$1
    shift
    # shellcheck disable=SC2016 # for the other shell
    nsenter -t "$pid" -p unshare -m bash -c \
        'mount -t proc proc /proc && mount -t tmpfs -o mode=1777 none /tmp && exec "$@"' sh "$@"
}

listening() {
    PORT=$(sed -n 's|^listening on http://127.0.0.1:\([0-9]*\)/$|\1|p' "$SCRATCH/serve.log")
    [ -n "$PORT" ]
}

serves() {
    curl -s --max-time 5 "http://127.0.0.1:$PORT/metrics" >"$SCRATCH/metrics"
    grep -q '^jvm_native_memory_committed_bytes{.*workloads.Workload' "$SCRATCH/metrics"
}

for jdk in 17 25; do
    have_jdk $jdk || {
        skip "sidecars of JDK $jdk" "no JDK $jdk in /usr/lib/jvm"
        continue
    }
    home=$(JDK=$jdk scripts/workloads.sh jdk)
    contain $jdk box UID_IN=4711 --
    contain $jdk own IN=private UID_IN=4711 --
    contained
    box=${C_PID[$jdk/box]}
    own=${C_PID[$jdk/own]}

    # A sidecar, as the JVM's own user.
    user 4711
    exits "$jdk: sidecar: list" 0 sidecar "$box" "$home" "${USER_WORDS[@]}" /bin/nmtwatch list --json
    is "$jdk: sidecar: sees the JVM as it sees itself" \
        "$(jq -c '.jvms | map([.pid, .nspid, .main])' <<<"$OUTPUT" 2>&1)" '[[1,1,"workloads.Workload"]]'
    exits "$jdk: sidecar: check" 0 sidecar "$box" "$home" "${USER_WORDS[@]}" /bin/nmtwatch check 1
    exits "$jdk: sidecar: watch" 0 sidecar "$box" "$home" "${USER_WORDS[@]}" /bin/nmtwatch watch 1 --for 1s
    exits "$jdk: sidecar: check under seccomp" 0 sidecar "$box" "$home" \
        "${USER_WORDS[@]}" /bin/deny /bin/nmtwatch check 1
    # Its agent is in the JVM's image as well, in the same place: no copy is made.
    exits "$jdk: sidecar: profile" 0 sidecar "$box" "$home" "${USER_WORDS[@]}" \
        /bin/nmtwatch profile 1 start
    check "$jdk: sidecar: the agent of the image" grep -q ' /lib/libnmtagent.so$' "/proc/$box/maps"
    exits "$jdk: sidecar: stop" 0 sidecar "$box" "$home" "${USER_WORDS[@]}" \
        /bin/nmtwatch profile 1 stop
    user 4712
    refuses "$jdk: sidecar of another user" 13 "belongs to another user" \
        sidecar "$box" "$home" "${USER_WORDS[@]}" /bin/nmtwatch watch 1 --for 1s
    user 4711

    if command -v curl >/dev/null && ldconfig -p | grep -q 'libmicrohttpd\.so\.12'; then
        printf '%s\n' '[serve]' 'listen = 127.0.0.1:0' 'discover = 200ms' 'min_age = 100ms' \
            'state = /mnt/state' >/mnt/serve.ini
        cp "$NMTWATCH" /mnt/nmtwatch # its own place may lie below /tmp
        spawn beside "$box" /mnt/nmtwatch serve --config /mnt/serve.ini \
            >"$SCRATCH/serve.log" 2>&1
        wait_for 10 listening || fail "$jdk: serve in a sidecar" "$(cat "$SCRATCH/serve.log")"
        check "$jdk: serve in a sidecar: exports the JVM" wait_for 10 serves
        kill_jvm "$SPAWNED"
        rm -rf /mnt/state
    else
        fail "$jdk: serve in a sidecar" "curl or libmicrohttpd is not installed"
    fi

    # Inside of the container, as `docker exec` does it.
    exits "$jdk: inside: check by root" 0 nsenter -t "$box" -m -p -r -w /bin/nmtwatch check 1
    exits "$jdk: inside: check by its user" 0 nsenter -t "$box" -m -p -r -w \
        "${USER_WORDS[@]}" /bin/nmtwatch check 1
    exits "$jdk: inside: profile" 0 nsenter -t "$box" -m -p -r -w \
        "${USER_WORDS[@]}" /bin/nmtwatch profile 1 status

    # A /proc that hides.
    user 4712
    hidden() {
        # shellcheck disable=SC2016 # for the other shell
        unshare -m sh -c 'mount -t proc -o hidepid=$0 proc /proc && exec "$@"' "$@"
    }
    for level in 1 2; do
        refuses "$jdk: hidepid=$level" 25 "hidden by /proc" \
            hidden $level "${USER_WORDS[@]}" "$OURS" watch "$own" --for 1s
        exits "$jdk: hidepid=$level: check" 3 hidden $level "${USER_WORDS[@]}" "$OURS" check "$own"
        contains "$jdk: hidepid=$level: check says why" "$OUTPUT" "hidden by /proc"
        exits "$jdk: hidepid=$level: list" 0 hidden $level "${USER_WORDS[@]}" "$OURS" list
        contains "$jdk: hidepid=$level: list says that it does not see all" "$OUTPUT" "hidepid"
    done
    user 4711
    exits "$jdk: hidepid=2: one's own" 0 hidden 2 "${USER_WORDS[@]}" "$OURS" check "$own"
    exits "$jdk: hidepid=2: root" 0 hidden 2 "$OURS" check "$own"
    refuses "$jdk: hidepid=2: a number of nobody" 12 "no such process" \
        hidden 2 "${USER_WORDS[@]}" "$OURS" watch 4194000 --for 1s

    # A /proc of other processes: signals would go to the wrong ones.
    refuses "$jdk: /proc of another pid namespace" 26 "/proc" \
        unshare -p -f "$OURS" watch "$own" --for 1s
    refuses "$jdk: /proc of another pid namespace: list" 26 "/proc" unshare -p -f "$OURS" list
    # It may be mounted more than once.
    # shellcheck disable=SC2016 # for the other shell
    refuses "$jdk: no /proc" 26 "/proc" unshare -m sh -c \
        'umount -l /proc && while umount -l /proc 2>/dev/null; do :; done; exec "$@"' sh "$OURS" watch "$own" --for 1s

    # Namespaces of users, and less than all of root.
    user 4711
    refuses "$jdk: root of a user namespace" 27 "user namespace" \
        "${USER_WORDS[@]}" unshare -U -r "$OURS" watch "$own" --for 1s
    refuses "$jdk: root without CAP_SYS_PTRACE" 13 "CAP_SYS_PTRACE" \
        setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace "$OURS" watch "$own" --for 1s

    # Kernels and filters without the calls that are asked first.
    for name in box own; do
        exits "$jdk/$name: check under seccomp" 0 "$SCRATCH/image/bin/deny" "$OURS" check "${C_PID[$jdk/$name]}"
    done
    for name in "${C_NAMES[@]}"; do
        check "$name: is unharmed" kill -0 "${C_PID[$name]}"
        lacks_in "$name: no thread dump in its log" "${C_LOG[$name]}" "Full thread dump"
    done
    contain_end
done
done_testing
