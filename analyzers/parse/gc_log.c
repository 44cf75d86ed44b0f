#include "analyzers/parse/gc_log.h"

#include "analyzers/parse/class_log.h"

#include <string.h>

#define FULL_TENTHS 9 /* of the heap, left by a full collection */

/* --- the lines -------------------------------------------------------------------------------- */

static bool is_decorated(struct span line)
{
    static const struct span tags[] = {SPAN_INIT("[gc]"),          SPAN_INIT("[gc "),
                                       SPAN_INIT("[gc,"),          SPAN_INIT("[safepoint"),
                                       SPAN_INIT("] GC("),         SPAN_INIT("] Using "),
                                       SPAN_INIT("] Safepoint \"")};
    return span_row(line, span_contains, SPAN_TABLE(tags)) >= 0;
}

/* Bytes that no log has: "[GC" alone is found in one of forty files of 300 KB of random bytes. */
static bool has_control_bytes(struct span line)
{
    for (size_t i = 0; i < line.len; i++) {
        if ((unsigned char)line.ptr[i] < ' ' && line.ptr[i] != '\t')
            return true;
    }
    return false;
}

bool gc_log_is_line(struct span line)
{
    static const struct span starts[] = {
        SPAN_INIT("{Heap before "),         SPAN_INIT("Heap after GC"),
        SPAN_INIT("Desired survivor size"), SPAN_INIT("Total time for which application threads"),
        SPAN_INIT("Application time: "),    SPAN_INIT("CommandLine flags: "),
        SPAN_INIT("[Parallel Time: "),      SPAN_INIT("[Eden: "),
        SPAN_INIT("[Times: user="),         SPAN_INIT("Statistics for BinaryTreeDictionary"),
        SPAN_INIT("[PSYoungGen: "),         SPAN_INIT("GC("),
        SPAN_INIT("[Ext Root Scanning"),    SPAN_INIT("Before GC RS summary"),
        SPAN_INIT("[SATB Filtering"),
    };
    static const struct span marks[] = {
        SPAN_INIT("[GC"),
        SPAN_INIT("[Full GC"),
        SPAN_INIT("[CMS"),
        SPAN_INIT("[ParNew"),
        SPAN_INIT("G1Ergonomics"),
        SPAN_INIT("secs] [Times: user="),
        SPAN_INIT("safepoint region"),
        SPAN_INIT(": application threads were stopped"),
        SPAN_INIT(" [YG occupancy: "),
        SPAN_INIT("concurrent mode failure"),
        SPAN_INIT(": Total time for which application"),
        SPAN_INIT(": Application time: "),
        SPAN_INIT("(promotion failed)"),
        SPAN_INIT("[weak refs processing, "),
        SPAN_INIT("[Concurrent "),
        SPAN_INIT("[Pause "),
        SPAN_INIT("[stringdedup"),
        SPAN_INIT("Garbage Collection Statistics"),
        SPAN_INIT("GC STATISTICS:"),
        SPAN_INIT("wall-clock times, except per-root"),
        SPAN_INIT(") allocation failed for size "),
    };
    line = span_trim(line);
    if (line.len == 0)
        return false;
    if (line.ptr[0] == '[' && is_decorated(line))
        return true;
    return (span_row(line, span_starts_with, SPAN_TABLE(starts)) >= 0 ||
            span_row(line, span_contains, SPAN_TABLE(marks)) >= 0) &&
           !has_control_bytes(line);
}

/* "123.456: [GC", "2019-02-03T10:00:00.000+0100: 123.456: [GC": the uptime, where there is one. */
static int64_t time_before(struct span line)
{
    int64_t ms = -1, seconds, part;
    while (line.len > 0 && is_digit(line.ptr[0])) {
        ptrdiff_t colon = span_find(line, SPAN_LITERAL(": "));
        if (colon <= 0)
            return ms;
        struct span word = span_of(line.ptr, (size_t)colon);
        int64_t wall = class_log_wall_ms(word);
        line = span_skip(line, (size_t)colon + 2);
        if (wall >= 0)
            ms = wall;
        else if (span_take_unsigned(&word, &seconds) && span_take(&word, SPAN_LITERAL(".")) &&
                 span_take_unsigned(&word, &part) && part < 1000 && seconds < INT64_MAX / 1000)
            return seconds * 1000 + part;
    }
    return ms;
}

