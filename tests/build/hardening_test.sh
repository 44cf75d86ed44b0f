#!/bin/bash
# What plain make hardens, read off the program and the agent.
. "$(dirname "$0")/../tap.sh"
program=build/nmtwatch agent=build/libnmtagent.so
need_built "$program"

symbols() { readelf -W --dyn-syms "$1"; }
for file in "$program" "$agent"; do
    if [ ! -e "$file" ]; then
        fail "$file" "it was not built"
        continue
    fi
    contains "$file: symbols are bound at start" "$(readelf -W -d "$file")" "BIND_NOW"
    contains "$file: relocations are read-only" "$(readelf -W -l "$file")" "GNU_RELRO"
    contains "$file: the stack is not executable" "$(readelf -W -l "$file" | grep GNU_STACK)" " RW "
    contains "$file: stack protector" "$(symbols "$file")" "__stack_chk_fail"
    contains "$file: FORTIFY" "$(symbols "$file")" "__snprintf_chk"
done
# Older distributions than this one have JVMs, too: agent/old_glibc.h.
is "$agent: what it wants of glibc" "$(readelf -W --dyn-syms "$agent" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu |
    awk -F '[_.]' '$3 > 17')" ""
contains "FORTIFY looks at formats" "$(symbols "$program")" "__printf_chk"

# --- what the compiler does not leave a name of ---------------------------------------------------

machine=$(uname -m)
flags=$(make -n -B build/obj/nmtwatch/process/messages.o)
contains "-fstack-clash-protection" "$flags" "-fstack-clash-protection"
if [ "$machine" = x86_64 ]; then
    # The property of the whole file is the linker's to give, and Debian 12's crt1.o has none.
    fresh=$SCRATCH/build
    check "some files compile" make -s "BUILD=$fresh" "$fresh"/obj/nmtwatch/{process/messages,jvm/rooted}.o \
        "$fresh"/obj/floor/base/span.o "$fresh"/obj-agent/{agent/stack/native_walk,floor/hotspot/frame_rule}.o
    is "IBT and SHSTK in each of them" "$(find "$fresh" -name '*.o' | while read -r object; do
        readelf -n "$object" 2>/dev/null | grep -q 'x86 feature: IBT, SHSTK' || echo "$object"
    done)" ""
    contains "$program begins its functions with endbr64" \
        "$(objdump -d --disassemble=main "$program" | grep -m1 -A1 '<main>:')" endbr64
    contains "$agent too" "$(objdump -d --disassemble=Agent_OnLoad "$agent" |
        grep -m1 -A1 '<Agent_OnLoad>:')" endbr64
else
    lacks "no CET where it is not known" "$flags" "-fcf-protection"
fi
lacks "a sanitizer is not hidden behind FORTIFY" \
    "$(make -n -B BUILD=build/asan SANITIZE=address build/asan/obj/nmtwatch/process/messages.o)" _FORTIFY_SOURCE
lacks "without optimization there is none" \
    "$(make -n -B CFLAGS=-O0 build/obj/nmtwatch/process/messages.o)" _FORTIFY_SOURCE
is "a level that a packager gives stays" \
    "$(make -n -B CFLAGS='-O2 -D_FORTIFY_SOURCE=2' build/obj/nmtwatch/process/messages.o |
        grep -oE '_FORTIFY_SOURCE=[0-9]')" "_FORTIFY_SOURCE=2"
done_testing
