#!/bin/bash
# Libraries that are opened when they are needed, in the versions of Debian 11 to unstable: libmicrohttpd, libcurl, the
# libraries of packed files; and a JVM with glibc 2.31, whose arenas are read and into which the agent is loaded.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
NMTWATCH=$(realpath "${NMTWATCH:-build/nmtwatch}")
build=$(dirname "$NMTWATCH")
export FAKE_JVM=$build/fake_jvm FAKE_RECEIVER=$build/fake_receiver
for program in "$NMTWATCH" "$FAKE_JVM" "$FAKE_RECEIVER"; do need_built "$program"; done
need jq zstd xz bzip2

cache=${XDG_CACHE_HOME:-$HOME/.cache}/nmtwatch/libraries
here=$(getconf GNU_LIBC_VERSION | tr -dc '0-9.')
site=$(debian_mirror)
[ -n "$site" ] || bail "apt knows no Debian archive here: set NMTWATCH_MIRROR to the URL of one"

# The packages of a suite with all that they depend on, unpacked once into $cache/SUITE.
fetch() { # SUITE PACKAGE...
    local suite=$1 root=$cache/$1 file
    [ ! -e "$root" ] || return 0
    rm -rf "$root.building"
    mkdir -p "$root.building"
    debian_apt "$root.building/apt" "$site" "$suite" "$(debian_architecture)" update || return
    debian_apt "$root.building/apt" "$site" "$suite" "$(debian_architecture)" install -y --no-install-recommends \
        --download-only "${@:2}" >/dev/null || return
    for file in "$root.building"/apt/archives/*.deb; do dpkg-deb -x "$file" "$root.building" || return; done
    rm -rf "$root.building/apt"
    mv "$root.building" "$root"
}
version_of() { # FOLDER LIBRARY: by the name of its file
    find "$1" -name "$2.so.*.*" -printf '%f\n' | sed 's/.*\.so\.//' | sort -V | tail -n 1
}

# A command that runs nmtwatch with the libraries of that root: with its C library where that is newer than this
# machine's, else with this machine's.
with_libraries() { # ROOT COMMAND
    local root=$1 theirs newer=false folder=$SCRATCH/libraries-${1##*/} file
    theirs=$(find "$root" -name 'libc.so.6' -exec grep -aom1 'GNU C Library .* version [0-9.]*[0-9]' {} + | grep -o '[0-9.]*$')
    [ "$(printf '%s\n' "$theirs" "$here" | sort -V | tail -n 1)" = "$here" ] || newer=true
    mkdir -p "$folder"
    for file in "$root"/{,usr/}lib/"$(multiarch)"/lib*.so.*; do
        case ${file##*/} in
        libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | libresolv.so.* | libnss_* | libutil.so.* | libmvec.so.*)
            ! $newer || ln -sf "$file" "$folder/"
            ;;
        *) ln -sf "$file" "$folder/" ;;
        esac
    done
    if $newer; then
        file=$(find "$root" -name "$(basename "$(dynamic_linker)")" | head -n 1)
        printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "$file" "$folder" "$NMTWATCH"
    else
        printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$folder" "$NMTWATCH"
    fi >"$2"
    chmod +x "$2"
    echo "$theirs"
}

for suite in bullseye bookworm trixie sid; do
    http=libmicrohttpd12 curl=libcurl3-gnutls jdk=()
    case $suite in
    bullseye) jdk=(openjdk-17-jdk-headless) ;;
    trixie | sid) http=libmicrohttpd12t64 curl=libcurl3t64-gnutls ;;
    esac
    if ! fetch $suite libc6 libzstd1 liblzma5 libbz2-1.0 libunwind8 $http $curl "${jdk[@]}" >"$SCRATCH/fetch" 2>&1; then
        fail "packages of $suite" "$(tail -n 2 "$SCRATCH/fetch")"
        continue
    fi
    root=$cache/$suite
    glibc=$(with_libraries "$root" "$SCRATCH/$suite")
    name="$suite: glibc $glibc, libmicrohttpd $(version_of "$root" libmicrohttpd), libcurl $(version_of "$root" libcurl-gnutls)"
    check "$name: serves and delivers" env NMTWATCH="$SCRATCH/$suite" KILLS=1 tests/sim/delivery_test.sh
    for packer in zstd xz bzip2; do
        $packer -c README.md >"$SCRATCH/packed.$packer"
        is "$name: $packer" "$("$SCRATCH/$suite" analyze "$SCRATCH/packed.$packer" 2>&1 | sed 's/packed\.[a-z0-9]*//g' | grep -v "$SCRATCH")" \
            "$("$NMTWATCH" analyze README.md 2>&1 | grep -v README.md)"
    done
done

# The JVM runs with its root's C library, as a process of this machine.
root=$cache/bullseye
if [ -d "$root" ] && [ "$(id -u)" != 0 ]; then
    skip "a JVM with glibc 2.31" "refused: a root of its own needs root"
elif [ -d "$root" ]; then
    java=/usr/lib/jvm/java-17-openjdk-$(debian_architecture)/bin/java
    mkdir -p "$root/app"
    scripts/workloads.sh build >/dev/null 2>&1
    cp -r build/workloads/classes "$root/app/"
    cp "$build/libnmtagent.so" "$root/app/"
    mkdir -p "$root/proc" "$root/tmp" "$root/dev"
    # shellcheck disable=SC2016 # for the other shell
    spawn unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
        mount -t tmpfs -o mode=1777 none "$0/tmp" && exec chroot "$0" "$@"' "$root" "$java" -XX:NativeMemoryTracking=detail \
        -XX:+UseSerialGC -agentpath:/app/libnmtagent.so=start,cpu=10ms,file=/tmp/a.jfr -cp /app/classes workloads.Workload proxy \
        --seconds 200 --rate 50 >"$SCRATCH/jvm.log" 2>&1
    wait_for 30 grep -q ready "$SCRATCH/jvm.log"
    pid=$(pgrep -P "$SPAWNED" | head -n 1)
    TAP_PIDS+=("$pid")
    check "glibc 2.31: the JVM runs with the agent" test -n "$pid"
    check "... whose recording stops" "$NMTWATCH" profile "$pid" stop
    "$NMTWATCH" observe "$pid" rss --for 2s --json >"$SCRATCH/answer" 2>&1
    check "... and malloc's arenas are read" jq -e '.arenas.count > 0 and .arenas_why == null' "$SCRATCH/answer"
fi
done_testing