/* What stands behind the decorations; a line of JDK 8 stays as it is. */
static struct span body_of(struct span line, int64_t *ms)
{
    struct class_log_line clock = {.uptime_ms = -1, .wall_ms = -1};
    while (line.len > 1 && line.ptr[0] == '[') {
        const char *close = memchr(line.ptr, ']', line.len);
        if (close == NULL || line.ptr[1] == 'G' || line.ptr[1] == 'F' || line.ptr[1] == 'E')
            break;
        if (is_digit(line.ptr[1]))
            class_log_read_time(&clock, span_of(line.ptr + 1, (size_t)(close - line.ptr) - 1));
        line = span_skip(line, (size_t)(close - line.ptr) + 1);
    }
    *ms = clock.uptime_ms >= 0 ? clock.uptime_ms : clock.wall_ms;
    if (*ms < 0 && line.len > 0 && is_digit(line.ptr[0]))
        *ms = time_before(line);
    return line;
}

/* --- the heap --------------------------------------------------------------------------------- */

struct change {
    int64_t before, after, size;
    struct span rest; /* behind it */
};

/* "4090M->4089M(4096M)", "24.0M(256.0M)->21.4M(256.0M)", "12M(50%)->18M(75%)" */
static bool take_change(struct span text, struct change *change)
{
    int64_t percent;
    if (!whole_size_take(&text, &change->before))
        return false;
    if (span_take(&text, SPAN_LITERAL("("))) {
        struct span close = span_until(text, ")");
        text = span_skip(text, close.len);
        if (!span_take(&text, SPAN_LITERAL(")")))
            return false;
    }
    if (!span_take(&text, SPAN_LITERAL("->")) || !whole_size_take(&text, &change->after) ||
        !span_take(&text, SPAN_LITERAL("(")))
        return false;
    struct span number = text;
    if (span_take_unsigned(&number, &percent) && span_take(&number, SPAN_LITERAL("%"))) {
        change->size =
            percent > 0 && change->after < INT64_MAX / 100 ? change->after * 100 / percent : 0;
        text = number;
    } else if (!whole_size_take(&text, &change->size)) {
        return false;
    }
    change->rest = text;
    return change->size > 0;
}

/* From the arrow back to where its number begins: "[PSYoungGen: 3K(9K)->". */
static size_t begin_of(struct span line, size_t arrow)
{
    size_t at = arrow;
    if (at > 0 && line.ptr[at - 1] == ')')
        while (at > 0 && line.ptr[at - 1] != '(')
            at--;
    at -= at > 0 && at != arrow;
    while (at > 0 && strchr(" \t[:(", line.ptr[at - 1]) == NULL)
        at--;
    return at;
}

/* "[Metaspace: 2K->": behind the name of what is no heap. */
static bool is_other(struct span before)
{
    static const struct span others[] = {SPAN_INIT("etaspace"), SPAN_INIT("Perm"),
                                         SPAN_INIT("class space")};
    if (before.len < 2 || before.ptr[before.len - 2] != ':')
        return false;
    before = span_skip(before, before.len > 20 ? before.len - 20 : 0);
    const char *close = memrchr(before.ptr, ']', before.len);
    if (close != NULL)
        before = span_skip(before, (size_t)(close - before.ptr));
    return span_row(before, span_contains, SPAN_TABLE(others)) >= 0;
}

