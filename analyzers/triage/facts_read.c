#include "analyzers/triage/facts_texts.h"

#include "analyzers/text/clean_text.h"

#include <stdio.h>
#include <stdlib.h>

struct facts_reader {
    struct thresholds thresholds;
    facts_input_fn *on_input;
    void *context;
    int64_t unparsed_lines;
    int64_t expected_pid; /* -1: none yet */
    bool several;         /* process ids were expected */
    int jvm_count;
    struct facts_jvm *jvms[FACTS_READER_JVMS_MAX];
};

struct facts_reader *facts_reader_create(const struct thresholds *thresholds,
                                         facts_input_fn *on_input, void *context)
{
    struct facts_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL)
        return NULL;
    reader->thresholds = *thresholds;
    reader->on_input = on_input;
    reader->expected_pid = -1;
    reader->context = context;
    return reader;
}

/* Its error file says how it ended. */
static bool ended(const struct facts_jvm *jvm)
{
    return jvm->facts.crash.have && jvm->facts.crash.end != HS_ERR_NO_END;
}

/* Of several error files none owns a text that says nothing: NULL when there is no other. */
static struct facts_jvm *busiest(const struct facts_reader *reader)
{
    struct facts_jvm *most = NULL;
    int crashes = 0;
    for (int i = 0; i < reader->jvm_count; i++)
        crashes += ended(reader->jvms[i]);
    for (int i = 0; i < reader->jvm_count; i++) {
        if (crashes > 1 && ended(reader->jvms[i]))
            continue;
        if (most == NULL || reader->jvms[i]->parts > most->parts)
            most = reader->jvms[i];
    }
    return most;
}

static struct facts_jvm *new_jvm(struct facts_reader *reader, int64_t pid)
{
    if (reader->jvm_count == FACTS_READER_JVMS_MAX)
        return NULL;
    struct facts_jvm *jvm = calloc(1, sizeof *jvm);
    if (jvm == NULL)
        return NULL;
    jvm->pid = pid;
    jvm->uptime_ms = jvm->first_uptime_ms = -1;
    jvm->facts.identity.pid = pid;
    jvm->facts.thresholds = reader->thresholds;
    sample_clear(&jvm->facts.sample);
    sample_clear(&jvm->facts.before);
    reader->jvms[reader->jvm_count++] = jvm;
    return jvm;
}

/* A text that does not say whose it is belongs to the JVM with the most texts so far; the first
 * JVM that has a number takes over those that came before it. */
static struct facts_jvm *jvm_of(struct facts_reader *reader, int64_t pid)
{
    struct facts_jvm *other = pid < 0 && !reader->several ? busiest(reader) : NULL;
    if (other != NULL)
        return other;
    if (!reader->several && pid >= 0 && reader->jvm_count == 1 && reader->jvms[0]->pid < 0 &&
        !ended(reader->jvms[0])) {
        reader->jvms[0]->pid = reader->jvms[0]->facts.identity.pid = pid;
        return reader->jvms[0];
    }
    for (int i = 0; i < reader->jvm_count; i++) {
        if (pid >= 0 && reader->jvms[i]->pid == pid)
            return reader->jvms[i];
    }
    return new_jvm(reader, pid);
}

void facts_reader_expect(struct facts_reader *reader, struct span front)
{
    struct clean_text clean;
    struct text_parts parts;
    struct text_part part;
    if (!clean_text_make(&clean, front))
        return;
    text_parts_begin(&parts, clean.text);
    while (!reader->several && text_parts_next(&parts, &part)) {
        int64_t pid = part.pid;
        if (part.kind == TEXT_HS_ERR && pid < 0) {
            struct hs_err error_file;
            hs_err_read(&error_file, part.onward);
            pid = error_file.pid;
        }
        reader->several = pid >= 0 && reader->expected_pid >= 0 && pid != reader->expected_pid;
        if (pid >= 0)
            reader->expected_pid = pid;
    }
    clean_text_free(&clean);
}

