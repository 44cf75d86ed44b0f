/*
 * pattern: does a class name look like a row of families.def?
 *
 * The patterns are POSIX extended regular expressions, but matched here and not by regcomp(3):
 * sixty compiled expressions cost more memory than the rest of the watch, compiling them lazily
 * would be shared state, and regexec needs a terminated string. This matcher walks the pattern's
 * text itself, without allocation or state.
 *
 * Understood: literals, \x, ., [set] with ranges, (a|b), ^, $, and after one of these ? * + {m}
 * {m,} {m,n}. Not understood: [^set], [:classes:], back references; no row needs them, and a test
 * holds every row against regcomp.
 *
 * A stem (normalize.h) matches like the names it stands for: its '#' is any number of digits, its
 * '*' any number of letters and digits, wherever the pattern repeats a set of those.
 *
 * A hostile name cannot make it slow or deep: after PATTERN_STEPS_MAX steps the answer is no.
 * Calling context: any thread.
 */
#ifndef ANALYZERS_CLASSES_PATTERN_H
#define ANALYZERS_CLASSES_PATTERN_H

#include "analyzers/parse/span.h"

#define PATTERN_STEPS_MAX 20000 /* 0.1 ms; the dearest of 106 000 real names took 540 */

/* True when pattern matches somewhere in text (anywhere, unless it says ^ and $). */
bool pattern_match(const char *pattern, struct span text);

#endif
