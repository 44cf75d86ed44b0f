#include "analyzers/triage/dossier_texts.h"

#include <stdio.h>
#include <stdlib.h>

struct dossier_reader {
    struct thresholds thresholds;
    dossier_input_fn *on_input;
    void *context;
    int64_t unparsed_lines;
    int jvm_count;
    struct dossier_jvm *jvms[DOSSIER_READER_JVMS_MAX];
};

struct dossier_reader *dossier_reader_create(const struct thresholds *thresholds,
                                             dossier_input_fn *on_input, void *context)
{
    struct dossier_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL)
        return NULL;
    reader->thresholds = *thresholds;
    reader->on_input = on_input;
    reader->context = context;
    return reader;
}

static struct dossier_jvm *busiest(const struct dossier_reader *reader)
{
    struct dossier_jvm *most = NULL;
    for (int i = 0; i < reader->jvm_count; i++) {
        if (most == NULL || reader->jvms[i]->parts > most->parts)
            most = reader->jvms[i];
    }
    return most;
}

/* A text that does not say whose it is belongs to the JVM with the most texts so far; the first
 * JVM that has a number takes over those that came before it. */
static struct dossier_jvm *jvm_of(struct dossier_reader *reader, int64_t pid)
{
    if (pid < 0 && reader->jvm_count > 0)
        return busiest(reader);
    if (reader->jvm_count == 1 && reader->jvms[0]->pid < 0) {
        reader->jvms[0]->pid = reader->jvms[0]->dossier.identity.pid = pid;
        return reader->jvms[0];
    }
    for (int i = 0; i < reader->jvm_count; i++) {
        if (reader->jvms[i]->pid == pid)
            return reader->jvms[i];
    }
    if (reader->jvm_count == DOSSIER_READER_JVMS_MAX)
        return NULL;
    struct dossier_jvm *jvm = calloc(1, sizeof *jvm);
    if (jvm == NULL)
        return NULL;
    jvm->pid = pid;
    jvm->uptime_ms = jvm->first_uptime_ms = -1;
    jvm->dossier.identity.pid = pid;
    jvm->dossier.thresholds = reader->thresholds;
    sample_clear(&jvm->dossier.sample);
    sample_clear(&jvm->dossier.before);
    reader->jvms[reader->jvm_count++] = jvm;
    return jvm;
}

/* "#  SIGSEGV (0xb) at pc=0x00007f1c, pid=17393, tid=17394"; -1: not there. */
static int64_t pid_of_error_file(struct span text)
{
    ptrdiff_t at = span_find(text, SPAN_LITERAL(", pid="));
    int64_t pid;
    if (at < 0)
        return -1;
    struct span rest = span_of(text.ptr + at + 6, text.len - (size_t)at - 6);
    return span_take_unsigned(&rest, &pid) ? pid : -1;
}

bool dossier_reader_feed(struct dossier_reader *reader, const char *file, struct span text,
                         int64_t *ignored_lines)
{
    struct text_parts parts;
    struct text_part part;
    bool any = false;
    int64_t pid = -1; /* a text behind a numbered one is of the same JVM */
    int error_file_jdk = 0;
    text_parts_begin(&parts, text);
    while (text_parts_next(&parts, &part)) {
        any = true;
        if (part.kind == TEXT_HS_ERR && part.pid < 0)
            part.pid = pid_of_error_file(part.text);
        if (part.pid >= 0)
            pid = part.pid;
        struct dossier_input input = {
            .file = file,
            .kind = part.kind,
            .pid = pid,
            .jdk_major = text_jdk_major(part.kind, part.text),
        };
        if (part.kind == TEXT_HS_ERR)
            error_file_jdk = input.jdk_major;
        else if (input.jdk_major == 0) /* an error file has its NMT section in it */
            input.jdk_major = error_file_jdk;
        bool named = input.jdk_major != 0;
        if (!named)
            input.jdk_major = text_jdk_form(part.kind, part.text);
        struct dossier_jvm *jvm = jvm_of(reader, pid);
        if (jvm == NULL) {
            snprintf(input.note, sizeof input.note, "too many JVMs in one call, or out of memory");
        } else {
            jvm->parts++;
            if (input.jdk_major != 0 && (named || !jvm->jdk_named))
                jvm->dossier.identity.jdk_major = input.jdk_major;
            jvm->jdk_named = jvm->jdk_named || named;
            if (!dossier_read_part(jvm, &part, &input))
                snprintf(input.note, sizeof input.note, "out of memory");
        }
        reader->unparsed_lines += input.unparsed_lines;
        if (reader->on_input != NULL)
            reader->on_input(reader->context, &input);
    }
    *ignored_lines = parts.unclaimed_lines;
    return any;
}

