#include "analyzers/classes/family.h"

#include <limits.h>

static const struct family families[] = {
#define FAMILY(id, producer, role, evidence, must, pattern, cause, fix)                            \
    {id, producer, pattern, FAMILY_##role, cause, fix, FAMILY_BY_##evidence, must},
#include "analyzers/classes/families.def"
};

_Static_assert(sizeof families / sizeof families[0] == FAMILY_COUNT, "one element per row");

const struct family *family_match(struct span name)
{
    bool dollar = name.len > 0 && memchr(name.ptr, '$', name.len) != NULL;
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        const struct family *family = &families[i];
        if (family->must[0] == '$' && !dollar)
            continue;
        if (family->must[0] != '\0' && !span_fits_one(name, family->must, span_contains))
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

/* The name of a class in a Groovy text is the author's choice, and no row of families.def can know
 * it; but the class-load log prints the code base, and the generator chooses that. */
static const struct {
    struct span prefix;
    const char *family;
} class_sources[] = {
    {SPAN_INIT("file:/groovy/shell"), "groovy-shell"},
    {SPAN_INIT("file:/groovy/script"), "groovy-md5"},
};

const struct family *family_of_source(struct span source)
{
    int i = span_row(source, span_starts_with, SPAN_TABLE(class_sources));
    return i < 0 ? NULL : family_by_id(class_sources[i].family);
}

/* --- sources ---------------------------------------------------------------------------------- */

bool class_source_is_archive(struct span source)
{
    return span_starts_with(source, SPAN_LITERAL("shared objects file")) ||
           span_starts_with(source, SPAN_LITERAL("jrt:/")) ||
           (source.len > 0 && source.ptr[0] == '/' &&
            (span_ends_with(source, SPAN_LITERAL("/rt.jar")) ||
             span_find(source, SPAN_LITERAL("/jre/lib/")) >= 0));
}

bool class_source_is_code(struct span source)
{
    return source.len > 0 && memchr(source.ptr, '/', source.len) == NULL;
}

bool class_name_is_of_jdk(struct span label)
{
    static const struct span prefixes[] = {SPAN_INIT("java."), SPAN_INIT("javax."),
                                           SPAN_INIT("jdk."), SPAN_INIT("sun."),
                                           SPAN_INIT("com.sun.")};
    return span_row(label, span_starts_with, SPAN_TABLE(prefixes)) >= 0;
}

/* --- patterns --------------------------------------------------------------------------------- */

#define DEPTH_MAX 200

struct search {
    const char *start;
    const char *end;
    int steps;
    int depth;
};

/* What is to be matched after a group: more rounds of it, then the rest of the pattern around it */
struct rest {
    struct span group; /* text between the parentheses */
    struct span after;
    int min, max;   /* rounds still wanted, still allowed */
    const char *at; /* where the last round began */
    const struct rest *up;
};

static bool match_here(struct search *search, struct span pattern, const char *at,
                       const struct rest *rest);

/* Length of the first atom: a literal, an escape, a set or a whole group. */
static size_t atom_length(struct span pattern)
{
    const char *p = pattern.ptr, *end = pattern.ptr + pattern.len;
    if (*p == '\\')
        return pattern.len > 1 ? 2 : 1;
    if (*p == '[') {
        const char *close = memchr(p + 1, ']', pattern.len - 1);
        return close != NULL ? (size_t)(close - p) + 1 : pattern.len;
    }
    if (*p != '(')
        return 1;
    int depth = 0;
    do {
        depth += (*p == '(') - (*p == ')');
        p += *p == '(' ? 1 : atom_length(span_of(p, (size_t)(end - p)));
    } while (p < end && depth > 0);
    return (size_t)(p - pattern.ptr);
}

static bool in_set(const char *p, const char *end, char c)
{
    for (; p < end; p++) {
        if (p + 2 < end && p[1] == '-') {
            if (p[0] <= c && c <= p[2])
                return true;
            p += 2;
        } else if (*p == c) {
            return true;
        }
    }
    return false;
}

static bool atom_takes(struct span atom, char c)
{
    if (atom.ptr[0] == '\\')
        return c == atom.ptr[atom.len - 1];
    if (atom.ptr[0] == '[')
        return in_set(atom.ptr + 1, atom.ptr + atom.len - 1, c);
    return atom.ptr[0] == '.' || atom.ptr[0] == c;
}

/* '#' and '*' of a stem stand for a whole run of what the set takes. */
static bool atom_takes_fold(struct span atom, char c)
{
    if (atom.ptr[0] != '[')
        return false;
    return (c == '#' && atom_takes(atom, '0')) ||
           (c == '*' && (atom_takes(atom, 'a') || atom_takes(atom, 'A')));
}

static int take_number(struct span *text, int fallback)
{
    if (text->len == 0 || *text->ptr < '0' || *text->ptr > '9')
        return fallback;
    int number = 0;
    for (; text->len > 0 && *text->ptr >= '0' && *text->ptr <= '9'; text->ptr++, text->len--)
        number = number * 10 + (*text->ptr - '0');
    return number;
}

/* Takes ? * + {m,n} off the front of *pattern. */
static void take_repeat(struct span *pattern, int *min, int *max)
{
    *min = *max = 1;
    if (pattern->len == 0 || memchr("?*+{", *pattern->ptr, 4) == NULL)
        return;
    char kind = *pattern->ptr;
    *pattern = span_skip(*pattern, 1);
    if (kind != '{') {
        *min = kind == '+';
        *max = kind == '?' ? 1 : INT_MAX;
        return;
    }
    *min = *max = take_number(pattern, 0);
    if (span_take(pattern, SPAN_LITERAL(",")))
        *max = take_number(pattern, INT_MAX);
    span_take(pattern, SPAN_LITERAL("}"));
}

/* Takes the first branch of "a|b|c" and its '|' off the front; false when nothing is left. */
static bool next_branch(struct span *rest, struct span *branch)
{
    if (rest->ptr == NULL)
        return false;
    const char *p = rest->ptr, *end = p + rest->len;
    if (memchr(p, '|', rest->len) == NULL)
        p = end;
    while (p < end && *p != '|')
        p += atom_length(span_of(p, (size_t)(end - p)));
    *branch = span_of(rest->ptr, (size_t)(p - rest->ptr));
    *rest = p < end ? span_of(p + 1, (size_t)(end - p) - 1) : span_of(NULL, 0);
    return true;
}

static bool match_rest(struct search *search, const char *at, const struct rest *rest)
{
    if (rest == NULL)
        return true;
    if (rest->max > 0 && at != rest->at) {
        struct rest round = *rest;
        round.min -= round.min > 0;
        round.max -= round.max < INT_MAX;
        round.at = at;
        struct span branches = rest->group, branch;
        while (next_branch(&branches, &branch)) {
            if (match_here(search, branch, at, &round))
                return true;
        }
    }
    return rest->min == 0 && match_here(search, rest->after, at, rest->up);
}

static bool match_repeated(struct search *search, struct span atom, struct span after, int min,
                           int max, const char *at, const struct rest *rest)
{
    ptrdiff_t taken = 0, fold = PTRDIFF_MAX; /* fold: where the first fold of a stem was taken */
    for (; taken < max && at + taken < search->end; taken++) {
        if (fold == PTRDIFF_MAX && atom_takes_fold(atom, at[taken]))
            fold = taken;
        else if (!atom_takes(atom, at[taken]))
            break;
    }
    search->steps += (int)taken;
    for (; taken >= min || taken > fold; taken--) {
        if (match_here(search, after, at + taken, rest))
            return true;
    }
    return false;
}

static bool match_sequence(struct search *search, struct span pattern, const char *at,
                           const struct rest *rest)
{
    while (pattern.len > 0) {
        struct span atom = span_of(pattern.ptr, atom_length(pattern));
        pattern = span_skip(pattern, atom.len);
        if (*atom.ptr == '^' || *atom.ptr == '$') {
            if (at != (*atom.ptr == '^' ? search->start : search->end))
                return false;
            continue;
        }
        int min, max;
        take_repeat(&pattern, &min, &max);
        if (*atom.ptr == '(') {
            struct rest round = {
                span_of(atom.ptr + 1, atom.len - 2), pattern, min, max, NULL, rest};
            return match_rest(search, at, &round);
        }
        if (min != 1 || max != 1)
            return match_repeated(search, atom, pattern, min, max, at, rest);
        if (at == search->end || !(atom_takes(atom, *at) || atom_takes_fold(atom, *at)))
            return false;
        at++;
        search->steps++;
    }
    return match_rest(search, at, rest);
}

static bool match_here(struct search *search, struct span pattern, const char *at,
                       const struct rest *rest)
{
    if (++search->steps > PATTERN_STEPS_MAX || search->depth == DEPTH_MAX)
        return false;
    search->depth++;
    bool matched = match_sequence(search, pattern, at, rest);
    search->depth--;
    return matched;
}

bool pattern_match(const char *pattern, struct span text)
{
    struct search search = {text.ptr, text.ptr + text.len, 0, 0};
    struct span branches = span_from_cstr(pattern), branch;
    while (next_branch(&branches, &branch)) {
        const char *last = branch.len > 0 && *branch.ptr == '^' ? text.ptr : search.end;
        for (const char *at = text.ptr; at <= last; at++) {
            if (match_here(&search, branch, at, NULL))
                return true;
        }
    }
    return false;
}
