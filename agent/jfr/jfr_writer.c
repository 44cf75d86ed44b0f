#include "agent/jfr/jfr_writer.h"

#include "floor/jfr/jfr_bytes.h"
#include "floor/wire/wire_formats.h"
#include "agent/jfr/jfr_internal.h"
#include "agent/jfr/jfr_types.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVENT_SIZE_WIDTH 4

static int64_t now_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

/* --- life ------------------------------------------------------------------------------------- */

static char *copy_text(const char *text)
{
    return text != NULL ? mem_copy_text(COMPONENT_JFR_WRITER, text, strlen(text)) : NULL;
}

struct jfr_writer *jfr_create(const struct jfr_options *options, char *error, size_t error_size)
{
    struct jfr_writer *writer = mem_alloc(COMPONENT_JFR_WRITER, sizeof *writer);
    if (writer == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    int64_t epoch_ns = now_ns(CLOCK_REALTIME);
    jfr_clock_set(epoch_ns - now_ns(CLOCK_MONOTONIC));
    writer->recording = (uint64_t)epoch_ns ^ (uint64_t)getpid() << 40;
    writer->settings = copy_text(options->settings);
    writer->intervals = options->intervals;
    writer->jvm_version = copy_text(options->jvm_version);
    writer->file = chunk_file_open(options->file, options->max_bytes, error, error_size);
    if (writer->file == NULL) {
        jfr_destroy(writer);
        return NULL;
    }
    return writer;
}

void jfr_destroy(struct jfr_writer *writer)
{
    if (writer == NULL)
        return;
    chunk_file_close(writer->file);
    jfr_pools_free(writer);
    jfr_bytes_free(&writer->event);
    mem_free(writer->settings);
    mem_free(writer->jvm_version);
    mem_free(writer);
}

const char *jfr_error(const struct jfr_writer *writer)
{
    return chunk_file_error(writer->file);
}

const char *jfr_last_error(const struct jfr_writer *writer)
{
    return chunk_file_last_error(writer->file);
}

void jfr_counts(const struct jfr_writer *writer, struct jfr_counts *counts)
{
    *counts = writer->counts;
}

/* --- our own events --------------------------------------------------------------------------- */

static struct jfr_bytes *begin_event_at(struct jfr_writer *writer, enum jfr_type type,
                                        int64_t ticks)
{
    struct jfr_bytes *event = &writer->event;
    event->length = 0;
    event->failed = false;
    if (jfr_bytes_room(event, EVENT_SIZE_WIDTH) != NULL)
        event->length = EVENT_SIZE_WIDTH;
    JFR_NUMBERS(event, type, ticks);
    return event;
}

static struct jfr_bytes *begin_event(struct jfr_writer *writer, enum jfr_type type)
{
    return begin_event_at(writer, type, jfr_now_ticks());
}

static void end_event(struct jfr_writer *writer)
{
    struct jfr_bytes *event = &writer->event;
    if (!writer->open)
        return;
    if (event->failed) {
        writer->lost_entries++;
        return;
    }
    jfr_put_padded(event->at, (uint32_t)event->length, EVENT_SIZE_WIDTH);
    writer->events += chunk_file_write(writer->file, event->at, event->length);
}

/* An event that is kept when its chunk is; or lost at once. */
static void count_kept(struct jfr_writer *writer, int64_t events, bool written)
{
    if (written)
        writer->losable += events;
    else
        writer->counts.lost_events += events;
}

void jfr_allocation_sample(struct jfr_writer *writer, int64_t ticks, int32_t tid, uint32_t trace_id,
                           uint32_t class_id, int64_t weight_bytes, int64_t size_bytes)
{
    struct jfr_bytes *event = begin_event_at(writer, JFR_ALLOCATION_SAMPLE, jfr_clock_ticks(ticks));
    jfr_bytes_int(event, tid);
    JFR_NUMBERS(event, trace_id, class_id, weight_bytes, size_bytes);
    end_event(writer);
    count_kept(writer, 1, writer->open && jfr_error(writer) == NULL);
}

/* An event about what the chunk took to write: the pools go first. */
static struct jfr_bytes *begin_account(struct jfr_writer *writer, enum jfr_type type)
{
    if (writer->open)
        jfr_pools_end(writer);
    return begin_event(writer, type);
}

static void settings_event(struct jfr_writer *writer)
{
    struct jfr_bytes *event = begin_event(writer, JFR_SETTINGS);
    writer->told = writer->intervals;
    jfr_bytes_text(event, writer->settings);
    jfr_bytes_number(event, (uint64_t)writer->intervals.cpu_ns);
    jfr_bytes_number(event, (uint64_t)writer->intervals.wall_ns);
    jfr_bytes_number(event, (uint64_t)writer->intervals.alloc_bytes);
    jfr_bytes_text(event, writer->jvm_version);
    jfr_bytes_text(event, NMTWATCH_VERSION);
    end_event(writer);
}

static void memory_event(struct jfr_writer *writer, const char *name, int64_t documented,
                         const struct component_usage *usage)
{
    struct jfr_bytes *event = begin_account(writer, JFR_COMPONENT_MEMORY);
    jfr_bytes_text(event, name);
    JFR_NUMBERS(event, documented >= 0 ? documented : JFR_NOT_AVAILABLE, usage->requested_bytes,
                usage->reserved_bytes, usage->resident_bytes, usage->peak_bytes, usage->allocations,
                usage->frees);
    end_event(writer);
}

void jfr_component_memory(struct jfr_writer *writer, const struct mem_snapshot *snapshot)
{
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        enum component component = (enum component)i;
        memory_event(writer, component_name(component), component_documented_bytes(component),
                     &snapshot->component[i]);
    }
    memory_event(writer, "total", JFR_NOT_AVAILABLE, &snapshot->total);
}

