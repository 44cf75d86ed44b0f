#include "reports/collapsed.h"

#include "reports/escape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The present stack as text; a node's text ends where it says. */
struct line {
    char *text;
    size_t capacity;
    size_t *ends; /* by depth */
    size_t depths;
};

static bool have_depth(struct line *line, size_t depth)
{
    if (line->ends != NULL && depth < line->depths)
        return true;
    size_t depths = line->depths ? line->depths * 2 : 256;
    size_t *ends = reallocarray(line->ends, depths, sizeof *ends);
    if (ends == NULL)
        return false;
    line->ends = ends;
    line->depths = depths;
    return true;
}

static bool have_room(struct line *line, size_t bytes)
{
    if (line->text != NULL && bytes <= line->capacity)
        return true;
    char *text = realloc(line->text, bytes * 2);
    if (text == NULL)
        return false;
    line->text = text;
    line->capacity = bytes * 2;
    return true;
}

/* Depths begin at 1 and grow by 1. *length: of the stack up to this frame. */
static bool put_frame(struct line *line, int depth, const char *name, size_t *length)
{
    if (!have_depth(line, (size_t)depth))
        return false;
    size_t start = depth > 1 ? line->ends[depth - 1] : 0;
    if (!have_room(line, start + 1 + strlen(name) * ESCAPE_GROWTH + 1))
        return false;
    char *at = line->text + start;
    if (depth > 1)
        *at++ = ';';
    size_t added = escape(ESCAPE_TERMINAL, name, at, line->capacity - (size_t)(at - line->text));
    for (char *separator = at; (separator = strchr(separator, ';')) != NULL;)
        *separator = ':';
    *length = line->ends[depth] = (size_t)(at - line->text) + added;
    return true;
}

bool collapsed_write(const struct call_tree *tree, FILE *out)
{
    struct line line = {0};
    bool good = true;
    int depth = 0;
    if (call_tree_node(tree, 0)->self > 0)
        fprintf(out, "[no stack] %" PRId64 "\n", call_tree_node(tree, 0)->self);
    for (uint32_t i = call_tree_next(tree, 0, &depth); good && i != CALL_TREE_NONE;
         i = call_tree_next(tree, i, &depth)) {
        const struct call_node *node = call_tree_node(tree, i);
        size_t length = 0;
        good = put_frame(&line, depth, call_tree_name(tree, node->name).name, &length);
        if (!good || node->self == 0)
            continue;
        fwrite(line.text, 1, length, out);
        fprintf(out, " %" PRId64 "\n", node->self);
    }
    free(line.text);
    free(line.ends);
    return good && !ferror(out);
}
