#include "nmtwatch/jfr/jfr_profile.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/jfr/jfr_read.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <stdlib.h>
#include <string.h>

/* --- reading ---------------------------------------------------------------------------------- */

struct frames {
    struct stack_frame *frames;
    size_t capacity;
};

/* NULL: out of memory. */
static struct stack_frame *make_room(struct frames *room, int count)
{
    return array_room(&room->frames, &room->capacity, (size_t)count + 1, sizeof *room->frames)
               ? room->frames
               : NULL;
}

/* In native code a thread is runnable for the JVM, and may wait in the kernel. */
static struct stack_frame state_frame(const struct jfr_event *event)
{
    const char *state = event->sample.state;
    return (struct stack_frame){.name = state == NULL ? "[state not known]"
                                        : event->sample.in_native
                                            ? "STATE_RUNNABLE (in native code)"
                                            : state,
                                .kind = CALL_FRAME_STATE};
}

/* There is room for one more than the trace's depth. */
static void put_frames(struct stack_frame *frames, const struct jfr_trace *trace, int *depth)
{
    for (int i = 0; i < *depth; i++)
        frames[i] = trace->frames[i];
    if (trace != NULL && trace->truncated)
        frames[(*depth)++] =
            (struct stack_frame){.name = "[deeper than recorded]", .kind = CALL_FRAME_NATIVE};
}

static bool add_sample(struct call_tree *tree, const struct jfr_event *event, bool by_state,
                       struct frames *room)
{
    const struct jfr_trace *trace = event->sample.trace;
    int depth = trace != NULL ? trace->depth : 0;
    struct stack_frame *frames = make_room(room, depth + 3);
    char name[CALL_THREAD_NAME_MAX];
    if (frames == NULL)
        return false;
    put_frames(frames, trace, &depth);
    if (event->sample.thread != NULL)
        depth = call_frames_of_thread(frames, depth, event->sample.thread->name, name);
    if (by_state)
        frames[depth++] = state_frame(event);
    call_tree_at(tree, event->time_ns / 1000000);
    call_tree_add(tree, frames, depth, 1); /* refused ones are counted there */
    return true;
}

/* Bytes, with what was allocated as the innermost frame. */
static bool add_allocation(struct call_tree *tree, const struct jfr_event *event,
                           struct frames *room)
{
    const struct jfr_trace *trace = event->allocation.trace;
    const char *class_name = event->allocation.class_name;
    int depth = trace != NULL ? trace->depth : 0;
    struct stack_frame *frames = make_room(room, depth + 2);
    if (frames == NULL)
        return false;
    frames[0] = (struct stack_frame){.name = class_name != NULL ? class_name : "[unknown class]",
                                     .kind = CALL_FRAME_CLASS};
    put_frames(frames + 1, trace, &depth);
    call_tree_at(tree, event->time_ns / 1000000);
    if (event->allocation.weight_bytes > 0)
        call_tree_add(tree, frames, depth + 1, event->allocation.weight_bytes);
    return true;
}

static void copy(char *out, size_t size, const char *text)
{
    span_copy(span_from_cstr(text), out, size);
}

static void keep_loss(struct jfr_profile *profile, const char *reason, int64_t count)
{
    char name[sizeof profile->loss[0].reason];
    int i = 0;
    copy(name, sizeof name, reason);
    while (i < profile->loss_count && strcmp(profile->loss[i].reason, name) != 0)
        i++;
    if (i == JFR_LOSSES_MAX || (i == profile->loss_count && count <= 0))
        return;
    if (i == profile->loss_count)
        profile->loss_count++;
    memcpy(profile->loss[i].reason, name, sizeof name);
    profile->loss[i].count = count;
}

static void keep_component(struct jfr_profile *profile, const struct jfr_event *event)
{
    char name[sizeof profile->component[0].name];
    int i = 0;
    copy(name, sizeof name, event->memory.name);
    while (i < profile->component_count && strcmp(profile->component[i].name, name) != 0)
        i++;
    if (i == JFR_COMPONENTS_MAX)
        return;
    if (i == profile->component_count)
        profile->component_count++;
    memcpy(profile->component[i].name, name, sizeof name);
    profile->component[i].documented_bytes = event->memory.documented_bytes;
    profile->component[i].requested_bytes = event->memory.requested_bytes;
    profile->component[i].reserved_bytes = event->memory.reserved_bytes;
    profile->component[i].resident_bytes = event->memory.resident_bytes;
    profile->component[i].peak_bytes = event->memory.peak_bytes;
    profile->component[i].allocations = event->memory.allocations;
    profile->component[i].frees = event->memory.frees;
}

