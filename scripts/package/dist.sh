#!/bin/bash
# dist: the sources as a tarball, the same bytes from the same sources: names sorted, owners and
# modes normalised, one time for all (that of the last commit, or SOURCE_DATE_EPOCH).
#
# usage: dist.sh [BUILD]        BUILD/nmtwatch-VERSION.tar.gz; prints its sha256
#
# What git does not ignore is in it, committed or not, and the latter is said. In an unpacked tarball,
# or where git is not installed, it is every file outside build.

set -eu
. "$(dirname "$0")/../lib.sh"
build=${1:-build}
name=nmtwatch-$(<VERSION)
export LC_ALL=C

if [ -e .git ] && command -v git >/dev/null; then
    [ -z "$(git status --porcelain)" ] ||
        echo "dist: with changes that are not committed" >&2
    files() { git ls-files -z --cached --others --exclude-standard; }
else
    files() {
        find . \( -path "./${build#./}" -o -path ./build -o -path ./.git -o -name .pc \) -prune \
            -o -type f -printf '%P\0'
    }
fi

mkdir -p "$build"
out=$build/$name.tar.gz
files | sort -z | while IFS= read -r -d '' file; do
    # Removed in the working tree and not yet in the index.
    if [ -e "$file" ]; then printf '%s\0' "$file"; fi
done | tar_same --null --no-recursion --files-from=- --transform="s,^,$name/,S" --mode='u=rwX,go=rX' |
    gzip -9n >"$out.new"
mv "$out.new" "$out"
sha256sum "$out"
