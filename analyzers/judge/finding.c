#include "analyzers/judge/finding.h"

#include "analyzers/classes/family.h"
#include "floor/base/normalize.h"

#include <stdarg.h>
#include <stdio.h>

static const struct finding_row ROWS[FINDING_KIND_COUNT] = {
#define FINDING(id, name, severity, title, advice, runbook)                                        \
    [FINDING_##id] = {name, SEVERITY_##severity, title, advice, runbook},
#include "analyzers/judge/findings.def"
};

const char *severity_name(enum severity severity)
{
    static const char *const names[] = {"INFO", "WARNING", "CRITICAL"};
    return names[(unsigned)severity <= SEVERITY_CRITICAL ? severity : SEVERITY_INFO];
}

const struct finding_row *finding_row(enum finding_kind kind)
{
    return &ROWS[kind];
}

bool finding_runbook_url(enum finding_kind kind, const char *base, char *out, size_t size)
{
    if (base[0] == '\0')
        base = FINDING_RUNBOOKS;
    const char *slash = base[strlen(base) - 1] == '/' ? "" : "/";
    int length = snprintf(out, size, "%s%s%s.md", base, slash, ROWS[kind].runbook);
    return length >= 0 && (size_t)length < size;
}

struct finding finding_begin(struct texts *texts, enum finding_kind kind)
{
    return (struct finding){
        .kind = kind,
        .severity = ROWS[kind].severity,
        .family = "",
        .title = ROWS[kind].title,
        .advice = ROWS[kind].advice,
        .texts = texts,
    };
}

/* Cut to `size` bytes with NUL. */
static __attribute__((format(printf, 3, 0))) const char *
keep_format(struct finding *finding, size_t size, const char *format, va_list arguments)
{
    char text[FINDING_ADVICE_MAX];
    vsnprintf(text, size, format, arguments);
    return texts_copy(finding->texts, text);
}

void finding_title(struct finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    finding->title = keep_format(finding, FINDING_TITLE_MAX, format, arguments);
    va_end(arguments);
}

void finding_advice(struct finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    finding->advice = keep_format(finding, FINDING_ADVICE_MAX, format, arguments);
    va_end(arguments);
}

void finding_family(struct finding *finding, const char *family)
{
    char text[EVENT_FAMILY_MAX];
    span_copy(span_from_cstr(family), text, sizeof text);
    finding->family = texts_copy(finding->texts, text);
}

static bool make_room(struct finding *finding)
{
    if (finding->evidence_count < finding->evidence_room)
        return true;
    int room = finding->evidence_room == 0 ? EVIDENCE_MAX / 2 : EVIDENCE_MAX;
    struct evidence *more =
        finding->evidence_count < EVIDENCE_MAX
            ? texts_take(finding->texts, (size_t)room * sizeof *finding->evidence)
            : NULL;
    if (more == NULL)
        return false;
    if (finding->evidence_count > 0)
        memcpy(more, finding->evidence, (size_t)finding->evidence_count * sizeof *more);
    finding->evidence = more;
    finding->evidence_room = room;
    return true;
}

static struct evidence *add(struct finding *finding, const char *key, enum evidence_type type)
{
    char own[EVIDENCE_KEY_MAX];
    if (!make_room(finding))
        return NULL;
    struct evidence *evidence = &finding->evidence[finding->evidence_count++];
    snprintf(own, sizeof own, "%s", key);
    *evidence = (struct evidence){.key = texts_copy(finding->texts, own), .type = type, .text = ""};
    return evidence;
}

void finding_add_int(struct finding *finding, const char *key, int64_t number)
{
    struct evidence *evidence = add(finding, key, EVIDENCE_INT);
    if (evidence != NULL)
        evidence->number = number;
}

void finding_add_known(struct finding *finding, const char *key, int64_t number)
{
    if (number >= 0)
        finding_add_int(finding, key, number);
}

void finding_add_real(struct finding *finding, const char *key, double real)
{
    struct evidence *evidence = add(finding, key, EVIDENCE_REAL);
    if (evidence != NULL)
        evidence->real = real;
}

void finding_add_text(struct finding *finding, const char *key, const char *text)
{
    char own[EVENT_NAME_MAX];
    struct evidence *evidence = text[0] != '\0' ? add(finding, key, EVIDENCE_TEXT) : NULL;
    if (evidence == NULL)
        return;
    span_copy(span_from_cstr(text), own, sizeof own);
    evidence->text = texts_copy(finding->texts, own);
}

void finding_add_listed(struct finding *finding, const char *key, int number, const char *format,
                        ...)
{
    char numbered[EVIDENCE_KEY_MAX], text[FINDING_TITLE_MAX];
    va_list arguments;
    snprintf(numbered, sizeof numbered, "%s_%d", key, number);
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    finding_add_text(finding, numbered, text);
}

const struct evidence *finding_evidence(const struct finding *finding, const char *key)
{
    for (int i = 0; i < finding->evidence_count; i++) {
        if (strcmp(finding->evidence[i].key, key) == 0)
            return &finding->evidence[i];
    }
    return NULL;
}

static int64_t percent_of(int64_t part, int64_t whole)
{
    if (part <= 0 || whole <= 0)
        return 0;
    return part >= whole ? 100 : (int64_t)((double)part * 100.0 / (double)whole);
}

const struct caller_row *finding_caller(const struct caller_row *rows, int count,
                                        const char *class_name, int64_t *classes)
{
    char readable[CLASS_NAME_MAX], family[CLASS_FAMILY_MAX];
    size_t length = class_name_readable(class_name, readable);
    const struct family *known = family_match(span_of(readable, length));
    const struct caller_row *most = NULL;
    class_family(readable, length, family);
    *classes = 0;
    for (int i = 0; i < count; i++) {
        bool same = strncmp(rows[i].family, family, sizeof rows[i].family - 1) == 0;
        if (!same && (known == NULL || family_match(span_from_cstr(rows[i].family)) != known))
            continue;
        *classes += rows[i].classes;
        if (most == NULL || rows[i].stacks > most->stacks)
            most = &rows[i];
    }
    return most;
}

void finding_add_caller(struct finding *finding, const struct caller_row *rows, int count,
                        const char *class_name)
{
    int64_t classes;
    const struct caller_row *row = finding_caller(rows, count, class_name, &classes);
    if (row == NULL)
        return;
    finding_add_text(finding, "asked_for_by", row->call_site);
    finding_add_int(finding, "asked_for_by_percent", percent_of(row->stacks, classes));
    finding_add_text(finding, "asked_through", row->through);
    finding_title(finding, "%s; asked for by %.150s", finding->title, row->call_site);
}

void finding_add_late_caller(struct finding *finding, const struct caller_row *rows, int count)
{
    const struct evidence *example = finding_evidence(finding, "example");
    bool of_classes =
        finding->kind == FINDING_CLASS_EXPLOSION || finding->kind == FINDING_CLASS_CHURN;
    if (of_classes && example != NULL && finding_evidence(finding, "asked_for_by") == NULL)
        finding_add_caller(finding, rows, count, example->text);
}

void finding_copy(struct finding *to, struct texts *texts, const struct finding *from)
{
    struct finding copy = *from;
    copy.texts = texts;
    copy.family = texts_copy(texts, from->family);
    /* Texts of the table need no copy. */
    if (from->title != ROWS[from->kind].title)
        copy.title = texts_copy(texts, from->title);
    if (from->advice != ROWS[from->kind].advice)
        copy.advice = texts_copy(texts, from->advice);
    copy.evidence = from->evidence_count == 0
                        ? NULL
                        : texts_take(texts, (size_t)from->evidence_count * sizeof *copy.evidence);
    copy.evidence_count = copy.evidence_room = copy.evidence != NULL ? from->evidence_count : 0;
    for (int i = 0; i < copy.evidence_count; i++) {
        copy.evidence[i] = from->evidence[i];
        copy.evidence[i].key = texts_copy(texts, from->evidence[i].key);
        copy.evidence[i].text = texts_copy(texts, from->evidence[i].text);
    }
    *to = copy;
}

/* --- thresholds ------------------------------------------------------------------------------ */

static const struct threshold_row THRESHOLD_ROWS[THRESHOLD_COUNT] = {
#define THRESHOLD(id, key, dflt, unit, min, max, meaning)                                          \
    [TH_##id] = {key, dflt, #unit, min, max, meaning},
#include "analyzers/judge/thresholds.def"
};

const struct threshold_row *threshold_row(enum threshold which)
{
    return &THRESHOLD_ROWS[which];
}

void thresholds_default(struct thresholds *thresholds)
{
    for (int i = 0; i < THRESHOLD_COUNT; i++)
        thresholds->value[i] = THRESHOLD_ROWS[i].dflt;
}

enum threshold threshold_from_key(const char *key)
{
    for (int i = 0; i < THRESHOLD_COUNT; i++) {
        if (strcmp(THRESHOLD_ROWS[i].key, key) == 0)
            return (enum threshold)i;
    }
    return THRESHOLD_COUNT;
}
