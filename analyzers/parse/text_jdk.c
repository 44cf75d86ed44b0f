/* Which JDK a saved text is of: by its words, or by the form in which it is printed. */
#include "analyzers/parse/class_log.h"
#include "analyzers/parse/hs_err.h"
#include "analyzers/parse/text_kind.h"

/* The major number at the front: "17.0.21", "1.8.0_504", "8.0_504", "25". */
static int major_of(struct span text)
{
    int64_t major;
    if (!span_take_unsigned(&text, &major) || major > 999)
        return 0;
    if (major == 1 && span_take(&text, SPAN_LITERAL(".")) && !span_take_unsigned(&text, &major))
        return 0;
    return (int)major;
}

static int major_after(struct span text, struct span mark)
{
    ptrdiff_t at = span_find(text, mark);
    if (at < 0)
        return 0;
    size_t from = (size_t)at + mark.len;
    return major_of(span_of(text.ptr + from, text.len - from));
}

int text_jdk_major(enum text_kind kind, struct span text)
{
    static const struct span version_marks[] = {SPAN_INIT("\nJDK "), SPAN_INIT("version \"")};
    int major = 0;
    if (kind == TEXT_VERSION) {
        for (size_t i = 0; major == 0 && i < sizeof version_marks / sizeof version_marks[0]; i++)
            major = major_after(text, version_marks[i]);
    } else if (kind == TEXT_HS_ERR) {
        struct hs_err file;
        hs_err_read(&file, text);
        major = file.jdk_major != 0 ? file.jdk_major : major_after(text, SPAN_LITERAL("(build "));
    } else if (kind == TEXT_CLASS_HISTOGRAM || kind == TEXT_CLASS_LOG) {
        major = major_after(text, SPAN_LITERAL("(java.base@"));
    } else if (kind == TEXT_PERFCOUNTER) {
        major = major_after(text, SPAN_LITERAL("java.property.java.version=\""));
    }
    return major;
}

static bool has(struct span text, struct span mark)
{
    return span_find(text, mark) >= 0;
}

/* "Total: reserved=1723354KB": in MB and GB most of what tells is rounded away. */
static bool is_fine(struct span text)
{
    ptrdiff_t at = span_find(text, SPAN_LITERAL("Total: reserved="));
    int64_t number;
    if (at < 0)
        return false;
    struct span rest = span_of(text.ptr + at + 16, text.len - (size_t)at - 16);
    return span_take_unsigned(&rest, &number) && !span_starts_with(rest, SPAN_LITERAL("MB")) &&
           !span_starts_with(rest, SPAN_LITERAL("GB"));
}

/* Newest first: each form has what those below it have not. */
static int nmt_form(struct span text, bool difference)
{
    static const struct {
        struct span mark;
        int major;
    } marks[] = {
        {SPAN_INIT(" JNI (reserved="), 26},
        {SPAN_INIT(" tag="), 25},
        {SPAN_INIT(" Tag="), 25},
        {SPAN_INIT("\nmalloc="), 25}, /* the total of a difference */
        {SPAN_INIT("(threads #"), 21},
        {SPAN_INIT(" GCCardSet (reserved="), 21},
        {SPAN_INIT(", at peak)"), 21},
        {SPAN_INIT("\n       malloc: "), 17},
        {SPAN_INIT(" Metaspace (reserved="), 17},
        {SPAN_INIT(": (  Metadata)"), 17},
        {SPAN_INIT("instance classes #"), 11},
    };
    for (size_t i = 0; is_fine(text) && i < sizeof marks / sizeof marks[0]; i++) {
        if (!has(text, marks[i].mark))
            continue;
        /* The differences of 17 and 21 have the same form when no card set is in them. */
        return difference && marks[i].major == 17 ? 0 : marks[i].major;
    }
    return is_fine(text) && has(text, SPAN_LITERAL("(classes #")) ? 8 : 0;
}

static bool is_jdk8_log(struct span text)
{
    struct span line;
    bool terminated;
    for (int i = 0; i < 100 && span_next_line(&text, &line, &terminated); i++) {
        struct class_log_line parsed = class_log_parse(line);
        if (parsed.kind != CLASS_LOG_OTHER)
            return parsed.form == CLASS_LOG_JDK8;
    }
    return false;
}

int text_jdk_form(enum text_kind kind, struct span text)
{
    switch (kind) {
    case TEXT_NMT_SUMMARY:
    case TEXT_NMT_DETAIL:
        return nmt_form(text, false);
    case TEXT_NMT_SUMMARY_DIFF:
    case TEXT_NMT_DETAIL_DIFF:
        return nmt_form(text, true);
    case TEXT_CLASS_LOG:
        return is_jdk8_log(text) ? 8 : 0;
    case TEXT_JMAP_CLSTATS:
        return 8;
    default:
        return 0;
    }
}
