#!/bin/bash
# jdks: every JDK that Debian's unstable suite has, in a folder of its own that looks like the root
# of a container, for scripts/test/test-jdks.sh. Nothing is installed on this machine.
#
# usage: jdks.sh            builds the folder, or says that it is there
#        jdks.sh folder     where it is (or would be): $NMTWATCH_JDKS or ~/.cache/nmtwatch/jdks
#        jdks.sh homes      JAVA HOME, one line for each JDK; HOME as seen from inside the folder
#        jdks.sh second     for `make test`: fetches what this machine lacks of 17 and 25 into
#                           FOLDER-native, once; without a word when nothing is lacking
#
# `second` unpacks Debian's packages, with the C library they were built for; patchelf makes their
# programs name it, so that they run as processes of this machine, and jdk_home of scripts/lib.sh finds
# them. No root, half a minute, 1 GB. What cannot be had is said, with exit status 0: its tests are skipped.
#
# The rest needs root and debootstrap; the mirror is the one this machine's apt uses (or $NMTWATCH_MIRROR).
# A folder is complete or not there: it is built beside its place and moved. To build it anew,
# remove it. Two to four minutes and 2.5 GB.

set -eu
. "$(dirname "$0")/../lib.sh"
folder=${NMTWATCH_JDKS:-${XDG_CACHE_HOME:-$HOME/.cache}/nmtwatch/jdks}
native=$(jdks_fetched)
versions=(8 11 17 21 25 26 27)
suite=sid

fail() {
    echo "jdks: $*" >&2
    exit 1
}

homes() {
    local home version
    for version in "${versions[@]}"; do
        home=/usr/lib/jvm/java-$version-openjdk-$(debian_architecture)
        [ ! -x "$folder$home/bin/java" ] || echo "$version $home"
    done
}

bootstrap() { # OPTION... : with the packages in ${packages[@]}
    nice debootstrap --variant=minbase --include="$(IFS=, && echo "${packages[*]}")" "$@" \
        "$suite" "$building" "$site" >"$log" 2>&1
}

build() {
    [ "$(id -u)" = 0 ] || fail "needs root (debootstrap makes a root file system): sudo make jdks"
    command -v debootstrap >/dev/null ||
        fail "debootstrap is missing: apt-get install debootstrap"
    site=$(debian_mirror)
    [ -n "$site" ] || fail "apt knows no Debian archive here: set NMTWATCH_MIRROR to the URL of one"

    mkdir -p "$(dirname "$folder")"
    exec 9>"$folder.lock"
    flock 9
    [ -z "$(homes)" ] || return 0 # built while this one waited
    [ ! -e "$folder" ] || fail "$folder is in the way: it holds no JDK; move it or set NMTWATCH_JDKS"
    building=$folder.building log=$folder.log
    [ "$(df --output=avail -BG "$(dirname "$folder")" | tail -n 1 | tr -dc 0-9)" -ge 6 ] ||
        fail "less than 6 GB are free in $(dirname "$folder")"
    rm -rf --one-file-system "$building"

    packages=("${versions[@]/#/openjdk-}")
    packages=("${packages[@]/%/-jdk-headless}")
    # A suite loses old JDKs and gets new ones: what it has not is named, and left out.
    if ! bootstrap --print-debs; then
        local lacking package kept=()
        lacking=$(sed -n "s/^E: Couldn't find these debs: //p" "$log")
        [ -n "$lacking" ] || fail "debootstrap: $(grep '^E:' "$log" | tail -n 1) (see $log)"
        for package in "${packages[@]}"; do
            [[ " $lacking " == *" $package "* ]] || kept+=("$package")
        done
        [ ${#kept[@]} != 0 ] || fail "$suite has none of ${packages[*]}"
        packages=("${kept[@]}")
        echo "jdks: $suite has no $lacking"
    fi
    echo "jdks: building $folder: ${packages[*]}"
    if ! bootstrap; then
        tail -n 3 "$log" >&2
        fail "debootstrap failed; see $log"
    fi
    rm -rf "$building"/var/cache/apt/archives/*.deb
    mv "$building" "$folder"
}

# Fetches, unpacks and patches these JDKs into $native.
fetch() { # VERSION...
    local building=$native.building packages=(libc6 libstdc++6 libgcc-s1 zlib1g) site file home
    command -v patchelf >/dev/null || fail "patchelf is missing: make setup"
    command -v apt-get >/dev/null || fail "this is no Debian"
    site=$(debian_mirror)
    [ -n "$site" ] || fail "apt knows no Debian archive here: set NMTWATCH_MIRROR to the URL of one"
    mkdir -p "$(dirname "$native")"
    [ "$(df --output=avail -BM "$(dirname "$native")" | tail -n 1 | tr -dc 0-9)" -ge 1500 ] ||
        fail "less than 1.5 GB are free in $(dirname "$native")"
    rm -rf "$building"
    mkdir -p "$building"/{debs,root}
    for file; do packages+=("openjdk-$file-jdk-headless" "openjdk-$file-jre-headless"); done
    debian_apt "$building/apt" "$site" "$suite" "$(debian_architecture)" update >"$native.log" 2>&1 &&
        (cd "$building/debs" && debian_apt "$building/apt" "$site" "$suite" "$(debian_architecture)" download \
            "${packages[@]}") >>"$native.log" 2>&1 ||
        fail "$(tail -n 1 "$native.log") (see $native.log)"
    for file in "$building"/debs/*.deb; do dpkg-deb -x "$file" "$building/root"; done
    for home in "$building"/root/usr/lib/jvm/*; do
        [ ! -L "$home" ] || continue
        find "$home" -type l -lname '/*' -printf '%p\n%l\n' | while read -r link && read -r file; do
            [ ! -e "$building/root$file" ] || ln -sfn "$native/root$file" "$link"
        done
        find "$home/bin" "$home/lib" -type f \( -perm /111 -o -name '*.so' \) | while read -r file; do
            patchelf --print-rpath "$file" >/dev/null 2>&1 || continue # a script
            ! patchelf --print-interpreter "$file" >/dev/null 2>&1 ||
                patchelf --set-interpreter "$native/root/usr/lib/$(multiarch)/$(basename "$(dynamic_linker)")" "$file"
            patchelf --add-rpath "$native/root/usr/lib/$(multiarch)" "$file"
        done
    done
    rm -rf "$building"/{apt,debs} "$native"
    mv "$building" "$native"
}

second() {
    local version home lacking=()
    for version in 17 25; do
        jdk_home $version >/dev/null || lacking+=("$version")
    done
    [ ${#lacking[@]} != 0 ] || return 0
    echo "jdks: fetching JDK ${lacking[*]} into $native"
    mkdir -p "$(dirname "$native")"
    exec 9>"$native.lock"
    flock 9
    (fetch "${lacking[@]}") || true
    for version in "${lacking[@]}"; do
        home=$(jdk_home "$version") && "$home/bin/java" -version >>"$native.log" 2>&1 ||
            echo "jdks: no JDK $version that runs here (see $native.log); its tests are skipped"
    done
}

case ${1:-build} in
build)
    if [ -z "$(homes)" ]; then
        build
    fi
    echo "jdks: $folder has JDK $(homes | cut -d ' ' -f 1 | paste -sd ' ')"
    ;;
second) second ;;
folder) echo "$folder" ;;
homes) homes ;;
*)
    echo "usage: jdks.sh [build|second|folder|homes]" >&2
    exit 64
    ;;
esac
