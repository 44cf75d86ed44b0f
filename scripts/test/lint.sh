#!/bin/bash
# lint: everything that can be said about the sources without running them. Tools that are not
# installed are named and skipped; what the others find is an error.

set -u
. "$(dirname "$0")/../lib.sh"
failed=0

lint() { # NAME TOOL COMMAND...
    local name=$1 tool=$2
    shift 2
    if ! command -v "$tool" >/dev/null; then
        echo "lint: $name skipped, $tool is not installed"
    elif "$@"; then
        echo "lint: $name ok"
    else
        echo "lint: $name FAILED"
        failed=1
    fi
}

mapfile -t c_files < <(find floor analyzers reports nmtwatch agent tests -name '*.[ch]' 2>/dev/null | sort)
folders=(floor analyzers reports nmtwatch)
jvmti=$(find /usr/lib/jvm/*/include -name jvmti.h -print -quit 2>/dev/null)
if [ -n "$jvmti" ]; then
    folders+=(agent)
    jvmti=$(dirname "$jvmti")
else
    echo "lint: the agent is left out, no JDK has a jvmti.h"
fi
# What is of another architecture does not compile here.
mapfile -t sources < <(find "${folders[@]}" -name '*.c' -not -path '*/aarch64/*' -not -name aarch64.c | sort)
mapfile -t shell < <(find scripts tests .ci -name '*.sh' -o -path .ci/run | sort)

# Every include names its folder from the root, and points downwards.
includes() {
    ! grep -rnE '#include "[^/"]*"' floor analyzers reports nmtwatch agent && scripts/test/includes.sh
}

# The pure stage: no file, socket, clock, thread or log.
pure() {
    local wrong
    wrong=$(grep -rnE '#include <(fcntl|unistd|pthread|time|poll|errno|signal|sys/.*)\.h>' analyzers
        grep -rnwE 'fopen|printf|fprintf|getenv|time|clock_gettime|abort|exit' analyzers \
            --include='*.c' | grep -E '\w+\(' |
            grep -vE '^\S+:[0-9]+: *(\*|//|/\*)' |
            grep -E '\b(fopen|printf|fprintf|getenv|time|clock_gettime|abort|exit)\(')
    [ -z "$wrong" ] || {
        echo "$wrong"
        false
    }
}

# A banner is one line: the formatter once broke the long ones, and left their ends behind.
banners() {
    local wrong
    wrong=$(grep -nE -A1 '^/\* --- ([^*]|\*[^/])*$' "${c_files[@]}" | grep -E '^\S+-[0-9]+- (\* -+ )?\*/$')
    # Nor does the end of a comment of one line stand on a line of its own.
    wrong+=$(awk 'FNR == 1 { before = "" }
        before ~ /^ *\/\* [^ ]/ && before !~ /\*\// && /^ *\*\/$/ { print FILENAME ":" FNR ": " $0 }
        { before = $0 }' "${c_files[@]}")
    # Comments have 120 columns at most; code has what clang-format gives it.
    wrong+=$(awk 'length($0) > 120 && /^ *\*|\/\*/ { print FILENAME ":" FNR ": " substr($0, 1, 80) "..." }' "${c_files[@]}")
    [ -z "$wrong" ] || {
        echo "$wrong"
        false
    }
}

lint "include directions" grep includes
lint "banners" grep banners
lint "analyzers are pure" grep pure
lint "clang-format" clang-format clang-format --dry-run -Werror "${c_files[@]}"
lint "shellcheck" shellcheck shellcheck -x -S warning -P SCRIPTDIR "${shell[@]}"
# One file at a time, so that the machine's cores are used. The first run takes minutes (clang-tidy 3 s a
# file); afterwards only what has changed is looked at again: a stamp in build/lint holds the sum of a
# file, what it includes, the settings and the tool.
# What the Makefile says of the version, the pages and the architecture.
mkdir -p build/lint
made=build/lint/made.h
cat >$made <<'EOF'
#define NMTWATCH_VERSION "0"
#define PAGE_STYLE_HASHES ""
#define PAGE_SCRIPT_HASHES ""
EOF
tool_cppcheck() {
    cppcheck --quiet --std=c11 --language=c -I. --error-exitcode=1 \
        --enable=warning,performance,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=uninitvar --suppress=duplicateAssignExpression \
        --suppress=normalCheckLevelMaxBranches --suppress='*:*/jvm/*' \
        -D_GNU_SOURCE --include="$made" ${jvmti:+-I"$jvmti" -I"$jvmti/linux"} "$1"
}
# Its count of warnings in system headers is noise.
tool_clang-tidy() {
    clang-tidy --quiet "$1" -- \
        -std=gnu17 -I. ${jvmti:+-isystem "$jvmti" -isystem "$jvmti/linux"} -D_GNU_SOURCE -include "$made" \
        2> >(grep -vE '^[0-9]+ warnings? (generated|treated)' >&2)
}
look_at() { # TOOL SOURCE
    local stamp=build/lint/$1/${2//\//_} sum
    sum=$({
        "$1" --version
        cat .clang-tidy scripts/test/lint.sh
        gcc -MM -I. ${jvmti:+-isystem "$jvmti" -isystem "$jvmti/linux"} -D_GNU_SOURCE -include "$made" "$2" |
            tr -s ' \\' '\n' | grep -v ':$' | grep . | xargs cat
    } | sha256sum)
    [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ] && return
    "tool_$1" "$2" || return 1
    echo "$sum" >"$stamp"
}
export jvmti made
export -f look_at tool_cppcheck tool_clang-tidy
each_file() { # TOOL
    mkdir -p "build/lint/$1"
    printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -I{} bash -c 'look_at "$@"' look_at "$1" {}
}
lint "cppcheck" cppcheck each_file cppcheck
lint "clang-tidy" clang-tidy each_file clang-tidy
exit $failed
