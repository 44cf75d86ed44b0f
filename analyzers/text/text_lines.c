#include "analyzers/text/text_lines.h"

#include "analyzers/model/texts.h"

#include <stdlib.h>

#define BLOCK_MIN ((size_t)1 << 18)

char *text_lines_room(struct text_lines *lines, size_t size)
{
    struct text_block *block = lines->blocks;
    if (block == NULL || block->size - block->used < size) {
        size_t room = size > BLOCK_MIN ? size : BLOCK_MIN;
        block = malloc(sizeof *block + room);
        if (block == NULL) {
            lines->failed = true;
            return NULL;
        }
        *block = (struct text_block){lines->blocks, 0, room};
        lines->blocks = block;
    }
    char *at = block->bytes + block->used;
    block->used += size;
    return at;
}

void text_lines_add(struct text_lines *lines, struct span text, int64_t number)
{
    if (!array_room(&lines->lines, &lines->room, lines->count + 1, sizeof *lines->lines)) {
        lines->failed = true;
        return;
    }
    lines->lines[lines->count++] = (struct text_line){.text = text, .number = number};
}

void text_lines_free(struct text_lines *lines)
{
    while (lines->blocks != NULL) {
        struct text_block *next = lines->blocks->next;
        free(lines->blocks);
        lines->blocks = next;
    }
    free(lines->lines);
    lines->lines = NULL;
}
