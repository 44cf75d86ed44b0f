#!/bin/bash
# release: what is given to people, in BUILD/release: for the machine that $CC compiles for
#
#   nmtwatch-VERSION-linux-ARCH.tar.gz        the static program, the agent, pages, examples
#   nmtwatch-VERSION-linux-ARCH.cdx.json      what is linked in (CycloneDX); the same file is in the tar and the image
#   nmtwatch-VERSION-linux-ARCH.oci.tar       an image: podman load, ctr images import, skopeo copy oci-archive:
#   image-ARCH/                               the same as an OCI layout
#   nmtwatch_VERSION_ARCH.deb                 the same programs, for every Debian and Ubuntu (`make deb` makes one of
#                                             programs that use the libraries of this Debian)
#   SHA256SUMS                                of the files above, of all machines whose files are there
#
# usage: release.sh BUILD [image]    image: that alone. Needs jq; called by `make release` and `make release-image`
#        release.sh --join BUILD OTHER...    `make release-all`: the files of the releases of all machines in
#                                            BUILD/release-all, with one SHA256SUMS and one image for all of them:
#
#   nmtwatch-VERSION-linux.oci.tar, image/    each machine takes what is of its architecture
#
# The same sources, compiler and libraries make the same bytes: every file has the time of source_date.

set -eu
. "$(dirname "$0")/../lib.sh"
umask 022
version=$(<VERSION)
image=localhost/nmtwatch:$version
command -v jq >/dev/null || {
    echo "release: jq is missing: apt-get install jq" >&2
    exit 1
}

# --- OCI layouts -----------------------------------------------------------------------------------

# In $layout, by way of $work.
blob() { # MEDIA-TYPE <CONTENT: stores it; its descriptor
    local sum
    mkdir -p "$layout/blobs/sha256"
    cat >"$work/blob"
    sum=$(sha256sum "$work/blob" | cut -d ' ' -f 1)
    jq -nc --arg type "$1" --arg sum "sha256:$sum" --argjson size "$(stat -c %s "$work/blob")" \
        '{mediaType: $type, digest: $sum, size: $size}'
    mv "$work/blob" "$layout/blobs/sha256/$sum"
}
index() { # <DESCRIPTORS: an index of them
    jq -sc '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: .}'
}
finish() { # ARCHIVE <DESCRIPTOR: of the image, which gets its name here
    jq -c --arg image "$image" \
        '. + {annotations: {"org.opencontainers.image.ref.name": $image, "io.containerd.image.name": $image}}' |
        index >"$layout/index.json"
    echo '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
    tar_same -C "$layout" . >"$1"
}
sums() { # FOLDER
    (cd "$1" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum) >"$work/sums"
    mv "$work/sums" "$1/SHA256SUMS"
    cat "$1/SHA256SUMS"
}

# --- of all machines -------------------------------------------------------------------------------

if [ "$1" = --join ]; then
    out=$2/release-all layout=$out/image work=$out/work
    rm -rf "$out"
    mkdir -p "$work" "$layout"
    for build in "${@:2}"; do
        (cd "$build/release" && sha256sum --quiet --check --strict SHA256SUMS)
        cp "$build/release"/nmtwatch?"$version"?* "$out"
        cp -r "$build/release"/image-*/blobs "$layout"
        jq -c '.manifests[] | del(.annotations)' "$build/release"/image-*/index.json >>"$work/manifests"
    done
    index <"$work/manifests" | blob application/vnd.oci.image.index.v1+json | finish "$out/nmtwatch-$version-linux.oci.tar"
    sums "$out"
    rm -rf "$work"
    exit
fi

build=$1 only=${2-}
CC=${CC:-gcc}
case $($CC -dumpmachine) in
x86_64*) architecture=amd64 machine=x86_64 ;;
aarch64*) architecture=arm64 machine=aarch64 ;;
*)
    echo "release: no release is made for $($CC -dumpmachine)" >&2
    exit 1
    ;;
esac
out=$build/release
name=nmtwatch-$version-linux-$machine
libraries=$build/static/libraries
work=$out/work
rm -rf "$work" "$out/$name".* "$out/image-$machine"
mkdir -p "$work"

