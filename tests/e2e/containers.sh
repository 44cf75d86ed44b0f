# shellcheck shell=bash
# containers: JVMs in containers made by hand, with unshare, pivot_root and chroot. Source it first,
# before tap.sh: it runs the test once more in a mount namespace of its own, with which everything
# that is mounted here goes away.
#
#   contain 17 small TMP=link UID_IN=4711 -- -XX:-UsePerfData    a JVM called "17/small"
#   contained                                                    waits until all of them run
#
# What is there then: ${C_PID[17/small]} (its pid here), ${C_ROOT[...]} (its root as seen from here),
# ${C_LOG[...]} (its output). Words before "--":
#
#   IN=pivot|chroot|private   a root of its own with an own mount and pid namespace; a chroot in the
#                             namespaces of the test; our root with a private /tmp
#   TMP=tmpfs|link|noexec|readonly|none|shared   what its /tmp is; link: to its /elsewhere/tmp;
#                                                shared: the same for all that say so
#   UID_IN=N               its user, without a name there
#   USERS=map|none         a user namespace of its own, where UID_IN is root; or has no number at all
#   MUSL=1                 it looks as if it ran on musl
#   DENY=1                 under a seccomp filter like those of container engines (deny.c)
#
# The image has no JDK (a folder of ours, mounted at /opt/jdk), no shell, no user list, no libunwind,
# and is read-only.

if [ "$(id -u)" != 0 ]; then
    echo "ok 1 - containers # SKIP refused: needs root"
    echo "1..1"
    exit 0
fi
if [ -z "${IN_OWN_MOUNTS-}" ]; then
    # In a chroot there is no user namespace.
    if ! why=$(unshare -m -p -f --mount-proc mount -t tmpfs none /mnt 2>&1 && unshare -U true 2>&1); then
        echo "ok 1 - containers # SKIP refused: this kernel, or who runs us, forbids it: $why"
        echo "1..1"
        exit 0
    fi
    IN_OWN_MOUNTS=1 exec unshare -m "$0" "$@"
fi
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
. tests/e2e/fleet.sh

AGENT=$(realpath -m "$(dirname "$NMTWATCH")")/libnmtagent.so
NMTWATCH=$(realpath "$NMTWATCH")
LIBRARIES=/lib/$(multiarch)
MUSL_LIBC=/opt/ld-musl-$(uname -m).so.1
C_NAMES=()
declare -A C_PID C_ROOT C_LOG

# Roots are made here, where nobody removes anything: what is mounted below is the JDK itself.
mount -t tmpfs -o mode=755 none /mnt || skip_all "refused: nothing can be mounted here"
mkdir -m 1777 /mnt/shared
mkdir /mnt/app # where the classes are seen also with another /tmp, under which we may lie
mount --bind build/workloads/classes /mnt/app || skip_all "refused: nothing can be mounted here"

# A folder of $SCRATCH cannot be removed while something is mounted there in another place.
containers_cleanup() {
    local pid
    exec 2>/dev/null
    for pid in "${TAP_PIDS[@]}"; do
        kill_jvm "$pid"
    done
    wait_for 5 umount -R /mnt
    tap_cleanup
}
trap containers_cleanup EXIT

# Readable for every user, which a folder of mktemp is not.
chmod 755 "$SCRATCH"
cp "$NMTWATCH" "$SCRATCH/nmtwatch"
cp "$AGENT" "$SCRATCH/libnmtagent.so"

# The C library of a JDK that set-up has fetched, at the place where that JDK looks for it.
NATIVE=$(jdks_fetched)/root

image() {
    local name linker
    linker=$(dynamic_linker)
    mkdir -p "$SCRATCH/image${linker%/*}" "$SCRATCH/image$LIBRARIES" \
        "$SCRATCH"/image/{bin,opt/{jdk,agent},app,proc,dev} \
        "$SCRATCH"/image/{etc/java-17-openjdk,old,elsewhere/tmp,data}
    cp "$linker" "$SCRATCH/image$linker"
    [ ! -d "$NATIVE" ] || mkdir -p "$SCRATCH/image$NATIVE" || return
    for name in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libz.so.1 libgcc_s.so.1 \
        libstdc++.so.6 libcap-ng.so.0; do
        cp -L "$LIBRARIES/$name" "$SCRATCH/image$LIBRARIES/" || return
    done
    cp /usr/bin/setpriv /usr/bin/unshare "$SCRATCH/image/bin/"
    cp "$AGENT" "$SCRATCH/image/opt/agent/"
    cp "$AGENT" "$SCRATCH/image/lib/"
    cp "$NMTWATCH" "$SCRATCH/image/bin/"
    echo 'void nothing(void); void nothing(void) {}' >"$SCRATCH/nothing.c"
    "${CC:-gcc}" -shared -fPIC -o "$SCRATCH/image$MUSL_LIBC" "$SCRATCH/nothing.c" &&
        "${CC:-gcc}" -O1 -static -o "$SCRATCH/image/bin/deny" tests/e2e/deny.c || return
    cp -al "$SCRATCH/image" "$SCRATCH/image-link"
    cp -al "$SCRATCH/image" "$SCRATCH/image-none"
    ln -s /elsewhere/tmp "$SCRATCH/image-link/tmp"
    mkdir "$SCRATCH/image/tmp"
}
image >"$SCRATCH/image.log" 2>&1 || bail "no image: $(tail -n 1 "$SCRATCH/image.log")"

