#!/bin/bash
# fresh: README's two commands, `make demo` and `make test`, on machines that have nothing yet: roots of Debian that
# debootstrap makes, with mounts and process numbers of their own and this machine's kernel. `make test-fresh`.
#
# usage: fresh.sh [--update]           all roots of the table `roots` below, one after the other
#        fresh.sh SUITE [COMMAND...]   one of them; or COMMAND in its copy of this tree, with git and make there
#
# Of this tree the last commit is tried. Each command has a time limit, after which it counts as failed and the end of
# its log is shown. The last lines list what was skipped, by reason; only what the kernel refuses and packages that are
# `optional` in scripts/packages.tsv may be: any other skip counts as failed. The last line is always
#
#   N passed, N failed, N skipped
#
# --update: what was tried goes into the table of README.md. Needs root, debootstrap (it is installed where apt has
# it) and the mirror that this machine's apt uses (or $NMTWATCH_MIRROR). A machine that has no Debian archive, or
# refuses roots, mounts or namespaces, runs `make test` instead, and says so; so does one whose archive does not answer. Bare roots and packages stay in
# ~/.cache/nmtwatch/roots, where that can be written: a root for a day, a package until it was not used for two weeks.
# Six gigabytes in /var/tmp while it runs.

set -u
. "$(dirname "$0")/../lib.sh"

# SUITE  COMMAND: its limit in minutes. Debian 13 gets what depends on the C library, on HTTP or on the JDK.
roots() {
    cat <<'TABLE'
bookworm  demo: 15
bookworm  test: 45
trixie    demo: 15
trixie    test-system: 30
trixie    check: 30
TABLE
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/nmtwatch/roots
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=
update=false
[ "${1-}" != --update ] || { update=true && shift; }

# --- a bare root ----------------------------------------------------------------------------------

# What this machine lacks, in a few words; nothing where it has all.
lacking() {
    [ "$(id -u)" = 0 ] || { echo "not root" && return; }
    unshare --mount --pid --fork sh -c 'mount -t tmpfs none /mnt' 2>/dev/null ||
        { echo "mounts in a namespace are refused" && return; }
    command -v apt-get >/dev/null || { echo "this is no Debian" && return; }
    [ -n "$(debian_mirror)" ] || apt-get -qq update >/dev/null 2>&1
    [ -n "$(debian_mirror)" ] || { echo "apt knows no Debian archive: set NMTWATCH_MIRROR to the URL of one" && return; }
    command -v debootstrap >/dev/null ||
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends debootstrap >/dev/null 2>&1 ||
        { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends debootstrap; } >/dev/null 2>&1 ||
        { echo "debootstrap cannot be installed" && return; }
    [ "$(df --output=avail -BG /var/tmp | tail -n 1 | tr -dc 0-9)" -ge 6 ] || echo "less than 6 GB are free in /var/tmp"
}

make_root() { # SUITE: into $scratch/SUITE; false, with the end of debootstrap's log
    local suite=$1 kept=
    root=$scratch/$suite
    [ -z "$cache" ] || kept=$cache/$suite-$(date +%F).tar
    if [ -n "$kept" ] && [ -e "$kept" ]; then
        mkdir "$root" && tar -C "$root" -xpf "$kept" --numeric-owner && return
        rm -rf --one-file-system "$root" "$kept"
    fi
    nice debootstrap --variant=minbase "$suite" "$root" "$(debian_mirror)" >"$scratch/$suite.log" 2>&1 || {
        tail -n 3 "$scratch/$suite.log" >&2
        return 1
    }
    rm -f "$root"/var/cache/apt/archives/*.deb
    [ -n "$kept" ] || return 0
    tar -C "$root" -cf "$kept.new" --numeric-owner . && rm -f "$cache/$suite"-*.tar && mv "$kept.new" "$kept" || rm -f "$kept.new"
}

# How this machine gets packages, names and this tree.
furnish() { # SUITE
    local archives=$cache/archives-$1
    apt-config dump | grep -E '^Acquire::(https?::|Check-)' >"$root/etc/apt/apt.conf.d/00host"
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    git clone -q "$PWD" "$root/root/nmtwatch" || return
    [ -n "$cache" ] || return 0
    mkdir -p "$archives/partial"
    find "$archives" -name '*.deb' -atime +14 -delete
}

# Becomes COMMAND in $root, which sees nothing of this machine but its kernel and devices. pivot_root, because who is in a
# chroot may make no user namespace.
enter() { # SUITE COMMAND...
    # shellcheck disable=SC2016 # for the other shell
    exec unshare --mount --pid --fork --kill-child sh -ec '
        root=$0 archives=$1
        shift
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs -o mode=1777 none "$root/dev/shm"
        mount -t tmpfs -o mode=1777 none "$root/tmp"
        mount -t tmpfs -o mode=755 none "$root/run"
        [ ! -d "$archives" ] || mount --bind "$archives" "$root/var/cache/apt/archives"
        cd "$root"
        mkdir -p outside
        pivot_root . outside
        umount -l /outside
        rmdir /outside
        cd /root
        exec "$@"' "$root" "$cache/archives-$1" /usr/bin/env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin ${CI:+CI="$CI"} \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${no_proxy:+no_proxy="$no_proxy"} \
        "${@:2}" </dev/null
}

# README's first words of its row "source".
prepare() { # SUITE
    enter "$1" sh -c 'apt-get -qq update && apt-get -qq install -y --no-install-recommends git make' >"$scratch/prepare" 2>&1
}

# --- what is tried --------------------------------------------------------------------------------

passed=0 failed=0 skipped=0
count() { # SUITE TARGET STATUS: of the command whose log is $scratch/log
    local line p f s
    line=$(grep -oE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$scratch/log" | tail -n 1)
    read -r p f s <<<"$(tr -dc '0-9 ' <<<"${line:-0 passed, 0 failed, 0 skipped}")"
    if [ -z "$line" ] && [ "$3" = 0 ]; then p=1; fi
    # A command that ended badly without a failed test has failed itself: its limit, a crash, a demo.
    if [ "$3" != 0 ] && [ "$f" = 0 ]; then f=1; fi
    sed -n '/^skipped:$/,/^[^ s]/ s/^    //p' "$scratch/log" >"$scratch/skips"
    while IFS= read -r line; do
        case $line in
        *": refused: "* | *": not installed: "*) ;;
        *)
            echo "$1 | not ok - this may not be skipped on a fresh machine: $line"
            s=$((s - 1)) f=$((f + 1))
            ;;
        esac
        echo "$1 $2: $line" >>"$scratch/all-skips"
    done <"$scratch/skips"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    echo "$1 | make $2: $p passed, $f failed, $s skipped, exit status $3, $((SECONDS / 60)) min $((SECONDS % 60)) s"
    echo "$2 $p $f $s" >>"$scratch/results-$1"
}

try() { # SUITE TARGET MINUTES
    local status=0 newest
    SECONDS=0
    # The reader takes its time with the last lines: wait for it, not only for the command.
    (enter "$1" timeout -k 30 $(($3 * 60)) make -C nmtwatch --no-print-directory "$2") > >(tee "$scratch/log" | sed -u "s/^/$1 | /") 2>&1 ||
        status=$?
    wait $!
    if [ $status = 124 ] || [ $status = 137 ]; then
        newest=$(find "$root/root/nmtwatch/build/test-logs" -name '*.log' -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-)
        echo "$1 | not ok - make $2 did not end within $3 minutes; the end of ${newest##*/}:"
        tail -n 30 "${newest:-$scratch/log}" | sed "s/^/$1 |     /"
    fi
    count "$1" "$2" $status
}

