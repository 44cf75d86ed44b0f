#!/bin/bash
# static: the program as one file that needs no dynamic linker and no library (static-pie), from the objects of
# the ordinary one and nmtwatch/static_program.c. Links, a second or two; nothing is compiled here.
#
# usage: static.sh FOLDER OBJECT...     FOLDER/nmtwatch; FOLDER/libraries.tsv: what is linked in (library, Debian's
#                                       source package, version)
#        static.sh --libraries FOLDER   only fetches the libraries
#
# $CC decides for which machine. The static libraries are those of this machine's Debian, downloaded by apt and
# unpacked in FOLDER/libraries, for that machine; the C library is the compiler's. Every warning of the linker
# about a function that a static glibc cannot do alone is an error, but for one that static_program.c deals with.

set -eu
. "$(dirname "$0")/../lib.sh"
CC=${CC:-gcc}
only_libraries=false
[ "$1" != --libraries ] || { only_libraries=true && shift; }
folder=$1 libraries=$1/libraries
shift
triplet=$($CC -dumpmachine)
case $triplet in
x86_64*) architecture=amd64 ;;
aarch64*) architecture=arm64 ;;
*)
    echo "static: no release is made for $triplet" >&2
    exit 1
    ;;
esac

# Library, as the linker gets it, and the package that has it.
table() {
    cat <<'END'
jansson libjansson-dev
inih libinih-dev
ncursesw libncurses-dev
tinfo libncurses-dev
microhttpd libmicrohttpd-dev
gnutls libgnutls28-dev
hogweed nettle-dev
nettle nettle-dev
gmp libgmp-dev
tasn1 libtasn1-6-dev
curl libcurl4-openssl-dev
ssl libssl-dev
crypto libssl-dev
nghttp2 libnghttp2-dev
idn2 libidn2-dev
unistring libunistring-dev
brotlidec libbrotli-dev
brotlicommon libbrotli-dev
zstd libzstd-dev
lzma liblzma-dev
bz2 libbz2-dev
z zlib1g-dev
END
}
# Functions of libcurl and GnuTLS that are not used: static_program_left_out.
left_out='^(gss_|GSS_|ldap_|ber_|RTMP_|libssh2_|psl_|p11_kit_)'
at_start='^(libssh2_init|libssh2_exit)$'
# Functions of glibc in whose place static_program.c has its own.
wrapped='dlopen dlsym dlerror dlclose dladdr getpwnam getpwuid getpwuid_r gethostbyname setlocale'

download() { # PACKAGE...: of this machine's release of Debian
    cd "$libraries.new"
    if [ "$architecture" = "$(dpkg --print-architecture)" ]; then
        apt-get -qq download "$@"
    else
        local apt=(debian_apt "$PWD/apt" "$(debian_mirror)" "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$architecture")
        "${apt[@]}" update && "${apt[@]}" download "$@"
    fi
}
fetch() {
    local package wanted
    rm -rf "$libraries.new"
    mkdir -p "$libraries.new/root"
    mapfile -t wanted < <(table | cut -d ' ' -f 2 | sort -u)
    # The certificates are the image's.
    if ! (download "${wanted[@]}" ca-certificates) >"$libraries.log" 2>&1; then
        echo "static: $(grep -m1 ^E: "$libraries.log") (see $libraries.log)" >&2
        exit 1
    fi
    for package in "$libraries.new"/*.deb; do
        dpkg-deb --fsys-tarfile "$package" |
            tar -x -C "$libraries.new/root" --wildcards ./usr/lib ./usr/share/ca-certificates ./usr/share/doc 2>/dev/null || true
        dpkg-deb -W --showformat '${Package}\t${Source}\t${Version}\n' "$package"
    done | awk -F '\t' -v OFS='\t' '{
        # Source may be empty, or have the version of its own in brackets.
        split($2 == "" ? $1 : $2, source, " "); version = source[2] == "" ? $3 : substr(source[2], 2, length(source[2]) - 2)
        print $1, source[1], version }' >"$libraries.new/packages.tsv"
    rm -rf "$libraries.new"/*.deb "$libraries.new/apt"
    rm -rf "$libraries"
    mv "$libraries.new" "$libraries"
}

mkdir -p "$folder"
[ -z "$(table | cut -d ' ' -f 2 | sort -u | comm -23 - <(cut -f 1 "$libraries/packages.tsv" 2>/dev/null | sort -u))" ] || fetch
archives=$libraries/root/usr/lib/$triplet
[ -d "$archives" ] || archives=$(dirname "$(find "$libraries/root/usr/lib" -name libcurl.a | head -n 1)")
table | while read -r library package; do
    awk -F '\t' -v OFS='\t' -v library="lib$library" -v package="$package" \
        '$1 == package { print library, $2, $3 }' "$libraries/packages.tsv"
done >"$folder/libraries.tsv"
# The compiler's own, which say themselves of which package they are.
{
    # shellcheck disable=SC2086 # words
    printf 'libc\tglibc\t%s\n' "$("$($CC -print-prog-name=strings)" "$($CC ${LDFLAGS-} -print-file-name=libc.a)" |
        sed -n 's/^GNU C Library (Debian GLIBC \(.*\)) .*/\1/p')"
    printf 'libgcc_eh\tgcc-%s\t%s\n' "$($CC -dumpversion | cut -d . -f 1)" "$($CC --version | sed -n '1s/.*(Debian \(.*\)).*/\1/p')"
} >>"$folder/libraries.tsv"
! $only_libraries || exit 0

# Both have these from the same author, of different versions and under the same names. GnuTLS keeps its own ones.
defined() { # ARCHIVE: what others may call
    "$($CC -print-prog-name=nm)" -gP --defined-only "$1" 2>/dev/null | awk 'NF > 2 { print $1 }' | sort -u
}
comm -12 <(defined "$archives/libgnutls.a") <(defined "$archives/libcrypto.a") | sed 's/.*/& gnutls_own_&/' >"$folder/renamed"
"$($CC -print-prog-name=objcopy)" --redefine-syms="$folder/renamed" "$archives/libgnutls.a" "$folder/libgnutls.a"

mapfile -t flags < <(
    table | sed "s|\([^ ]*\) .*|$archives/lib\1.a|; s|^$archives/libgnutls.a|$folder/libgnutls.a|"
    nm -u "$archives/libcurl.a" "$archives/libgnutls.a" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u |
        grep -E "$left_out" | while read -r name; do
        if [[ $name =~ $at_start ]]; then
            echo "-Wl,--defsym=$name=static_program_nothing_to_start"
        else
            echo "-Wl,--defsym=$name=static_program_left_out"
        fi
    done
    # shellcheck disable=SC2086 # words
    printf -- '-Wl,--wrap=%s\n' $wrapped
)
$CC -static-pie -s -Wl,-z,relro -Wl,-z,now -Wl,--gc-sections -Wl,--build-id=sha1 ${LDFLAGS-} -o "$folder/nmtwatch.new" \
    "$@" "${flags[@]}" -lm -pthread 2>"$folder/link.log" || {
    cat "$folder/link.log" >&2
    exit 1
}
# Hosts are looked up by libcurl; static_program.c says how.
if grep 'warning:' "$folder/link.log" | grep -v "Using 'getaddrinfo' in statically linked applications" >&2; then
    echo "static: the linker warns" >&2
    exit 1
fi
mv "$folder/nmtwatch.new" "$folder/nmtwatch"
