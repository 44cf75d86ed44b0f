# shellcheck shell=bash
# lib: what the scripts and the tests share. Sourcing it changes to the root of the tree:
#
#   . "$(dirname "$0")/../lib.sh"

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
# What setup.sh unpacked and did not install.
case $PATH in
*build/tools/usr/bin) ;;
*) export PATH=$PATH:$PWD/build/tools/usr/bin ;;
esac

# --- JDKs -----------------------------------------------------------------------------------------

# Where `make test` puts the JDKs that it fetches. Root's are where other users may run them, too: /root is closed to them.
jdks_fetched() {
    if [ -n "${NMTWATCH_JDKS-}" ] || [ "$(id -u)" != 0 ]; then
        echo "${NMTWATCH_JDKS:-${XDG_CACHE_HOME:-$HOME/.cache}/nmtwatch/jdks}-native"
    else
        echo /var/cache/nmtwatch/jdks-native
    fi
}

# The home of a JDK with compiler: by major version or path; of this machine, or one that `make test`
# fetched (scripts/test/jdks.sh). False when there is none.
jdk_home() { # VERSION|PATH
    local home
    case $1 in
    /*) [ -x "$1/bin/javac" ] && echo "$1" ;;
    *)
        for home in /usr/lib/jvm/* "$(jdks_fetched)"/root/usr/lib/jvm/*; do
            [ -x "$home/bin/javac" ] && [ ! -L "$home" ] &&
                grep -q "^JAVA_VERSION=\"$1[.\"]" "$home/release" 2>/dev/null &&
                echo "$home" && return
        done
        false
        ;;
    esac
}

jcmd() { # JDK PID COMMAND...
    "$(jdk_home "$1")/bin/jcmd" -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC "${@:2}" 2>/dev/null
}

# Bytes malloc'ed for Class and Internal together. Class space is left out: it is no jmethodID.
nmt_bytes() { # JDK PID
    jcmd "$1" "$2" VM.native_memory summary scale=b | awk '
        /^-/ { wanted = $2 == "Class" || $2 == "Internal" }
        wanted && match($0, /malloc=[0-9]+/) { sum += substr($0, RSTART + 7, RLENGTH - 7) }
        END { print sum + 0 }'
}

# --- Debian ---------------------------------------------------------------------------------------

# The archive proper that this machine's apt uses (or $NMTWATCH_MIRROR): not the site of its updates
# or of other software. Empty where apt knows none.
debian_mirror() {
    [ -z "${NMTWATCH_MIRROR:-}" ] || { echo "$NMTWATCH_MIRROR" && return; }
    apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(SITE)' 2>/dev/null |
        awk -F '|' '$1 == "Debian" && $2 == "Debian" { print $3; exit }'
}

# apt-get for another suite or architecture, with lists, status and archives of its own in FOLDER: nothing
# of this machine is read but its keys, nothing is installed. It needs no root.
debian_apt() { # FOLDER MIRROR SUITE ARCHITECTURE COMMAND...
    local state=$1
    mkdir -p "$state"/{lists/partial,archives/partial}
    [ -e "$state/status" ] || : >"$state/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $2 $3 main" >"$state/sources.list"
    # Like debootstrap, it does not mind a mirror that stands still: that is signed, too.
    apt-get -qq -o "Dir::State=$state" -o "Dir::State::lists=$state/lists" \
        -o "Dir::State::status=$state/status" -o "Dir::Cache=$state" \
        -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=- \
        -o "APT::Architecture=$4" -o "APT::Architectures=$4" -o "APT::Sandbox::User=$(id -un)" \
        -o Acquire::Languages=none -o APT::Update::Error-Mode=any -o Acquire::Check-Valid-Until=false "${@:5}"
}

# This machine's architecture as Debian calls it, the folder of its libraries, and its C library's dynamic linker.
debian_architecture() {
    dpkg --print-architecture
}

multiarch() {
    echo "$(uname -m)-linux-gnu"
}

dynamic_linker() {
    case $(uname -m) in
    x86_64) echo /lib64/ld-linux-x86-64.so.2 ;;
    *) echo "/lib/ld-linux-$(uname -m).so.1" ;;
    esac
}

# --- arm64 on another machine ---------------------------------------------------------------------

# Where scripts/test/sysroot-arm64.sh puts Debian's arm64 packages.
sysroot_arm64() {
    echo "${NMTWATCH_SYSROOT_ARM64:-${XDG_CACHE_HOME:-$HOME/.cache}/nmtwatch/sysroot-arm64}"
}

# What is missing to build for arm64 and to run it here, in words; false where nothing is.
arm64_lacking() {
    [ -e "$(sysroot_arm64)/complete" ] || { echo "no arm64 sysroot (make sysroot-arm64)" && return; }
    command -v aarch64-linux-gnu-gcc >/dev/null || { echo "no cross compiler (gcc-aarch64-linux-gnu)" && return; }
    command -v qemu-aarch64-static >/dev/null || { echo "no emulator (qemu-user-static)" && return; }
    false
}

# Where the libraries of what $CC compiles for begin: the sysroot, or nothing for this machine's own.
library_root() {
    [ "$("${CC:-gcc}" -dumpmachine)" = "$(gcc -dumpmachine)" ] || sysroot_arm64
}

# --- steps of a trial that takes minutes ----------------------------------------------------------

# trial_begin makes $scratch, which goes at the end with $root in it, where a system is tried; $failed is 1 after a
# step that failed.
trial_begin() { # NAME
    failed=0
    scratch=$(mktemp -d "/var/tmp/nmtwatch-$1.XXXXXX")
    # Also another user's programs are run from there.
    chmod 755 "$scratch"
    root=$scratch/root
    trap 'umount "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$scratch"' EXIT
}
step() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        { grep -A 3 '^not ok' "$scratch/log" || tail -n 10 "$scratch/log"; } | sed 's/^/#   /' | tail -n 30
        # shellcheck disable=SC2034 # of the caller
        failed=1
    fi
}
inside() { # COMMAND... in $root
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}

# --- npm ------------------------------------------------------------------------------------------

# The folder of the packages of tests/npm, at the versions and checksums of its lock file; fetched once into
# ~/.cache/nmtwatch, without their install scripts. False, with one line on stderr, where they cannot be had.
npm_packages() {
    local lock=tests/npm/package-lock.json folder
    command -v npm >/dev/null || { echo "npm" >&2 && return 1; }
    folder=${XDG_CACHE_HOME:-$HOME/.cache}/nmtwatch/npm-$(sha256sum $lock | cut -c 1-12)
    mkdir -p "$(dirname "$folder")"
    (
        exec 9>"$folder.lock"
        flock 9
        [ ! -e "$folder" ] || exit 0 # complete, or not there
        rm -rf "$folder.building"
        mkdir "$folder.building"
        cp tests/npm/package.json $lock "$folder.building/"
        timeout 120 npm ci --prefix "$folder.building" --ignore-scripts --no-audit --no-fund >"$folder.log" 2>&1 &&
            mv "$folder.building" "$folder"
    ) || { echo "the packages of tests/npm ($(grep -m 1 'npm err' "$folder.log"))" >&2 && return 1; }
    echo "$folder/node_modules"
}

# --- files that are the same from the same sources ------------------------------------------------

# The time of all files: $SOURCE_DATE_EPOCH, or that of the last commit, or VERSION's where there is no git.
source_date() {
    if [ -n "${SOURCE_DATE_EPOCH-}" ]; then
        echo "$SOURCE_DATE_EPOCH"
    elif [ -e .git ] && command -v git >/dev/null; then
        git log -1 --format=%ct
    else
        stat -c %Y VERSION
    fi
}
# tar of the files' names, modes and contents alone.
tar_same() { # ARGUMENT...
    LC_ALL=C tar --create --format=gnu --sort=name --mtime="@$(source_date)" --owner=0 --group=0 --numeric-owner "$@"
}

# --- measurements in pairs, with and without ------------------------------------------------------

# The first two processors we may use.
processors() {
    awk '/^Cpus_allowed_list:/ {
        n = split($2, range, ",")
        for (i = 1; i <= n; i++) {
            split(range[i], end, "-")
            for (at = end[1]; at <= (end[2] == "" ? end[1] : end[2]); at++) print at
        }
    }' /proc/self/status | head -n 2
}

# Of the lines "NAME BASE WITH" of a file: pairs, medians of base, with and ratio, the
# interval of the ratio, the verdict.
statistics() { # FILE NAME GOAL
    awk -v name="$2" -v goal="$3" '
        function sort(v, n,    i, j, x) {
            for (i = 2; i <= n; i++) {
                x = v[i]
                for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]
                v[j + 1] = x
            }
        }
        function median(v, n) { return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }
        $1 == name { n++; base[n] = $2; agent[n] = $3; ratio[n] = $3 / $2 }
        END {
            sort(base, n); sort(agent, n); sort(ratio, n)
            # The k-th smallest and largest, as far inside as 2.5 % of a fair coin on each side allow.
            term = tail = 1 / 2 ^ n
            for (k = 0; tail <= 0.025; k++) {
                term = term * (n - k) / (k + 1)
                tail += term
            }
            verdict = "cannot tell"
            if (k > 0) {
                low = ratio[k]; high = ratio[n + 1 - k]
                if (high <= goal) verdict = "met"
                if (low > goal) verdict = "NOT MET"
            }
            printf "%d %.3f %.3f %.4f %s %s %s\n", n, median(base, n), median(agent, n),
                median(ratio, n), k ? sprintf("%.4f", low) : "null",
                k ? sprintf("%.4f", high) : "null", verdict
        }' "$1"
}
