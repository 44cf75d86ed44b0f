#include "agent/control/recording.h"

#include "agent/context/context.h"
#include "agent/calltrace/calltrace.h"
#include "agent/mem/mem.h"

#include <stdio.h>
#include <string.h>

#define REINTERN_MIN 4096 /* names, before fresh dictionaries are worth it */
#define REINTERN_FACTOR                                                                            \
    4 /* names per method: a method has three; the others are of vanished classes */

/* How memory= is split among the parts that could grow without end:
 *
 *   3/8 stacks of a chunk (three tables that share it; traces= sets it apart)
 *   2/8 names taken in handlers     agent/methods/seen_methods, engine vm
 *   1/8 sampled methods             agent/methods/method_map, with line tables
 *   2/8 names of the recording      agent/dict, by a number of texts of TEXT_BYTES
 *
 * What finds no room is counted and shown as [over budget]. The rest of the agent (buffers, slots,
 * threads) is of fixed size or bounded by the number of threads; the breaker looks at the sum. */
#define TEXT_BYTES 160 /* of a dictionary, for a text of sixty bytes */

struct shares {
    size_t traces_bytes, seen_bytes, methods_bytes;
    uint32_t texts; /* of classes and of labels, each */
};

static struct shares shares_of(const struct agent_options *options)
{
    size_t eighth = (size_t)options->number[OPTION_MEMORY] / 8;
    size_t traces_bytes = (size_t)options->number[OPTION_TRACES];
    size_t texts = eighth / TEXT_BYTES;
    return (struct shares){
        .traces_bytes = traces_bytes != 0 ? traces_bytes : 3 * eighth,
        .seen_bytes = 2 * eighth,
        .methods_bytes = eighth,
        .texts = texts < UINT32_MAX / 2 ? (uint32_t)texts : UINT32_MAX / 2,
    };
}

