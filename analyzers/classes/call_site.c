#include "analyzers/classes/call_site.h"

#include "analyzers/classes/family.h"

static const struct span LIBRARIES[] = {
#define LIBRARY(prefix) SPAN_INIT(prefix),
#include "analyzers/classes/libraries.def"
};

int frame_class_length(const struct stack_frame *frame)
{
    const char *dot = strrchr(frame->name, '.');
    return dot != NULL ? (int)(dot - frame->name) : 0;
}

static struct span class_of(const struct stack_frame *frame)
{
    return span_of(frame->name, (size_t)frame_class_length(frame));
}

static bool is_of_jdk(const struct stack_frame *frame)
{
    return frame->origin == ORIGIN_JDK ||
           (frame->origin == ORIGIN_UNKNOWN && class_name_is_of_jdk(span_from_cstr(frame->name)));
}

static bool is_generated(const struct stack_frame *frame)
{
    if (frame->origin == ORIGIN_GENERATED)
        return true;
    const struct family *family = family_match(class_of(frame));
    return family != NULL && family->evidence == FAMILY_BY_NAME;
}

static bool is_of_library(const struct stack_frame *frame, bool by_file)
{
    return (by_file && frame->origin == ORIGIN_LIBRARY) ||
           (frame->origin != ORIGIN_APPLICATION &&
            span_row(span_from_cstr(frame->name), span_starts_with, SPAN_TABLE(LIBRARIES)) >= 0);
}

/* A method that class loaders inherit, in which their subclasses' callers and callees are found. */
static bool is_of_class_loader(const struct stack_frame *frame)
{
    static const struct span prefixes[] = {SPAN_INIT("java.lang.ClassLoader."),
                                           SPAN_INIT("java.security.SecureClassLoader."),
                                           SPAN_INIT("java.net.URLClassLoader.")};
    return span_row(span_from_cstr(frame->name), span_starts_with, SPAN_TABLE(prefixes)) >= 0;
}

/* A class loader's own method: it calls defineClass of the class it inherits from, or is called by its loadClass. */
static bool is_class_loader(const struct stack_frame *frames, int depth, int at)
{
    struct span name = span_skip(span_from_cstr(frames[at].name), class_of(&frames[at]).len);
    if (at > 0 && is_of_class_loader(&frames[at - 1]) &&
        (strstr(frames[at - 1].name, ".defineClass") != NULL ||
         span_equals(name, SPAN_LITERAL(".loadClass"))))
        return true;
    return at + 1 < depth && is_of_class_loader(&frames[at + 1]) &&
           (span_equals(name, SPAN_LITERAL(".findClass")) ||
            span_equals(name, SPAN_LITERAL(".loadClass")));
}

static bool is_same_class(const struct stack_frame *a, const struct stack_frame *b)
{
    return span_equals(class_of(a), class_of(b));
}

/* by_file: a jar among other jars is a library's. */
static struct call_site find_site(const struct stack_frame *frames, int depth, bool by_file)
{
    struct call_site found = {-1, -1, -1, false};
    int own = -1,
        loader = -1; /* the application's innermost; its frame that was last a class loader's */
    for (int i = 0; i < depth; i++) {
        const struct stack_frame *frame = &frames[i];
        if (frame->kind != CALL_FRAME_JAVA || is_of_jdk(frame))
            continue;
        if (found.made_by < 0)
            found.made_by = i;
        if (is_generated(frame))
            continue;
        if (is_of_library(frame, by_file)) {
            found.through = i;
            continue;
        }
        own = own < 0 ? i : own;
        if (is_class_loader(frames, depth, i) ||
            (loader >= 0 && is_same_class(frame, &frames[loader]))) {
            loader = i;
            continue;
        }
        own = i;
        break;
    }
    found.own = own >= 0;
    found.asked_by = own >= 0 ? own : found.made_by;
    if (own < 0 || found.through > own)
        found.through = -1;
    return found;
}

/* All of an application may lie in one folder with its libraries. */
struct call_site call_site_find(const struct stack_frame *frames, int depth)
{
    struct call_site found = find_site(frames, depth, true);
    return found.own ? found : find_site(frames, depth, false);
}
