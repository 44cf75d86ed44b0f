#include "nmtwatch/jfr/history_jfr.h"

#include "floor/jfr/jfr_metadata.h"
#include "nmtwatch/process/files.h"

#include <errno.h>
#include <stdlib.h>

#define CHUNK_BYTES      (4 << 20)
#define CHECKPOINT_EVENT 1
#define NS_PER_MS        1000000
#define EVENT_SIZE_BYTES 4

#define JFR_TABLE "nmtwatch/jfr/history_types.def"
enum jfr_type {
    JFR_LAST_BEFORE_TYPES = JFR_TYPE_BEFORE_FIRST,
#include "floor/jfr/jfr_table.def"
};

#define JFR_TABLE_ROWS
#define CONTEXT_FIELDS() /* of no event here */
static const struct jfr_type_row rows[] = {
#include "floor/jfr/jfr_table.def"
};

/* Before a profile the agent's types have the numbers that they have in its chunks, by which the summary of JDK 17 adds
 * them up, and ours others. There are no pools here, whose types would need another number in each chunk. */
#define BEFORE_A_PROFILE 1
static uint32_t number_of(uint32_t type, uint32_t salt)
{
    enum { FIRST_OWN = JFR_METASPACE_SIZES, FIRST_OF_AGENT = JFR_THREAD_STATE, APART = 16000 };
    if (salt != BEFORE_A_PROFILE || type < FIRST_OWN)
        return type;
    return type < FIRST_OF_AGENT ? type + APART : type - FIRST_OF_AGENT + FIRST_OWN;
}

/* The rows before those of the agent's types. */
static size_t own_rows(void)
{
    size_t count = 0;
    while (rows[count].type != JFR_THREAD_STATE || rows[count].kind != JFR_ROW_SIMPLE)
        count++;
    return count;
}

/* Memory of the bytes is malloc's here (floor/jfr/jfr_bytes.h). */
bool jfr_bytes_grow(struct jfr_bytes *bytes, size_t wanted)
{
    return array_room(&bytes->at, &bytes->capacity, wanted, 1);
}

void jfr_bytes_free(struct jfr_bytes *bytes)
{
    free(bytes->at);
    *bytes = (struct jfr_bytes){0};
}

struct history_jfr {
    int fd;
    struct target_identity target;
    int64_t wall_start_ms, peak_rss_bytes;
    struct jfr_type_table types;
    uint32_t salt; /* of their numbers: BEFORE_A_PROFILE, or 0 */
    bool failed;
    int error;
    struct jfr_bytes chunk; /* begun when it is not empty */
    int64_t first_ns, last_ns;
    size_t event_at;
};

/* --- events ----------------------------------------------------------------------------------- */

static int64_t ticks_of(const struct history_jfr *history, int64_t ms)
{
    return (history->wall_start_ms + ms) * NS_PER_MS;
}

/* Ticks are nanoseconds since the epoch. */
static struct jfr_bytes *begin(struct history_jfr *history, enum jfr_type type, int64_t ms)
{
    struct jfr_bytes *chunk = &history->chunk;
    int64_t ticks = ticks_of(history, ms);
    history->event_at = chunk->length;
    if (jfr_bytes_room(chunk, EVENT_SIZE_BYTES) != NULL)
        chunk->length += EVENT_SIZE_BYTES;
    jfr_bytes_number(chunk, number_of(type, history->salt));
    jfr_bytes_number(chunk, (uint64_t)ticks);
    history->last_ns = ticks > history->last_ns ? ticks : history->last_ns;
    return chunk;
}

static void end(struct history_jfr *history)
{
    struct jfr_bytes *chunk = &history->chunk;
    if (!chunk->failed)
        jfr_put_padded(chunk->at + history->event_at, (uint32_t)(chunk->length - history->event_at),
                       EVENT_SIZE_BYTES);
}

static void number(struct jfr_bytes *out, int64_t value)
{
    jfr_bytes_number(out, (uint64_t)value);
}

/* What an event says, member by member. */
struct member {
    enum { NUMBER, INT, TEXT } kind;
    int64_t number;
    const char *text;
};
#define N(value)                                                                                   \
    {                                                                                              \
        NUMBER, value, NULL                                                                        \
    }
