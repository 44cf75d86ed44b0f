#include "analyzers/classes/class_source.h"

#include <string.h>

bool class_source_is_archive(struct span source)
{
    return span_starts_with(source, SPAN_LITERAL("shared objects file")) ||
           span_starts_with(source, SPAN_LITERAL("jrt:/")) ||
           (source.len > 0 && source.ptr[0] == '/' &&
            (span_ends_with(source, SPAN_LITERAL("/rt.jar")) ||
             span_find(source, SPAN_LITERAL("/jre/lib/")) >= 0));
}

bool class_source_is_code(struct span source)
{
    return source.len > 0 && memchr(source.ptr, '/', source.len) == NULL;
}
