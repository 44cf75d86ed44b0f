#include "agent/control/recording.h"

#include "agent/context/context.h"

#include <stdio.h>
#include <string.h>

#define NAMES_MAX       1000000 /* texts of one dictionary */
#define REINTERN_MIN    4096    /* names, before fresh dictionaries are worth it */
#define REINTERN_FACTOR 8 /* names per method: beyond it most of them are of vanished classes */

static bool create_names(struct method_names *names)
{
    names->classes = dictionary_create(COMPONENT_DICTIONARY_CLASS, NAMES_MAX);
    names->labels = dictionary_create(COMPONENT_DICTIONARY_LABEL, NAMES_MAX);
    names->packages = dictionary_create(COMPONENT_DICTIONARY_PACKAGE, NAMES_MAX);
    return names->classes != NULL && names->labels != NULL && names->packages != NULL;
}

static void destroy_names(struct method_names *names)
{
    struct dictionary *dictionaries[] = {names->classes, names->labels, names->packages};
    for (size_t i = 0; i < sizeof dictionaries / sizeof *dictionaries; i++) {
        if (dictionaries[i] != NULL)
            dictionary_destroy(dictionaries[i]);
    }
    memset(names, 0, sizeof *names);
}

static bool create_sampler(struct sampler *sampler, const struct agent_options *options,
                           const struct recording_parts *parts)
{
    sampler->engine = parts->engine;
    sampler->native = parts->native;
    sampler->depth = (int)options->number[OPTION_DEPTH];
    sampler->tag_count = context_tag_count();
    sampler->traces = calltrace_create((size_t)options->number[OPTION_TRACES]);
    sampler->buffers = recording_buffers_create();
    sampler->thread_ids = thread_id_tables_create();
    /* Mapped: of a depth of 2048 a sample touches what its stack needs. One more frame for an
     * error. */
    sampler->scratch =
        mem_map(COMPONENT_CALL_TRACE_STORAGE,
                RECORDING_BUFFERS * ((size_t)sampler->depth + 1) * sizeof *sampler->scratch);
    return sampler->traces != NULL && sampler->buffers != NULL && sampler->thread_ids != NULL &&
           sampler->scratch != NULL;
}