#define I(value)                                                                                   \
    {                                                                                              \
        INT, value, NULL                                                                           \
    }
#define T(value)                                                                                   \
    {                                                                                              \
        TEXT, 0, value                                                                             \
    }

static void put_event(struct history_jfr *history, enum jfr_type type, int64_t ms,
                      const struct member *members, size_t count)
{
    struct jfr_bytes *out = begin(history, type, ms);
    for (size_t i = 0; i < count; i++)
        if (members[i].kind == TEXT)
            jfr_bytes_text(out, members[i].text);
        else if (members[i].kind == INT)
            jfr_bytes_int(out, (int32_t)members[i].number);
        else
            number(out, members[i].number);
    end(history);
}
#define put(history, type, ms, ...)                                                                \
    put_event(history, type, ms, (const struct member[]){__VA_ARGS__},                             \
              sizeof((const struct member[]){__VA_ARGS__}) / sizeof(struct member))

/* "Not available" when it is missing. */
static int64_t value_of(const struct sample *sample, enum sample_field field)
{
    int64_t value = JFR_NOT_AVAILABLE;
    sample_get(sample, field, &value);
    return value;
}

static void jvm_information(struct history_jfr *history, int64_t ms)
{
    const struct target_identity *target = &history->target;
    put(history, JFR_JVM_INFORMATION, ms, T("HotSpot"), T(target->jdk), T(NULL), T(NULL),
        T(target->main), N(history->wall_start_ms - target->uptime_ms), N(target->pid));
}

static void category(struct history_jfr *history, int64_t ms, const char *name,
                     const struct nmt_amount *amount)
{
    put(history, JFR_NATIVE_MEMORY, ms, T(name), N(amount->reserved_bytes),
        N(amount->committed_bytes));
}

static void native_memory(struct history_jfr *history, int64_t ms, const struct sample *sample)
{
    struct nmt_amount amount;
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++)
        if (sample_get_nmt(sample, (enum nmt_category)i, &amount))
            category(history, ms, nmt_category_name((enum nmt_category)i), &amount);
    for (int i = 0; i < sample->extra_count; i++)
        category(history, ms, sample->extra[i].name, &sample->extra[i].amount);
    if (sample_has(sample, SAMPLE_NMT_COMMITTED_BYTES))
        put(history, JFR_NATIVE_MEMORY_TOTAL, ms, N(value_of(sample, SAMPLE_NMT_RESERVED_BYTES)),
            N(value_of(sample, SAMPLE_NMT_COMMITTED_BYTES)));
}

/* hsperfdata has what is used and committed; NMT what is committed and reserved. */
static void heap(struct history_jfr *history, int64_t ms, const struct sample *sample)
{
    struct nmt_amount amount = {JFR_NOT_AVAILABLE, JFR_NOT_AVAILABLE};
    bool reserved = sample_get_nmt(sample, NMT_JAVA_HEAP, &amount);
    if (!reserved && !sample_has(sample, SAMPLE_HEAP_USED_BYTES))
        return;
    int64_t committed = amount.committed_bytes;
    sample_get(sample, SAMPLE_HEAP_COMMITTED_BYTES, &committed);
    put(history, JFR_HEAP_USAGE, ms, N(value_of(sample, SAMPLE_HEAP_USED_BYTES)), N(committed),
        N(amount.reserved_bytes));
}

static void metaspace(struct history_jfr *history, int64_t ms, const struct sample *sample)
{
    int64_t used, class_used = JFR_NOT_AVAILABLE, data_used = JFR_NOT_AVAILABLE;
    if (!sample_get(sample, SAMPLE_METASPACE_USED_BYTES, &used))
        return;
    if (sample_get(sample, SAMPLE_CLASS_SPACE_USED_BYTES, &class_used))
        data_used = used - class_used;
    put(history, JFR_METASPACE_SUMMARY, ms, I(-1), T(NULL), N(JFR_NOT_AVAILABLE),
        N(value_of(sample, SAMPLE_METASPACE_COMMITTED_BYTES)), N(used), N(JFR_NOT_AVAILABLE),
        N(JFR_NOT_AVAILABLE), N(data_used), N(JFR_NOT_AVAILABLE), N(JFR_NOT_AVAILABLE),
        N(class_used), N(JFR_NOT_AVAILABLE));
}

