#!/bin/bash
# setup: installs what Debian 12 lacks for building, the demo and the tests. Silent and quick when
# nothing is missing; without root it says the one command that helps.
#
# usage: setup.sh build|demo|test      each level holds the one before it
#
# What a test can do without is optional: it is reported and skipped where it does not exist, and
# the tests that need it say so. Nothing that is installed is upgraded, no service is started.

set -eu
cd "$(dirname "$0")/.."
level=${1:-test}
log=${TMPDIR:-/tmp}/nmtwatch-setup.$UID.log

required=(gcc make libc6-dev libjansson-dev zlib1g-dev libinih-dev libmicrohttpd-dev)
# Only its headers are used, and the two flavours exclude each other.
dpkg-query -W -f '${db:Status-Status}' libcurl4-openssl-dev 2>/dev/null | grep -qx installed ||
    required+=(libcurl4-gnutls-dev)
optional=()
case $level in
build) ;;
demo | test)
    required+=(gnuplot-nox)
    optional+=(libunwind-dev) # native frames of the agent; it builds without
    ;;
*)
    echo "setup: unknown level '$level': build, demo or test" >&2
    exit 64
    ;;
esac
if [ "$level" = test ]; then
    required+=(clang libclang-rt-14-dev libcmocka-dev jq openjdk-17-jdk-headless)
    optional+=(libxml2-utils groovy libcglib-java libjavassist-java libbyte-buddy-java jruby clojure jattach mandoc
        libmonitoring-plugin-perl python3-yaml)
elif [ "$level" = demo ]; then
    # Any JDK serves the demo; Debian's is installed when there is none.
    scripts/workloads.sh jdk >/dev/null 2>&1 || required+=(openjdk-17-jdk-headless)
fi

missing_of() { # PACKAGE...: those that are not installed, one a line
    dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
        awk -v wanted="$*" '
            $2 == "installed" { have[$1] = 1 }
            END {
                n = split(wanted, names, " ")
                for (i = 1; i <= n; i++) if (!(names[i] in have)) print names[i]
            }'
}

# Packages that would start a server are unpacked, not installed.
unpack() { # PACKAGE PROGRAM...
    local dir=build/tools package=$1
    mkdir -p "$dir/usr/bin"
    (cd "$dir" && rm -rf unpacked && mkdir unpacked && cd unpacked &&
        apt-get -qq download "$package" && dpkg-deb -x "$package"_*.deb . &&
        (cd usr/bin && cp "${@:2}" ../../../usr/bin/) &&
        if [ -d usr/share/prometheus ]; then
            mkdir -p ../usr/share && cp -r usr/share/prometheus ../usr/share/
        fi) >>"$log" 2>&1 ||
        echo "setup: $package is not available; the tests that use it will be skipped"
    rm -rf "$dir/unpacked"
}
has_program() {
    [ -x "build/tools/usr/bin/$1" ] || command -v "$1" >/dev/null
}
templates=/usr/share/prometheus/alertmanager/default.tmpl # Alertmanager does not start without
unpack_tools() {
    [ "$level" = test ] || return 0
    if ! has_program promtool || ! has_program prometheus; then
        unpack prometheus promtool prometheus
    fi
    if ! has_program prometheus-alertmanager || ! has_program amtool ||
        { [ ! -e "$templates" ] && [ ! -e "build/tools$templates" ]; }; then
        unpack prometheus-alertmanager prometheus-alertmanager amtool
    fi
}

if ! command -v dpkg-query >/dev/null; then
    echo "setup: this is no Debian; needed are the equivalents of: ${required[*]}" >&2
    exit 0
fi

mapfile -t need < <(missing_of "${required[@]}")
mapfile -t want < <([ ${#optional[@]} = 0 ] || missing_of "${optional[@]}")
if [ ${#need[@]} = 0 ] && [ ${#want[@]} = 0 ]; then
    unpack_tools
    exit 0
fi

root=()
if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        root=(sudo -n)
    else
        echo "setup: missing packages; run: sudo apt-get install --no-install-recommends" \
            "${need[*]}${want[*]:+ ${want[*]}}" >&2
        [ ${#need[@]} = 0 ] # only optional ones are missing: go on without them
        exit
    fi
fi

export DEBIAN_FRONTEND=noninteractive
updated=false
update() {
    $updated || "${root[@]}" apt-get -qq update >>"$log" 2>&1 || true
    updated=true
}
exists() { # PACKAGE, in the lists apt has now
    apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [0-9]'
}
install() {
    "${root[@]}" apt-get -qq install -y --no-install-recommends --no-upgrade "$@" >>"$log" 2>&1
}

: >"$log"
for package in "${need[@]}" "${want[@]}"; do
    exists "$package" || update
done
found=()
for package in "${want[@]}"; do
    if exists "$package"; then
        found+=("$package")
    else
        echo "setup: $package is not available here; the tests that use it will be skipped"
    fi
done

if [ ${#need[@]} != 0 ]; then
    echo "setup: installing ${need[*]}"
    if ! install "${need[@]}"; then
        update # the lists may be older than the mirror
        if ! install "${need[@]}"; then
            tail -n 5 "$log" >&2
            echo "setup: could not install; see $log, or run:" \
                "apt-get install --no-install-recommends ${need[*]}" >&2
            exit 1
        fi
    fi
fi
if [ ${#found[@]} != 0 ]; then
    echo "setup: installing ${found[*]} (for tests)"
    install "${found[@]}" || { update && install "${found[@]}"; } ||
        echo "setup: not all of them could be installed (see $log); their tests will be skipped"
fi
unpack_tools