static int most_parts_first(const void *a, const void *b)
{
    const struct dossier_jvm *x = *(struct dossier_jvm *const *)a;
    const struct dossier_jvm *y = *(struct dossier_jvm *const *)b;
    return x->parts != y->parts ? y->parts - x->parts : x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void take_rows(struct dossier_names *names, const struct census *census,
                      const struct census *late)
{
    struct census_totals totals;
    if (census == NULL)
        return;
    census_totals(census, &totals);
    names->have = true;
    names->loads = totals.loads;
    names->unloads = totals.unloads;
    names->row_count = census_rows(census, names->rows, EVENT_ROWS_MAX);
    struct family_row *late_rows = late == NULL ? NULL : calloc(EVENT_ROWS_MAX, sizeof *late_rows);
    int late_count = late_rows == NULL ? 0 : census_rows(late, late_rows, EVENT_ROWS_MAX);
    for (int i = 0; i < names->row_count; i++) {
        names->late_loads[i] = late_rows == NULL ? -1 : 0;
        for (int k = 0; k < late_count; k++) {
            if (strcmp(late_rows[k].family, names->rows[i].family) == 0)
                names->late_loads[i] = late_rows[k].loads;
        }
    }
    free(late_rows);
}

/* Of several JVMs in a folder all are of one JDK, unless their own texts say otherwise. */
static void spread_jdk(struct dossier_reader *reader)
{
    int known = 0;
    bool agree = true;
    for (int i = 0; i < reader->jvm_count; i++) {
        int major = reader->jvms[i]->dossier.identity.jdk_major;
        agree = agree && (major == 0 || known == 0 || major == known);
        known = major != 0 ? major : known;
    }
    for (int i = 0; i < reader->jvm_count && agree; i++)
        reader->jvms[i]->dossier.identity.jdk_major = known;
}

void dossier_reader_finish(struct dossier_reader *reader)
{
    qsort(reader->jvms, (size_t)reader->jvm_count, sizeof reader->jvms[0], most_parts_first);
    spread_jdk(reader);
    for (int i = 0; i < reader->jvm_count; i++) {
        struct dossier_jvm *jvm = reader->jvms[i];
        if (jvm->stock != NULL && jvm->dossier.loaders.have)
            for (int k = 0; k < jvm->dossier.loaders.row_count; k++)
                census_loader_type(jvm->stock, span_from_cstr(jvm->dossier.loaders.rows[k].type),
                                   jvm->dossier.loaders.rows[k].loaders,
                                   jvm->dossier.loaders.rows[k].classes);
        take_rows(&jvm->dossier.stock, jvm->stock, NULL);
        take_rows(&jvm->dossier.flow, jvm->flow, jvm->late);
    }
}

int dossier_reader_count(const struct dossier_reader *reader)
{
    return reader->jvm_count;
}

const struct dossier *dossier_reader_at(const struct dossier_reader *reader, int index)
{
    return &reader->jvms[index]->dossier;
}

struct dossier *dossier_reader_edit(struct dossier_reader *reader, int index)
{
    return &reader->jvms[index]->dossier;
}

int64_t dossier_reader_unparsed_lines(const struct dossier_reader *reader)
{
    return reader->unparsed_lines;
}

void dossier_reader_destroy(struct dossier_reader *reader)
{
    for (int i = 0; i < reader->jvm_count; i++) {
        struct dossier_jvm *jvm = reader->jvms[i];
        if (jvm->stock != NULL)
            census_destroy(jvm->stock);
        if (jvm->flow != NULL)
            census_destroy(jvm->flow);
        if (jvm->late != NULL)
            census_destroy(jvm->late);
        free(jvm->ranges);
        free(jvm->summary);
        free(jvm);
    }
    free(reader);
}