static void method_count(struct history_jfr *history, int64_t ms,
                         const struct methods_event *methods, const char *source)
{
    put(history, JFR_METHODS, ms, N(methods->methods), N(methods->classes), N(methods->loaders),
        N(methods->own_methods), N(methods->own_classes), T(source));
}

static void sampled_methods(struct history_jfr *history, int64_t ms, const struct sample *sample)
{
    int64_t source = value_of(sample, SAMPLE_METHODS_SOURCE);
    struct methods_event of = {.loaders = JFR_NOT_AVAILABLE,
                               .classes = JFR_NOT_AVAILABLE,
                               .own_classes = JFR_NOT_AVAILABLE,
                               .own_methods = JFR_NOT_AVAILABLE};
    if (source != METHODS_COUNTED &&
        sample_get(sample, SAMPLE_METHODS, &of.methods)) /* its line has more */
        method_count(history, ms, &of, methods_source_name(source));
}

static void sample_events(struct history_jfr *history, int64_t ms, const struct sample *sample)
{
    int64_t value;
    native_memory(history, ms, sample);
    heap(history, ms, sample);
    sampled_methods(history, ms, sample);
    metaspace(history, ms, sample);
    if (sample_get(sample, SAMPLE_RSS_BYTES, &value)) {
        if (value > history->peak_rss_bytes)
            history->peak_rss_bytes = value;
        put(history, JFR_RESIDENT_SET_SIZE, ms, N(value), N(history->peak_rss_bytes));
    }
    if (sample_has(sample, SAMPLE_CLASSES_LOADED))
        put(history, JFR_CLASS_LOADING, ms, N(value_of(sample, SAMPLE_CLASSES_LOADED)),
            N(value_of(sample, SAMPLE_CLASSES_UNLOADED)));
}

static void families(struct history_jfr *history, int64_t ms, const struct names_event *names)
{
    for (int i = 0; i < names->row_count; i++) {
        const struct family_row *row = &names->rows[i];
        put(history, JFR_NAMED_FAMILY, ms, T(row->family), T(row->example),
            T(census_method_name(names->method)), N(row->loads),
            N(names->method == CENSUS_LOAD_LOG ? row->unloads : JFR_NOT_AVAILABLE));
    }
}

static void loaders(struct history_jfr *history, int64_t ms, const struct loaders_event *census)
{
    for (int i = 0; i < census->row_count; i++) {
        const struct loader_row *row = &census->rows[i];
        put(history, JFR_CLASS_LOADERS, ms, T(row->type), N(row->loaders), N(row->classes),
            N(row->chunk_bytes));
    }
}

static void methods(struct history_jfr *history, int64_t ms, const struct methods_event *methods)
{
    method_count(history, ms, methods, methods_source_name(METHODS_COUNTED));
    for (int i = 0; i < methods->row_count; i++) {
        const struct method_family *row = &methods->rows[i];
        put(history, JFR_METHOD_FAMILY, ms, T(row->family), N(row->classes), N(row->methods));
    }
}

static void callers(struct history_jfr *history, int64_t ms, const struct callers_event *callers)
{
    for (int i = 0; i < callers->row_count; i++) {
        const struct caller_row *row = &callers->rows[i];
        put(history, JFR_CLASS_CALLER, ms, T(row->family), T(row->call_site), N(row->classes),
            N(row->stacks));
    }
}

static void objects(struct history_jfr *history, int64_t ms,
                    const struct histogram_event *histogram)
{
    for (int i = 0; i < histogram->row_count; i++) {
        const struct histogram_class *row = &histogram->rows[i];
        put(history, JFR_OBJECT_COUNT, ms, I(-1), T(row->name), N(row->instances), N(row->bytes),
            T(row->family), N(row->classes));
    }
}

static void note(struct history_jfr *history, int64_t ms, const char *text)
{
    put(history, JFR_NOTE, ms, T(text));
}

/* --- chunks ----------------------------------------------------------------------------------- */

static bool fail(struct history_jfr *history, int error)
{
    history->failed = true;
    history->error = error;
    return false;
}

