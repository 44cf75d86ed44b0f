#!/bin/bash
# A second compiler with the same warnings as errors; its program must start, no more: not optimized, without
# debug information. Its warnings do not depend on that.
# timeout: 300
. "$(dirname "$0")/../tap.sh"

if ! command -v clang >/dev/null; then
    bail "clang is not installed"
fi
check "clang compiles everything without a warning" make -s -k -j2 BUILD=build/clang CC=clang CFLAGS=-O0 all
check "what clang built starts" build/clang/nmtwatch version
done_testing