/* The first number in a file is of the texts in front of it, too. */
static bool may_name(const struct facts_reader *reader, const struct facts_jvm *jvm, int64_t pid)
{
    bool free_pid = pid >= 0 && reader->several && jvm->pid < 0 && !ended(jvm);
    for (int i = 0; i < reader->jvm_count && free_pid; i++)
        free_pid = reader->jvms[i]->pid != pid;
    return free_pid;
}

/* The JVM an error file is of. In containers all have the same pid: a second end is another JVM. */
static struct facts_jvm *jvm_of_error_file(struct facts_reader *reader, const struct hs_err *file,
                                           struct facts_jvm *current)
{
    if (file->end == HS_ERR_NO_END)
        return current != NULL ? current : jvm_of(reader, file->pid);
    if (current != NULL && !ended(current) && (file->pid < 0 || current->pid < 0)) {
        if (file->pid >= 0)
            current->pid = current->facts.identity.pid = file->pid;
        return current;
    }
    for (int i = 0; i < reader->jvm_count; i++) {
        if (file->pid >= 0 && reader->jvms[i]->pid == file->pid && !ended(reader->jvms[i]))
            return reader->jvms[i];
    }
    if (file->pid >= 0 && reader->jvm_count == 1 && !ended(reader->jvms[0]))
        return jvm_of(reader, file->pid);
    return new_jvm(reader, file->pid);
}

static bool feed_clean(struct facts_reader *reader, const char *file,
                       const struct clean_text *clean, int64_t *ignored_lines)
{
    struct text_parts parts;
    struct text_part part;
    bool any = false;
    int64_t pid = -1; /* a text behind a numbered one is of the same JVM */
    int error_file_jdk = 0;
    struct facts_jvm *current = NULL; /* the last one of this file */
    const char *error_file_end = clean->text.ptr;
    text_parts_begin(&parts, clean->text);
    while (text_parts_next(&parts, &part)) {
        any = true;
        bool of_error_file = part.text.ptr < error_file_end;
        struct hs_err error_file;
        if (part.kind == TEXT_HS_ERR && !of_error_file) {
            hs_err_read(&error_file, part.onward);
            error_file_end = part.onward.ptr + error_file.consumed;
            part.pid = part.pid < 0 ? error_file.pid : part.pid;
        }
        if (part.pid >= 0)
            pid = part.pid;
        struct facts_input input = {
            .file = file,
            .kind = part.kind,
            .pid = pid,
            .jdk_major = text_jdk_major(part.kind, part.text),
            .line = clean_text_line(clean, part.text.ptr),
            .source = clean,
            .text = part.text,
        };
        if (part.kind == TEXT_HS_ERR)
            error_file_jdk = input.jdk_major;
        else if (input.jdk_major == 0) /* an error file has its NMT section in it */
            input.jdk_major = error_file_jdk;
        clean_text_words(clean, input.removed, sizeof input.removed);
        bool named = input.jdk_major != 0;
        if (!named)
            input.jdk_major = text_jdk_form(part.kind, part.text);
        if (part.kind == TEXT_JAVACORE) {
            snprintf(input.note, sizeof input.note,
                     "a javacore of OpenJ9: only texts of HotSpot are read; its NATIVEMEMINFO "
                     "section has the native memory by component");
            if (reader->on_input != NULL)
                reader->on_input(reader->context, &input);
            continue;
        }
        struct facts_jvm *jvm;
        if (part.kind == TEXT_HS_ERR && !of_error_file)
            jvm = jvm_of_error_file(reader, &error_file, current);
        else if (current != NULL && (part.pid < 0 || part.pid == current->pid))
            jvm = current;
        else if (current != NULL && may_name(reader, current, part.pid)) {
            current->pid = current->facts.identity.pid = part.pid;
            jvm = current;
        } else
            jvm = jvm_of(reader, pid);
        current = jvm;
        if (jvm == NULL) {
            snprintf(input.note, sizeof input.note, "too many JVMs in one call, or out of memory");
        } else {
            jvm->parts++;
            if (input.jdk_major != 0 && (named || !jvm->jdk_named))
                jvm->facts.identity.jdk_major = input.jdk_major;
            jvm->jdk_named = jvm->jdk_named || named;
            if (part.kind == TEXT_HS_ERR && !of_error_file)
                facts_read_error_file(jvm, &error_file, part.onward);
            if (!facts_read_part(jvm, &part, &input))
                snprintf(input.note, sizeof input.note, "out of memory");
        }
        reader->unparsed_lines += input.unparsed_lines;
        if (reader->on_input != NULL)
            reader->on_input(reader->context, &input);
    }
    int64_t heap; /* named beside the texts, in words */
    if (current != NULL && current->facts.max_heap_bytes <= 0 &&
        java_flag_size(clean->text, SPAN_LITERAL("-Xmx"), &heap))
        current->facts.max_heap_bytes = heap;
    *ignored_lines = parts.unclaimed_lines;
    return any;
}