# --- the files -------------------------------------------------------------------------------------

install -m 755 "$build/static/nmtwatch" "$work/nmtwatch"
install -m 644 "$build/libnmtagent.so" "$work/libnmtagent.so"
# Its build id is a sum of debug symbols as well, which name the folder it was built in.
"$($CC -print-prog-name=strip)" --strip-unneeded -R .note.gnu.build-id "$work/libnmtagent.so"
cp "$build/static/libraries.tsv" "$work/libraries.tsv"
awk -F '\t' '$1 == "ca-certificates" { print $1 "\t" $2 "\t" $3 }' "$libraries/packages.tsv" >>"$work/libraries.tsv"
CC=$CC scripts/package/sbom.sh --linked "$build/static/libraries.tsv" "$work/nmtwatch" "$work/libnmtagent.so" \
    >"$out/$name.cdx.json"
{
    echo "The programs of this release contain these libraries, or parts of them, unchanged, as Debian's packages"
    echo "build them; nmtwatch.cdx.json has the versions. The sources of nmtwatch and scripts/package/static.sh link"
    echo "the program again with another version of any of them."
    for package in $(cut -f 1 "$libraries/packages.tsv" | grep -vx ca-certificates) libc6-dev gcc-12-base; do
        for root in "$libraries/root" ''; do
            [ ! -e "$root/usr/share/doc/$package/copyright" ] || {
                printf '\n==== %s\n\n' "$package"
                cat "$root/usr/share/doc/$package/copyright"
                break
            }
        done
    done
} >"$work/THIRD-PARTY-LICENCES"

# --- image -----------------------------------------------------------------------------------------

# A user for `serve` to give its rights up to, and what libcurl trusts.
root=$work/root
mkdir -p "$root"/{usr/bin,usr/lib/nmtwatch,usr/share/doc/nmtwatch,etc/ssl/certs,etc/nmtwatch,var/lib/nmtwatch,proc,tmp}
chmod 1777 "$root/tmp"
install -m 755 "$work/nmtwatch" "$root/usr/bin/nmtwatch"
install -m 644 "$work/libnmtagent.so" "$root/usr/lib/nmtwatch/libnmtagent.so"
install -m 644 LICENSE "$work/THIRD-PARTY-LICENCES" "$root/usr/share/doc/nmtwatch"
install -m 644 "$out/$name.cdx.json" "$root/usr/share/doc/nmtwatch/nmtwatch.cdx.json"
find "$libraries/root/usr/share/ca-certificates/mozilla" -name '*.crt' | LC_ALL=C sort | xargs cat \
    >"$root/etc/ssl/certs/ca-certificates.crt"
printf '%s\n' root:x:0:0:root:/:/sbin/nologin nmtwatch:x:64779:64779:nmtwatch:/:/sbin/nologin >"$root/etc/passwd"
printf '%s\n' root:x:0: nmtwatch:x:64779: >"$root/etc/group"

layout=$out/image-$machine
created=$(date -u -d "@$(source_date)" +%Y-%m-%dT%H:%M:%SZ)
tar_same -C "$root" . >"$work/layer"
layer=$(gzip -9n <"$work/layer" | blob application/vnd.oci.image.layer.v1.tar+gzip)
config=$(jq -nc --arg created "$created" --arg architecture $architecture --arg version "$version" \
    --arg diff "sha256:$(sha256sum "$work/layer" | cut -d ' ' -f 1)" '{
        created: $created, architecture: $architecture, os: "linux",
        config: {
            Entrypoint: ["/usr/bin/nmtwatch"], Env: ["PATH=/usr/bin", "LANG=C.UTF-8"], WorkingDir: "/",
            Labels: {"org.opencontainers.image.title": "nmtwatch", "org.opencontainers.image.version": $version,
                     "org.opencontainers.image.licenses": "Apache-2.0"}
        },
        rootfs: {type: "layers", diff_ids: [$diff]},
        history: [{created: $created, created_by: "scripts/package/release.sh"}]
    }' | blob application/vnd.oci.image.config.v1+json)
