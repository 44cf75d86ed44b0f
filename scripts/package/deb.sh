#!/bin/bash
# deb: a Debian package from the tarball of these sources, in BUILD/deb; what lintian says about it is
# printed, and an error of lintian is an error here.
#
# usage: deb.sh [BUILD]         needs debhelper; lintian is used where it is installed

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
if ! (cd "$source" && dpkg-buildpackage --no-sign --build=binary) >"$folder/log" 2>&1; then
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
