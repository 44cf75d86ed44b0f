#include "analyzers/heap/holders.h"

#include <string.h>

static const struct holder_cause CAUSES[] = {
#define HOLDER(id, pattern, title, cause, fix, example) {id, pattern, title, cause, fix, example},
#include "analyzers/heap/holders.def"
};
#define CAUSES_COUNT ((int)(sizeof CAUSES / sizeof CAUSES[0]))

int holder_cause_count(void)
{
    return CAUSES_COUNT;
}

const struct holder_cause *holder_cause(int row)
{
    return &CAUSES[row];
}

/* `*` is any text; the rest is literal. Goes back to the last star only: linear but for the text. */
static bool fits(const char *pattern, size_t length, const char *text)
{
    const char *end = pattern + length, *star = NULL, *again = NULL;
    while (*text != '\0') {
        if (pattern < end && *pattern == '*') {
            star = pattern++;
            again = text;
        } else if (pattern < end && *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++again;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}

int holder_cause_of(const char *path)
{
    for (int i = 0; i < CAUSES_COUNT; i++) {
        const char *pattern = CAUSES[i].pattern;
        for (;;) { /* alternatives stand between bars */
            const char *bar = strchr(pattern, '|');
            if (fits(pattern, bar != NULL ? (size_t)(bar - pattern) : strlen(pattern), path))
                return i;
            if (bar == NULL)
                break;
            pattern = bar + 1;
        }
    }
    return -1;
}
