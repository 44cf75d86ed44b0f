#!/bin/bash
# Every JDK from 8 on, where `make jdks` has put them; all their collectors: make test-jdks.
# timeout: 420
exec "$(dirname "$0")/../../scripts/test/test-jdks.sh" --quick