/* The heap's own: the largest that is not Metaspace's or a permanent generation's. */
static bool heap_change(struct span line, struct change *heap)
{
    const char *at = line.ptr, *end = line.ptr + line.len;
    heap->size = 0;
    while (at < end && (at = memchr(at, '>', (size_t)(end - at))) != NULL) {
        struct change one;
        size_t arrow = (size_t)(at++ - line.ptr);
        if (arrow == 0 || line.ptr[arrow - 1] != '-')
            continue;
        size_t begin = begin_of(line, arrow - 1);
        if (take_change(span_skip(line, begin), &one) && one.size >= heap->size &&
            !is_other(span_of(line.ptr, begin)))
            *heap = one;
    }
    return heap->size > 0;
}

/* "141.750ms" at the end, "0.0123 secs]" behind the heap; -1: none. */
static int64_t pause_of(struct span rest)
{
    bool ms = span_ends_with(rest, SPAN_LITERAL("ms"));
    ptrdiff_t secs = ms ? -1 : span_find(rest, SPAN_LITERAL(" secs"));
    struct span number = rest;
    int64_t scale = secs >= 0 ? 1000000 : 1000;
    if (secs >= 0)
        number.len = (size_t)secs;
    else if (ms)
        number.len -= 2;
    else
        return -1;
    size_t at = number.len;
    while (at > 0 && (is_digit(number.ptr[at - 1]) || strchr(".,", number.ptr[at - 1]) != NULL))
        at--;
    number = span_skip(number, at);
    int64_t whole, part = 0, unit = scale;
    if (!span_take_unsigned(&number, &whole) || whole > INT64_MAX / scale)
        return -1;
    for (size_t i = 1; i < number.len && unit >= 10; i++) {
        unit /= 10;
        part += (number.ptr[i] - '0') * unit;
    }
    return whole * scale + part;
}

/* --- the series ------------------------------------------------------------------------------- */

void gc_series_add(struct gc_series *series, int64_t ms, int64_t bytes)
{
    int last = series->count - 1;
    if (last >= 0 && series->in_last < series->each) {
        series->in_last++;
        if (bytes < series->point[last].bytes) {
            series->point[last].bytes = bytes;
            series->point[last].ms = ms;
        }
        return;
    }
    if (series->count == GC_POINTS) {
        for (int i = 0; i < GC_POINTS / 2; i++) {
            int lower = series->point[2 * i + 1].bytes < series->point[2 * i].bytes;
            series->point[i] = series->point[2 * i + lower];
        }
        series->count = GC_POINTS / 2;
        series->each *= 2;
    }
    series->point[series->count].ms = ms;
    series->point[series->count++].bytes = bytes;
    series->in_last = 1;
}

void gc_log_begin(struct gc_log *log)
{
    *log = (struct gc_log){.useless_bytes = -1,
                           .heap_bytes = -1,
                           .after_bytes = -1,
                           .first_ms = -1,
                           .last_ms = -1,
                           .pause_us = -1,
                           .longest_pause_us = -1,
                           .live = {.each = 1}};
}

static void take_time(struct gc_log *log, int64_t ms)
{
    if (ms < 0)
        return;
    log->first_ms = log->first_ms < 0 ? ms : log->first_ms;
    log->last_ms = ms > log->last_ms ? ms : log->last_ms;
}

static void take_pause(struct gc_log *log, int64_t us)
{
    if (us < 0)
        return;
    log->pause_us = saturated_add(log->pause_us < 0 ? 0 : log->pause_us, us);
    log->longest_pause_us = us > log->longest_pause_us ? us : log->longest_pause_us;
}

/* --- a line of a collection --------------------------------------------------------------------- */

enum collection { NO_COLLECTION, YOUNG, FULL, DEGENERATED, CONCURRENT_YOUNG, CONCURRENT_WHOLE };

