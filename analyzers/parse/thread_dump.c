#include "analyzers/parse/thread_dump.h"

#include <stdlib.h>
#include <string.h>

/* What stands behind the name of a thread. */
static const struct span BEHIND[] = {SPAN_INIT(" #"),        SPAN_INIT(" prio="),
                                     SPAN_INIT(" os_prio="), SPAN_INIT(" daemon"),
                                     SPAN_INIT(" Id="),      SPAN_INIT(" virtual")};

static bool name_of(struct span line, struct span *name)
{
    if (!span_take(&line, SPAN_LITERAL("\"")))
        return false;
    const char *end = line.len > 0 ? memrchr(line.ptr, '"', line.len) : NULL;
    if (end == NULL)
        return false;
    *name = span_of(line.ptr, (size_t)(end - line.ptr));
    line = span_skip(line, name->len + 1);
    return span_row(line, span_starts_with, SPAN_TABLE(BEHIND)) >= 0;
}

bool thread_dump_is_head(struct span line)
{
    return span_contains(line, SPAN_LITERAL("Full thread dump "));
}

bool thread_dump_is_thread(struct span line)
{
    struct span name;
    return name_of(span_trim(line), &name) && (span_contains(line, SPAN_LITERAL(" tid=")) ||
                                               span_contains(line, SPAN_LITERAL(" Id=")) ||
                                               span_contains(line, SPAN_LITERAL(" nid=")));
}

static struct thread_stem *stem_of(struct thread_dump *dump, struct span name)
{
    char stem[sizeof dump->stem[0].name];
    int at = 0;
    span_copy_stem(name, stem, sizeof stem);
    while (at < dump->stem_count && strcmp(dump->stem[at].name, stem) != 0)
        at++;
    if (at == THREAD_STEMS_MAX)
        return NULL;
    if (at == dump->stem_count) {
        memcpy(dump->stem[at].name, stem, sizeof stem);
        dump->stem_count++;
    }
    return &dump->stem[at];
}

static int most_first(const void *a, const void *b)
{
    const struct thread_stem *x = a, *y = b;
    return compare_numbers(y->threads, x->threads) ?: strcmp(x->name, y->name);
}

void thread_dump_read(struct thread_dump *dump, struct span text)
{
    static const struct span jdk[] = {SPAN_INIT("java."), SPAN_INIT("jdk."), SPAN_INIT("sun."),
                                      SPAN_INIT("java.base"), SPAN_INIT("javax.")};
    struct span line, name;
    struct thread_stem *stem = NULL;
    memset(dump, 0, sizeof *dump);
    while (span_take_line(&text, &line)) {
        struct span content = span_trim(line), frame = content;
        dump->deadlocks += span_starts_with(content, SPAN_LITERAL("Found one Java-level deadlock"));
        if (thread_dump_is_thread(content) && name_of(content, &name)) {
            int64_t pool;
            dump->threads++;
            stem = stem_of(dump, name);
            dump->other_threads += stem == NULL;
            if (stem != NULL)
                stem->threads++;
            if (span_take(&name, SPAN_LITERAL("pool-")) && span_take_unsigned(&name, &pool) &&
                span_starts_with(name, SPAN_LITERAL("-thread-")) && pool > dump->pools)
                dump->pools = pool;
        } else if (stem != NULL && stem->place[0] == '\0' &&
                   span_take(&frame, SPAN_LITERAL("at ")) &&
                   span_row(frame, span_starts_with, SPAN_TABLE(jdk)) < 0) {
            span_copy(span_until(frame, "("), stem->place, sizeof stem->place);
        }
    }
    qsort(dump->stem, (size_t)dump->stem_count, sizeof dump->stem[0], most_first);
}
