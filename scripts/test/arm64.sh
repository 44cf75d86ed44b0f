#!/bin/bash
# arm64: runs a command where arm64 programs can be run, by qemu-aarch64-static and with the libraries and JDKs
# of `make sysroot-arm64`; also those that the command's programs start. To do so it is put into a user and
# mount namespace: a binfmt_misc of its own (Linux 6.7), and /usr/lib with the sysroot's below this machine's.
# No other process of this machine sees it, and no root is needed.
#
# usage: arm64.sh [-v 25] [-p 65536] COMMAND...
#
#   -v 25      JDK 25 (21) of Debian unstable, and the C library it was built for
#   -p BYTES   with that page size
#
# JAVA_HOME is the arm64 JDK's, ARM64_JDK its version. What is missing is said, with exit status 77.

set -eu
at=$PWD
. "$(dirname "$0")/../lib.sh"
cd "$at"
version=17
while getopts v:p: option; do
    case $option in
    v) version=$OPTARG ;;
    p) export QEMU_PAGESIZE=$OPTARG ;;
    *) exit 64 ;;
    esac
done
shift $((OPTIND - 1))
if lacking=$(arm64_lacking); then
    echo "arm64: $lacking" >&2
    exit 77
fi
sysroot=$(sysroot_arm64)
[ "$version" = 17 ] || sysroot=$sysroot/sid
home=/usr/lib/jvm/java-$version-openjdk-arm64
[ -x "$sysroot$home/bin/java" ] || { echo "arm64: $sysroot has no JDK $version" >&2 && exit 77; }
export JAVA_HOME=$home ARM64_JDK=$version
[ -z "${ARM64_REGISTERED-}" ] || exec "$@" # it is in such a namespace
export ARM64_REGISTERED=aarch64

libraries=/usr/lib:$sysroot/usr/lib
[ -L "$sysroot/lib" ] || libraries+=:$sysroot/lib # what Debian 12 has there
# Bytes 4 to 19 of an ELF file: 64 bits, any system, a program or a library, for machine 183.
row=':qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
row+=':\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
row+=":$(command -v qemu-aarch64-static):PF"
# shellcheck disable=SC2016
exec unshare -Urm sh -c '
    mount -t overlay overlay -o "lowerdir=$1" /usr/lib 2>/dev/null || {
        echo "arm64: no overlay in a user namespace (needs Linux 5.11)" >&2
        exit 77
    }
    mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null &&
        printf "%s" "$0" >/proc/sys/fs/binfmt_misc/register || {
        echo "arm64: no binfmt_misc in a user namespace (needs Linux 6.7)" >&2
        exit 77
    }
    shift
    exec "$@"' "$row" "$libraries" "$@"
