#include "nmtwatch/observe/heap_object.h"

#include "floor/hotspot/class_graph.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/base/fold_hash.h"
#include "nmtwatch/observe/stacks.h"

#include <string.h>

#define MARK_SHIFT   42    /* of the class's number in a mark word; JDK 24 */
#define FIELDS_BYTES 160   /* of an object that are looked at: of a mirror 112 are its own */
#define ORIGINS      4096  /* classes; a power of two */
#define CLASSES_MAX  65536 /* looked at for the main class */
#define LOCATION_MAX 1024

/* --- objects ---------------------------------------------------------------------------------- */

static struct {
    bool compact, narrow, narrow_oops; /* flags of the JVM */
    uintptr_t base, oop_base;
    uint32_t shift, oop_shift;
} heap;

static uint32_t mark_shift(void)
{
    return layout.mark_klass_shift > 0 ? (uint32_t)layout.mark_klass_shift & 63 : MARK_SHIFT;
}

bool heap_object_known(void)
{
    bool numbered = heap.compact || heap.narrow;
    return layout.klass_layout_helper >= 0 &&
           (!numbered || (layout.narrow_base != 0 && layout.narrow_shift != 0 && heap.shift < 32));
}

uintptr_t heap_object_class(const uint64_t word[3], uint32_t *length)
{
    uint64_t number = heap.compact ? word[0] >> mark_shift() : (uint32_t)word[1];
    *length = (uint32_t)(heap.compact ? word[1] : heap.narrow ? word[1] >> 32 : word[2]);
    if (!heap.narrow && !heap.compact)
        return word[1];
    return number != 0 ? heap.base + (number << heap.shift) : 0;
}

/* 0: none. */
static uintptr_t reference_at(uintptr_t object, size_t field, size_t *bytes)
{
    *bytes = heap.narrow_oops ? sizeof(uint32_t) : sizeof(uintptr_t);
    if (!heap.narrow_oops)
        return load_pointer(object + field);
    uintptr_t number = load_u32(object + field, 0);
    return number != 0 ? heap.oop_base + (number << (heap.oop_shift & 31)) : 0;
}

static bool is_object_of(uintptr_t object, const char *class_name, uint32_t *length)
{
    uint64_t word[3];
    char name[CLASS_NAME_MAX];
    return object != 0 && (object & 7) == 0 && load_bytes(object, word, sizeof word) &&
           class_graph_name(heap_object_class(word, length), name) && strcmp(name, class_name) == 0;
}

/* What the first field from *field on refers to that refers to an object of this class; *field is behind it then. */
static uintptr_t next_field(uintptr_t object, size_t *field, const char *class_name,
                            uint32_t *length)
{
    size_t bytes;
    while (object != 0 && *field < FIELDS_BYTES) {
        uintptr_t found = reference_at(object, *field, &bytes);
        *field += bytes;
        if (is_object_of(found, class_name, length))
            return found;
    }
    return 0;
}

static uintptr_t field_of(uintptr_t object, const char *class_name)
{
    uint32_t unused;
    size_t field = sizeof(uint64_t);
    return next_field(object, &field, class_name, &unused);
}

/* Of a String without wide characters; false: it is none. */
static bool read_text(uintptr_t string, char out[LOCATION_MAX])
{
    uint32_t length;
    size_t field = sizeof(uint64_t);
    uintptr_t bytes = next_field(string, &field, "[B", &length);
    size_t header = heap.compact ? 12 : heap.narrow ? 16 : 24;
    if (bytes == 0 || length == 0 || length >= LOCATION_MAX ||
        !load_bytes(bytes + header, out, length))
        return false;
    out[length] = '\0';
    return strlen(out) == length;
}

/* --- origins ---------------------------------------------------------------------------------- */

struct location {
    bool has_domain, image;  /* image: in the runtime image */
    char path[LOCATION_MAX]; /* "": none */
};

static struct {
    struct {
        uintptr_t klass; /* 0: free */
        enum code_origin origin;
    } known[ORIGINS];
    const struct target *target; /* NULL: not asked for */
    bool main_asked;
    struct location main;
} origins;