static const struct {
    struct span words;
    enum collection kind;
} COLLECTIONS[] = {
    {SPAN_INIT("Pause Young"), YOUNG},
    {SPAN_INIT("Pause Full"), FULL},
    {SPAN_INIT("Pause Degenerated"), DEGENERATED},
    {SPAN_INIT("Pause "), YOUNG},
    {SPAN_INIT("Garbage Collection ("), CONCURRENT_WHOLE},
    {SPAN_INIT("Major Collection ("), CONCURRENT_WHOLE},
    {SPAN_INIT("Minor Collection ("), CONCURRENT_YOUNG},
    {SPAN_INIT("Concurrent cleanup"), CONCURRENT_WHOLE},
    {SPAN_INIT("Full GC"), FULL},
    {SPAN_INIT("GC"), YOUNG},
    {SPAN_INIT("Eden: "), YOUNG},
};

/* The words in parentheses of a collection. */
enum remark { MIXED, ASKED, METADATA, EXHAUSTED, FAILED, HUMONGOUS };

static const struct {
    struct span words;
    enum remark remark;
} REMARKS[] = {
    {SPAN_INIT("Mixed"), MIXED},
    {SPAN_INIT("mixed"), MIXED},
    {SPAN_INIT("System"), ASKED},
    {SPAN_INIT("Diagnostic Command"), ASKED},
    {SPAN_INIT("Heap Dump"), ASKED},
    {SPAN_INIT("Heap Inspection"), ASKED},
    {SPAN_INIT("Class Histogram"), ASKED},
    {SPAN_INIT("JvmtiEnv"), ASKED},
    {SPAN_INIT("Last ditch"), METADATA},
    {SPAN_INIT("Metadata GC Threshold"), METADATA},
    {SPAN_INIT("to-space exhausted"), EXHAUSTED},
    {SPAN_INIT("to-space overflow"), EXHAUSTED},
    {SPAN_INIT("Evacuation Failure"), EXHAUSTED},
    {SPAN_INIT("promotion failed"), EXHAUSTED},
    {SPAN_INIT("concurrent mode failure"), FAILED},
    {SPAN_INIT("G1 Humongous"), HUMONGOUS},
};

/* Most rows are left at their first byte. */
static inline bool is_next(struct span text, struct span words)
{
    return text.len > 0 && text.ptr[0] == words.ptr[0] && span_starts_with(text, words);
}

/* A bit for each remark. */
static unsigned remarks_of(struct span line)
{
    unsigned remarks = 0;
    const char *open;
    while (line.len > 0 && (open = memchr(line.ptr, '(', line.len)) != NULL) {
        line = span_skip(line, (size_t)(open - line.ptr) + 1);
        for (size_t i = 0; i < sizeof REMARKS / sizeof REMARKS[0]; i++)
            if (is_next(line, REMARKS[i].words))
                remarks |= 1U << REMARKS[i].remark;
    }
    return remarks;
}

static enum collection collection_at(struct span text)
{
    for (size_t i = 0; i < sizeof COLLECTIONS / sizeof COLLECTIONS[0]; i++)
        if (is_next(text, COLLECTIONS[i].words))
            return COLLECTIONS[i].kind;
    return NO_COLLECTION;
}

/* "GC(7) Pause Young ..." of a decorated line; "... [Full GC ..." of JDK 8. */
static enum collection collection_of(struct span body)
{
    int64_t number;
    struct span text = span_trim(body);
    if (span_take(&text, SPAN_LITERAL("GC(")))
        return span_take_unsigned(&text, &number) && span_take(&text, SPAN_LITERAL(") "))
                   ? collection_at(span_skip(text, text.len > 1 && text.ptr[1] == ':' ? 3 : 0))
                   : NO_COLLECTION;
    const char *open;
    enum collection kind = NO_COLLECTION;
    while (kind == NO_COLLECTION && text.len > 0 &&
           (open = memchr(text.ptr, '[', text.len)) != NULL) {
        text = span_skip(text, (size_t)(open - text.ptr) + 1);
        kind = collection_at(text);
    }
    return kind;
}

