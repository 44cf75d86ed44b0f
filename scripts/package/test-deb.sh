#!/bin/bash
# test-deb: a Debian package, tried. Its fields and files; then in a system of its own: installed, run beside a
# JVM-like process, removed, purged; nothing may be left. One of another machine is unpacked and run by the emulator,
# beside an arm64 JVM. Not part of `make test`: one to three minutes.
#
# usage: test-deb.sh [BUILD|PACKAGE]    needs `make deb` before, or a package; root and debootstrap; the mirror is this
#                                       machine's (or $NMTWATCH_MIRROR). BUILD: build, or build/aarch64-linux-gnu

set -eu
. "$(dirname "$0")/../lib.sh"
package=${1:-build}
[ ! -d "$package" ] || package=$(ls "$package"/deb/nmtwatch_*.deb 2>/dev/null | tail -n 1)

fail() {
    echo "test-deb: $*" >&2
    exit 1
}
[ -f "$package" ] || fail "there is no package ${1:-in build/deb}: make deb"
trial_begin deb
architecture=$(dpkg-deb -f "$package" Architecture)
version=$(dpkg-deb -f "$package" Version)
case $architecture in
amd64) machine=X86-64 ;;
arm64) machine=AArch64 ;;
*) fail "it is for $architecture" ;;
esac
field() { # NAME
    dpkg-deb -f "$package" "$1"
}

# --- fields and files ------------------------------------------------------------------------------

dpkg-deb -x "$package" "$scratch/files"
dpkg-deb -e "$package" "$scratch/control"
programs=("$scratch"/files/usr/bin/nmtwatch "$scratch"/files/usr/lib/nmtwatch/libnmtagent.so)
step "it is of this version" test "$version" = "$(<VERSION)"
step "its name is made of its fields" test "$(basename "$package")" = "nmtwatch_${version}_$architecture.deb"
step "the sums are those of the files" sh -c "cd '$scratch/files' && md5sum --quiet -c '$scratch/control/md5sums'"
step "$machine: the program and the agent" sh -c "readelf -h ${programs[*]} | grep -c 'Machine:.*$machine' | grep -qx 2"
step "... and nothing else is compiled" test -z "$(find "$scratch/files" -type f -exec grep -lq "^.ELF" {} \; -print |
    grep -vxF "$(printf '%s\n' "${programs[@]}")")"
newest=$(readelf -VW "${programs[@]}" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
dynamic=true # one of `make release` is not
readelf -dW "${programs[0]}" | grep -q NEEDED || dynamic=false
if $dynamic; then
    step "it depends on the C library of its symbols, ${newest#GLIBC_}" sh -c "
        echo '$(field Depends)' | grep -oE 'libc6 \(>= [0-9.]+' | grep -qxF 'libc6 (>= ${newest#GLIBC_}'"
    step "the licences of what is linked in are there" sh -c \
        "zcat -f '$scratch'/files/usr/share/doc/nmtwatch/third-party-licences* | grep -c '^==== ' | grep -qx 4"
fi
step "the configuration is one" grep -qx /etc/nmtwatch/serve.ini "$scratch/control/conffiles"
step "a page for each verb" sh -c "
    '${NMTWATCH:-build/nmtwatch}' help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -vxE 'help|version' |
        while read -r verb; do test -s '$scratch'/files/usr/share/man/man1/nmtwatch-\$verb.1.gz || exit 1; done"
sbom=$scratch/files/usr/share/doc/nmtwatch/nmtwatch.cdx.json
step "the bill of materials has the sums of both" sh -c "
    sha256sum ${programs[*]} | cut -d ' ' -f 1 | xargs -I{} grep -q {} '$sbom'"
step "... and of each library that is not optional a version" sh -c "jq -r '.components[] |
    select(.type == \"library\" and .scope == \"required\" and (.version and .purl | not)).name' '$sbom' | { ! grep .; }"

if [ "$architecture" != "$(dpkg --print-architecture)" ]; then
    ! lacking=$(arm64_lacking) || fail "not run: $lacking"
    mkdir "$scratch/programs"
    ln -s "${programs[@]}" "$scratch/programs"
    step "it runs, and its version is the package's" sh -c \
        "scripts/test/arm64.sh '${programs[0]}' --version | grep -qx 'nmtwatch $version'"
    step "it plans" scripts/test/arm64.sh "${programs[0]}" plan --classes 40000 --json
    step "a JVM under the program and the agent" env ARM64_PROGRAMS="$scratch/programs" tests/e2e/arm64_test.sh
    [ $failed = 0 ] && echo "test-deb: $(basename "$package") is fine"
    exit $failed
fi

# --- in a system of its own ------------------------------------------------------------------------

[ "$(id -u)" = 0 ] || fail "needs root"
command -v debootstrap >/dev/null || fail "debootstrap is missing"
mirror=$(debian_mirror)
[ -n "$mirror" ] || fail "apt knows no Debian archive here: set NMTWATCH_MIRROR"
# /run is of what runs; adduser keeps the files that it has changed, as NAME-.
files() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./var/lib/dpkg -o -path ./var/cache \
        -o -path ./var/log -o -path ./tmp -o -path ./run -o -path './etc/*-' \) -prune -o -print | LC_ALL=C sort)
}

echo "building a system in $root"
nice debootstrap --variant=minbase bookworm "$root" "$mirror" >"$scratch/debootstrap" 2>&1 ||
    fail "debootstrap: $(tail -n 1 "$scratch/debootstrap")"
mount -t proc proc "$root/proc"
files >"$scratch/before"
cp "$package" "$root/tmp/nmtwatch.deb"

step "it installs, with nothing but what is there already" inside dpkg -i /tmp/nmtwatch.deb
step "it runs" inside nmtwatch version
step "its version is the package's" test "$(inside nmtwatch version)" = "nmtwatch $version"
step "it looks for JVMs" inside nmtwatch list --json
step "it explains itself" inside nmtwatch help profile
step "it plans" inside nmtwatch plan --classes 40000 --json
step "it finds its agent" sh -c "! chroot '$root' nmtwatch profile 1 start 2>&1 | grep -q 'there is no libnmtagent'"
! $dynamic || step "serve says which library it wants" sh -c \
    "chroot '$root' nmtwatch serve --for 1s 2>&1 | grep -q 'package libmicrohttpd12'"
step "the daemon was not enabled" sh -c "! find '$root/etc/systemd' -name 'nmtwatch*' | grep ."
if command -v systemd-analyze >/dev/null; then
    # There is no systemd inside.
    # /lib is a link there.
    sed "s|/usr/bin/nmtwatch|$root&|" "$root/lib/systemd/system/nmtwatch.service" \
        >"$scratch/nmtwatch.service"
    step "the unit is understood" systemd-analyze verify --man=no "$scratch/nmtwatch.service"
fi
mkdir -p "$root/var/lib/nmtwatch/state"
echo "; changed" >>"$root/etc/nmtwatch/serve.ini"
step "it can be installed again over itself" inside dpkg -i /tmp/nmtwatch.deb
step "a changed configuration stays" grep -q '^; changed' "$root/etc/nmtwatch/serve.ini"
step "it is removed" inside dpkg -r nmtwatch
step "the configuration and what was recorded stay" test -e "$root/etc/nmtwatch/serve.ini" -a \
    -d "$root/var/lib/nmtwatch/state"
step "it is purged" inside dpkg -P nmtwatch
files >"$scratch/after"
step "nothing is left" diff "$scratch/before" "$scratch/after"
[ $failed = 0 ] && echo "test-deb: $(basename "$package") is fine"
exit $failed