static bool create_names(struct method_names *names, uint32_t texts)
{
    names->classes = dictionary_create(COMPONENT_DICTIONARY_CLASS, texts);
    names->labels = dictionary_create(COMPONENT_DICTIONARY_LABEL, texts);
    names->packages = dictionary_create(COMPONENT_DICTIONARY_PACKAGE, texts);
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

static int64_t texts_refused(const struct method_names *names)
{
    return dictionary_refused(names->classes) + dictionary_refused(names->labels);
}

static bool create_sampler(struct sampler *sampler, const struct agent_options *options,
                           const struct recording_parts *parts)
{
    sampler->engine = parts->engine;
    sampler->native = parts->native;
    sampler->depth = (int)options->number[OPTION_DEPTH];
    sampler->tag_count = context_tag_count();
    sampler->traces = calltrace_create(shares_of(options).traces_bytes);
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

/* Numbers are kept from the method map's creation to its end. */
static bool create_methods(struct recording *recording, const struct agent_options *options,
                           const struct recording_parts *parts)
{
    recording->methods = method_map_create(parts->jvmti, &recording->names,
                                           options->number[OPTION_METHOD_CLEANUP] != 0);
    if (recording->methods != NULL)
        method_map_set_bound(recording->methods, shares_of(options).methods_bytes);
    if (recording->methods == NULL || parts->engine->needs_method_ids)
        return recording->methods != NULL;
    recording->seen = seen_methods_create(shares_of(options).seen_bytes);
    method_map_set_seen(recording->methods, recording->seen);
    parts->engine->use_seen(recording->seen);
    return recording->seen != NULL;
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
    recording->stop_later = parts->stop_later;
    if (parts->engine->needs_method_ids && jmethod_ids_policy(parts->ids) == IDS_LAZY)
        recording->lazy = lazy_ids_create(parts->jvmti, parts->ids);
    recording->classes = parts->classes;
    snprintf(error, error_size, "out of memory");
    recording->texts = shares_of(options).texts;
    if (create_names(&recording->names, recording->texts) &&
        create_sampler(&recording->sampler, options, parts)) {
        const struct jfr_options jfr = {.file = parts->file,
                                        .max_bytes = options->number[OPTION_MAX_SIZE],
                                        .settings = options->whole,
                                        .jvm_version = parts->jvm_version,
                                        .intervals = {options->number[OPTION_CPU],
                                                      options->number[OPTION_WALL],
                                                      options->number[OPTION_ALLOC]}};
        if (create_methods(recording, options, parts))
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
    method_map_learn_seen(recording->methods);
}

void recording_class_loaded(struct recording *recording)
{
    if (recording->seen != NULL)
        seen_methods_class_loaded(recording->seen);
}

void recording_class_unloaded(struct recording *recording, const char *name)
{
    if (recording->seen != NULL)
        seen_methods_class_unloaded(recording->seen, name);
}

static int64_t unnamed_frames(const struct sampler *sampler)
{
    const _Atomic int64_t *frames = sampler->engine->unnamed_frames;
    return frames != NULL ? atomic_load(frames) : 0;
}

void recording_meet(struct recording *recording, JNIEnv *env)
{
    if (recording->lazy != NULL)
        lazy_ids_turn(recording->lazy, env, unnamed_frames(&recording->sampler));
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

/* Samples whose stacks found no room share one. */
static void write_over_budget(struct recording *recording)
{
    const struct frame frame = {.value = SEEN_OVER_BUDGET, .kind = FRAME_SEEN};
    if (atomic_load(&recording->sampler.without_trace) == 0)
        return;
    const struct jfr_frame only = {
        .method_id = method_map_get(recording->methods, recording->env, &frame)->id};
    jfr_pool_trace(recording->writer, CALLTRACE_OVER_BUDGET, &only, 1, true);
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

static void name_threads(struct recording *recording, const int *tids, size_t count)
{
    threads_learn_names(recording->threads, tids, count);
    for (size_t i = 0; i < count; i++) {
        char name[THREAD_NAME_BYTES];
        int64_t java_id = 0;
        if (!threads_describe(recording->threads, tids[i], name, sizeof name, &java_id))
            snprintf(name, sizeof name, "[tid %d]", tids[i]);
        jfr_pool_thread(recording->writer, tids[i], name, java_id);
    }
}

/* The tables had no room for all: every thread that may have an event. */
static bool name_all_threads(struct recording *recording, const int *tids, size_t count)
{
    int *sampled;
    size_t more = threads_sampled(recording->threads, &sampled);
    int *all = sampled != NULL
                   ? mem_resize(COMPONENT_CONTROL, sampled, (more + count) * sizeof *all)
                   : NULL;
    if (all == NULL) {
        mem_free(sampled);
        return false;
    }
    memcpy(all + more, tids, count * sizeof *all);
    name_threads(recording, all, thread_ids_sort(all, more + count));
    mem_free(all);
    return true;
}

/* An id is in the tables of two chunks (thread_id_tables.h): so is one that found no room. */
static void write_threads(struct recording *recording)
{
    const int *tids;
    int64_t missed;
    size_t count = thread_id_tables_collect(recording->sampler.thread_ids, &tids, &missed);
    bool all = missed + recording->thread_ids_before > 0;
    if (!all || !name_all_threads(recording, tids, count)) {
        name_threads(recording, tids, count);
        recording->thread_ids_missed += missed;
    }
    recording->thread_ids_before = missed;
    threads_chunk_written(recording->threads);
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
    write_over_budget(recording);
    method_map_each_referenced(recording->methods, write_method, recording->writer);
    dictionary_each(recording->names.classes, write_class, recording);
    dictionary_each(recording->names.labels, write_symbol, recording->writer);
    dictionary_each(recording->names.packages, write_package, recording->writer);
    if (context_values() != NULL)
        dictionary_each(context_values(), write_context_value, recording->writer);
}

/* --- what must come after the pools to be true ------------------------------------------------ */

static void write_losses(struct recording *recording)
{
    struct sampler *sampler = &recording->sampler;
    struct jfr_writer *writer = recording->writer;
    struct method_map_counts methods;
    struct seen_methods_counts seen = {0};
    struct jfr_counts jfr;
    method_map_counts(recording->methods, &methods);
    if (recording->seen != NULL)
        seen_methods_counts(recording->seen, &seen);
    jfr_loss(writer, "slots", atomic_load(&sampler->dropped_slots));
    jfr_loss(writer, "buffers", atomic_load(&sampler->dropped_buffers));
    jfr_loss(writer, "traces", atomic_load(&sampler->without_trace));
    jfr_loss(writer, "thread_ids", recording->thread_ids_missed);
    jfr_counts(writer, &jfr);
    jfr_loss(writer, "chunks", jfr.lost_chunks);
    jfr_loss(writer, "events_of_lost_chunks", jfr.lost_events);
    jfr_loss(writer, "torn_contexts", atomic_load(&sampler->torn_contexts));
    jfr_loss(writer, "unknown_methods", methods.unknown);
    if (recording->allocs != NULL) {
        struct alloc_counts allocs;
        alloc_profile_counts(recording->allocs, &allocs);
        jfr_loss(writer, "alloc_samples", allocs.lost);
        jfr_loss(writer, "alloc_stacks", allocs.without_stack);
        jfr_loss(writer, "alloc_threads", allocs.threads_refused);
    }
    jfr_loss(writer, "unreadable_frames", seen.unreadable);
    jfr_loss(writer, "over_budget_frames", methods.over_budget + seen.over_budget);
    jfr_loss(writer, "over_budget_names",
             recording->texts_refused + texts_refused(&recording->names));
    jfr_loss(writer, "unnamed_frames", unnamed_frames(sampler));
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
    bool nearly_full = dictionary_size(recording->names.labels) > recording->texts / 2 ||
                       dictionary_size(recording->names.classes) > recording->texts / 2;
    if (names < REINTERN_MIN || (names < (uint64_t)counts.methods * REINTERN_FACTOR &&
                                 (!nearly_full || names < recording->names_before * 5 / 4)))
        return;
    struct method_names old = recording->names;
    if (create_names(&fresh, recording->texts) && method_map_reintern(recording->methods, &fresh)) {
        recording->names = fresh;
        recording->names_before =
            (uint64_t)dictionary_size(fresh.labels) + dictionary_size(fresh.classes);
        recording->texts_refused += texts_refused(&old);
        destroy_names(&old);
    } else {
        destroy_names(&fresh);
    }
}

bool recording_end_chunk(struct recording *recording, JNIEnv *env, bool last)
{
    struct sampler *sampler = &recording->sampler;
    if (recording->live != NULL)
        live_objects_put_stacks(recording->live, sampler->traces);
    calltrace_rotate(sampler->traces);
    recording_turn(recording);
    if (recording->allocs != NULL)
        alloc_profile_end_chunk(recording->allocs, env, recording->writer,
                                recording->names.classes);
    if (recording->live != NULL)
        live_objects_end_chunk(recording->live, env, recording->writer);
    if (recording->classes != NULL)
        class_definitions_end_chunk(recording->classes, recording->writer);
    write_threads(recording); /* after all that write events of threads that may go on meanwhile */
    write_pools(recording, env);
    write_losses(recording);
    write_account(recording);
    bool good = jfr_chunk_end(recording->writer);
    method_map_sweep(recording->methods);
    renew_names(recording);
    if (!last)
        jfr_chunk_begin(recording->writer);
    return good;
}

bool recording_is_interrupted(const struct recording *recording)
{
    return jfr_error(recording->writer) != NULL;
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
        .unnamed_frames = unnamed_frames(sampler),
        .traces = traces.used,
        .trace_capacity = traces.capacity,
        .traces_bound_bytes = traces.bound_bytes,
        .traces_over_budget = traces.dropped_budget,
        .traces_late = traces.dropped_late,
        .chunks = jfr.chunks,
        .file_bytes = jfr.bytes,
    };
    method_map_counts(recording->methods, &counts->methods);
    if (recording->seen != NULL)
        seen_methods_counts(recording->seen, &counts->seen);
    for (int i = 0; i < WALK_CODE_COUNT; i++)
        counts->walks[i] = atomic_load(&sampler->walks[i]);
    counts->lost_chunks = jfr.lost_chunks;
    counts->lost_events = jfr.lost_events;
    const char *error = jfr_error(recording->writer), *last = jfr_last_error(recording->writer);
    if (error != NULL)
        snprintf(counts->error, sizeof counts->error, "%s", error);
    if (last != NULL)
        snprintf(counts->last_error, sizeof counts->last_error, "%s", last);
}

void recording_destroy(struct recording *recording)
{
    struct sampler *sampler = &recording->sampler;
    if (recording->writer != NULL)
        jfr_destroy(recording->writer);
    if (recording->methods != NULL)
        method_map_destroy(recording->methods);
    if (recording->seen != NULL)
        sampler->engine->use_seen(NULL);
    seen_methods_destroy(recording->seen);
    if (recording->lazy != NULL)
        lazy_ids_destroy(recording->lazy);
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