void jfr_loss(struct jfr_writer *writer, const char *reason, int64_t count)
{
    struct jfr_bytes *event = begin_account(writer, JFR_LOSS);
    jfr_bytes_text(event, reason);
    jfr_bytes_number(event, (uint64_t)count);
    end_event(writer);
}

void jfr_jmethod_ids(struct jfr_writer *writer, int64_t classes, int64_t methods,
                     int64_t loaded_bytes, int64_t kept_bytes)
{
    struct jfr_bytes *event = begin_account(writer, JFR_JMETHOD_IDS);
    JFR_NUMBERS(event, classes, methods, loaded_bytes, kept_bytes);
    end_event(writer);
}

void jfr_live_object(struct jfr_writer *writer, const struct jfr_live_object *live)
{
    struct jfr_bytes *event = begin_event(writer, JFR_LIVE_OBJECT);
    jfr_bytes_number(event, live->trace_id);
    jfr_bytes_text(event, live->class_name);
    JFR_NUMBERS(event, live->objects, live->own_bytes, live->bytes, live->least_survived,
                live->most_survived, live->oldest_ms);
    end_event(writer);
}

void jfr_class_family(struct jfr_writer *writer, const char *family, int64_t loaded,
                      int64_t unloaded, int64_t bytes, int64_t sized)
{
    struct jfr_bytes *event = begin_event(writer, JFR_CLASS_FAMILY);
    jfr_bytes_text(event, family);
    JFR_NUMBERS(event, loaded, unloaded, sized > 0 ? bytes : JFR_NOT_AVAILABLE, sized);
    end_event(writer);
}

void jfr_breaker(struct jfr_writer *writer, const char *state, const char *reason,
                 int64_t own_bytes, int64_t jvm_bytes)
{
    struct jfr_bytes *event = begin_event(writer, JFR_BREAKER);
    jfr_bytes_text(event, state);
    jfr_bytes_text(event, reason);
    JFR_NUMBERS(event, own_bytes, jvm_bytes);
    end_event(writer);
}

/* --- chunks ----------------------------------------------------------------------------------- */

static bool write_metadata(struct jfr_writer *writer)
{
    const char *tags[NMTAGENT_CONTEXT_TAGS];
    int tag_count = context_tag_count();
    if (tag_count > NMTAGENT_CONTEXT_TAGS)
        tag_count = NMTAGENT_CONTEXT_TAGS;
    for (int i = 0; i < tag_count; i++)
        tags[i] = context_tag_name(i);

    struct jfr_bytes metadata = {0};
    jfr_metadata_append(&metadata, &jfr_agent_types, writer->salt, writer->start_ticks, tags,
                        tag_count);
    bool good = !metadata.failed && chunk_file_write(writer->file, metadata.at, metadata.length);
    jfr_bytes_free(&metadata);
    return good;
}

static bool is_told(int64_t told, int64_t interval)
{
    return interval == 0 || interval == told;
}

bool jfr_set_intervals(struct jfr_writer *writer, const struct jfr_intervals *intervals)
{
    writer->intervals = *intervals;
    return is_told(writer->told.cpu_ns, intervals->cpu_ns) &&
           is_told(writer->told.wall_ns, intervals->wall_ns) &&
           is_told(writer->told.alloc_bytes, intervals->alloc_bytes);
}

