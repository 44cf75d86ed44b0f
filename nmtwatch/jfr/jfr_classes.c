#include "nmtwatch/jfr/jfr_classes.h"

#include "nmtwatch/jfr/jfr_read.h"

#include <stdlib.h>
#include <string.h>

#define FIGURE_MAX (INT64_C(1) << 50)
#define COUNT_MAX  (INT64_C(1) << 31)

/* What a damaged file claims must not overflow the sums: of 4096 families, of a chunk's events. */
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
    static struct labelled_frame frames[CLASS_MAKERS_FRAMES_MAX];
    const struct jfr_trace *trace = event->definition.trace;
    struct class_family *family = event->definition.family != NULL
                                      ? class_makers_family(builder, event->definition.family)
                                      : NULL;
    int64_t count = bounded(event->definition.count, COUNT_MAX);
    if (family == NULL || count == 0)
        return true;
    int depth = trace != NULL && trace->depth < CLASS_MAKERS_FRAMES_MAX ? trace->depth : 0;
    for (int i = 0; i < depth; i++)
        frames[i] = (struct labelled_frame){
            trace->frames[i].label, trace->frames[i].line,
            trace->frames[i].kind == JFR_FRAME_JAVA ? CALL_FRAME_JAVA : CALL_FRAME_NATIVE};
    return class_makers_add(builder, family, event->definition.class_name, frames, depth, count);
}

static bool read_events(struct class_makers_builder *builder, struct jfr_reader *reader)
{
    struct jfr_event event;
    bool good = true;
    while (good && jfr_reader_next(reader, &event)) {
        if (event.kind == JFR_EVENT_CLASS_FAMILY)
            keep_family(builder, &event);
        else if (event.kind == JFR_EVENT_CLASS_DEFINITION)
            good = keep_definition(builder, &event);
    }
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