struct recording *recording_create(const struct recording_parts *parts,
                                   const struct agent_options *options, char *error,
                                   size_t error_size)
{
    struct recording *recording = mem_alloc(COMPONENT_CONTROL, sizeof *recording);
    if (recording == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    recording->threads = parts->threads;
    recording->ids = parts->ids;
    snprintf(error, error_size, "out of memory");
    if (create_names(&recording->names) && create_sampler(&recording->sampler, options, parts)) {
        recording->methods = method_map_create(parts->jvmti, &recording->names,
                                               options->number[OPTION_METHOD_CLEANUP] != 0);
        const struct jfr_options jfr = {.file = parts->file,
                                        .max_bytes = options->number[OPTION_MAX_SIZE],
                                        .settings = options->whole,
                                        .jvm_version = parts->jvm_version};
        if (recording->methods != NULL)
            recording->writer = jfr_create(&jfr, error, error_size);
        if (recording->writer != NULL && jfr_chunk_begin(recording->writer))
            return recording;
        if (recording->writer != NULL && jfr_error(recording->writer) != NULL)
            snprintf(error, error_size, "%s", jfr_error(recording->writer));
    }
    recording_destroy(recording);
    return NULL;
}

/* --- events ----------------------------------------------------------------------------------- */

static bool write_events(void *context, const uint8_t *bytes, size_t length)
{
    return jfr_events(context, bytes, length);
}

void recording_turn(struct recording *recording)
{
    recording_buffers_flush(recording->sampler.buffers, write_events, recording->writer);
    calltrace_refill(recording->sampler.traces);
}

/* --- pools ------------------------------------------------------------------------------------ */

static void expect_trace(void *context, const struct calltrace *trace)
{
    struct recording *recording = context;
    for (int i = 0; i < trace->depth; i++)
        method_map_expect(recording->methods, &trace->frames[i]);
}

static void write_trace(void *context, const struct calltrace *trace)
{
    struct recording *recording = context;
    int depth = trace->depth < RECORDING_DEPTH_MAX ? trace->depth : RECORDING_DEPTH_MAX;
    for (int i = 0; i < depth; i++) {
        const struct frame *frame = &trace->frames[i];
        const struct method_info *method =
            method_map_get(recording->methods, recording->env, frame);
        recording->frames[i] = (struct jfr_frame){
            .method_id = method->id,
            .line = method_map_line(recording->methods, frame),
            .bci = frame->bci > 0 ? frame->bci : 0,
            .type = method->native_frame || frame->bci == FRAME_BCI_NATIVE_METHOD
                        ? FRAME_TYPE_NATIVE
                        : (enum frame_type)frame->type,
        };
    }
    jfr_pool_trace(recording->writer, trace->id, recording->frames, depth,
                   trace->truncated || depth < trace->depth);
}

static void write_method(void *context, const struct method_info *method)
{
    jfr_pool_method(context, method->id, method->class_id, method->name_id, method->signature_id,
                    method->modifiers);
}

/* Names have slashes: the package is what stands before the last one of a class's own name (a
 * hidden class ends in a slash and an address). */
static void write_class(void *context, uint32_t id, const char *text, size_t length)
{
    struct recording *recording = context;
    const char *address = strstr(text, "/0x");
    size_t end = address != NULL ? (size_t)(address - text) : length;
    while (end > 0 && text[end - 1] != '/')
        end--;
    uint32_t package = end > 1 ? dictionary_find(recording->names.packages, text, end - 1) : 0;
    jfr_pool_class(recording->writer, id, text, package);
}

static void write_symbol(void *context, uint32_t id, const char *text, size_t length)
{
    (void)length;
    jfr_pool_symbol(context, id, text);
}

static void write_package(void *context, uint32_t id, const char *text, size_t length)
{
    (void)length;
    jfr_pool_package(context, id, text);
}

static void write_context_value(void *context, uint32_t id, const char *text, size_t length)
{
    (void)length;
    jfr_pool_context_value(context, id, text);
}

static void write_thread(void *context, int tid)
{
    struct recording *recording = context;
    char name[128];
    int64_t java_id = 0;
    if (!threads_describe(recording->threads, tid, name, sizeof name, &java_id))
        snprintf(name, sizeof name, "[tid %d]", tid);
    jfr_pool_thread(recording->writer, tid, name, java_id);
}

static void write_pools(struct recording *recording, JNIEnv *env)
{
    recording->env = env;
    method_map_mark(recording->methods);
    calltrace_look(recording->sampler.traces, expect_trace, recording);
    calltrace_peek(recording->sampler.traces, expect_trace, recording);
    method_map_expect_end(recording->methods);
    calltrace_collect(recording->sampler.traces, write_trace, recording);
    /* Stacks of events that were flushed with this chunk though their handlers came in after the
     * rotation: they are written once more with the next one. */
    calltrace_peek(recording->sampler.traces, write_trace, recording);
    method_map_each_referenced(recording->methods, write_method, recording->writer);
    dictionary_each(recording->names.classes, write_class, recording);
    dictionary_each(recording->names.labels, write_symbol, recording->writer);
    dictionary_each(recording->names.packages, write_package, recording->writer);
    if (context_values() != NULL)
        dictionary_each(context_values(), write_context_value, recording->writer);
}

/* --- what must come after the pools to be true --------------------------------------------------
 */

static void write_losses(struct recording *recording)
{
    struct sampler *sampler = &recording->sampler;
    struct jfr_writer *writer = recording->writer;
    struct method_map_counts methods;
    method_map_counts(recording->methods, &methods);
    jfr_loss(writer, "slots", atomic_load(&sampler->dropped_slots));
    jfr_loss(writer, "buffers", atomic_load(&sampler->dropped_buffers));
    jfr_loss(writer, "traces", atomic_load(&sampler->without_trace));
    jfr_loss(writer, "thread_ids", recording->thread_ids_missed);
    jfr_loss(writer, "torn_contexts", atomic_load(&sampler->torn_contexts));
    jfr_loss(writer, "unknown_methods", methods.unknown);
    for (int i = 0; i < WALK_CODE_COUNT; i++) {
        char reason[64];
        int64_t number = atomic_load(&sampler->walks[i]);
        if (i == WALK_OK || number == 0)
            continue;
        snprintf(reason, sizeof reason, "walk_%s", walk_code_name((enum walk_code)i));
        jfr_loss(writer, reason, number);
    }
}

static void write_account(struct recording *recording)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    jfr_component_memory(recording->writer, &snapshot);
    if (recording->ids != NULL) {
        struct jmethod_ids_bill bill;
        jmethod_ids_bill(recording->ids, &bill);
        jfr_jmethod_ids(recording->writer, bill.classes, bill.methods, bill.loaded_bytes,
                        bill.kept_after_unload_bytes);
    }
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* Dictionaries that have outgrown the map hold names of classes that are gone. */
static void renew_names(struct recording *recording)
{
    struct method_map_counts counts;
    struct method_names fresh;
    method_map_counts(recording->methods, &counts);
    uint64_t names = (uint64_t)dictionary_size(recording->names.labels) +
                     dictionary_size(recording->names.classes);
    if (names < REINTERN_MIN || names < (uint64_t)counts.methods * REINTERN_FACTOR)
        return;
    struct method_names old = recording->names;
    if (create_names(&fresh) && method_map_reintern(recording->methods, &fresh)) {
        recording->names = fresh;
        destroy_names(&old);
    } else {
        destroy_names(&fresh);
    }
}

bool recording_end_chunk(struct recording *recording, JNIEnv *env, bool last)
{
    struct sampler *sampler = &recording->sampler;
    int64_t missed = 0;
    calltrace_rotate(sampler->traces);
    recording_turn(recording);
    thread_id_tables_collect(sampler->thread_ids, write_thread, recording, &missed);
    recording->thread_ids_missed += missed;

    write_pools(recording, env);
    write_losses(recording);
    write_account(recording);
    bool good = jfr_chunk_end(recording->writer);
    method_map_sweep(recording->methods);
    renew_names(recording);
    return good && (last || jfr_chunk_begin(recording->writer));
}

void recording_counts(const struct recording *recording, struct recording_counts *counts)
{
    const struct sampler *sampler = &recording->sampler;
    struct calltrace_counts traces;
    struct jfr_counts jfr;
    calltrace_counts(sampler->traces, &traces);
    jfr_counts(recording->writer, &jfr);
    *counts = (struct recording_counts){
        .engine = sampler->engine->name,
        .samples = atomic_load(&sampler->samples),
        .stored = atomic_load(&sampler->stored),
        .dropped_slots = atomic_load(&sampler->dropped_slots),
        .dropped_buffers = atomic_load(&sampler->dropped_buffers),
        .without_trace = atomic_load(&sampler->without_trace),
        .torn_contexts = atomic_load(&sampler->torn_contexts),
        .traces = traces.used,
        .trace_capacity = traces.capacity,
        .chunks = jfr.chunks,
        .file_bytes = jfr.bytes,
    };
    for (int i = 0; i < WALK_CODE_COUNT; i++)
        counts->walks[i] = atomic_load(&sampler->walks[i]);
    const char *error = jfr_error(recording->writer);
    if (error != NULL)
        snprintf(counts->error, sizeof counts->error, "%s", error);
}

void recording_destroy(struct recording *recording)
{
    struct sampler *sampler = &recording->sampler;
    if (recording->writer != NULL)
        jfr_destroy(recording->writer);
    if (recording->methods != NULL)
        method_map_destroy(recording->methods);
    if (sampler->traces != NULL)
        calltrace_destroy(sampler->traces);
    if (sampler->buffers != NULL)
        recording_buffers_destroy(sampler->buffers);
    if (sampler->thread_ids != NULL)
        thread_id_tables_destroy(sampler->thread_ids);
    if (sampler->scratch != NULL)
        mem_unmap(COMPONENT_CALL_TRACE_STORAGE, sampler->scratch,
                  RECORDING_BUFFERS * ((size_t)sampler->depth + 1) * sizeof *sampler->scratch);
    destroy_names(&recording->names);
    mem_free(recording);
}
