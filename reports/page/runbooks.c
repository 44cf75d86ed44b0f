#include "reports/page/runbooks.h"

#include "reports/text/embedded.h"

#define RUNBOOK(symbol, name) EMBED_FILE(runbook_##symbol, "docs/runbooks/" name ".md")
#include "reports/page/runbooks.def"
#undef RUNBOOK

static const struct runbook RUNBOOKS[] = {
#define RUNBOOK(symbol, name) {name, runbook_##symbol##_begin, runbook_##symbol##_end},
#include "reports/page/runbooks.def"
#undef RUNBOOK
};
#define RUNBOOK_COUNT (sizeof RUNBOOKS / sizeof RUNBOOKS[0])

const struct runbook *runbook_at(size_t index)
{
    return index < RUNBOOK_COUNT ? &RUNBOOKS[index] : NULL;
}

const struct runbook *runbook_find(const char *name)
{
    for (size_t i = 0; i < RUNBOOK_COUNT; i++)
        if (strcmp(RUNBOOKS[i].name, name) == 0)
            return &RUNBOOKS[i];
    return NULL;
}

struct span runbook_text(const struct runbook *runbook)
{
    return span_of(runbook->begin, (size_t)(runbook->end - runbook->begin));
}

struct span runbook_title(const struct runbook *runbook)
{
    struct span text = runbook_text(runbook), line = {NULL, 0};
    span_take_line(&text, &line);
    span_take(&line, SPAN_LITERAL("# "));
    span_take(&line, SPAN_LITERAL("Runbook: "));
    return line;
}

struct span runbook_section(const struct runbook *runbook, const char *heading)
{
    struct span rest = runbook_text(runbook), line, section = {NULL, 0};
    for (const char *at = rest.ptr; span_take_line(&rest, &line); at = rest.ptr) {
        if (!span_take(&line, SPAN_LITERAL("## ")))
            continue;
        if (section.ptr != NULL)
            return span_of(section.ptr, (size_t)(at - section.ptr));
        if (span_equals(line, span_from_cstr(heading)))
            section.ptr = at;
    }
    if (section.ptr != NULL)
        section.len = (size_t)(runbook->end - section.ptr);
    return section;
}