bool facts_reader_feed(struct facts_reader *reader, const char *file, struct span text,
                       int64_t *ignored_lines)
{
    struct clean_text clean;
    if (!clean_text_make(&clean, text))
        return false;
    bool any = feed_clean(reader, file, &clean, ignored_lines);
    clean_text_free(&clean);
    return any;
}

bool facts_reader_feed_log(struct facts_reader *reader, const char *file,
                           const struct oom_lines *lines, const struct classlog *log, bool *any)
{
    struct facts_input input = {
        .file = file,
        .kind = log != NULL ? TEXT_CLASS_LOG : TEXT_CONSOLE,
        .pid = -1,
        .line = 1,
    };
    *any = log != NULL || oom_lines_any(lines);
    struct facts_jvm *jvm = *any ? jvm_of(reader, -1) : NULL;
    if (jvm == NULL)
        return !*any;
    jvm->parts++;
    bool ok = log == NULL || facts_read_class_log(jvm, log, &input);
    facts_take_lines(jvm, lines, &input);
    if (reader->on_input != NULL)
        reader->on_input(reader->context, &input);
    reader->unparsed_lines += input.unparsed_lines;
    return ok;
}

static int most_parts_first(const void *a, const void *b)
{
    const struct facts_jvm *x = *(struct facts_jvm *const *)a;
    const struct facts_jvm *y = *(struct facts_jvm *const *)b;
    return compare_numbers(y->parts, x->parts) ?: compare_numbers(x->pid, y->pid);
}

static void take_rows(struct facts_names *names, const struct census *census,
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

void facts_reader_finish(struct facts_reader *reader)
{
    qsort(reader->jvms, (size_t)reader->jvm_count, sizeof reader->jvms[0], most_parts_first);
    for (int i = 0; i < reader->jvm_count; i++) {
        struct facts_jvm *jvm = reader->jvms[i];
        if (jvm->stock != NULL && jvm->facts.loaders.have)
            for (int k = 0; k < jvm->facts.loaders.row_count; k++)
                census_loader_type(jvm->stock, span_from_cstr(jvm->facts.loaders.rows[k].type),
                                   jvm->facts.loaders.rows[k].loaders,
                                   jvm->facts.loaders.rows[k].classes);
        take_rows(&jvm->facts.stock, jvm->stock, NULL);
        take_rows(&jvm->facts.flow, jvm->flow, jvm->late);
    }
}

int facts_reader_count(const struct facts_reader *reader)
{
    return reader->jvm_count;
}

const struct jvm_facts *facts_reader_at(const struct facts_reader *reader, int index)
{
    return &reader->jvms[index]->facts;
}

struct jvm_facts *facts_reader_edit(struct facts_reader *reader, int index)
{
    return &reader->jvms[index]->facts;
}

int64_t facts_reader_unparsed_lines(const struct facts_reader *reader)
{
    return reader->unparsed_lines;
}

void facts_reader_destroy(struct facts_reader *reader)
{
    for (int i = 0; i < reader->jvm_count; i++) {
        struct facts_jvm *jvm = reader->jvms[i];
        census_destroy(jvm->stock);
        heap_census_destroy(jvm->heap);
        census_destroy(jvm->flow);
        census_destroy(jvm->late);
        free(jvm->ranges);
        free(jvm->summary);
        free(jvm);
    }
    free(reader);
}