# Gives the image of an own mount namespace, or of a chroot, what it needs.
furnish() { # ROOT HOME TMP
    local root=$1 home=$2 tmp=$3 image=$SCRATCH/image name
    case $tmp in
    link | none) image=$image-$tmp ;;
    esac
    mount --bind "$image" "$root" && mount -t tmpfs -o mode=755 none "$root/dev" || return
    for name in null random urandom; do
        touch "$root/dev/$name"
        mount --bind "/dev/$name" "$root/dev/$name"
    done
    for name in "$home:opt/jdk" "$NATIVE:${NATIVE#/}" /etc/java-17-openjdk:etc/java-17-openjdk \
        build/workloads/classes:app; do
        [ ! -d "${name%:*}" ] || mount --bind -o ro "${name%:*}" "$root/${name#*:}" || return
    done
    mount -t tmpfs -o mode=1777 none "$root/data"
    mount -t proc proc "$root/proc"
    case $tmp in
    tmpfs) mount -t tmpfs -o mode=1777,exec none "$root/tmp" ;;
    noexec) mount -t tmpfs -o mode=1777,noexec none "$root/tmp" ;;
    readonly) mount -t tmpfs -o mode=1777,ro none "$root/tmp" ;;
    link) mount -t tmpfs -o mode=1777,exec none "$root/elsewhere/tmp" ;;
    shared) mount --bind /mnt/shared "$root/tmp" ;;
    esac
    mount -o remount,bind,ro "$root"
}

# As container engines do it: what was the root is not there any more.
pivot() { # ROOT COMMAND...
    cd "$1" && pivot_root . old && cd / || return
    shift
    LD_LIBRARY_PATH=/old$LIBRARIES:/old/usr$LIBRARIES /old/usr/bin/umount -l /old || return
    unset LD_LIBRARY_PATH
    if [ -n "${MUSL-}" ]; then export LD_PRELOAD=$MUSL_LIBC; fi
    exec "$@"
}

# Runs in namespaces of its own.
inside_pivot() { # ROOT HOME TMP COMMAND...
    furnish "$1" "$2" "$3" && pivot "$1" "${@:4}"
}
inside_private() { # ROOT HOME TMP COMMAND...
    mount -t tmpfs -o mode=1777 none /tmp && exec "${@:4}"
}
export -f furnish pivot inside_pivot inside_private
export SCRATCH LIBRARIES MUSL_LIBC NATIVE

contain() { # JDK NAME [WORD=VALUE...] -- [FLAG...]
    local IN=pivot TMP=tmpfs UID_IN=0 USERS='' DENY='' MUSL=''
    local home name=$1/$2 root log command=() as=()
    home=$(JDK=$1 scripts/workloads.sh jdk)
    root=/mnt/$1-$2
    log=$SCRATCH/$1-$2.log
    shift 2
    while [ "$1" != -- ]; do
        local "${1?}"
        shift
    done
    shift
    mkdir -p "$root"
    export MUSL
    [ "$UID_IN" = 0 ] || as=(/bin/setpriv --reuid "$UID_IN" --regid "$UID_IN" --clear-groups)
    [ -z "$DENY" ] || as+=(/bin/deny)
    case $USERS in
    map) as+=(/bin/unshare -U -r) ;;
    none) as+=(/bin/unshare -U) ;;
    esac
    command=(/opt/jdk/bin/java)
    [ "$IN" != private ] || command=("$home/bin/java")
    command+=(-XX:NativeMemoryTracking=summary -Xmx64m -Xss512k -XX:+UseSerialGC
        -XX:TieredStopAtLevel=1 "$@")
    if [ "$IN" = private ]; then
        command+=(-cp /mnt/app)
    else
        command+=(-cp /app)
    fi
    command+=(workloads.Workload proxy --rate 20 --seconds 300)
    case $IN in
    pivot) spawn unshare -m -p -f --kill-child bash -c 'inside_pivot "$@"' sh "$root" "$home" \
        "$TMP" "${as[@]}" "${command[@]}" >"$log" 2>&1 ;;
    private) spawn unshare -m bash -c 'inside_private "$@"' sh "$root" "$home" "$TMP" "${as[@]}" \
        "${command[@]}" >"$log" 2>&1 ;;
    chroot)
        furnish "$root" "$home" "$TMP" >"$log" 2>&1
        spawn chroot "$root" "${as[@]}" "${command[@]}" >>"$log" 2>&1
        ;;
    esac
    if [ "$IN" = pivot ]; then # the first of its pid namespace is a child of the one we started
        # shellcheck disable=SC2016 # for the other shell
        wait_for 10 sh -c 'pgrep -P "$0" || ! kill -0 "$0"' "$SPAWNED"
        SPAWNED=$(pgrep -P "$SPAWNED") || bail "$name did not start: $(tail -n 1 "$log")"
        TAP_PIDS+=("$SPAWNED")
    fi
    C_NAMES+=("$name")
    C_LOG[$name]=$log
    C_PID[$name]=$SPAWNED
}

# Ends with a failed test when one does not come up.
contained() {
    local name
    for name in "${C_NAMES[@]}"; do
        if ! wait_for 60 grep -q ^ready "${C_LOG[$name]}"; then
            fail "$name starts" "$(head -n 5 "${C_LOG[$name]}")"
            done_testing
        fi
        # shellcheck disable=SC2034 # for the test
        C_ROOT[$name]=/proc/${C_PID[$name]}/root
    done
}

contain_end() {
    local name
    for name in "${C_NAMES[@]}"; do
        kill_jvm "${C_PID[$name]}"
    done
    C_NAMES=()
}
