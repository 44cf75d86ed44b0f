/*
 * jfr_pools: constants of the chunk. A pool that has filled some pages is written as a checkpoint
 * event of its own at once, so that memory is bounded however many names there are.
 */
#include "agent/jfr/jfr_internal.h"
#include "floor/jfr/jfr_bytes.h"

#define POOL_FLUSH_BYTES 8192  /* checkpoints cost 30 bytes each */
#define POOL_KEEP_BYTES  32768 /* a larger buffer was for one large entry */

/* Symbols come from three dictionaries that count from 1 each, and from here. */
enum symbol_space { SYMBOL_LABEL, SYMBOL_CLASS, SYMBOL_PACKAGE, SYMBOL_OWN };
#define SYMBOL(space, id) ((uint64_t)(id)*4 + (space))

#define SYMBOL_UNKNOWN       SYMBOL(SYMBOL_OWN, 0)
#define SYMBOL_NO_PARAMETERS SYMBOL(SYMBOL_OWN, 1)
#define CLASS_UNKNOWN        ((uint64_t)UINT32_MAX + 1) /* beyond the dictionary's numbers */

static const char *const thread_state_names[THREAD_STATE_COUNT] = {
#define THREAD_STATE(id, name) [THREAD_##id] = name,
#include "floor/hotspot/thread_states.def"
};
/* The JDK's names, but for "Java": that is of an engine which does not know how code runs. */
static const char *const frame_type_names[] = {
    [FRAME_TYPE_UNKNOWN] = "Java",          [FRAME_TYPE_INTERPRETED] = "Interpreted",
    [FRAME_TYPE_COMPILED] = "JIT compiled", [FRAME_TYPE_INLINED] = "Inlined",
    [FRAME_TYPE_NATIVE] = "Native",
};

static const enum jfr_type pool_types[JFR_POOL_COUNT] = {
    [POOL_THREAD] = JFR_THREAD,         [POOL_THREAD_STATE] = JFR_THREAD_STATE,
    [POOL_FRAME_TYPE] = JFR_FRAME_TYPE, [POOL_SYMBOL] = JFR_SYMBOL,
    [POOL_PACKAGE] = JFR_PACKAGE,       [POOL_CLASS] = JFR_CLASS,
    [POOL_METHOD] = JFR_METHOD,         [POOL_STACK_TRACE] = JFR_STACK_TRACE,
    [POOL_STRING] = JFR_STRING,
};

/* --- checkpoints ------------------------------------------------------------------------------ */

static bool flush_pool(struct jfr_writer *writer, enum jfr_pool_kind kind)
{
    struct jfr_pool *pool = &writer->pool[kind];
    if (pool->count == 0)
        return true;
    int64_t position = chunk_file_position(writer->file);
    int64_t before = writer->checkpoint_at != 0 ? writer->checkpoint_at - position : 0;

    uint8_t head[4 + 8 * JFR_LEB128_MAX], *at = head + 4;
    at = jfr_put(at, JFR_CHECKPOINT_EVENT);
    at = jfr_put(at, (uint64_t)jfr_now_ticks());
    at = jfr_put(at, 0); /* duration */
    at = jfr_put(at, (uint64_t)before);
    *at++ = 0; /* no flush point */
    at = jfr_put(at, 1);
    at = jfr_put(at, jfr_pool_type_id(pool_types[kind], writer->salt));
    at = jfr_put(at, pool->count);
    size_t head_length = (size_t)(at - head);
    jfr_put_padded(head, (uint32_t)(head_length + pool->entries.length), 4);

    writer->checkpoint_at = position;
    bool good = chunk_file_write(writer->file, head, head_length) &&
                chunk_file_write(writer->file, pool->entries.at, pool->entries.length);
    pool->count = 0;
    pool->entries.length = 0;
    if (pool->entries.capacity > POOL_KEEP_BYTES)
        jfr_bytes_free(&pool->entries);
    return good;
}

/* An entry is what is appended between the two. One for which there is no memory is left out: what
 * refers to it is null for readers. */
static struct jfr_bytes *begin_entry(struct jfr_writer *writer, enum jfr_pool_kind kind,
                                     uint64_t id)
{
    struct jfr_pool *pool = &writer->pool[kind];
    if (pool->entries.length >= POOL_FLUSH_BYTES)
        flush_pool(writer, kind);
    pool->entry_at = pool->entries.length;
    pool->entries.failed = !writer->open; /* then nothing is appended */
    jfr_bytes_number(&pool->entries, id);
    return &pool->entries;
}

static void end_entry(struct jfr_writer *writer, enum jfr_pool_kind kind)
{
    struct jfr_pool *pool = &writer->pool[kind];
    if (pool->entries.failed) {
        pool->entries.length = pool->entry_at;
        writer->lost_entries += writer->open;
    } else {
        pool->count++;
    }
}

static void text_entry(struct jfr_writer *writer, enum jfr_pool_kind kind, uint64_t id,
                       const char *text)
{
    jfr_bytes_text(begin_entry(writer, kind, id), text);
    end_entry(writer, kind);
}

