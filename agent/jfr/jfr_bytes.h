/*
 * jfr_bytes: encoded values in a growing buffer.
 *
 * Running out of memory is remembered (failed) and nothing more is taken: whoever fills a buffer
 * asks once, at the end. Ownership: free with jfr_bytes_free. Drain thread only.
 */
#ifndef AGENT_JFR_JFR_BYTES_H
#define AGENT_JFR_JFR_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jfr_bytes {
    uint8_t *at;
    size_t length;
    size_t capacity;
    bool failed;
};

/* Room for more bytes behind length; NULL when there is none. */
uint8_t *jfr_bytes_room(struct jfr_bytes *bytes, size_t more);
void jfr_bytes_append(struct jfr_bytes *bytes, const void *from, size_t length);
void jfr_bytes_byte(struct jfr_bytes *bytes, uint8_t value);
void jfr_bytes_number(struct jfr_bytes *bytes, uint64_t value);
void jfr_bytes_int(struct jfr_bytes *bytes, int32_t value);
/* The JVM's modified UTF-8 as a JFR string of standard UTF-8: surrogate pairs are joined, what is
 * no character becomes U+FFFD. NULL is the null string. */
void jfr_bytes_text(struct jfr_bytes *bytes, const char *text);
/* The character at this place of the JVM's text, and how many bytes it takes; -1: there is none
 * (length 1). */
int32_t jfr_text_character(const uint8_t *at, size_t *length);
void jfr_bytes_free(struct jfr_bytes *bytes);

#endif