static void begin_chunk(struct history_jfr *history, int64_t ms)
{
    struct jfr_bytes *chunk = &history->chunk;
    static const uint8_t header[JFR_HEADER_BYTES];
    jfr_bytes_append(chunk, header, sizeof header);
    history->first_ns = history->last_ns = ticks_of(history, ms);
    jfr_metadata_append(chunk, &history->types, history->salt, history->first_ns, NULL, 0);
    jvm_information(history, ms);
}

static bool end_chunk(struct history_jfr *history)
{
    struct jfr_bytes *out = &history->chunk;
    int64_t checkpoint_at = (int64_t)out->length;
    history->event_at = out->length;
    if (jfr_bytes_room(out, EVENT_SIZE_BYTES) != NULL)
        out->length += EVENT_SIZE_BYTES;
    jfr_bytes_number(out, CHECKPOINT_EVENT);
    number(out, history->last_ns);
    jfr_bytes_number(out, 0); /* duration */
    jfr_bytes_number(out, 0); /* no checkpoint before */
    jfr_bytes_byte(out, 0);   /* no flush point */
    jfr_bytes_number(out, 0); /* pools */
    end(history);
    if (out->failed)
        return fail(history, ENOMEM);
    const struct jfr_chunk chunk = {
        .size = (int64_t)out->length,
        .checkpoint_at = checkpoint_at,
        .metadata_at = JFR_HEADER_BYTES,
        .start_ns = history->first_ns,
        .duration_ns = history->last_ns - history->first_ns,
    };
    jfr_chunk_header(&chunk, out->at);
    bool good = write_all(history->fd, (const char *)out->at, out->length) || fail(history, errno);
    out->length = 0;
    return good;
}

static bool ready(struct history_jfr *history, int64_t ms)
{
    if (history->failed) {
        errno = history->error;
        return false;
    }
    if (history->chunk.length > CHUNK_BYTES && !end_chunk(history))
        return false;
    if (history->chunk.length == 0)
        begin_chunk(history, ms);
    return true;
}

/* --- the recording ---------------------------------------------------------------------------- */

struct history_jfr *history_jfr_create(int fd, const struct target_identity *target,
                                       int64_t wall_start_ms, bool profile_follows)
{
    struct history_jfr *history = calloc(1, sizeof *history);
    if (history == NULL)
        return NULL;
    history->fd = fd;
    history->target = *target;
    history->wall_start_ms = wall_start_ms;
    history->types = (struct jfr_type_table){
        rows, profile_follows ? sizeof rows / sizeof rows[0] : own_rows(), number_of};
    history->salt = profile_follows ? BEFORE_A_PROFILE : 0;
    return history;
}

bool history_jfr_event(struct history_jfr *history, const struct event *event)
{
    if (!ready(history, event->ms))
        return false;
    switch (event->kind) {
    case EVENT_SAMPLE:
        sample_events(history, event->ms, &event->sample);
        break;
    case EVENT_NAMES:
        families(history, event->ms, &event->names);
        break;
    case EVENT_LOADERS:
        loaders(history, event->ms, &event->loaders);
        break;
    case EVENT_METHODS:
        methods(history, event->ms, &event->methods);
        break;
    case EVENT_HISTOGRAM:
        objects(history, event->ms, &event->histogram);
        break;
    case EVENT_CALLERS:
        callers(history, event->ms, &event->callers);
        break;
    case EVENT_NOTE:
    case EVENT_GONE:
        note(history, event->ms, event->text);
        break;
    default:
        break;
    }
    return !history->chunk.failed || fail(history, ENOMEM);
}

bool history_jfr_alert(struct history_jfr *history, const struct alert *alert)
{
    const struct finding *finding = &alert->finding;
    if (!ready(history, alert->ms))
        return false;
    put(history, JFR_FINDING, alert->ms, T(finding_row(finding->kind)->id),
        T(severity_name(finding->severity)), T(alert->state == ALERT_RAISED ? "raised" : "cleared"),
        T(finding->family), T(finding->title), T(finding->advice),
        N(history->wall_start_ms + alert->started_ms));
    return !history->chunk.failed || fail(history, ENOMEM);
}

bool history_jfr_end(struct history_jfr *history)
{
    bool good = ready(history, 0) && end_chunk(history);
    int error = history->failed ? history->error : 0;
    jfr_bytes_free(&history->chunk);
    free(history);
    errno = error;
    return good;
}
