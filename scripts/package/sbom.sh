#!/bin/bash
# sbom: CycloneDX 1.5 on standard output: which libraries are in the program, linked in or loaded,
# and of which Debian packages they are: of this machine, or of the sysroot where $CC compiles for another
# architecture. The same build says the same: no time, no random number.
#
# usage: sbom.sh [--linked LIBRARIES.TSV] NMTWATCH [AGENT]       needs jq
#
# Linked in are those between -Bstatic and -Bdynamic of the Makefile's LIBS, or those that static.sh has linked
# in and listed; needed at start what the ELF files say; loaded on demand what the sources open by name.

set -eu
. "$(dirname "$0")/../lib.sh"
linked=
[ "${1-}" != --linked ] || { linked=$2 && shift 2; }
[ $# -gt 0 ] || {
    echo "usage: sbom.sh [--linked LIBRARIES.TSV] NMTWATCH [AGENT]" >&2
    exit 64
}
files=("$@")
version=$(<VERSION)
CC=${CC:-gcc}
libraries=$(library_root)
triplet=$($CC -dumpmachine)
query=(dpkg-query "--admindir=$libraries/var/lib/dpkg")
[ -z "$libraries" ] || [ -n "$linked" ] || [ -e "$libraries/var/lib/dpkg/status" ] || {
    echo "sbom: $libraries does not say of which packages its files are: remove it, then make sysroot-arm64" >&2
    exit 1
}

package_of() { # FILE: "name version", or nothing; usr-merged systems list a file under either name
    local file found inside=${1#"$libraries"} real
    real=$(realpath "$1") real=${real#"$libraries"}
    for file in "$inside" "$real" "/usr$real" "${real#/usr}"; do
        found=$("${query[@]}" -S "$file" 2>/dev/null | head -n 1) || continue
        [ -z "$found" ] || {
            "${query[@]}" -W -f '${source:Package} ${Version}\n' "${found%%: *}"
            return
        }
    done
}

component() { # LIBRARY FILE LINKAGE SCOPE [PACKAGE VERSION]
    local package=${5-} package_version=${6-}
    if [ -e "$2" ]; then
        read -r package package_version < <(package_of "$2") || true
    fi
    jq -n --arg name "$1" --arg package "$package" --arg version "$package_version" \
        --arg linkage "$3" --arg scope "$4" --arg licence "$(licence "$1")" '{
            type: "library", name: $name, scope: $scope,
            "bom-ref": ($linkage + "/" + $name),
            properties: [{name: "nmtwatch:linkage", value: $linkage}]
        }
        + (if $version == "" then {} else {
            version: $version,
            purl: ("pkg:deb/debian/" + $package + "@" + ($version | @uri) + "?arch=source")
        } end)
        + (if $licence == "" then {} else {licenses: [{license: {id: $licence}}]} end)'
}

licence() { # LIBRARY: its SPDX id
    case $1 in
    libjansson*) echo MIT ;;
    libzstd) echo BSD-3-Clause ;;
    libz*) echo Zlib ;;
    libinih*) echo BSD-3-Clause ;;
    libncursesw* | libtinfo*) echo X11-distribute-modifications-variant ;;
    libmicrohttpd*) echo LGPL-2.1-or-later ;;
    libcurl*) echo curl ;;
    libunwind*) echo MIT ;;
    libc | libc.* | libm.* | ld-linux*) echo LGPL-2.1-or-later ;;
    libssl | libcrypto) echo Apache-2.0 ;;
    libnghttp2 | libbrotli*) echo MIT ;;
    libgnutls | libtasn1) echo LGPL-2.1-or-later ;;
    libnettle | libhogweed | libgmp | libidn2 | libunistring) echo LGPL-3.0-or-later ;;
    liblzma) echo 0BSD ;;
    libbz2) echo bzip2-1.0.6 ;;
    libgcc_eh) echo GPL-3.0-with-GCC-exception ;;
    ca-certificates) echo MPL-2.0 ;;
    esac
}

linked_in() {
    sed -n 's/^LIBS := .*-Wl,-Bstatic \(.*\) -Wl,-Bdynamic.*/\1/p' Makefile | tr ' ' '\n' |
        sed -n 's/^-l/lib/p'
}

needed() {
    for file in "${files[@]}"; do
        "$($CC -print-prog-name=objdump)" -p "$file" | sed -n 's/^ *NEEDED *//p'
    done | sort -u
}

# What the sources name to dlopen; libjvm and libc are in a JVM already. Of two names for one library
# the one that is installed counts.
on_demand() {
    local sources=(nmtwatch agent)
    [ -z "$linked" ] || sources=(agent)
    # libunwind has the architecture's name in its own.
    grep -rhE '"lib[a-z0-9_+-]+' "${sources[@]}" --include='*.c' | sed "s/\" TEXT(UNW_TARGET) \"/${triplet%%-*}/" |
        grep -oE '"lib[a-z0-9_+-]+\.so\.[0-9]+"' | tr -d '"' | grep -vE '^lib(c|jvm)\.' | sort -u | while read -r library; do
        if [ -n "$(file_of "$library")" ]; then echo "$library"; fi
    done
}

file_of() { # LIBRARY: nothing where it is not there. A cross compiler knows another C library, its own, as well
    local file
    for file in "$libraries/usr/lib/$triplet/$1" "$libraries/lib/$triplet/$1" "$($CC -print-file-name="$1")"; do
        if [ "$file" != "$1" ] && [ -e "$file" ]; then
            echo "$file"
            break
        fi
    done
}

{
    if [ -n "$linked" ]; then
        while IFS=$'\t' read -r library package package_version; do
            component "$library" '' static required "$package" "$package_version"
        done <"$linked"
    else
        for library in $(linked_in); do
            component "$library" "$(file_of "$library.a")" static required
        done
    fi
    for library in $(needed); do
        # The agent runs with the C library of its JVM; this is the one it was linked against.
        if [ -n "$linked" ]; then
            IFS=$'\t' read -r _ package package_version < <(grep -P '^libc\t' "$linked")
            component "$library" '' dynamic required "$package" "$package_version"
            continue
        fi
        component "$library" "$(file_of "$library")" dynamic required
    done
    for library in $(on_demand); do
        component "$library" "$(file_of "$library")" "on demand" optional
    done
} | jq -s --arg version "$version" \
    --argjson files "$(sha256sum "${files[@]}" | jq -R --arg version "$version" '
        split("  ") | {type: "file", name: (.[1] | split("/")[-1]), version: $version,
                       "bom-ref": (.[1] | split("/")[-1]),
                       hashes: [{alg: "SHA-256", content: .[0]}]}' | jq -s .)" '
    {
        bomFormat: "CycloneDX", specVersion: "1.5", version: 1,
        metadata: {component: {
            type: "application", name: "nmtwatch", version: $version, "bom-ref": "nmtwatch",
            licenses: [{license: {id: "Apache-2.0"}}]
        }},
        components: ($files + .),
        dependencies: [{ref: "nmtwatch", dependsOn: map(."bom-ref")}]
    }'
