#include "analyzers/classes/family.h"

#include "analyzers/classes/pattern.h"

static const struct family families[] = {
#define FAMILY(id, producer, role, evidence, must, pattern, cause, fix)                            \
    {id, producer, pattern, FAMILY_##role, cause, fix, FAMILY_BY_##evidence, must},
#include "analyzers/classes/families.def"
#undef FAMILY
};

_Static_assert(sizeof families / sizeof families[0] == FAMILY_COUNT, "one element per row");

/* must: "a|b", or empty: anything will do. */
static bool contains_one(struct span name, const char *must)
{
    while (*must != '\0') {
        size_t len = strcspn(must, "|");
        if (span_find(name, span_of(must, len)) >= 0)
            return true;
        must += len;
        if (*must++ == '\0')
            return false;
    }
    return true;
}

const struct family *family_match(struct span name)
{
    bool dollar = name.len > 0 && memchr(name.ptr, '$', name.len) != NULL;
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        const struct family *family = &families[i];
        if (family->must[0] == '$' && !dollar)
            continue;
        if (!contains_one(name, family->must))
            continue;
        if (pattern_match(family->pattern, name))
            return family;
    }
    return NULL;
}

const struct family *family_by_id(const char *id)
{
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        if (strcmp(families[i].id, id) == 0)
            return &families[i];
    }
    return NULL;
}

const struct family *family_at(size_t index)
{
    return index < FAMILY_COUNT ? &families[index] : NULL;
}

size_t family_index(const struct family *family)
{
    return (size_t)(family - families);
}

static const struct {
    const char *type;
    const char *family;
} loader_types[] = {
#define LOADER_TYPE(type, family) {type, family},
#include "analyzers/classes/loader_types.def"
#undef LOADER_TYPE
};

const struct family *family_of_loader(struct span type)
{
    for (size_t i = 0; i < sizeof loader_types / sizeof loader_types[0]; i++) {
        struct span row = span_from_cstr(loader_types[i].type);
        if (span_ends_with(type, row) &&
            (type.len == row.len || type.ptr[type.len - row.len - 1] == '.'))
            return family_by_id(loader_types[i].family);
    }
    return NULL;
}

static const struct {
    const char *prefix;
    const char *family;
} class_sources[] = {
#define CLASS_SOURCE(prefix, family) {prefix, family},
#include "analyzers/classes/class_sources.def"
#undef CLASS_SOURCE
};

const struct family *family_of_source(struct span source)
{
    for (size_t i = 0; i < sizeof class_sources / sizeof class_sources[0]; i++) {
        if (span_starts_with(source, span_from_cstr(class_sources[i].prefix)))
            return family_by_id(class_sources[i].family);
    }
    return NULL;
}
