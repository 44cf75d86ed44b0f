#include "nmtwatch/jfr/jfr_read.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/process/files.h"
#include "reports/text/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_PER_S 1000000000.0

struct jfr_reader {
    int fd;
    char name[256];
    int64_t offset; /* of the chunk behind the present one */
    int64_t chunk_at;
    bool have_chunk;
    struct jfr_chunk chunk;
    struct jfr_reader_counts counts;
    char damage[600];
};

/* --- chunks of a file ------------------------------------------------------------------------- */

/* errno 0: the file ends before that. */
static bool read_at(int fd, void *into, size_t length, int64_t offset)
{
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(fd, (char *)into + done, length - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            if (got == 0)
                errno = 0;
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

enum chunk_state { CHUNK_WHOLE, CHUNK_NONE, CHUNK_BAD };

/* Is there a whole chunk at offset? *size; or *why not. */
static enum chunk_state look_at_chunk(int fd, int64_t offset, int64_t file_size, int64_t *size,
                                      const char **why)
{
    uint8_t header[JFR_HEADER_BYTES];
    *why = "is truncated: the file ends before it does";
    if (offset == file_size)
        return CHUNK_NONE;
    if (file_size - offset < JFR_HEADER_BYTES)
        return CHUNK_BAD;
    if (!read_at(fd, header, sizeof header, offset)) {
        if (errno != 0)
            *why = strerror(errno);
        return CHUNK_BAD;
    }
    switch (jfr_header_size(header, size)) {
    case JFR_HEADER_GOOD:
        return *size <= file_size - offset ? CHUNK_WHOLE : CHUNK_BAD;
    case JFR_HEADER_UNFINISHED:
        *why = "was not finished by who wrote it";
        return CHUNK_BAD;
    case JFR_HEADER_BAD:
        break;
    }
    *why = "is no chunk of a recording";
    return CHUNK_BAD;
}

static bool damaged(struct jfr_reader *reader, int64_t offset, const char *what)
{
    snprintf(reader->damage, sizeof reader->damage, "%s: the chunk at byte %" PRId64 " %s",
             reader->name, offset, what);
    reader->have_chunk = false;
    reader->offset = -1;
    return false;
}

static bool next_chunk(struct jfr_reader *reader)
{
    struct stat info;
    int64_t size = 0, offset = reader->offset;
    const char *why;
    reader->have_chunk = false;
    if (offset < 0)
        return false;
    if (fstat(reader->fd, &info) != 0)
        return damaged(reader, offset, strerror(errno));
    switch (look_at_chunk(reader->fd, offset, info.st_size, &size, &why)) {
    case CHUNK_NONE:
        reader->offset = -1;
        return false;
    case CHUNK_BAD:
        return damaged(reader, offset, why);
    case CHUNK_WHOLE:
        break;
    }
    if (size > JFR_CHUNK_BYTES_MAX)
        return damaged(reader, offset, "is larger than 1 GB");
    if (!jfr_chunk_room(&reader->chunk, (size_t)size))
        return damaged(reader, offset, "does not fit into memory");
    if (!read_at(reader->fd, reader->chunk.bytes, (size_t)size, offset))
        return damaged(reader, offset, "cannot be read");
    why = jfr_chunk_load(&reader->chunk);
    if (why != NULL) {
        char what[160];
        snprintf(what, sizeof what, "has %s", why);
        return damaged(reader, offset, what);
    }
    reader->chunk_at = offset;
    reader->offset += size;
    reader->have_chunk = true;
    const struct jfr_chunk *chunk = &reader->chunk;
    int64_t end_ns = chunk->start_ns + chunk->duration_ns;
    struct jfr_reader_counts *counts = &reader->counts;
    if (counts->chunks++ == 0 || chunk->start_ns < counts->start_ns)
        counts->start_ns = chunk->start_ns;
    if (counts->chunks == 1 || end_ns > counts->end_ns)
        counts->end_ns = end_ns;
    return true;
}

/* --- life ------------------------------------------------------------------------------------- */

struct jfr_reader *jfr_reader_open(int fd, const char *name, char *error, size_t error_size)
{
    struct jfr_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    reader->fd = fd;
    escape(ESCAPE_TERMINAL, name, reader->name, sizeof reader->name);
    if (!next_chunk(reader)) {
        if (reader->damage[0] != '\0')
            snprintf(error, error_size, "%s", reader->damage);
        else
            snprintf(error, error_size, "%s: the file is empty", reader->name);
        jfr_reader_close(reader);
        return NULL;
    }
    return reader;
}

const char *jfr_reader_damage(const struct jfr_reader *reader)
{
    return reader->damage[0] != '\0' ? reader->damage : NULL;
}

void jfr_reader_counts(const struct jfr_reader *reader, struct jfr_reader_counts *counts)
{
    *counts = reader->counts;
}

void jfr_reader_close(struct jfr_reader *reader)
{
    if (reader == NULL)
        return;
    jfr_chunk_free(&reader->chunk);
    free(reader);
}

/* --- events ----------------------------------------------------------------------------------- */

static bool kind_of(struct span name, enum jfr_event_kind *kind)
{
    static const char *const names[JFR_EVENT_KINDS] = {
        [JFR_EVENT_CPU_SAMPLE] = "jdk.ExecutionSample",
        [JFR_EVENT_WALL_SAMPLE] = "nmtagent.WallClockSample",
        [JFR_EVENT_ALLOCATION] = "jdk.ObjectAllocationSample",
        [JFR_EVENT_COMPONENT_MEMORY] = "nmtagent.ComponentMemory",
        [JFR_EVENT_LOSS] = "nmtagent.Loss",
        [JFR_EVENT_JMETHOD_IDS] = "nmtagent.JMethodIds",
        [JFR_EVENT_SETTINGS] = "nmtagent.Settings",
        [JFR_EVENT_CLASS_DEFINITION] = "nmtagent.ClassDefinition",
        [JFR_EVENT_CLASS_FAMILY] = "nmtagent.ClassFamily",
        [JFR_EVENT_LIVE_OBJECT] = "nmtagent.LiveObject",
    };
    for (int i = 0; i < JFR_EVENT_KINDS; i++) {
        if (span_equals(name, span_from_cstr(names[i]))) {
            *kind = (enum jfr_event_kind)i;
            return true;
        }
    }
    return false;
}

static int64_t number(const struct jfr_values *values, enum jfr_name name)
{
    const struct jfr_value *value = jfr_value(values, name);
    return value != NULL ? (int64_t)value->number : -1;
}

/* -1: there is none, in JFR's own way or ours. */
static int64_t amount(const struct jfr_values *values, enum jfr_name name)
{
    int64_t value = number(values, name);
    return value >= 0 ? value : -1;
}

static int64_t time_of(const struct jfr_chunk *chunk, int64_t ticks)
{
    double since_s = ((double)ticks - (double)chunk->start_ticks) / (double)chunk->ticks_per_s;
    double ns = (double)chunk->start_ns + since_s * NS_PER_S;
    int64_t exact, sum;
    /* The usual clock loses no digits. */
    if (chunk->ticks_per_s == 1000000000 &&
        !__builtin_sub_overflow(ticks, chunk->start_ticks, &exact) &&
        !__builtin_add_overflow(chunk->start_ns, exact, &sum))
        return sum;
    return ns > -9e18 && ns < 9e18 ? (int64_t)ns : chunk->start_ns;
}

struct tags {
    struct jfr_chunk *chunk;
    struct jfr_event *event;
};

static void keep_tag(void *context, struct span name, const struct jfr_string *string)
{
    struct tags *tags = context;
    int *count = &tags->event->sample.tag_count;
    if (*count == JFR_TAGS_MAX)
        return;
    tags->event->sample.tag[*count].name = name;
    tags->event->sample.tag[*count].value = jfr_string_text(tags->chunk, string);
    ++*count;
}

static void fill(struct jfr_event *event, struct jfr_chunk *chunk, const struct jfr_values *values)
{
    switch (event->kind) {
    case JFR_EVENT_CPU_SAMPLE:
    case JFR_EVENT_WALL_SAMPLE:
        event->sample.trace = jfr_trace(chunk, jfr_value(values, JFR_NAME_STACK_TRACE));
        event->sample.thread = jfr_thread(chunk, jfr_value(values, JFR_NAME_SAMPLED_THREAD));
        event->sample.state = jfr_text(chunk, jfr_value(values, JFR_NAME_STATE));
        event->sample.in_native = number(values, JFR_NAME_IN_NATIVE) > 0;
        if (jfr_value(values, JFR_NAME_SPAN_ID) != NULL)
            event->sample.span_id = (uint64_t)number(values, JFR_NAME_SPAN_ID);
        if (jfr_value(values, JFR_NAME_ROOT_SPAN_ID) != NULL)
            event->sample.root_span_id = (uint64_t)number(values, JFR_NAME_ROOT_SPAN_ID);
        break;
    case JFR_EVENT_ALLOCATION:
        event->allocation.trace = jfr_trace(chunk, jfr_value(values, JFR_NAME_STACK_TRACE));
        event->allocation.thread = jfr_thread(chunk, jfr_value(values, JFR_NAME_EVENT_THREAD));
        event->allocation.class_name =
            jfr_class_name(chunk, jfr_value(values, JFR_NAME_OBJECT_CLASS));
        event->allocation.weight_bytes = number(values, JFR_NAME_WEIGHT);
        break;
    case JFR_EVENT_COMPONENT_MEMORY:
        event->memory.name = jfr_text(chunk, jfr_value(values, JFR_NAME_NAME));
        event->memory.documented_bytes = amount(values, JFR_NAME_DOCUMENTED);
        event->memory.requested_bytes = number(values, JFR_NAME_REQUESTED);
        event->memory.reserved_bytes = number(values, JFR_NAME_RESERVED);
        event->memory.resident_bytes = number(values, JFR_NAME_RESIDENT);
        event->memory.peak_bytes = number(values, JFR_NAME_PEAK);
        event->memory.allocations = number(values, JFR_NAME_ALLOCATIONS);
        event->memory.frees = number(values, JFR_NAME_FREES);
        break;
    case JFR_EVENT_LOSS:
        event->loss.reason = jfr_text(chunk, jfr_value(values, JFR_NAME_REASON));
        event->loss.count = number(values, JFR_NAME_COUNT);
        break;
    case JFR_EVENT_JMETHOD_IDS:
        event->ids.classes = number(values, JFR_NAME_CLASSES);
        event->ids.methods = number(values, JFR_NAME_METHODS);
        event->ids.loaded_bytes = number(values, JFR_NAME_LOADED_BYTES);
        event->ids.kept_bytes = number(values, JFR_NAME_KEPT_BYTES);
        break;
    case JFR_EVENT_SETTINGS:
        event->settings.options = jfr_text(chunk, jfr_value(values, JFR_NAME_OPTIONS));
        event->settings.jvm_version = jfr_text(chunk, jfr_value(values, JFR_NAME_JVM_VERSION));
        event->settings.agent_version = jfr_text(chunk, jfr_value(values, JFR_NAME_AGENT_VERSION));
        break;
    case JFR_EVENT_CLASS_DEFINITION:
        event->definition.trace = jfr_trace(chunk, jfr_value(values, JFR_NAME_STACK_TRACE));
        event->definition.class_name = jfr_text(chunk, jfr_value(values, JFR_NAME_DEFINED_CLASS));
        event->definition.family = jfr_text(chunk, jfr_value(values, JFR_NAME_FAMILY));
        event->definition.count = number(values, JFR_NAME_COUNT);
        event->definition.bytes = amount(values, JFR_NAME_BYTES);
        break;
    case JFR_EVENT_CLASS_FAMILY:
        event->family.family = jfr_text(chunk, jfr_value(values, JFR_NAME_FAMILY));
        event->family.loaded = number(values, JFR_NAME_LOADED);
        event->family.unloaded = number(values, JFR_NAME_UNLOADED);
        event->family.bytes = amount(values, JFR_NAME_BYTES);
        event->family.sized = number(values, JFR_NAME_SIZED);
        break;
    case JFR_EVENT_LIVE_OBJECT:
        event->live.trace = jfr_trace(chunk, jfr_value(values, JFR_NAME_STACK_TRACE));
        event->live.class_name = jfr_text(chunk, jfr_value(values, JFR_NAME_OBJECT_CLASS));
        event->live.objects = number(values, JFR_NAME_OBJECTS);
        event->live.own_bytes = number(values, JFR_NAME_OWN_BYTES);
        event->live.bytes = number(values, JFR_NAME_BYTES);
        event->live.least_survived = number(values, JFR_NAME_LEAST_SURVIVED);
        event->live.most_survived = number(values, JFR_NAME_MOST_SURVIVED);
        event->live.oldest_ms = number(values, JFR_NAME_OLDEST_MILLIS);
        break;
    case JFR_EVENT_KINDS:
        break;
    }
}

bool jfr_reader_next(struct jfr_reader *reader, struct jfr_event *event)
{
    struct jfr_chunk *chunk = &reader->chunk;
    const char *damage;
    while (reader->have_chunk) {
        struct jfr_cursor body;
        int type;
        if (!jfr_chunk_next_event(chunk, &type, &body, &damage)) {
            if (damage != NULL) {
                char what[160];
                snprintf(what, sizeof what, "has %s", damage);
                return damaged(reader, reader->chunk_at, what);
            }
            next_chunk(reader);
            continue;
        }
        *event = (struct jfr_event){0};
        if (type < 0 || !kind_of(chunk->schema.types[type].name, &event->kind)) {
            reader->counts.other_events++;
            continue;
        }
        struct jfr_values values;
        struct tags tags = {chunk, event};
        bool sample = event->kind == JFR_EVENT_CPU_SAMPLE || event->kind == JFR_EVENT_WALL_SAMPLE;
        bool good = jfr_chunk_decode(chunk, &body, type, &values, sample ? keep_tag : NULL, &tags);
        if (good) {
            event->time_ns = time_of(chunk, number(&values, JFR_NAME_START_TIME));
            fill(event, chunk, &values);
        }
        if (!good || chunk->steps_left < 0)
            return damaged(reader, reader->chunk_at, "has an event that is damaged");
        if (chunk->out_of_memory)
            return damaged(reader, reader->chunk_at, "has names that do not fit into memory");
        return true;
    }
    return false;
}

/* --- repair ----------------------------------------------------------------------------------- */

static bool repair_failed(const char *path, const char *why, char *error, size_t error_size)
{
    return text_error(error, error_size, "%s: %s", escape_name(path).text, why);
}

bool jfr_repair(const char *path, int64_t *cut_bytes, char *error, size_t error_size)
{
    struct stat info;
    *cut_bytes = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return repair_failed(path, strerror(errno), error, error_size);
    bool good = false;
    int64_t whole = 0, size;
    const char *why;
    if (fstat(fd, &info) != 0) {
        repair_failed(path, strerror(errno), error, error_size);
    } else if (!S_ISREG(info.st_mode)) {
        repair_failed(path, "not a regular file", error, error_size);
    } else {
        while (look_at_chunk(fd, whole, info.st_size, &size, &why) == CHUNK_WHOLE)
            whole += size;
        if (whole == 0)
            repair_failed(path, "holds no complete chunk of a recording", error, error_size);
        else if (whole < info.st_size && ftruncate(fd, whole) != 0)
            repair_failed(path, strerror(errno), error, error_size);
        else
            good = true;
    }
    if (good)
        *cut_bytes = info.st_size - whole;
    close(fd);
    return good;
}

/* --- copy ------------------------------------------------------------------------------------- */

bool jfr_has_our_clock(int fd, const char *name, char *error, size_t error_size)
{
    struct stat info;
    uint8_t header[JFR_HEADER_BYTES];
    struct jfr_header_times times;
    int64_t size;
    const char *why;
    if (fstat(fd, &info) != 0)
        return repair_failed(name, strerror(errno), error, error_size);
    if (look_at_chunk(fd, 0, info.st_size, &size, &why) != CHUNK_WHOLE ||
        !read_at(fd, header, sizeof header, 0))
        return repair_failed(name, "holds no complete chunk of a recording", error, error_size);
    times = jfr_header_times(header);
    return (times.start_ticks == times.start_ns && times.ticks_per_s == 1000000000) ||
           repair_failed(name, "no profile of nmtwatch: its clock is another one", error,
                         error_size);
}

static bool copy_range(int fd, int64_t offset, int64_t end, int into)
{
    char bytes[65536];
    for (; offset < end; offset += (int64_t)sizeof bytes) {
        size_t length =
            end - offset < (int64_t)sizeof bytes ? (size_t)(end - offset) : sizeof bytes;
        if (!read_at(fd, bytes, length, offset) || !write_all(into, bytes, length))
            return false;
    }
    return true;
}

bool jfr_copy_chunks(int fd, const char *name, int into, struct jfr_copied *copied, char *error,
                     size_t error_size)
{
    struct stat info;
    int64_t whole = 0, size;
    const char *why;
    *copied = (struct jfr_copied){0};
    if (fstat(fd, &info) != 0)
        return repair_failed(name, strerror(errno), error, error_size);
    while (look_at_chunk(fd, whole, info.st_size, &size, &why) == CHUNK_WHOLE) {
        uint8_t header[JFR_HEADER_BYTES];
        if (!read_at(fd, header, sizeof header, whole) ||
            !copy_range(fd, whole, whole + size, into))
            return repair_failed(name, strerror(errno), error, error_size);
        struct jfr_header_times times = jfr_header_times(header);
        if (whole == 0)
            copied->start_ns = times.start_ns;
        if (__builtin_add_overflow(times.start_ns, times.duration_ns, &copied->end_ns))
            copied->end_ns = INT64_MAX;
        whole += size;
    }
    copied->rest_bytes = info.st_size - whole;
    return whole > 0 ||
           repair_failed(name, "holds no complete chunk of a recording", error, error_size);
}