static bool keep(struct jfr_profile *profile, const struct jfr_event *event, struct frames *room)
{
    switch (event->kind) {
    case JFR_EVENT_CPU_SAMPLE:
        return add_sample(profile->cpu, event, profile->by_state, room);
    case JFR_EVENT_WALL_SAMPLE:
        return add_sample(profile->wall, event, profile->by_state, room);
    case JFR_EVENT_ALLOCATION:
        return add_allocation(profile->alloc, event, room);
    case JFR_EVENT_COMPONENT_MEMORY:
        keep_component(profile, event);
        break;
    case JFR_EVENT_LOSS:
        keep_loss(profile, event->loss.reason, event->loss.count);
        break;
    case JFR_EVENT_SETTINGS:
        copy(profile->options, sizeof profile->options, event->settings.options);
        copy(profile->jvm_version, sizeof profile->jvm_version, event->settings.jvm_version);
        copy(profile->agent_version, sizeof profile->agent_version, event->settings.agent_version);
        break;
    case JFR_EVENT_JMETHOD_IDS:
    case JFR_EVENT_CLASS_DEFINITION: /* jfr_classes, jfr_live */
    case JFR_EVENT_CLASS_FAMILY:
    case JFR_EVENT_LIVE_OBJECT:
    case JFR_EVENT_KINDS:
        break;
    }
    return true;
}

bool jfr_profile_read(struct jfr_profile *profile, int fd, const char *name, bool by_state,
                      char *error, size_t error_size)
{
    struct jfr_event event;
    struct frames room = {0};
    *profile = (struct jfr_profile){.by_state = by_state};
    struct jfr_reader *reader = jfr_reader_open(fd, name, error, error_size);
    if (reader == NULL)
        return false;
    profile->cpu = call_tree_create();
    profile->wall = call_tree_create();
    profile->alloc = call_tree_create();
    bool good = profile->cpu != NULL && profile->wall != NULL && profile->alloc != NULL;
    while (good && jfr_reader_next(reader, &event))
        good = keep(profile, &event, &room);
    if (good) {
        struct jfr_reader_counts counts;
        jfr_reader_counts(reader, &counts);
        profile->chunks = counts.chunks;
        profile->start_ns = counts.start_ns;
        profile->end_ns = counts.end_ns;
        copy(profile->damage, sizeof profile->damage, jfr_reader_damage(reader));
        call_tree_finish(profile->cpu);
        call_tree_finish(profile->wall);
        call_tree_finish(profile->alloc);
    } else {
        snprintf(error, error_size, "out of memory");
        jfr_profile_free(profile);
    }
    free(room.frames);
    jfr_reader_close(reader);
    return good;
}

void jfr_profile_free(struct jfr_profile *profile)
{
    call_tree_destroy(profile->cpu);
    call_tree_destroy(profile->wall);
    call_tree_destroy(profile->alloc);
    *profile = (struct jfr_profile){0};
}

/* --- showing ---------------------------------------------------------------------------------- */

const struct call_tree *jfr_profile_samples(const struct jfr_profile *profile, const char **unit)
{
    const struct {
        const struct call_tree *tree;
        const char *unit;
    } kinds[] = {{profile->cpu, "samples of CPU time"},
                 {profile->wall, "samples of wall-clock time"},
                 {profile->alloc, "of objects allocated"}};
    size_t kind = profile->by_state && call_tree_samples(profile->wall) > 0 ? 1 : 0;
    while (kind < 2 && call_tree_samples(kinds[kind].tree) == 0)
        kind++;
    if (call_tree_samples(kinds[kind].tree) == 0)
        kind = 0;
    *unit = kinds[kind].unit;
    return kinds[kind].tree;
}

static bool put_methods(struct json_out *out, const struct call_tree *tree, uint32_t node)
{
    struct toptable *table = toptable_create(tree, node);
    if (table == NULL)
        return false;
    toptable_json(table, out);
    toptable_destroy(table);
    return true;
}

static const char *name_of(const struct call_tree *tree, uint32_t node)
{
    return call_tree_name(tree, call_tree_node(tree, node)->name).name;
}

