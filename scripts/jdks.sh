#!/bin/bash
# jdks: every JDK that Debian's unstable suite has, in a folder of its own that looks like the root
# of a container, for scripts/test-jdks.sh. Nothing is installed on this machine.
#
# usage: jdks.sh            builds the folder, or says that it is there
#        jdks.sh folder     where it is (or would be): $NMTWATCH_JDKS or ~/.cache/nmtwatch/jdks
#        jdks.sh homes      JAVA HOME, one line for each JDK; HOME as seen from inside the folder
#
# Needs root and debootstrap; the mirror is the one this machine's apt uses (or $NMTWATCH_MIRROR).
# A folder is complete or not there: it is built beside its place and moved. To build it anew,
# remove it. Two to four minutes and 2.5 GB.

set -eu
folder=${NMTWATCH_JDKS:-${XDG_CACHE_HOME:-$HOME/.cache}/nmtwatch/jdks}
versions=(8 11 17 21 25 26 27)
suite=sid

fail() {
    echo "jdks: $*" >&2
    exit 1
}

homes() {
    local home version
    for version in "${versions[@]}"; do
        home=/usr/lib/jvm/java-$version-openjdk-amd64
        [ ! -x "$folder$home/bin/java" ] || echo "$version $home"
    done
}

# The site of the archive proper, not the one of its updates or of other software.
mirror() {
    [ -z "${NMTWATCH_MIRROR:-}" ] || { echo "$NMTWATCH_MIRROR" && return; }
    apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(SITE)' 2>/dev/null |
        awk -F '|' '$1 == "Debian" && $2 == "Debian" { print $3; exit }'
}

bootstrap() { # OPTION... : with the packages in ${packages[@]}
    nice debootstrap --variant=minbase --include="$(IFS=, && echo "${packages[*]}")" "$@" \
        "$suite" "$building" "$site" >"$log" 2>&1
}

build() {
    [ "$(id -u)" = 0 ] || fail "needs root (debootstrap makes a root file system): sudo make jdks"
    command -v debootstrap >/dev/null ||
        fail "debootstrap is missing: apt-get install debootstrap"
    site=$(mirror)
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

case ${1:-build} in
build)
    if [ -z "$(homes)" ]; then
        build
    fi
    echo "jdks: $folder has JDK $(homes | cut -d ' ' -f 1 | paste -sd ' ')"
    ;;
folder) echo "$folder" ;;
homes) homes ;;
*)
    echo "usage: jdks.sh [build|folder|homes]" >&2
    exit 64
    ;;
esac
