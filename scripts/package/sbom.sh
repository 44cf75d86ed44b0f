#!/bin/bash
# sbom: CycloneDX 1.5 on standard output: which libraries are in the program, linked in or loaded,
# and of which Debian packages of this machine they are. The same build says the same: no time, no
# random number.
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

package_of() { # FILE: "name version", or nothing; usr-merged systems list a file under either name
    local file found
    for file in "$1" "$(realpath "$1")" "/usr$1" "${1#/usr}"; do
        found=$(dpkg-query -S "$file" 2>/dev/null | head -n 1) || continue
        [ -z "$found" ] || {
            dpkg-query -W -f '${source:Package} ${Version}\n' "${found%%: *}"
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
        "${OBJDUMP:-objdump}" -p "$file" | sed -n 's/^ *NEEDED *//p'
    done | sort -u
}

# What the sources name to dlopen; libjvm and libc are in a JVM already. Of two names for one library
# the one that is installed counts.
on_demand() {
    local sources=(nmtwatch agent)
    [ -z "$linked" ] || sources=(agent)
    grep -rhoE '"lib[a-z0-9_+-]+\.so\.[0-9]+"' "${sources[@]}" --include='*.c' | tr -d '"' |
        grep -vE '^lib(c|jvm)\.' | sort -u | while read -r library; do
        if [ -n "$(shared_file "$library")" ]; then echo "$library"; fi
    done
}

shared_file() { # LIBRARY
    ldconfig -p | awk -v name="$1" '$1 == name && /x86-64/ { print $NF; exit }'
}

{
    if [ -n "$linked" ]; then
        while IFS=$'\t' read -r library package package_version; do
            component "$library" '' static required "$package" "$package_version"
        done <"$linked"
    else
        for library in $(linked_in); do
            component "$library" "$(${CC:-gcc} -print-file-name="$library.a")" static required
        done
    fi
    for library in $(needed); do
        # The agent runs with the C library of its JVM; this is the one it was linked against.
        if [ -n "$linked" ]; then
            IFS=$'\t' read -r _ package package_version < <(grep -P '^libc\t' "$linked")
            component "$library" '' dynamic required "$package" "$package_version"
            continue
        fi
        component "$library" "$(shared_file "$library")" dynamic required
    done
    for library in $(on_demand); do
        component "$library" "$(shared_file "$library")" "on demand" optional
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
