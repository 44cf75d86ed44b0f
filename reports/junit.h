/*
 * junit: the outcome of a soak as JUnit XML, the dialect of Ant that Jenkins, GitLab and others
 * read: one suite for each JVM, one case for each series that counts and each kind of finding.
 *
 * What fails is <failure>, what cannot be told <error> where it decides and <skipped> where it does
 * not: a build server must not take "cannot tell" for "passed". Texts are escaped for XML;
 * characters that XML 1.0 does not have become U+FFFD. One thread per stream.
 */
#ifndef REPORTS_JUNIT_H
#define REPORTS_JUNIT_H

#include "reports/soak_words.h"

#include <stdio.h>

/* False when out failed. */
bool junit_write(const struct soak_summary *summary, FILE *out);

#endif
