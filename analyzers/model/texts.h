/*
 * texts: an arena: memory for texts and small arrays that are freed together.
 *
 *   struct texts texts = {0};  texts_copy(&texts, "...") ...  texts_free(&texts);
 *
 * All zero is an empty one. Texts stay where they are until texts_free. One thread. And the one way in
 * which an array of malloc's grows (array_room).
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct texts_piece;
struct texts {
    struct texts_piece *pieces;
};

/* Zeroed, aligned for pointers and numbers. NULL when out of memory. */
void *texts_take(struct texts *texts, size_t size);
/* "" when out of memory, and for NULL. */
const char *texts_copy(struct texts *texts, const char *text);
/* The length of the formatted text is not bounded; NULL when out of memory. */
const char *texts_format(struct texts *texts, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
/* Appends to a text of at most size bytes, cut where it is too long. */
void text_add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Why something failed, cut to size bytes. False, for `return text_error(error, size, "...")`; a macro, so that
 * static analysis sees it. */
#define text_error(...) (text_set(__VA_ARGS__), false)
void text_set(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Empty again, and ready for use. */
void texts_free(struct texts *texts);

/* Room for `wanted` elements of that many bytes; array: the address of the pointer to them. False when out of memory:
 * all is as it was. */
bool array_room(void *array, size_t *capacity, size_t wanted, size_t element_bytes);
