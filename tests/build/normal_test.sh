#!/bin/bash
# The tools as users get them.
# timeout: 300
. "$(dirname "$0")/../tap.sh"

check "gcc builds nmtwatch" make -s -k -j2 all
if [ -e tests/sim/fake_jvm.c ]; then
    check "gcc builds the fake JVM and the fake receiver" make -s build/fake_jvm build/fake_receiver
fi
done_testing
