#!/bin/bash
# timeout: 300
# What serve promises, as two processes: serve_test.sh, and serve_kill_test.sh with fewer kills, whose
# service has a user of its own.

. "$(dirname "$0")/../tap.sh"
[ "$(id -u)" = 0 ] || skip_all "refused: needs root, to become other users"
setpriv --reuid 54321 --clear-groups true 2>/dev/null || skip_all "refused: setpriv cannot change the user here"
case ${NMTWATCH:-} in
build/asan/*) skip_all "refused: a sanitizer's run-time library makes other system calls" ;;
esac

for script in serve serve_kill; do
    planned=''
    while read -r line; do
        name="$script: ${line#*ok * - }"
        case $line in
        "ok "*" # SKIP "*) skip "${name%% # SKIP *}" "${line#* # SKIP }" ;;
        "ok "*) pass "$name" ;;
        "not ok "*) fail "$name" ;;
        "1.."*) planned=yes ;;
        *) echo "# $line" ;;
        esac
    done < <(SERVE_USER=54323 KILLS=12 "tests/e2e/${script}_test.sh")
    check "$script: ends" test -n "$planned"
done
done_testing
