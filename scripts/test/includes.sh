#!/bin/bash
# includes: every include points downwards, so that there is no circle: from a layer to a lower one, and
# within a layer to a folder that comes later in the order of docs/architecture.md. No headers include each other in a
# circle, nor do the parts of agent/control. Code of one architecture stands in a file or folder of that name.
# usage: includes.sh [TREE]     prints what does not; exit 1 when there is any
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 2

# FILE:LINE:INCLUDED of everything but tests
list() {
    grep -rnoE '^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*["<](floor|analyzers|reports|nmtwatch|agent|tests)/[^">]+' \
        --include='*.[ch]' --include='*.def' floor analyzers reports nmtwatch agent |
        sed -E 's/:[[:blank:]]*#[[:blank:]]*include[[:blank:]]*["<]/:/'
}

# The floor is below all of them; neither nmtwatch nor the agent includes the other.
layers() {
    list | awk -F: '
        { split($1, from, "/"); split($3, to, "/"); layer = from[1]; into = to[1] }
        layer == into || into == "floor" { next }
        layer == "nmtwatch" && (into == "reports" || into == "analyzers") { next }
        layer == "reports" && into == "analyzers" { next }
        { print $1 ":" $2 ": " $3 " is not of a lower layer" }'
}

# Lines of docs/architecture.md: "    agent/  control > live > ...", the highest first.
folders() {
    awk '
        FNR == NR {
            if ($0 ~ /^    (nmtwatch|reports|analyzers|agent|floor)\/ +[a-z]+ >/) {
                layer = $1
                for (i = 2; i <= NF; i++)
                    if ($i != ">")
                        rank[layer $i] = ++last
            } else if (layer != "" && $0 ~ /^ +> /) {
                for (i = 1; i <= NF; i++)
                    if ($i != ">")
                        rank[layer $i] = ++last
            } else {
                layer = ""
            }
            next
        }
        {
            split($0, part, ":")
            from = part[1]; to = part[3]
            sub(/\/[^\/]*$/, "", from); sub(/\/[^\/]*$/, "", to)
            # What is of an architecture (floor/hotspot/x86_64) is a part of its folder.
            sub(/^[^\/]*\/[^\/]*/, "&\n", from); sub(/\n.*/, "", from)
            sub(/^[^\/]*\/[^\/]*/, "&\n", to); sub(/\n.*/, "", to)
            if (from == to || substr(from, 1, index(from, "/")) != substr(to, 1, index(to, "/"))) next
            if (from !~ /\//) next # main.c
            if (!(from in rank)) print from ": not in the order of docs/architecture.md"
            else if (!(to in rank) || rank[to] < rank[from])
                print part[1] ":" part[2] ": " part[3] " is not below " from
        }' docs/architecture.md <(list)
}

# The edges of a graph: FROM TO. Of headers, and of the parts of agent/control: a file and its header are one, and so is
# a header that has no file of its own (profiler_parts.h) with the part that its name begins with.
edges() {
    list | awk -F: '
        { from[NR] = $1; to[NR] = $3 }
        function part(file) { sub(/\.[a-z]+$/, "", file); return file }
        { parts[part($1)]; if ($1 ~ /\.c$/) own[part($1)] }
        function owner(name,   at) {
            if (name in own) return name
            for (at = name; sub(/_[^_\/]*$/, "", at);) if (at in parts) return at
            return name
        }
        END {
            for (i = 1; i <= NR; i++) {
                if (to[i] !~ /\.h$/) continue
                if (from[i] ~ /\.h$/) print from[i], to[i]
                if (from[i] !~ /^agent\/control\// || to[i] !~ /^agent\/control\//) continue
                a = owner(part(from[i])); b = owner(part(to[i]))
                if (a != b) print a, b
            }
        }'
}

circles() {
    edges | tsort 2>&1 >/dev/null | awk '
        /contains a loop/ { if (files != "") print "a circle:" files; files = ""; next }
        { files = files " " $2 }
        END { if (files != "") print "a circle:" files }'
}

# Architectures are known to files and folders that are named for one; no file knows the size of a page. Comments may
# say what they like. Tests may name what other machines print, but have no macros, registers and instructions of one.
machines() {
    find floor analyzers reports nmtwatch agent tests -name '*.[ch]' -o -name '*.def' 2>/dev/null |
        grep -vE '/(x86_64|aarch64)[/.]|^nmtwatch/machine/' | sort | xargs -r perl -ne '
        s{/\*.*?(\*/|$)}{}g;
        my $product = $ARGV !~ m{^tests/};
        print "$ARGV:$.: of one architecture: $_" if !/^\s*\*/ && (
            /\b(__(x86|i386|amd64|aarch64|arm|ARM|SSE|AVX)\w*|REG_R[A-Z0-9]{1,2}|gregs|uc_mcontext|user_(pt_)?regs\w*)\b/ ||
            /\b(AUDIT_ARCH|PERF_REG|UNW_X86|UNW_AARCH64|HWCAP\d?)_|<asm\/|\b__builtin_(ia32|cpu|aarch64|arm)/ ||
            /<(\w+intrin|arm_\w+|cpuid)\.h>|\b_mm\d*_\w+ ?\(|\b_?_?rdtscp?\b/ ||
            /\b(__)?asm(__)?\b\s*(__)?(volatile)?(__)?\s*\(\s*($|"(?!"|\.|nop))/ ||
            ($product && (/\bEM_(?!NONE)[A-Z0-9_]+\b|x86[-_]64|aarch64|amd64|arm64/ ||
                /"%?([re](ax|bx|cx|dx|si|di|bp|sp|ip)|[xw](29|30)|[xyz]mm\d+)"/ ||
                /(?<!_SC_)PAGE_SIZE|PAGE_SHIFT/ || (/\b(4096|0xfff|65536)\b|(<<|>>) *12\b/ && /page/i))));
        close ARGV if eof' 2>/dev/null
    # Scripts are about an architecture, make packages for one, or run on any.
    find Makefile scripts tests packaging -name Makefile -o -name '*.sh' -o -name '*.pl' -o -name '*.py' 2>/dev/null |
        grep -vE 'arm64[^/]*\.sh$|^(Makefile|scripts/lib\.sh|scripts/test/(includes|lint|test)\.sh)$|^scripts/package/' |
        grep -vE '^tests/(agent/compare|build/hardening|e2e/includes)_test\.sh$' | sort | xargs -r perl -ne '
        s/(^|\s)#.*//;
        print "$ARGV:$.: of one architecture: $_" if /x86[-_]64|aarch64|amd64|arm64/;
        close ARGV if eof' 2>/dev/null
}

wrong=$(layers && folders && circles && machines)
[ -z "$wrong" ] || {
    echo "$wrong"
    exit 1
}