void heap_objects_begin(const struct target *target)
{
    memset(&origins, 0, sizeof origins);
    origins.target = target;
    heap.compact = stacks_jvm_flag("UseCompactObjectHeaders", false);
    /* Later JDKs know no other. */
    heap.narrow = stacks_jvm_flag("UseCompressedClassPointers", true);
    heap.narrow_oops = layout.oop_base != 0 && stacks_jvm_flag("UseCompressedOops", true);
    heap.base = load_pointer(layout.narrow_base);
    heap.shift = load_u32(layout.narrow_shift, 0);
    heap.oop_base = load_pointer(layout.oop_base);
    heap.oop_shift = load_u32(layout.oop_shift, 0);
}

static void read_location(uintptr_t klass, struct location *out)
{
    char text[LOCATION_MAX];
    uint32_t unused;
    size_t field = sizeof(uint64_t);
    uintptr_t mirror = load_pointer(load_pointer(klass + (uintptr_t)layout.klass_mirror));
    uintptr_t source =
        field_of(field_of(mirror, "java.security.ProtectionDomain"), "java.security.CodeSource");
    uintptr_t url = field_of(source, "java.net.URL"), string;
    *out = (struct location){.has_domain = source != 0};
    while ((string = next_field(url, &field, "java.lang.String", &unused)) != 0) {
        if (!read_text(string, text))
            continue;
        out->image |= strcmp(text, "jrt") == 0;
        if (strchr(text, '/') != NULL && strlen(text) > strlen(out->path))
            memcpy(out->path, text, strlen(text) + 1);
    }
    if (url != 0 && out->path[0] == '\0')
        out->has_domain = false; /* its text is not to be read */
}

/* The main class's, among the first classes of loaders other than the boot loader, whose are the last. */
static const char *main_path(const char *main_class)
{
    char name[CLASS_NAME_MAX];
    int steps = 0;
    uintptr_t loader = origins.main_asked ? 0 : load_pointer(layout.loaders_head);
    origins.main_asked = true;
    for (; loader != 0 && steps++ < CLASSES_MAX;
         loader = load_pointer(loader + (uintptr_t)layout.loader_next)) {
        uintptr_t klass = load_pointer(loader + (uintptr_t)layout.loader_classes);
        for (; klass != 0 && steps++ < CLASSES_MAX;
             klass = load_pointer(klass + (uintptr_t)layout.klass_next)) {
            if (!class_graph_name(klass, name) || strcmp(name, main_class) != 0)
                continue;
            read_location(klass, &origins.main);
            return origins.main.path;
        }
    }
    return origins.main.path;
}

static bool has_one(const char *path, const char *const *marks)
{
    for (; *marks != NULL; marks++)
        if (strstr(path, *marks) != NULL)
            return true;
    return false;
}

static enum code_origin origin_of(const struct location *at)
{
    static const char *const OWN[] = {"BOOT-INF/classes", "WEB-INF/classes", NULL};
    static const char *const AMONG_JARS[] = {
        "/lib/", "/libs/", "/share/java/", "/maven-repo/", "/.m2/", "/.gradle/", NULL};
    size_t length = strlen(at->path);
    if (at->image) /* which may hold an application's modules, too */
        return strncmp(at->path, "/java.", 6) == 0 || strncmp(at->path, "/jdk.", 5) == 0
                   ? ORIGIN_JDK
                   : ORIGIN_UNKNOWN;
    if (length == 0)
        return at->has_domain ? ORIGIN_GENERATED : ORIGIN_UNKNOWN;
    if (has_one(at->path, OWN) || (at->path[length - 1] == '/' && strchr(at->path, '!') == NULL))
        return ORIGIN_APPLICATION;
    return has_one(at->path, AMONG_JARS) &&
                   strcmp(at->path, main_path(origins.target->identity.main)) != 0
               ? ORIGIN_LIBRARY
               : ORIGIN_UNKNOWN;
}

enum code_origin class_origin(uintptr_t klass)
{
    size_t at = fold_word(klass) & (ORIGINS - 1);
    struct location location;
    if (origins.target == NULL || !heap_object_known() || layout.klass_mirror < 0 || klass == 0)
        return ORIGIN_UNKNOWN;
    if (origins.known[at].klass != klass) {
        read_location(klass, &location);
        origins.known[at].klass = klass;
        origins.known[at].origin = origin_of(&location);
    }
    return origins.known[at].origin;
}
