/*
 * skip: a unit test that this machine refuses, with the reason: the runner
 * (scripts/test/run-tests.sh) lists it, and counts a skip without one, or with one that is neither
 * "no JDK ..." nor "refused: ...", as a failure. Include it after cmocka.h.
 */
#pragma once

#define skip_because(reason)                                                                       \
    do {                                                                                           \
        print_message("# skipped: %s\n", reason);                                                  \
        skip();                                                                                    \
    } while (0)
