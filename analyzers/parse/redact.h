/*
 * redact: passwords and tokens in a text with command lines, replaced by "***".
 *
 * What is recognized: the value of an option, property or parameter whose name says that it is
 * secret (-Ddb.password=x, --token x, ?apikey=x), the password of user:password@host (Oracle's
 * user/password@ too), "Bearer x", and tokens that are known by their form (AWS, GitHub, GitLab,
 * Slack, Google, Stripe, JWT). A secret without a name or a known form is not: check the text
 * before passing it on.
 *
 * Pure, in place, any bytes, one pass over each word.
 */
#pragma once

#include <stddef.h>

/* Returns the new length, never more than length. *count is raised by the number of replacements. */
size_t redact(char *text, size_t length, int *count);
