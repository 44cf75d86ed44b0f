/*
 * saved_json: a saved_target <-> one line of JSON, the content of a file of saved_state.h.
 *
 * What is read back was perhaps not written by us: every value is checked, and a sentence says what
 * is wrong. One thread.
 */
#ifndef NMTWATCH_SERVE_SAVED_JSON_H
#define NMTWATCH_SERVE_SAVED_JSON_H

#include "nmtwatch/serve/saved_state.h"
#include "reports/json/json_out.h"

#define SAVED_SCHEMA 1

/* boot: the kernel's boot_id. NULL when memory ran out. */
const char *saved_json_write(struct json_out *out, const char *boot,
                             const struct saved_target *target);
/* False with a sentence; also when it is of another boot. */
bool saved_json_read(const char *text, size_t length, const char *boot, struct saved_target *target,
                     char *error, size_t error_size);

#endif
