#include "analyzers/model/texts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 1000

struct texts_piece {
    struct texts_piece *next;
    size_t used, room;
    uint64_t bytes[];
};

void *texts_take(struct texts *texts, size_t size)
{
    struct texts_piece *piece = texts->pieces;
    size = (size + sizeof *piece->bytes - 1) & ~(sizeof *piece->bytes - 1);
    if (piece == NULL || piece->room - piece->used < size) {
        size_t room = size > PIECE_BYTES ? size : PIECE_BYTES;
        piece = calloc(1, sizeof *piece + room);
        if (piece == NULL)
            return NULL;
        piece->room = room;
        piece->next = texts->pieces;
        texts->pieces = piece;
    }
    void *taken = (char *)piece->bytes + piece->used;
    piece->used += size;
    return taken;
}

const char *texts_copy(struct texts *texts, const char *text)
{
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *own = size > 1 ? texts_take(texts, size) : NULL;
    return own != NULL ? memcpy(own, text, size) : "";
}

const char *texts_format(struct texts *texts, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *own = length >= 0 ? texts_take(texts, (size_t)length + 1) : NULL;
    if (own != NULL)
        vsnprintf(own, (size_t)length + 1, format, again);
    va_end(again);
    return own;
}

void texts_free(struct texts *texts)
{
    for (struct texts_piece *piece = texts->pieces, *next; piece != NULL; piece = next) {
        next = piece->next;
        free(piece);
    }
    texts->pieces = NULL;
}

void text_add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void text_set(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, size, format, arguments);
    va_end(arguments);
}

#define FIRST_BYTES 2048

bool array_room(void *array, size_t *capacity, size_t wanted, size_t element_bytes)
{
    void **elements = array, *more;
    size_t larger = *capacity > 0 ? *capacity * 2 : FIRST_BYTES / element_bytes + 1;
    if (wanted <= *capacity)
        return true;
    larger = larger < wanted ? wanted : larger;
    more = reallocarray(*elements, larger, element_bytes);
    if (more == NULL)
        return false;
    *elements = more;
    *capacity = larger;
    return true;
}
