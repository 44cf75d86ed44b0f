#!/bin/bash
# deb: a Debian package from the tarball of these sources, in BUILD/deb; what lintian says about it is
# printed, and an error of lintian is an error here.
#
# usage: deb.sh [BUILD]         needs debhelper; lintian is used where it is installed
#
# With $CROSS (make CROSS=aarch64-linux-gnu- deb) it is a package of that architecture, with the libraries of
# `make sysroot-arm64`.

set -eu
. "$(dirname "$0")/../lib.sh"
build=${1:-build}
version=$(<VERSION)
command -v dh >/dev/null || {
    echo "deb: debhelper is missing: apt-get install debhelper" >&2
    exit 1
}

[ "$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)" = "$version" ] || {
    echo "deb: packaging/debian/changelog is of another version than VERSION" >&2
    exit 1
}
scripts/package/dist.sh "$build" >/dev/null
folder=$build/deb
rm -rf "$folder"
mkdir -p "$folder"
tar -xf "$build/nmtwatch-$version.tar.gz" -C "$folder"
source=$folder/nmtwatch-$version
cp -r packaging/debian "$source/debian"
options=(--no-sign --build=binary)
# What it is built with is not installed for that architecture, but unpacked.
[ -z "${CROSS:-}" ] || options+=(--host-arch "$(dpkg-architecture -qDEB_HOST_ARCH -t "${CROSS%-}")" -d)
if ! (cd "$source" && DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS-}" \
    dpkg-buildpackage "${options[@]}") >"$folder/log" 2>&1; then
    tail -n 20 "$folder/log" >&2
    echo "deb: it does not build; see $folder/log" >&2
    exit 1
fi
rm -rf "$source"
if command -v lintian >/dev/null; then
    # As root it would say that it should not be.
    lintian --allow-root --fail-on error,warning --info "$folder"/*.changes
fi
ls "$folder"/*.deb