static void take_heap(struct gc_log *log, const struct change *heap, int64_t ms,
                      enum collection kind, unsigned remarks)
{
    bool full = kind == FULL, asked = (remarks & (1U << ASKED | 1U << METADATA)) != 0;
    log->collections++;
    log->full += full;
    if (heap->size > log->heap_bytes + log->heap_bytes / 20) /* it could still grow */
        log->useless = log->useless_run = 0;
    log->heap_bytes = heap->size > log->heap_bytes ? heap->size : log->heap_bytes;
    if ((full || kind == DEGENERATED) && !asked) {
        bool left = heap->after >= log->heap_bytes / 10 * FULL_TENTHS;
        log->useless_run = left ? log->useless_run + 1 : 0;
        if (left && log->useless_run >= log->useless) {
            log->useless = log->useless_run;
            log->useless_bytes = heap->after;
        }
    }
    if (log->after_bytes >= 0 && heap->before > log->after_bytes)
        log->allocated_bytes = saturated_add(log->allocated_bytes, heap->before - log->after_bytes);
    log->after_bytes = heap->after;
    take_time(log, ms);
    if (full || kind == DEGENERATED || kind == CONCURRENT_WHOLE || (remarks & 1U << MIXED) != 0)
        gc_series_add(&log->live, ms, heap->after);
}

void gc_log_line(struct gc_log *log, struct span line)
{
    int64_t ms;
    struct change heap = {.size = 0};
    struct span body = body_of(span_trim(line), &ms);
    if (span_starts_with(body, SPAN_LITERAL(" Allocation Stall (")) &&
        span_ends_with(body, SPAN_LITERAL("ms"))) {
        log->stalls++;
        take_time(log, ms);
        return;
    }
    enum collection kind = collection_of(body);
    if (kind == NO_COLLECTION)
        return;
    unsigned remarks = remarks_of(body);
    log->exhausted += remarks >> EXHAUSTED & 1;
    if (!heap_change(body, &heap))
        return;
    log->degenerated += kind == DEGENERATED || (remarks >> FAILED & 1) != 0;
    log->metadata += remarks >> METADATA & 1;
    log->humongous += remarks >> HUMONGOUS & 1;
    take_heap(log, &heap, ms, kind, remarks);
    if (kind < CONCURRENT_YOUNG)
        take_pause(log, pause_of(heap.rest));
}

void gc_log_merge(struct gc_log *log, const struct gc_log *other)
{
    bool earlier = other->first_ms >= 0 && other->first_ms < log->first_ms;
    struct gc_log first = earlier ? *other : *log, second = earlier ? *log : *other;
    *log = second.collections > 0 ? second : first;
    log->live = first.live;
    for (int i = 0; i < second.live.count; i++)
        gc_series_add(&log->live, second.live.point[i].ms, second.live.point[i].bytes);
    log->useless = second.full == second.useless ? first.useless_run + second.useless
                                                 : MAX(first.useless, second.useless);
    log->first_ms = first.first_ms >= 0 ? first.first_ms : second.first_ms;
    log->collections = saturated_add(first.collections, second.collections);
    log->full = first.full + second.full;
    log->heap_bytes = first.heap_bytes > second.heap_bytes ? first.heap_bytes : second.heap_bytes;
    log->allocated_bytes = saturated_add(first.allocated_bytes, second.allocated_bytes);
    log->longest_pause_us = first.longest_pause_us > second.longest_pause_us
                                ? first.longest_pause_us
                                : second.longest_pause_us;
    log->pause_us = first.pause_us < 0    ? second.pause_us
                    : second.pause_us < 0 ? first.pause_us
                                          : saturated_add(first.pause_us, second.pause_us);
    log->stalls = first.stalls + second.stalls;
    log->degenerated = first.degenerated + second.degenerated;
    log->exhausted = first.exhausted + second.exhausted;
    log->metadata = first.metadata + second.metadata;
    log->humongous = first.humongous + second.humongous;
}
