#!/bin/bash
# test-release: what `make release` has made, tried: by skopeo and umoci, by the tests that run any nmtwatch, in the
# Debian before this one, and built once more from the tarball of the sources in another folder; then the release of
# the other machine and the image of both, by the emulator. Not part of `make test`: ten to thirty minutes.
# tests/e2e/release_test.sh has the image beside JVMs.
#
# usage: test-release.sh [BUILD]    needs root; skopeo, umoci, debootstrap, the emulator: what is not there is said
#                                   and not tried

set -eu
. "$(dirname "$0")/../lib.sh"
build=${1:-build}
out=$build/release
version=$(<VERSION)
name=nmtwatch-$version-linux-$(uname -m)
image=localhost/nmtwatch:$version
trial_begin release

have() { # COMMAND
    command -v "$1" >/dev/null || { echo "not tried: $1 is missing" && false; }
}

step "the sums are those of the files" sh -c "cd '$out' && sha256sum --check --strict SHA256SUMS"
cp "$out/SHA256SUMS" "$scratch/first"

# --- the image -------------------------------------------------------------------------------------

if have skopeo; then
    step "skopeo reads the layout" skopeo inspect "oci:$out/image-$(uname -m):$image"
    step "skopeo reads the archive" skopeo copy "oci-archive:$out/$name.oci.tar:$image" "dir:$scratch/dir"
fi
if have umoci; then
    step "umoci unpacks it" umoci unpack --rootless --image "$out/image-$(uname -m):$image" "$scratch/bundle"
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
if have debootstrap && [ -n "$mirror" ]; then
    step "a system with glibc 2.31" nice debootstrap --variant=minbase --include=openjdk-11-jre-headless bullseye "$root" "$mirror"
    mount -t proc proc "$root/proc"
    cp "$out/nmtwatch_${version}_$(debian_architecture).deb" "$root/tmp/nmtwatch.deb"
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

# --- both machines ---------------------------------------------------------------------------------

if lacking=$(arm64_lacking); then
    echo "not tried: aarch64: $lacking"
elif ! refusal=$(scripts/test/arm64.sh true 2>&1); then
    echo "not tried: aarch64: $refusal"
else
    step "make release-all" make -s release-all
    out=build/release-all other=nmtwatch-$version-linux-aarch64
    step "the sums of all are those of the files" sh -c "cd '$out' && sha256sum --check --strict SHA256SUMS"
    step "those of this machine are as before" sh -c "cut -c 1-64 '$scratch/first' | xargs -I{} grep -q ^{} '$out/SHA256SUMS'"
    tar -xzf "$out/$other.tar.gz" -C "$scratch"
    step "aarch64: the program and the agent are for it" sh -c "
        readelf -h '$scratch/$other/nmtwatch' '$scratch/$other/libnmtagent.so' | grep -c 'Machine: *AArch64' | grep -qx 2"
    step "aarch64: static-pie" sh -c "readelf -hlW '$scratch/$other/nmtwatch' | grep -q 'DYN (' &&
        ! readelf -ldW '$scratch/$other/nmtwatch' | grep -E 'INTERP|NEEDED'"
    step "aarch64: the bill of materials has the sums of both" sh -c "cd '$scratch/$other' &&
        sha256sum nmtwatch libnmtagent.so | cut -d ' ' -f 1 | xargs -I{} grep -q {} nmtwatch.cdx.json"
    step "aarch64: a JVM under the program and the agent" env ARM64_PROGRAMS="$scratch/$other" tests/e2e/arm64_test.sh
    step "aarch64: the package" scripts/package/test-deb.sh "$out/nmtwatch_${version}_arm64.deb"
    if have skopeo; then
        step "skopeo: both machines in one image" sh -c "skopeo inspect --raw 'oci:$out/image:$image' |
            jq -e '[.manifests[].platform | .os, .architecture] == [\"linux\", \"amd64\", \"linux\", \"arm64\"]'"
        step "skopeo: all blobs of both are there" skopeo copy --all "oci-archive:$out/nmtwatch-$version-linux.oci.tar:$image" \
            "dir:$scratch/all"
        for architecture in amd64 arm64; do
            step "skopeo: $architecture takes its own" sh -c "skopeo --override-arch $architecture inspect 'oci:$out/image:$image' |
                jq -e '.Architecture == \"$architecture\"'"
        done
    fi
    if have umoci; then
        # It does not choose by architecture: it gets a layout with one entry of the index.
        cp -r "$out/image" "$scratch/one"
        jq --arg image "$image" '.manifests |= map(select(.platform.architecture == "arm64") |
            .annotations = {"org.opencontainers.image.ref.name": $image})' \
            "$out/image/blobs/sha256/$(jq -r '.manifests[0].digest[7:]' "$out/image/index.json")" >"$scratch/one/index.json"
        step "umoci unpacks that of aarch64" umoci unpack --rootless --image "$scratch/one:$image" "$scratch/bundle-arm64"
        step "what it unpacks runs" scripts/test/arm64.sh chroot "$scratch/bundle-arm64/rootfs" /usr/bin/nmtwatch explain oom-killed
    fi
fi

[ $failed = 0 ] && echo "test-release: $name is fine"
exit $failed
