#include "agent/classdef/class_family.h"

#include "analyzers/classes/normalize.h"

#include <ctype.h>
#include <string.h>

/* Where a hidden class's own number begins: "+0x", ".0x" or "/0x", and JDK 8's "/123". 0: nowhere.
 * In Java no name of a package or class begins with a digit. */
static size_t tail_of(const char *name, size_t length)
{
    size_t at = length;
    while (at > 0 && isalnum((unsigned char)name[at - 1]))
        at--;
    bool tail = at > 1 && at < length && isdigit((unsigned char)name[at]) &&
                (name[at - 1] == '+' || name[at - 1] == '.' || name[at - 1] == '/');
    return tail ? at - 1 : 0;
}

size_t class_name_readable(const char *name, char out[CLASS_NAME_MAX])
{
    size_t length = strlen(name);
    if (length > 2 && name[0] == 'L' && name[length - 1] == ';') {
        name++;
        length -= 2;
    }
    size_t tail = tail_of(name, length);
    if (length > CLASS_NAME_MAX - 1)
        length = CLASS_NAME_MAX - 1;
    for (size_t i = 0; i < length; i++)
        out[i] = name[i] == '/' ? '.' : name[i];
    if (tail > 0 && tail < length)
        out[tail] = '/';
    out[length] = '\0';
    return length;
}

bool class_name_is_hidden(const char *readable)
{
    return strchr(readable, '/') != NULL; /* the only slash that is left in one */
}

static size_t keep(const char *text, size_t length, char out[CLASS_FAMILY_MAX])
{
    if (length > CLASS_FAMILY_MAX - 1) {
        length = CLASS_FAMILY_MAX - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) /* inside a character */
            length--;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return length;
}

/* Numbers that javac gives ("Outer$1", "Outer$1Local") are nobody's counter, unless there is more
 * in the name: another number, "$$" as generators write it, the address of a hidden class. */
static bool is_numbered_by_javac(const char *readable, size_t length, struct name_parts parts)
{
    char stem[STEM_MAX];
    if (parts.hidden || memmem(readable, length, "$$", 2) != NULL)
        return false;
    while (parts.folded) {
        const char *tail = memrchr(readable, '$', length);
        if (!parts.anonymous || tail == NULL)
            return false;
        length = (size_t)(tail - readable);
        normalize(span_of(readable, length), stem, &parts);
    }
    return true;
}

size_t class_family(const char *readable, size_t length, char out[CLASS_FAMILY_MAX])
{
    char stem[STEM_MAX];
    struct name_parts parts;
    size_t stem_length = normalize(span_of(readable, length), stem, &parts);
    if (parts.folded && !is_numbered_by_javac(readable, length, parts))
        return keep(stem, stem_length, out);
    const char *dot = memrchr(readable, '.', length);
    if (dot == NULL)
        return keep(readable, length, out);
    length = (size_t)(dot - readable) + 1;
    length = keep(readable, length < CLASS_FAMILY_MAX - 2 ? length : CLASS_FAMILY_MAX - 2, out);
    out[length++] = '*';
    out[length] = '\0';
    return length;
}
