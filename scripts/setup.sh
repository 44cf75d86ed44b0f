#!/bin/bash
# setup: installs what Debian 12, 13 or an Ubuntu lacks for building, the demo and the tests. Silent and quick when
# nothing is missing; without root it says the one command that helps.
#
# usage: setup.sh [build|demo|test]    each level holds the one before it; scripts/packages.tsv
#        setup.sh --check              is everything that the scripts call in that table?
#
# Nothing that is installed is upgraded, no service is started. What cannot be had is said here, and
# the tests that need it fail: a test is skipped for what a machine refuses, not for what it lacks.

set -eu
. "$(dirname "$0")/lib.sh"
level=${1:-test}
log=${TMPDIR:-/tmp}/nmtwatch-setup.$UID.log
table=scripts/packages.tsv

is_installed() { # PACKAGE
    dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed
}
rows() { # LEVEL: its packages, one a line
    awk -F '\t' -v level="$1" '$1 == level { print $2 }' "$table"
}

# Each command that a script calls is promised by the table or part of every Debian, and comes from
# the package that the table names.
check() {
    local scripts wrong=0 command where level package commands
    mapfile -t scripts < <(find scripts tests .ci -name '*.sh' -o -path .ci/run | sort)
    declare -A promised=() own=() base=()
    while IFS=$'\t' read -r level package commands; do
        [[ $level != '#'* && -n $level ]] || continue
        for command in $commands; do
            if [ "$level" = own ]; then own[$command]=1; else promised[$command]=1; fi
            [ "$command" != - ] || continue
            for package in ${package//|/ }; do
                if is_installed "$package" && [ "$level" != test-unpacked ] &&
                    ! dpkg-query -L "$package" | grep -qE "(/s?bin/|/)$command\$"; then
                    echo "setup: $package does not hold $command, as $table says"
                    wrong=1
                fi
            done
        done
    done <"$table"
    while read -r package; do
        while read -r command; do
            base[${command##*/}]=1
        done < <(dpkg-query -L "$package" 2>/dev/null | grep -E '^(/usr)?/s?bin/')
    done < <(dpkg-query -W -f '${Essential} ${Priority} ${Package}\n' | awk '$1 == "yes" || /required/ { print $NF }')
    base[awk]=1 # by an alternative
    while IFS=$'\t' read -r command where; do
        [ -z "${promised[$command]-}${base[$command]-}" ] || continue
        case ${own[$command]-}$where in
        1scripts/bench/* | 1scripts/package/* | 1scripts/test/jdks.sh:* | 1scripts/test/fresh.sh:* | 1scripts/test/lint.sh:* | 1scripts/setup.sh:*) continue ;;
        esac
        echo "setup: $where calls $command, which no row of $table promises"
        wrong=1
    done < <(perl scripts/test/commands_used.pl "${scripts[@]}")
    return $wrong
}

case $level in
build) levels=(build) ;;
demo) levels=(build demo) ;;
test) levels=(build demo test) ;;
--check)
    check
    exit
    ;;
*)
    echo "setup: unknown level '$level': build, demo or test; or --check" >&2
    exit 64
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "setup: this is no Debian; needed are the equivalents of: $(for one in "${levels[@]}"; do rows "$one"; done | paste -sd ' ')" >&2
    exit 0
fi

root=()
[ "$(id -u)" = 0 ] || ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null || root=(sudo -n)
may_install() {
    [ "$(id -u)" = 0 ] || [ ${#root[@]} != 0 ]
}
export DEBIAN_FRONTEND=noninteractive
updated=false
update() {
    if ! $updated && may_install; then "${root[@]}" apt-get -qq update >"$log" 2>&1 || true; fi
    updated=true
}
exists() { # PACKAGE, in the lists apt has now
    apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [0-9]'
}
# Of A|B what is installed, else the first that exists here, else the first.
choose() { # A|B..., into $chosen
    local condition
    for condition in is_installed exists exists; do
        for chosen in ${1//|/ }; do
            ! $condition "$chosen" || return 0
        done
        [ $condition = is_installed ] || update
    done
    chosen=${1%%|*}
}

required=()
for one in "${levels[@]}"; do
    while read -r package; do
        # Any JDK serves the demo.
        [[ $level != demo || $package != *-jdk-* ]] || ! scripts/workloads.sh jdk >/dev/null 2>&1 || continue
        choose "$package"
        required+=("$chosen")
    done < <(rows "$one")
done

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
unpack() { # A|B, those of which the archive has, PROGRAM...
    local dir=build/tools package=$1 one exist=()
    for one in ${package//|/ }; do ! exists "$one" || exist+=("$one"); done
    mkdir -p "$dir/usr/bin"
    (cd "$dir" && rm -rf unpacked && mkdir unpacked && cd unpacked && apt-get -qq download "${exist[@]}" &&
        for one in *.deb; do dpkg-deb -x "$one" . || exit; done &&
        (cd usr/bin && cp "${@:2}" ../../../usr/bin/) &&
        if [ -d usr/share/prometheus ]; then
            mkdir -p ../usr/share && cp -r usr/share/prometheus ../usr/share/
        fi) >>"$log" 2>&1 ||
        echo "setup: $package is not available (see $log); the tests that use it will fail"
    rm -rf "$dir/unpacked"
}
has_program() {
    [ -x "build/tools/usr/bin/$1" ] || command -v "$1" >/dev/null
}
templates=/usr/share/prometheus/alertmanager/default.tmpl # Alertmanager does not start without
unpack_tools() {
    [ "$level" = test ] || return 0
    if ! has_program promtool || ! has_program prometheus; then
        unpack 'prometheus|promtool' promtool prometheus
    fi
    if ! has_program prometheus-alertmanager || ! has_program amtool ||
        { [ ! -e "$templates" ] && [ ! -e "build/tools$templates" ]; }; then
        unpack prometheus-alertmanager prometheus-alertmanager amtool
    fi
}

mapfile -t need < <(missing_of "${required[@]}")
if [ ${#need[@]} = 0 ]; then
    unpack_tools
    exit 0
fi

if ! may_install; then
    echo "setup: missing packages; run: sudo apt-get install --no-install-recommends ${need[*]}" >&2
    exit 1
fi

install() {
    "${root[@]}" apt-get -qq install -y --no-install-recommends --no-upgrade "$@" >>"$log" 2>&1
}

$updated || : >"$log"
found=() unknown=()
for package in "${need[@]}"; do
    exists "$package" || update
    if exists "$package"; then
        found+=("$package")
    else
        unknown+=("$package")
    fi
done
[ ${#unknown[@]} = 0 ] ||
    echo "setup: $(. /etc/os-release && echo "$PRETTY_NAME") has no ${unknown[*]}: what needs them will fail" >&2
if [ ${#found[@]} != 0 ]; then
    echo "setup: installing ${found[*]}"
    if ! install "${found[@]}"; then
        update # the lists may be older than the mirror
        if ! install "${found[@]}"; then
            tail -n 5 "$log" >&2
            echo "setup: could not install; see $log, or run:" \
                "apt-get install --no-install-recommends ${found[*]}" >&2
            exit 1
        fi
    fi
fi
unpack_tools
