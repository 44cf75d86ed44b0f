#include "analyzers/classes/definer.h"

#include "analyzers/parse/span.h"

static bool is_of_jdk(struct span label)
{
    static const struct span prefixes[] = {SPAN_INIT("java."), SPAN_INIT("javax."),
                                           SPAN_INIT("jdk."), SPAN_INIT("sun."),
                                           SPAN_INIT("com.sun.")};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (span_starts_with(label, prefixes[i]))
            return true;
    }
    return false;
}

/* Functions of libraries ("mmap [libc.so.6]") and what stands in for frames ("[unknown]"). */
static bool is_java(struct span label)
{
    return label.len > 0 && label.ptr[label.len - 1] != ']';
}

/* "com.acme." of com.acme.orders.Proxies.make; "Main." of Main.main; "a.b.C." where there is less. */
static struct span producer_of(struct span label)
{
    size_t dots = 0, at = 0;
    struct span name = label;
    while (name.len > 0 && name.ptr[name.len - 1] != '.') /* without the method */
        name.len--;
    for (; at < name.len && dots < 2; at++)
        dots += name.ptr[at] == '.';
    return span_of(name.ptr, at);
}

/* One producer under several names. */
static bool is_groovy(struct span label)
{
    return span_starts_with(label, SPAN_LITERAL("groovy.")) ||
           span_starts_with(label, SPAN_LITERAL("org.codehaus.groovy.")) ||
           span_starts_with(label, SPAN_LITERAL("org.apache.groovy."));
}

static bool is_by(struct span label, struct span producer)
{
    return span_starts_with(label, producer) || (is_groovy(producer) && is_groovy(label));
}

struct definer definer_find(const char *const labels[], int depth)
{
    struct definer found = {-1, -1};
    struct span producer = {0};
    for (int i = 0; i < depth; i++) {
        struct span label = span_from_cstr(labels[i]);
        if (!is_java(label) || is_of_jdk(label))
            continue;
        if (found.definer < 0) {
            found.definer = i;
            producer = is_groovy(label) ? label : producer_of(label);
        } else if (!is_by(label, producer)) {
            found.caller = i;
            return found;
        }
    }
    if (found.definer < 0 && depth > 0)
        found.definer = 0;
    return found;
}
