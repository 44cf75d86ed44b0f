#!/bin/bash
# The short form of `make soak-test`: own memory is flat, and a leak would be found.
# timeout: 300
exec "$(dirname "$0")/../../scripts/test/soak-test.sh" 1 "$(dirname "${NMTWATCH:-build/nmtwatch}")"
