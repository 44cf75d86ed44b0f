/* Each cut of a text is read within its bytes: a sanitizer would say otherwise. After cmocka.h. */
#include "floor/base/span.h"

#include <stdlib.h>
#include <string.h>

static inline void read_every_cut(const char *text, size_t size, void (*read)(struct span text))
{
    for (size_t cut = 0; cut < size; cut++) {
        char *copy = malloc(cut > 0 ? cut : 1);
        assert_non_null(copy);
        memcpy(copy, text, cut);
        read(span_of(copy, cut));
        free(copy);
    }
}
