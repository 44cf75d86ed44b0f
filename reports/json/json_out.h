/* json_out: JSON text written member by member into one buffer that is used again.
 *
 *   struct json_out out = {0};
 *   json_out_begin(&out, NULL, '{'); json_out_int(&out, "pid", 4711); json_out_end(&out, '}');
 *   text = json_out_line(&out, &length);   ... json_out_reset ... json_out_free
 *
 * Commas are put by itself. Strings are escaped (reports/text/escape.h), so hostile names stay data
 * and the text is valid UTF-8 that may be shown on a terminal. Running out of memory is remembered
 * and reported once, by json_out_line. key is NULL inside arrays and for the outermost value.
 *
 * Ownership: the buffer belongs to the struct. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
    char *text;
    size_t length, capacity;
    bool comma;  /* the next value needs one before it */
    bool failed; /* out of memory: the text is of no use */
};

void json_out_begin(struct json_out *out, const char *key, char bracket); /* '{' or '[' */
void json_out_end(struct json_out *out, char bracket);                    /* '}' or ']' */
void json_out_int(struct json_out *out, const char *key, int64_t value);
void json_out_real(struct json_out *out, const char *key,
                   double value); /* two decimals; NaN: null */
void json_out_bool(struct json_out *out, const char *key, bool value);
void json_out_text(struct json_out *out, const char *key, const char *value); /* NULL: null */
/* A text that lives in a field of size bytes: cut to what fits there once its bad bytes have become
 * U+FFFD, so that what is written is what can be read back into such a field. */
void json_out_field(struct json_out *out, const char *key, const char *field, size_t size);
void json_out_null(struct json_out *out, const char *key);
/* A number as its source wrote it. */
void json_out_number(struct json_out *out, const char *key, const char *digits);

/* The value where it is known, else null. */
void json_out_int_if(struct json_out *out, const char *key, bool known, int64_t value);
void json_out_real_if(struct json_out *out, const char *key, bool known, double value);
/* The text, or null when it is empty. */
void json_out_text_if(struct json_out *out, const char *key, const char *value);

/* A line that is one object: begins with an empty buffer, and ends as json_out_line does. */
void json_out_open(struct json_out *out);
const char *json_out_close(struct json_out *out);
/* Ends the line with '\n' and returns it, NUL-terminated; NULL when memory ran out. */
const char *json_out_line(struct json_out *out, size_t *length);
/* Ends the line, writes it and frees it. False when memory ran out or not all could be written. */
bool json_out_print(struct json_out *out, FILE *to);
void json_out_reset(struct json_out *out);
void json_out_free(struct json_out *out);
