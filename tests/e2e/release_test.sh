#!/bin/bash
# What `make release` makes: the static program in the root of its image, which has nothing else, beside JVMs in
# containers, as `kubectl debug` and sidecars run it. scripts/package/test-release.sh has what takes minutes.
# timeout: 120
. "$(dirname "$0")/containers.sh"

# Before anything that is compared: JVMs come up meanwhile.
contain 17 pod UID_IN=4711 --
contain 17 mapped UID_IN=4711 USERS=map --

# --- the files -------------------------------------------------------------------------------------

build=$(dirname "$NMTWATCH")
make -s BUILD="$(realpath --relative-to=. "$build")" release-image >"$SCRATCH/release.log" 2>&1 ||
    bail "make release-image: $(tail -n 3 "$SCRATCH/release.log")"
program=$build/static/nmtwatch
contains "static-pie: position independent" "$(readelf -h "$program")" "DYN ("
lacks "... with no dynamic linker" "$(readelf -lW "$program")" "INTERP"
lacks "... and no library" "$(readelf -dW "$program")" "NEEDED"
contains "... relocations are read-only" "$(readelf -lW "$program")" "GNU_RELRO"

layout=$build/release/image-$(uname -m)
image=$(jq -r '.manifests[0].annotations["org.opencontainers.image.ref.name"]' "$layout/index.json")
is "the manifests of packaging/ name this image" "$(grep -rhoE 'image: .*nmtwatch.*' packaging/kubernetes docs |
    sort -u)" "image: $image"
is "each blob is what its name says" "$(cd "$layout/blobs/sha256" && sha256sum -- * | awk '$1 != $2')" ""
blob() { # JQ-FILTER FILE
    echo "$layout/blobs/sha256/$(jq -r "$1" "$2" | cut -d : -f 2)"
}
manifest=$(blob '.manifests[0].digest' "$layout/index.json")
layer=$(blob '.layers[0].digest' "$manifest")
is "the layer is the one of the configuration" \
    "sha256:$(gzip -dc "$layer" | sha256sum | cut -d ' ' -f 1)" \
    "$(jq -r '.rootfs.diff_ids[0]' "$(blob .config.digest "$manifest")")"
root=/mnt/image
mkdir "$root" /mnt/debug
tar -xzf "$layer" -C "$root"
is "the image has no shell and no library but the agent" "$(cd "$root" && find usr -type f -perm /111 -o -name '*.so*' |
    sort | paste -sd ' ')" "usr/bin/nmtwatch usr/lib/nmtwatch/libnmtagent.so"
is "the bill of materials has the sums of both" \
    "$(jq -r '.components[] | select(.type == "file").hashes[0].content' "$root/usr/share/doc/nmtwatch/nmtwatch.cdx.json")" \
    "$(cd "$root" && sha256sum usr/bin/nmtwatch usr/lib/nmtwatch/libnmtagent.so | cut -d ' ' -f 1)"
is "... and of each library a version and a licence" "$(jq -r '.components[] | select(.type == "library") |
    select((.version and .purl and .licenses) | not).name' "$root/usr/share/doc/nmtwatch/nmtwatch.cdx.json")" ""
mkdir -m 777 "$root/work"
for packer in xz zstd bzip2; do
    $packer -c <tests/golden/jdk17/gc_ParallelGC_nmt_summary.txt >"$root/work/nmt.$packer"
done

# --- as kubectl debug does it ----------------------------------------------------------------------

# A container of the image in the pid namespace of a JVM, and in its user namespace where PEER_USERS is set.
# A container's root has the capabilities that engines give by default, and what is added; other users have none.
DEFAULT=+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw
DEFAULT+=,+sys_chroot,+mknod,+audit_write,+setfcap
debug() { # PID USER CAPABILITIES COMMAND...
    # shellcheck disable=SC2016 # for the other shell
    nsenter -t "$1" -p unshare -m bash -c 'mount --bind /mnt/image /mnt/debug && mount -t proc proc /mnt/debug/proc &&
        mount -t tmpfs -o mode=1777 none /mnt/debug/tmp && mount -t proc proc /proc || exit
        exec env -i PATH=/usr/sbin:/usr/bin LANG=C.UTF-8 TERM=xterm-256color ${PEER_USERS:+nsenter -t 1 -U} \
            setpriv --bounding-set "-all,$1" --inh-caps=-all \
            chroot $([ -n "${PEER_USERS-}" ] || echo --userspec "$0:$0" --groups=) /mnt/debug /usr/bin/nmtwatch "${@:2}"' "${@:2}"
}
contained
pod=${C_PID[17/pod]} mapped=${C_PID[17/mapped]}
NONE=+sys_chroot,+setuid,+setgid # for chroot(1)

# --profile=general, and runAsUser of the JVM.
for who in "0 $DEFAULT,+sys_ptrace" "4711 $NONE"; do
    read -r user capabilities <<<"$who"
    exits "user $user: list" 0 debug "$pod" "$user" "$capabilities" list --json
    is "user $user: sees the JVM" "$(jq -c '.jvms | map([.pid, .main])' <<<"$OUTPUT" 2>&1)" '[[1,"workloads.Workload"]]'
    exits "user $user: check" 0 debug "$pod" "$user" "$capabilities" check 1
    exits "user $user: record" 0 debug "$pod" "$user" "$capabilities" record 1 -o "/work/$user.nmt.gz" --for 2s
    exits "user $user: report" 0 debug "$pod" "$user" "$capabilities" report "/work/$user.nmt.gz" -o "/work/report-$user"
    check "user $user: ... is a page" grep -q '</html>' "$root/work/report-$user/report.html"
done
exits "triage" 0 debug "$pod" 0 "$DEFAULT,+sys_ptrace" triage 1 --for 2s -o /work/case
check "... is a page" grep -q '</html>' "$root/work/case/report.html"
exits "profile: the agent gets from the image into the JVM" 0 debug "$pod" 0 "$DEFAULT,+sys_ptrace" profile 1 start
exits "... and answers the JVM's user" 0 debug "$pod" 4711 "$NONE" profile 1 stop
exits "root without SYS_PTRACE" 13 debug "$pod" 0 "$DEFAULT" watch 1 --for 1s
contains "... is told so" "$OUTPUT" "CAP_SYS_PTRACE"
exits "another user" 13 debug "$pod" 4712 "$NONE" watch 1 --for 1s
# hostUsers: false
export PEER_USERS=1
exits "a user namespace: as its root" 0 debug "$mapped" 0 "$DEFAULT,+sys_ptrace" check 1
unset PEER_USERS

# --- what a dynamic program loads, and where there are no files -----------------------------------

for packer in xz zstd bzip2; do
    exits "files packed by $packer are read" 0 debug "$pod" 0 "$DEFAULT" analyze "/work/nmt.$packer"
    contains "... as what they are" "$OUTPUT" "NMT: "
done

done_testing