# A row of README's table: what is there is asked of the root itself.
row() { # SUITE
    # shellcheck disable=SC2016 # for the other shell
    (enter "$1" bash -c '
        version() { dpkg-query -W -f "\${db:Status-Status} \${source:Upstream-Version}\n" "$@" 2>/dev/null | sed -n "s/^installed \([0-9.]*\).*/\1/p" | sort -V | tail -n 1; }
        cd nmtwatch && . scripts/lib.sh
        jdks=$(for jdk in 8 11 17 21 25 26 27; do jdk_home $jdk >/dev/null && echo $jdk; done | paste -sd " ")
        echo "| $(. /etc/os-release && echo "$NAME" | sed "s| GNU/Linux||") $(cat /etc/debian_version) | $(gcc -dumpfullversion) | $(version libc6) | $(version "libmicrohttpd12*") | $(
            version "libcurl*gnutls") | $(version "libncursesw6") | $(version libunwind8) | $jdks |"')
}

results() { # SUITE: cells
    awk '{ printf "%s`make %s` %d", (NR > 1 ? ", " : ""), $1, $2; if ($3) printf " (%d failed)", $3 }' "$scratch/results-$1"
}

write_readme() {
    awk -v rows="$scratch/rows" '
        /^<!-- systems: begin/ { print; while ((getline row < rows) > 0) print row; inside = 1; next }
        /^<!-- systems: end/ { inside = 0 }
        !inside' README.md >"$scratch/README.md" && cat "$scratch/README.md" >README.md
}

why=$(lacking)
if [ -n "$why" ]; then
    [ $# = 0 ] || { echo "fresh: no bare roots here: $why" >&2 && exit 1; }
    echo "fresh: no bare roots here ($why): make test on this machine as it is"
    exec make test
fi
scratch=$(mktemp -d /var/tmp/nmtwatch-fresh.XXXXXX) || exit 1
chmod 755 "$scratch"
trap 'rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 143' TERM INT HUP
: >"$scratch/all-skips"

if [ $# -gt 1 ]; then
    make_root "$1" && furnish "$1" && (prepare "$1") || { tail -n 5 "$scratch/prepare" >&2; exit 1; }
    # shellcheck disable=SC2016 # for the other shell
    (enter "$1" bash -c 'cd nmtwatch && exec "$@"' bash "${@:2}")
    exit
fi

{
    echo "| system | gcc | C library | libmicrohttpd | libcurl | ncurses | libunwind | JDKs | passed |"
    echo "|---|---|---|---|---|---|---|---|---|"
} >"$scratch/rows"
for suite in $(roots | cut -d ' ' -f 1 | uniq | grep -x -- "${1:-.*}"); do
    if ! make_root "$suite" || ! furnish "$suite" || ! (prepare "$suite"); then
        tail -n 5 "$scratch/prepare" 2>/dev/null
        if [ $# = 0 ] && [ $((passed + failed)) = 0 ]; then
            echo "fresh: the archive did not give a root of $suite: make test on this machine as it is"
            rm -rf --one-file-system "$scratch"
            exec make test
        fi
        echo "$suite | not ok - the root could not be made"
        failed=$((failed + 1))
        continue
    fi
    while read -r target minutes; do
        try "$suite" "${target%:}" "$minutes"
    done < <(roots | sed -n "s/^$suite *//p")
    sed "s/|\$/| $(results "$suite") |/" <<<"$(row "$suite")" | tee -a "$scratch/rows"
    rm -rf --one-file-system "$root"
done
! $update || write_readme
if [ -s "$scratch/all-skips" ]; then
    echo "skipped, by reason:"
    sed -E 's/^(.*): ((refused|not installed|no JDK).*)$/\2\t\1/' "$scratch/all-skips" | sort | awk -F '\t' '
        $1 != reason { print "    " $1; reason = $1 }
        { print "        " $2 }'
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed != 0 ]
