#!/bin/bash
# test-release: what `make release` has made, tried: by skopeo and umoci, by the tests that run any nmtwatch, in the
# Debian before this one, and built once more from the tarball of the sources in another folder. Not part of `make
# test`: five to twenty minutes. tests/e2e/release_test.sh has the image beside JVMs.
#
# usage: test-release.sh [BUILD]    needs root; skopeo, umoci, debootstrap: what is not there is said and not tried

set -eu
. "$(dirname "$0")/../lib.sh"
build=${1:-build}
out=$build/release
version=$(<VERSION)
name=nmtwatch-$version-linux-x86_64
image=localhost/nmtwatch:$version
failed=0
scratch=$(mktemp -d /var/tmp/nmtwatch-release.XXXXXX)
root=$scratch/old
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
        { grep -A 3 '^not ok' "$scratch/log" || tail -n 10 "$scratch/log"; } | sed 's/^/#   /' | tail -n 30
        failed=1
    fi
}
have() { # COMMAND
    command -v "$1" >/dev/null || { echo "not tried: $1 is missing" && false; }
}

step "the sums are those of the files" sh -c "cd '$out' && sha256sum --check --strict SHA256SUMS"
cp "$out/SHA256SUMS" "$scratch/first"

# --- the image -------------------------------------------------------------------------------------

if have skopeo; then
    step "skopeo reads the layout" skopeo inspect "oci:$out/image-x86_64:$image"
    step "skopeo reads the archive" skopeo copy "oci-archive:$out/$name.oci.tar:$image" "dir:$scratch/dir"
fi
if have umoci; then
    step "umoci unpacks it" umoci unpack --rootless --image "$out/image-x86_64:$image" "$scratch/bundle"
    step "what it unpacks runs" chroot "$scratch/bundle/rootfs" /usr/bin/nmtwatch explain oom-killed
fi

# --- the static program under the tests of the dynamic one -----------------------------------------

tar -xzf "$out/$name.tar.gz" -C "$scratch"
cp "$build/fake_jvm" "$build/fake_receiver" "$scratch/$name"
export NMTWATCH=$scratch/$name/nmtwatch FAKE_JVM=$scratch/$name/fake_jvm
for test in e2e/list_check e2e/serve e2e/top e2e/triage sim/delivery; do
    step "tests/${test}_test.sh" "tests/${test}_test.sh"
done
unset NMTWATCH FAKE_JVM

# --- Debian 11 -------------------------------------------------------------------------------------

mirror=$(debian_mirror)
inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}
if have debootstrap && [ -n "$mirror" ]; then
    step "a system with glibc 2.31" debootstrap --variant=minbase --include=openjdk-11-jre-headless bullseye "$root" "$mirror"
    mount -t proc proc "$root/proc"
    cp "$out/nmtwatch_${version}_amd64.deb" "$root/tmp/nmtwatch.deb"
    printf '%s\n' 'public class Sleeps { public static void main(String[] none) throws Exception {' \
        'System.out.println("ready"); Thread.sleep(120000); } }' >"$scratch/Sleeps.java"
    "$(jdk_home 17)/bin/javac" --release 8 -nowarn -d "$root/tmp" "$scratch/Sleeps.java" 2>/dev/null
    step "the package installs" inside dpkg -i /tmp/nmtwatch.deb
    inside "$(cd "$root" && echo usr/lib/jvm/java-11-openjdk-*/bin/java | sed 's|^|/|')" \
        -XX:NativeMemoryTracking=summary -cp /tmp Sleeps >"$scratch/jvm" 2>&1 &
    for ((i = 0; i < 100; i++)); do
        ! grep -q ready "$scratch/jvm" || break
        sleep 0.2
    done
    jvm=$(inside nmtwatch list --json | jq '.jvms[] | select(.main == "Sleeps").pid')
    step "check" inside nmtwatch check "$jvm"
    step "the agent loads" inside nmtwatch profile "$jvm" start
    step "... and stops" inside nmtwatch profile "$jvm" stop
    kill "$jvm" || true
    wait
    step "the package is purged" inside dpkg -P nmtwatch
fi

# --- once more, elsewhere --------------------------------------------------------------------------

SOURCE_DATE_EPOCH=$(source_date)
export SOURCE_DATE_EPOCH
scripts/package/dist.sh "$scratch" >/dev/null
mkdir "$scratch/again"
tar -xzf "$scratch/nmtwatch-$version.tar.gz" -C "$scratch/again" --strip-components=1
step "it builds from the tarball, in another folder" make -s -C "$scratch/again" release
step "and is the same, byte for byte" diff "$scratch/first" "$scratch/again/build/release/SHA256SUMS"

[ $failed = 0 ] && echo "test-release: $name is fine"
exit $failed
