#!/bin/bash
# test-deb: the Debian package in a system of its own: installed, run beside a JVM-like process,
# removed, purged; nothing may be left. Not part of `make test`: one to three minutes.
#
# usage: test-deb.sh [BUILD]    needs root, debootstrap, `make deb` before; the mirror is this machine's
#                               (or $NMTWATCH_MIRROR)

set -eu
. "$(dirname "$0")/../lib.sh"
build=${1:-build}
package=$(ls "$build"/deb/nmtwatch_*.deb 2>/dev/null | tail -n 1)
failed=0

fail() {
    echo "test-deb: $*" >&2
    exit 1
}
[ -n "$package" ] || fail "there is no package in $build/deb: make deb"
[ "$(id -u)" = 0 ] || fail "needs root"
command -v debootstrap >/dev/null || fail "debootstrap is missing"
mirror=$(debian_mirror)
[ -n "$mirror" ] || fail "apt knows no Debian archive here: set NMTWATCH_MIRROR"

scratch=$(mktemp -d /var/tmp/nmtwatch-deb.XXXXXX)
root=$scratch/root
cleanup() {
    umount "$root/proc" 2>/dev/null || true
    rm -rf --one-file-system "$scratch"
}
trap cleanup EXIT

step() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        sed 's/^/#   /' "$scratch/log" | tail -n 10
        failed=1
    fi
}
inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}
files() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./var/lib/dpkg -o -path ./var/cache \
        -o -path ./var/log -o -path ./tmp \) -prune -o -print | LC_ALL=C sort)
}

echo "building a system in $root"
nice debootstrap --variant=minbase bookworm "$root" "$mirror" >"$scratch/debootstrap" 2>&1 ||
    fail "debootstrap: $(tail -n 1 "$scratch/debootstrap")"
mount -t proc proc "$root/proc"
files >"$scratch/before"
cp "$package" "$root/tmp/nmtwatch.deb"

step "it installs, with nothing but what is there already" inside dpkg -i /tmp/nmtwatch.deb
step "it runs" inside nmtwatch version
step "its version is the package's" test \
    "$(inside nmtwatch version)" = "nmtwatch $(dpkg-deb -f "$package" Version)"
step "it looks for JVMs" inside nmtwatch list --json
step "it explains itself" inside nmtwatch help profile
step "it plans" inside nmtwatch plan --classes 40000 --json
step "it finds its agent" sh -c "! chroot '$root' nmtwatch profile 1 start 2>&1 | grep -q 'there is no libnmtagent'"
step "serve says which library it wants" sh -c \
    "chroot '$root' nmtwatch serve --for 1s 2>&1 | grep -q 'package libmicrohttpd12'"
step "a page for each verb" sh -c "
    chroot '$root' nmtwatch help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -vxE 'help|version' |
        while read -r verb; do test -s '$root'/usr/share/man/man1/nmtwatch-\$verb.1.gz || exit 1; done"
step "the bill of materials has the program's sum" grep -q \
    "$(sha256sum "$root/usr/bin/nmtwatch" | cut -d ' ' -f 1)" "$root/usr/share/doc/nmtwatch/nmtwatch.cdx.json"
step "the licences of what is linked in are there" sh -c \
    "zcat -f '$root'/usr/share/doc/nmtwatch/third-party-licences* | grep -c '^==== ' | grep -qx 3"
step "the daemon was not enabled" sh -c "! find '$root/etc/systemd' -name 'nmtwatch*' | grep ."
if command -v systemd-analyze >/dev/null; then
    # There is no systemd inside.
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
