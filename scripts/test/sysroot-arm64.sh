#!/bin/bash
# sysroot-arm64: Debian's arm64 libraries and a JDK 17 for it, in a folder of its own: what `make
# CROSS=aarch64-linux-gnu-` compiles against and what qemu-aarch64-static runs. Nothing is installed on
# this machine, and no root is needed.
#
# usage: sysroot-arm64.sh            builds the folder, or says that it is there
#        sysroot-arm64.sh folder     where it is (or would be): $NMTWATCH_SYSROOT_ARM64 or
#                                    ~/.cache/nmtwatch/sysroot-arm64
#        sysroot-arm64.sh lacking    one line: what this machine lacks to run arm64 programs; else nothing
#
# The packages come from the mirror that this machine's apt uses (or $NMTWATCH_MIRROR), of the release
# whose cross compiler is installed; JDK 21 and 25 of Debian unstable are put beside them, in FOLDER/sid,
# with the C library they were built for. They are unpacked, not configured. Absolute links are made relative: they must
# not lead out of the folder. A folder is complete or not there: it is built beside its place and moved.
# A minute and 1.5 GB; to build it anew, remove it.

set -eu
. "$(dirname "$0")/../lib.sh"
folder=$(sysroot_arm64)
building=$folder.building log=$folder.log

fail() {
    echo "sysroot-arm64: $*" >&2
    exit 1
}

complete() {
    [ -e "$folder/complete" ]
}

unpack() { # ROOT SUITE PACKAGE...: with what they depend on
    local root=$1 suite=$2 deb
    mkdir -p "$root"
    debian_apt "$building/apt-$suite" "$site" "$suite" arm64 update >>"$log" 2>&1 &&
        debian_apt "$building/apt-$suite" "$site" "$suite" arm64 install -y --no-install-recommends \
            --download-only "${@:3}" >>"$log" 2>&1 ||
        fail "$(grep -m 1 ^E: "$log" || tail -n 1 "$log") (see $log)"
    # What belongs to which package, for scripts/package/sbom.sh: dpkg's own lists.
    mkdir -p "$root/var/lib/dpkg/info"
    echo 1 >"$root/var/lib/dpkg/info/format" # NAME:ARCHITECTURE.list
    for deb in "$building/apt-$suite"/archives/*.deb; do
        dpkg-deb -x "$deb" "$root"
        { dpkg-deb -f "$deb" && printf 'Status: install ok unpacked\n\n'; } >>"$root/var/lib/dpkg/status"
        dpkg-deb --fsys-tarfile "$deb" | tar -t | sed 's|^\.||; s|/$||; s|^$|/.|' >"$root/var/lib/dpkg/info/$(
            dpkg-deb --showformat='${Package};${Architecture};${Multi-Arch}' -W "$deb" |
                awk -F ';' '{ print $1 ($3 == "same" ? ":" $2 : "") }').list"
    done
    rm -rf "$building/apt-$suite"
    find "$root" -type l -lname '/*' -printf '%P\t%l\n' | while IFS=$'\t' read -r link target; do
        ln -sfnr "$root$target" "$root/$link"
    done
    # A JDK brings its settings with it: it is also seen at its place in /usr/lib/jvm, without this /etc.
    find "$root/usr/lib/jvm" -type l -lname '*/etc/*' | while read -r link; do
        [ ! -e "$link" ] || cp -rL --remove-destination "$link" "$link.copy"
        rm "$link"
        [ ! -e "$link.copy" ] || mv "$link.copy" "$link"
    done
    [ -e "$root/lib" ] || ln -s usr/lib "$root/lib"
}

# Its JDKs 21 and 25, and the C library they were built for.
newer_jdks() {
    [ ! -x "$folder/sid/usr/lib/jvm/java-21-openjdk-arm64/bin/java" ] || return 0
    (unpack "$building/sid" sid libc6 libstdc++6 openjdk-21-jdk-headless openjdk-25-jdk-headless) || {
        echo "sysroot-arm64: no JDK 21 and 25; their tests are skipped"
        return
    }
    tidy "$building/sid"
    rm -rf "$folder/sid"
    mv "$building/sid" "$folder/sid"
}

# Descriptions of CPUs and terminals, pages and documentation are for people.
tidy() { # ROOT
    rm -rf "$1"/usr/share/{doc,man,locale,info}
}

build() {
    local suite
    command -v apt-get >/dev/null || fail "this is no Debian: apt-get is missing"
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    site=$(debian_mirror)
    [ -n "$site" ] && [ -n "$suite" ] ||
        fail "apt knows no Debian archive here: set NMTWATCH_MIRROR to the URL of one"
    mkdir -p "$(dirname "$folder")" 2>/dev/null ||
        fail "$(dirname "$folder") cannot be made: set NMTWATCH_SYSROOT_ARM64 to a place that can be written"
    exec 9>"$folder.lock"
    flock 9
    [ "$(df --output=avail -BM "$(dirname "$folder")" | tail -n 1 | tr -dc 0-9)" -ge 2000 ] ||
        fail "less than 2 GB are free in $(dirname "$folder")"
    rm -rf --one-file-system "$building"
    trap 'rm -rf --one-file-system "$building"' EXIT
    : >"$log"
    if ! complete; then # no other has built it while this one waited
        [ ! -e "$folder" ] || fail "$folder is in the way: move it or set NMTWATCH_SYSROOT_ARM64"
        echo "sysroot-arm64: building $folder"
        unpack "$building/root" "$suite" libc6-dev libunwind-dev libjansson-dev zlib1g-dev libinih-dev \
            libncurses-dev libmicrohttpd-dev libcurl4-gnutls-dev libcmocka-dev libstdc++6 openjdk-17-jdk-headless
        tidy "$building/root"
        touch "$building/root/complete"
        mv "$building/root" "$folder"
    fi
    newer_jdks
    rm -rf "$building"
}

case ${1:-build} in
build)
    complete && [ -x "$folder/sid/usr/lib/jvm/java-21-openjdk-arm64/bin/java" ] || build
    [ -e "$folder/var/lib/dpkg/status" ] ||
        echo "sysroot-arm64: $folder is of an older version: for packages (make deb, make release) remove it and build it anew"
    echo "sysroot-arm64: $folder has $(arm64_lacking || echo "all that \`make test-arm64\` needs")"
    ;;
folder) echo "$folder" ;;
lacking) arm64_lacking || true ;;
*)
    echo "usage: sysroot-arm64.sh [build|folder|lacking]" >&2
    exit 64
    ;;
esac
