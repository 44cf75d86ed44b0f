#!/bin/bash
# For `make check`: unit and golden tests, fuzz targets and simulated JVMs as plain programs, without a
# sanitizer. `make test` runs them with.
# timeout: 300
. "$(dirname "$0")/../tap.sh"

check "plain unit and golden tests, fuzz targets, fake JVM, fake receiver" \
    make -s -k -j2 unit-tests fuzz-replayers build/fake_jvm build/fake_receiver
done_testing