bool jfr_chunk_begin(struct jfr_writer *writer)
{
    /* A reader of an unfinished chunk sees no header of JFR. */
    static const uint8_t no_header[JFR_HEADER_BYTES] = CHUNK_UNFINISHED;
    if (writer->open || !chunk_file_begin(writer->file))
        return false;
    writer->salt = jfr_chunk_salt(writer->recording, writer->chunk++);
    writer->start_ticks = jfr_now_ticks();
    writer->checkpoint_at = 0;
    writer->events = writer->samples = writer->losable = 0;
    if (!chunk_file_write(writer->file, no_header, sizeof no_header))
        return false;
    writer->metadata_at = chunk_file_position(writer->file);
    if (!write_metadata(writer))
        return false;
    writer->open = true;
    settings_event(writer);
    jfr_pools_begin(writer);
    return jfr_error(writer) == NULL && chunk_file_flush(writer->file);
}

/* Bytes of the leading whole events, and how many; what is behind them would ruin the chunk. */
static size_t whole_events(const uint8_t *bytes, size_t length, int64_t *count)
{
    size_t at = 0;
    while (at < length) {
        uint64_t size = 0;
        size_t digits = 0;
        while (at + digits < length && digits < 4) {
            uint8_t byte = bytes[at + digits];
            size |= (uint64_t)(byte & 0x7f) << 7 * digits++;
            if (byte < 0x80)
                break;
        }
        if (size <= digits || size > length - at || bytes[at + digits - 1] >= 0x80)
            break;
        at += size;
        ++*count;
    }
    return at;
}

bool jfr_events(struct jfr_writer *writer, const uint8_t *bytes, size_t length)
{
    int64_t count = 0;
    size_t whole = whole_events(bytes, length, &count);
    bool written = writer->open && chunk_file_write(writer->file, bytes, whole);
    count_kept(writer, count, written);
    if (!written)
        return false;
    writer->damaged_bytes += (int64_t)(length - whole);
    writer->events += count;
    writer->samples += count;
    return whole == length;
}

static bool write_header(struct jfr_writer *writer)
{
    const struct jfr_chunk chunk = {
        .size = chunk_file_position(writer->file),
        .checkpoint_at = writer->checkpoint_at,
        .metadata_at = writer->metadata_at,
        .start_ns = writer->start_ticks, /* see jfr_types.h */
        .duration_ns = jfr_now_ticks() - writer->start_ticks,
    };
    uint8_t header[JFR_HEADER_BYTES];
    jfr_chunk_header(&chunk, header);
    return chunk_file_patch(writer->file, 0, header, sizeof header);
}

bool jfr_chunk_end(struct jfr_writer *writer)
{
    if (!writer->open)
        return false;
    if (writer->lost_entries > 0)
        jfr_loss(writer, "jfr_out_of_memory", writer->lost_entries);
    if (writer->damaged_bytes > 0)
        jfr_loss(writer, "jfr_damaged_bytes", writer->damaged_bytes);
    bool good = jfr_pools_end(writer) && write_header(writer);
    writer->open = false;
    int64_t bytes = chunk_file_position(writer->file);
    good = good && chunk_file_publish(writer->file);
    if (good) {
        writer->counts.chunks++;
        writer->counts.bytes += bytes;
        writer->counts.events += writer->events;
        writer->counts.samples += writer->samples;
    } else {
        writer->counts.lost_chunks++;
        writer->counts.lost_events += writer->losable;
    }
    writer->losable = 0;
    return good;
}

/* Events that callbacks of the JVM put into the recording buffers, and that hold texts. */
#define EVENT_LENGTH_WIDTH 4

size_t jfr_encode_class_definition(const struct jfr_class_definition *definition, uint8_t *out,
                                   size_t size)
{
    struct jfr_bytes event = {0};
    if (jfr_bytes_room(&event, EVENT_LENGTH_WIDTH) != NULL)
        event.length = EVENT_LENGTH_WIDTH;
    JFR_NUMBERS(&event, JFR_CLASS_DEFINITION, jfr_now_ticks());
    jfr_bytes_int(&event, definition->tid);
    jfr_bytes_number(&event, definition->trace_id);
    jfr_bytes_text(&event, definition->class_name);
    jfr_bytes_text(&event, definition->family);
    JFR_NUMBERS(&event, definition->count,
                definition->bytes >= 0 ? definition->bytes : JFR_NOT_AVAILABLE);
    size_t length = event.failed || event.length > size ? 0 : event.length;
    if (length > 0) {
        jfr_put_padded(event.at, (uint32_t)length, EVENT_LENGTH_WIDTH);
        memcpy(out, event.at, length);
    }
    jfr_bytes_free(&event);
    return length;
}