void jfr_pools_begin(struct jfr_writer *writer)
{
    for (size_t i = 0; i < sizeof thread_state_names / sizeof *thread_state_names; i++)
        text_entry(writer, POOL_THREAD_STATE, i + 1, thread_state_names[i]);
    for (size_t i = 0; i < sizeof frame_type_names / sizeof *frame_type_names; i++)
        text_entry(writer, POOL_FRAME_TYPE, i + 1, frame_type_names[i]);
    /* Readers take the class, name and descriptor of a method for granted. */
    text_entry(writer, POOL_SYMBOL, SYMBOL_UNKNOWN, "[unknown]");
    text_entry(writer, POOL_SYMBOL, SYMBOL_NO_PARAMETERS, "()");
    struct jfr_bytes *entry = begin_entry(writer, POOL_CLASS, CLASS_UNKNOWN);
    jfr_bytes_number(entry, 0);
    jfr_bytes_number(entry, SYMBOL_UNKNOWN);
    jfr_bytes_number(entry, 0);
    jfr_bytes_int(entry, 0);
    jfr_bytes_byte(entry, false);
    end_entry(writer, POOL_CLASS);
}

bool jfr_pools_end(struct jfr_writer *writer)
{
    bool good = true;
    for (int kind = 0; kind < JFR_POOL_COUNT; kind++)
        good = flush_pool(writer, kind) && good;
    return good;
}

void jfr_pools_free(struct jfr_writer *writer)
{
    for (int kind = 0; kind < JFR_POOL_COUNT; kind++) {
        jfr_bytes_free(&writer->pool[kind].entries);
        writer->pool[kind].count = 0;
    }
}

/* --- entries ---------------------------------------------------------------------------------- */

void jfr_pool_thread(struct jfr_writer *writer, int tid, const char *name, int64_t java_id)
{
    struct jfr_bytes *entry = begin_entry(writer, POOL_THREAD, (uint32_t)tid);
    jfr_bytes_text(entry, name);
    jfr_bytes_number(entry, (uint32_t)tid);
    jfr_bytes_text(entry, java_id > 0 ? name : NULL);
    jfr_bytes_number(entry, (uint64_t)java_id);
    jfr_bytes_number(entry, 0); /* group */
    end_entry(writer, POOL_THREAD);
}

void jfr_pool_trace(struct jfr_writer *writer, uint32_t id, const struct jfr_frame *frames,
                    int depth, bool truncated)
{
    struct jfr_bytes *entry = begin_entry(writer, POOL_STACK_TRACE, id);
    jfr_bytes_byte(entry, truncated);
    jfr_bytes_number(entry, (uint32_t)(depth > 0 ? depth : 0));
    for (int i = 0; i < depth; i++) {
        const struct jfr_frame *frame = &frames[i];
        jfr_bytes_number(entry, frame->method_id);
        jfr_bytes_int(entry, frame->line);
        jfr_bytes_int(entry, frame->bci);
        jfr_bytes_number(entry, (uint64_t)frame->type + 1);
    }
    end_entry(writer, POOL_STACK_TRACE);
}

void jfr_pool_method(struct jfr_writer *writer, uint32_t id, uint32_t class_id, uint32_t name_id,
                     uint32_t signature_id, int32_t modifiers)
{
    struct jfr_bytes *entry = begin_entry(writer, POOL_METHOD, id);
    jfr_bytes_number(entry, class_id != 0 ? class_id : CLASS_UNKNOWN);
    jfr_bytes_number(entry, name_id != 0 ? SYMBOL(SYMBOL_LABEL, name_id) : SYMBOL_UNKNOWN);
    jfr_bytes_number(entry,
                     signature_id != 0 ? SYMBOL(SYMBOL_LABEL, signature_id) : SYMBOL_NO_PARAMETERS);
    jfr_bytes_int(entry, modifiers);
    jfr_bytes_byte(entry, false); /* hidden */
    end_entry(writer, POOL_METHOD);
}

void jfr_pool_class(struct jfr_writer *writer, uint32_t id, const char *name, uint32_t package_id)
{
    text_entry(writer, POOL_SYMBOL, SYMBOL(SYMBOL_CLASS, id), name);
    struct jfr_bytes *entry = begin_entry(writer, POOL_CLASS, id);
    jfr_bytes_number(entry, 0); /* class loader */
    jfr_bytes_number(entry, SYMBOL(SYMBOL_CLASS, id));
    jfr_bytes_number(entry, package_id);
    jfr_bytes_int(entry, 0);
    jfr_bytes_byte(entry, false);
    end_entry(writer, POOL_CLASS);
}

void jfr_pool_package(struct jfr_writer *writer, uint32_t id, const char *name)
{
    text_entry(writer, POOL_SYMBOL, SYMBOL(SYMBOL_PACKAGE, id), name);
    struct jfr_bytes *entry = begin_entry(writer, POOL_PACKAGE, id);
    jfr_bytes_number(entry, SYMBOL(SYMBOL_PACKAGE, id));
    jfr_bytes_number(entry, 0); /* module */
    jfr_bytes_byte(entry, false);
    end_entry(writer, POOL_PACKAGE);
}

void jfr_pool_symbol(struct jfr_writer *writer, uint32_t id, const char *text)
{
    text_entry(writer, POOL_SYMBOL, SYMBOL(SYMBOL_LABEL, id), text);
}

void jfr_pool_context_value(struct jfr_writer *writer, uint32_t id, const char *text)
{
    text_entry(writer, POOL_STRING, id, text);
}