static bool put_states(struct json_out *out, const struct call_tree *tree)
{
    bool good = true;
    json_out_begin(out, "states", '[');
    for (uint32_t i = call_tree_node(tree, 0)->first_child; good && i != CALL_TREE_NONE;
         i = call_tree_node(tree, i)->next_sibling) {
        json_out_begin(out, NULL, '{');
        json_out_text(out, "state", name_of(tree, i));
        json_out_int(out, "samples", call_tree_node(tree, i)->total);
        good = put_methods(out, tree, i);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    return good;
}

static bool put_top(struct json_out *out, const char *key, const struct call_tree *tree,
                    bool by_state)
{
    json_out_begin(out, key, '{');
    json_out_int(out, "samples", call_tree_samples(tree));
    json_out_int(out, "refused_samples", call_tree_refused(tree));
    bool good = put_methods(out, tree, 0) && (!by_state || put_states(out, tree));
    json_out_end(out, '}');
    return good;
}

static bool print_methods(const struct call_tree *tree, uint32_t node, uint32_t rows, FILE *out)
{
    struct toptable *table = toptable_create(tree, node);
    if (table == NULL)
        return false;
    bool good = toptable_print(table, rows, out);
    toptable_destroy(table);
    return good;
}

bool jfr_profile_top(const struct jfr_profile *profile, uint32_t rows, FILE *out)
{
    const char *unit;
    const struct call_tree *tree = jfr_profile_samples(profile, &unit);
    bool good = true;
    fprintf(out, "%s\n", unit);
    if (!profile->by_state || tree == profile->alloc)
        return print_methods(tree, 0, rows, out);
    int64_t all = call_tree_samples(tree);
    for (uint32_t i = call_tree_node(tree, 0)->first_child; good && i != CALL_TREE_NONE;
         i = call_tree_node(tree, i)->next_sibling) {
        int64_t samples = call_tree_node(tree, i)->total;
        fprintf(out, "\n%s: %s of %s samples, %.2f%%\n", escape_name(name_of(tree, i)).text,
                units_count(samples).text, units_count(all).text,
                100.0 * (double)samples / (double)all);
        good = print_methods(tree, i, rows, out);
    }
    return good;
}

bool jfr_profile_top_json(const struct jfr_profile *profile, FILE *out)
{
    struct json_out json = {0};
    json_out_begin(&json, NULL, '{');
    json_out_begin(&json, "recording", '{');
    json_out_int(&json, "start_ms", profile->start_ns / 1000000);
    json_out_int(&json, "duration_ms", (profile->end_ns - profile->start_ns) / 1000000);
    json_out_int(&json, "chunks", profile->chunks);
    json_out_text(&json, "options", profile->options[0] ? profile->options : NULL);
    json_out_text(&json, "jvm_version", profile->jvm_version[0] ? profile->jvm_version : NULL);
    json_out_end(&json, '}');
    json_out_text(&json, "damage", profile->damage[0] ? profile->damage : NULL);
    bool good = put_top(&json, "cpu", profile->cpu, profile->by_state) &&
                put_top(&json, "wall", profile->wall, profile->by_state);
    if (call_tree_samples(profile->alloc) > 0) /* bytes */
        good = good && put_top(&json, "alloc", profile->alloc, false);
    json_out_begin(&json, "losses", '[');
    for (int i = 0; i < profile->loss_count; i++) {
        json_out_begin(&json, NULL, '{');
        json_out_text(&json, "reason", profile->loss[i].reason);
        json_out_int(&json, "count", profile->loss[i].count);
        json_out_end(&json, '}');
    }
    json_out_end(&json, ']');
    json_out_end(&json, '}');
    if (!good) { /* memory ran out */
        json_out_free(&json);
        return false;
    }
    return json_out_print(&json, out) && !ferror(out);
}

bool jfr_profile_write(const struct jfr_profile *profile, enum profile_format format, uint32_t rows,
                       const char *title, FILE *out)
{
    char texts[JFR_NOTES_MAX][800];
    const char *notes[JFR_NOTES_MAX];
    int count = 0;
    if (format == PROFILE_TOP)
        return jfr_profile_top_json(profile, out);
    if (format == PROFILE_TOP_TEXT)
        return jfr_profile_top(profile, rows, out);
    struct profile written = {.page = {.title = title, .notes = notes}};
    written.tree = jfr_profile_samples(profile, &written.page.unit);
    written.page.bytes = written.tree == profile->alloc;
    written.about = (struct pprof_about){
        .type = written.page.bytes ? "alloc_space" : "samples",
        .unit = written.page.bytes ? "bytes" : "count",
        .start_ns = profile->start_ns,
        .duration_ns = profile->end_ns - profile->start_ns,
    };
    if (profile->damage[0] != '\0')
        snprintf(texts[count++], sizeof texts[0], "The recording is damaged: %s", profile->damage);
    if (profile->options[0] != '\0')
        snprintf(texts[count++], sizeof texts[0], "Options: %s", profile->options);
    if (profile->jvm_version[0] != '\0')
        snprintf(texts[count++], sizeof texts[0], "JVM: %s", profile->jvm_version);
    for (int i = 0; i < profile->loss_count; i++)
        snprintf(texts[count++], sizeof texts[0], "Lost or not walked, %s: %s",
                 profile->loss[i].reason, units_count(profile->loss[i].count).text);
    for (int i = 0; i < count; i++)
        notes[i] = texts[i];
    written.page.note_count = count;
    return profile_write(&written, format, out);
}

/* --- classes by who defined them -------------------------------------------------------------- */

#define FIGURE_MAX (INT64_C(1) << 50)
#define COUNT_MAX  (INT64_C(1) << 31)

/* Values of a damaged file must not overflow the sums: of 4096 families, of a chunk's events. */
static int64_t bounded(int64_t number, int64_t most)
{
    return number < 0 ? 0 : number > most ? most : number;
}

static void keep_family(struct class_makers_builder *builder, const struct jfr_event *event)
{
    struct class_family *family =
        event->family.family != NULL ? class_makers_family(builder, event->family.family) : NULL;
    if (family == NULL)
        return;
    family->loaded = bounded(event->family.loaded, FIGURE_MAX);
    family->unloaded = bounded(event->family.unloaded, FIGURE_MAX);
    family->bytes = event->family.bytes < 0 ? -1 : bounded(event->family.bytes, FIGURE_MAX);
    family->sized = bounded(event->family.sized, FIGURE_MAX);
}

static bool keep_definition(struct class_makers_builder *builder, const struct jfr_event *event)
{
    const struct jfr_trace *trace = event->definition.trace;
    struct class_family *family = event->definition.family != NULL
                                      ? class_makers_family(builder, event->definition.family)
                                      : NULL;
    int64_t count = bounded(event->definition.count, COUNT_MAX);
    if (family == NULL || count == 0)
        return true;
    int depth = trace != NULL && trace->depth < CLASS_MAKERS_FRAMES_MAX ? trace->depth : 0;
    return class_makers_add(builder, family, event->definition.class_name,
                            depth > 0 ? trace->frames : NULL, depth, count);
}

static bool read_events(struct class_makers_builder *builder, struct jfr_reader *reader)
{
    struct jfr_event event;
    bool good = true;
    while (good && jfr_reader_next(reader, &event))
        if (event.kind == JFR_EVENT_CLASS_FAMILY)
            keep_family(builder, &event);
        else if (event.kind == JFR_EVENT_CLASS_DEFINITION)
            good = keep_definition(builder, &event);
    return good;
}

bool jfr_classes_read(struct class_makers *classes, int fd, const char *name, char *error,
                      size_t error_size)
{
    *classes = (struct class_makers){0};
    struct jfr_reader *reader = jfr_reader_open(fd, name, error, error_size);
    if (reader == NULL)
        return false;
    struct class_makers_builder *builder = class_makers_build(classes);
    bool good = builder != NULL && read_events(builder, reader);
    if (good) {
        struct jfr_reader_counts counts;
        jfr_reader_counts(reader, &counts);
        classes->chunks = counts.chunks;
        classes->duration_ms = (counts.end_ns - counts.start_ns) / 1000000;
        if (jfr_reader_damage(reader) != NULL)
            snprintf(classes->damage, sizeof classes->damage, "%s", jfr_reader_damage(reader));
        class_makers_finish(classes);
    } else {
        snprintf(error, error_size, "out of memory");
        class_makers_free(classes);
    }
    free(builder);
    jfr_reader_close(reader);
    return good;
}