manifest=$(jq -nc --argjson config "$config" --argjson layer "$layer" '{
        schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", config: $config, layers: [$layer]
    }' | blob application/vnd.oci.image.manifest.v1+json)
jq -c --arg architecture $architecture '. + {platform: {architecture: $architecture, os: "linux"}}' <<<"$manifest" |
    finish "$out/$name.oci.tar"

[ -z "$only" ] || { rm -rf "$work" && exit; }

# --- as it is installed, with the programs of the release ------------------------------------------

stage=$work/stage
# A variable of the command line that has called us, CROSS for one, is in the environment as well.
env -u MAKEFLAGS -u MAKELEVEL make -s BUILD="$build" DESTDIR="$PWD/$stage" PREFIX=/usr UNITDIR=/usr/lib/systemd/system install >/dev/null
install -m 755 "$work/nmtwatch" "$stage/usr/bin/nmtwatch"
install -m 644 "$work/libnmtagent.so" "$stage/usr/lib/nmtwatch/libnmtagent.so"
install -m 644 "$out/$name.cdx.json" "$stage/usr/share/doc/nmtwatch/nmtwatch.cdx.json"
install -m 644 "$work/THIRD-PARTY-LICENCES" "$stage/usr/share/doc/nmtwatch/third-party-licences"

# --- tar.gz ----------------------------------------------------------------------------------------

# Unpack and run: the agent is beside the program.
unpacked=$work/$name
mkdir "$unpacked"
cp -r "$stage/usr/share/doc/nmtwatch" "$unpacked/docs"
cp -r "$stage/usr/share/man" "$stage/usr/include" packaging/kubernetes "$unpacked"
mv "$unpacked"/docs/{README.md,third-party-licences,nmtwatch.cdx.json} "$unpacked"
rm "$unpacked/docs/copyright"
install -m 755 "$work/nmtwatch" "$unpacked/nmtwatch"
install -m 644 "$work/libnmtagent.so" LICENSE CHANGELOG.md packaging/serve.ini packaging/nmtwatch.service \
    packaging/completion/nmtwatch.bash "$unpacked"
tar_same -C "$work" "$name" | gzip -9n >"$out/$name.tar.gz"

# --- deb -------------------------------------------------------------------------------------------

# The fields and scripts of packaging/debian; what debhelper would put into the scripts is the reload of systemd.
mv "$stage/usr/share/doc/nmtwatch/copyright" "$work/licence"
cp packaging/debian/copyright "$stage/usr/share/doc/nmtwatch/copyright"
gzip -9n <CHANGELOG.md >"$stage/usr/share/doc/nmtwatch/changelog.gz"
find "$stage/usr/share/man" -type f -exec gzip -9n {} +
mkdir -p "$stage/DEBIAN"
{
    printf '%s\n' "Package: nmtwatch" "Version: $version" "Architecture: $architecture" \
        "Installed-Size: $(du -sk --apparent-size "$stage" | cut -f 1)" "Depends: adduser" "Recommends: libunwind8" \
        "Suggests: bash-completion, gnuplot-nox, jq, prometheus"
    sed -n '1,/^$/ { /^\(Section\|Priority\|Maintainer\):/p }' packaging/debian/control
    sed -n '/^Description:/,$p' packaging/debian/control
} >"$stage/DEBIAN/control"
echo /etc/nmtwatch/serve.ini >"$stage/DEBIAN/conffiles"
for script in postinst postrm; do
    sed 's|^#DEBHELPER#$|[ ! -d /run/systemd/system ] \|\| systemctl daemon-reload \|\| true|' \
        "packaging/debian/nmtwatch.$script" >"$stage/DEBIAN/$script"
    chmod 755 "$stage/DEBIAN/$script"
done
(cd "$stage" && find etc lib usr -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)
SOURCE_DATE_EPOCH=$(source_date) dpkg-deb --root-owner-group -Zxz --build "$stage" \
    "$out/nmtwatch_${version}_$architecture.deb" >/dev/null

# --- sums ------------------------------------------------------------------------------------------

sums "$out"
rm -rf "$work"
