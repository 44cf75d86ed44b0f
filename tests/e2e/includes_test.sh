#!/bin/bash
# Includes point downwards only, within the order of docs/architecture.md; and the check sees what does not.
. "$(dirname "$0")/../tap.sh"

check "no include points upwards" scripts/test/includes.sh

tree=$SCRATCH/tree
mkdir -p "$tree"/{docs,analyzers/parse,analyzers/model,reports/text,nmtwatch/jvm,agent/mem,agent/dict}
cp docs/architecture.md "$tree/docs"
from() { # FILE INCLUDED
    echo "#include \"$2\"" >"$tree/$1"
    scripts/test/includes.sh "$tree"
    echo "$?"
    rm "$tree/$1"
}
is "downwards is fine" "$(from analyzers/model/a.h analyzers/parse/b.h)" 0
is "upwards in a layer is not" "$(from analyzers/parse/a.h analyzers/model/b.h)" \
    "analyzers/parse/a.h:1: analyzers/model/b.h is not below analyzers/parse
1"
is "nor in the agent" "$(from agent/mem/a.c agent/dict/b.h)" "agent/mem/a.c:1: agent/dict/b.h is not below agent/mem
1"
is "nor into a higher layer" "$(from analyzers/parse/a.c reports/text/b.h)" \
    "analyzers/parse/a.c:1: reports/text/b.h is not of a lower layer
1"
is "nor into the agent" "$(from nmtwatch/jvm/a.c agent/mem/mem.h)" \
    "nmtwatch/jvm/a.c:1: agent/mem/mem.h is not of a lower layer
1"
mkdir "$tree/agent/other"
is "a folder without a place is named" "$(from agent/other/a.c agent/mem/mem.h)" \
    "agent/other: not in the order of docs/architecture.md
1"
is "nor in a table" "$(from analyzers/parse/a.def analyzers/model/b.def)" \
    "analyzers/parse/a.def:1: analyzers/model/b.def is not below analyzers/parse
1"
is "nor with blanks and angle brackets" "$(
    echo '#  include  <analyzers/model/b.h>' >"$tree/analyzers/parse/a.c"
    scripts/test/includes.sh "$tree"
    rm "$tree/analyzers/parse/a.c"
)" "analyzers/parse/a.c:1: analyzers/model/b.h is not below analyzers/parse"
circle() { # FILE INCLUDED...
    local i
    for ((i = 1; i < $#; i += 2)); do
        mkdir -p "$(dirname "$tree/${!i}")"
        echo "#include \"${*:i+1:1}\"" >>"$tree/${!i}"
    done
    scripts/test/includes.sh "$tree" | tr ' ' '\n' | grep / | sort | tr '\n' ' '
    for ((i = 1; i < $#; i += 2)); do rm -f "$tree/${!i}"; done
}
is "headers in a circle are seen" "$(circle analyzers/parse/a.h analyzers/parse/b.h analyzers/parse/b.h \
    analyzers/parse/c.h analyzers/parse/c.h analyzers/parse/a.h)" "analyzers/parse/a.h analyzers/parse/b.h analyzers/parse/c.h "
is "and parts of agent/control" "$(circle agent/control/a.c agent/control/b.h agent/control/b.c agent/control/a_parts.h \
    agent/control/a.c agent/control/a_parts.h)" "agent/control/a agent/control/b "
is "but not a part and its own header" "$(circle agent/control/a.c agent/control/a_parts.h \
    agent/control/a_parts.h agent/control/a.h)" ""
holds() { # FILE LINE
    mkdir -p "$(dirname "$tree/$1")"
    echo "$2" >"$tree/$1"
    scripts/test/includes.sh "$tree"
    rm "$tree/$1"
}
is "no file knows an architecture" "$(holds agent/mem/a.c '#ifdef __aarch64__')" \
    "agent/mem/a.c:1: of one architecture: #ifdef __aarch64__"
is "nor instructions" "$(holds agent/mem/a.c '    __asm__ volatile("pause");')" \
    'agent/mem/a.c:1: of one architecture:     __asm__ volatile("pause");'
is "nor intrinsics" "$(holds analyzers/parse/a.c '#include <immintrin.h>')" \
    "analyzers/parse/a.c:1: of one architecture: #include <immintrin.h>"
is "nor registers" "$(holds nmtwatch/jvm/a.c 'static const char name[] = "rdi";')" \
    'nmtwatch/jvm/a.c:1: of one architecture: static const char name[] = "rdi";'
is "but what only the compiler reads" "$(holds agent/mem/a.c '    __asm__("" : "+r"(block));')" ""
is "tests have none of it either" "$(holds tests/unit/mem/a_test.c '#ifdef __x86_64__')" \
    "tests/unit/mem/a_test.c:1: of one architecture: #ifdef __x86_64__"
is "but what a JVM prints" "$(holds tests/unit/mem/a_test.c '    "(mixed mode linux-amd64)"')" ""
is "nor have scripts" "$(holds scripts/a.sh 'java=/usr/lib/jvm/java-17-openjdk-amd64')" \
    "scripts/a.sh:1: of one architecture: java=/usr/lib/jvm/java-17-openjdk-amd64"
is "nor the size of a page" "$(holds nmtwatch/jvm/a.c '#define PAGE_BYTES 4096')" \
    "nmtwatch/jvm/a.c:1: of one architecture: #define PAGE_BYTES 4096"
is "but those that are named for one" "$(holds agent/mem/aarch64/a.c '#ifdef __aarch64__')" ""
is "and comments" "$(holds agent/mem/a.c 'int a; /* x86_64 */')" ""
done_testing
