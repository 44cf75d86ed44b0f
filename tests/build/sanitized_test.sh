#!/bin/bash
# The tools, the unit tests and the fuzz targets under AddressSanitizer and UBSan.
# timeout: 400
. "$(dirname "$0")/../tap.sh"

asan=(make -s -k -j2 BUILD=build/asan "SANITIZE=address,undefined")
check "sanitized tools" "${asan[@]}" all
check "sanitized unit and golden tests" "${asan[@]}" unit-tests
check "sanitized fuzz targets" "${asan[@]}" fuzz-replayers
if [ -e tests/sim/fake_jvm.c ]; then
    check "sanitized fake JVM, fake receiver" "${asan[@]}" build/asan/fake_jvm build/asan/fake_receiver
fi
done_testing
