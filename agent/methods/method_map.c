#include "agent/methods/method_map_layout.h"
#include "agent/calltrace/calltrace.h"

#include "agent/methods/method_facts.h"

#include <string.h>

#define BUCKETS_FIRST 256

/* --- names ------------------------------------------------------------------------------------ */

/* It is a method of its own from now on. */
static void count_in(struct method_map *map, struct entry *entry)
{
    entry->info.id = ++map->last_id;
    entry->info.unknown = entry->info.unknown || entry->info.name_id == 0;
    map->counts.methods++;
    map->counts.unknown += entry->info.unknown;
    map->counts.line_tables += entry->lines != NULL;
}

static void stand_for_shared(struct method_map *map, struct entry *entry, enum shared which)
{
    entry->stands_for = &map->shared[which];
    map->counts.unknown++;
}

static uint32_t put_text(struct dictionary *dictionary, const char *text)
{
    return dictionary_put(dictionary, text, strlen(text));
}

/* The dictionaries may have had no room for its names. */
static void count_in_or_refuse(struct method_map *map, struct entry *entry)
{
    if (entry->info.class_id != 0 && entry->info.name_id != 0) {
        count_in(map, entry);
        return;
    }
    line_table_destroy(entry->lines);
    entry->lines = NULL;
    map->counts.over_budget++;
    stand_for_shared(map, entry, SHARED_OVER_BUDGET);
}

static void learn_java(struct method_map *map, JNIEnv *env, struct entry *entry)
{
    struct method_facts facts;
    jmethodID id;
    memcpy(&id, &entry->value, sizeof id);
    if (!method_facts_ask(map->jvmti, env, id, &facts, &map->counts.jvmti_bytes)) {
        stand_for_shared(map, entry, SHARED_VANISHED);
        return;
    }
    entry->info.class_id =
        dictionary_put(map->names.classes, facts.class_name, facts.class_name_length);
    if (facts.package_length > 0)
        entry->info.package_id =
            dictionary_put(map->names.packages, facts.class_name, facts.package_length);
    entry->info.name_id = put_text(map->names.labels, facts.name);
    entry->info.signature_id = put_text(map->names.labels, facts.signature);
    entry->info.modifiers = facts.modifiers;
    entry->lines = facts.lines;
    entry->lines_chunk = (uint32_t)map->chunk;
    method_facts_end(map->jvmti, &facts, &map->counts.jvmti_bytes);
    count_in_or_refuse(map, entry);
}

/* A jmethodID is of the newest version of its method: once the class is redefined other lines are
 * its. Nothing cheap announces that, so they are asked for once a chunk. Stacks of the chunk in
 * which it happens may have the lines of the other version; engine vm knows them apart. */
static void renew_lines(struct method_map *map, JNIEnv *env, struct entry *entry)
{
    struct line_table *lines;
    jmethodID id;
    if (entry->lines == NULL || entry->lines_chunk == (uint32_t)map->chunk)
        return;
    entry->lines_chunk = (uint32_t)map->chunk;
    memcpy(&id, &entry->value, sizeof id);
    if (!method_facts_lines(map->jvmti, env, id, &lines, &map->counts.jvmti_bytes))
        return;
    line_table_destroy(entry->lines);
    entry->lines = lines;
}

static size_t package_length(const char *class_name)
{
    const char *address = strstr(class_name, "/0x"); /* of a hidden class */
    size_t length = address != NULL ? (size_t)(address - class_name) : strlen(class_name);
    const char *slash = memrchr(class_name, '/', length);
    return slash == NULL ? 0 : (size_t)(slash - class_name);
}

static void learn_seen(void *context, uint64_t number, const struct seen_method *method)
{
    struct method_map *map = context;
    size_t package = package_length(method->class_name);
    struct entry *entry = entry_add(map, number, METHOD_SEEN);
    if (entry == NULL)
        return; /* its frames will say so */
    entry->info.class_id = put_text(map->names.classes, method->class_name);
    if (package > 0)
        entry->info.package_id = dictionary_put(map->names.packages, method->class_name, package);
    entry->info.name_id = put_text(map->names.labels, method->name);
    entry->info.signature_id = put_text(map->names.labels, method->signature);
    entry->info.modifiers = method->modifiers;
    if (method->lines != NULL)
        entry->lines = line_table_decode(method->lines, method->lines_bytes, method->lines_lowest);
    count_in_or_refuse(map, entry);
}

void method_map_set_seen(struct method_map *map, struct seen_methods *seen)
{
    map->seen = seen;
}

void method_map_learn_seen(struct method_map *map)
{
    if (map->seen != NULL)
        seen_methods_collect(map->seen, learn_seen, map);
}

static struct entry *add_function(struct method_map *map, const struct native_place *place)
{
    struct native_symbol symbol;
    struct entry *function =
        entry_add(map, place->start, place->is_function ? METHOD_FUNCTION : METHOD_LIBRARY);
    if (function == NULL)
        return NULL;
    native_symbols_name(map->symbols, place, &symbol);
    bool named = symbol.function[0] != '\0';
    function->info.native_frame = true;
    function->info.unknown = !named;
    function->info.class_id = put_text(map->names.classes, symbol.library);
    function->info.name_id = put_text(map->names.labels, named ? symbol.function : "[unknown]");
    count_in(map, function);
    return function;
}

static void learn_native(struct method_map *map, struct entry *entry)
{
    struct native_place place;
    if (!native_symbols_place(map->symbols, entry->value, &place)) {
        stand_for_shared(map, entry, SHARED_NOWHERE);
        return;
    }
    struct entry *function =
        entry_find(map, place.start, place.is_function ? METHOD_FUNCTION : METHOD_LIBRARY);
    if (function == NULL)
        function = add_function(map, &place);
    if (function == NULL)
        stand_for_shared(map, entry, SHARED_NO_MEMORY);
    else
        entry->stands_for = function;
}

static void learn_error(struct method_map *map, struct entry *entry)
{
    const char *why =
        entry->value < WALK_CODE_COUNT ? walk_code_name((enum walk_code)entry->value) : "other";
    entry->info.native_frame = true;
    entry->info.class_id = put_text(map->names.classes, "[stack not walked]");
    entry->info.name_id = put_text(map->names.labels, why);
    count_in(map, entry);
}

static void name_shared(struct method_map *map)
{
    static const struct {
        const char *name;
        bool native;
    } NAMES[SHARED_COUNT] = {
        [SHARED_VANISHED] = {"[method of an unloaded class]", false},
        [SHARED_UNREADABLE] = {"[method that cannot be read]", false},
        [SHARED_OVER_BUDGET] = {"[over budget]", false},
        [SHARED_NOWHERE] = {"[code of no library]", true},
        [SHARED_NO_MEMORY] = {"[no memory for its name]", false},
    };
    for (int i = 0; i < SHARED_COUNT; i++)
        map->shared[i].info = (struct method_info){
            .id = ++map->last_id,
            .name_id = put_text(map->names.labels, NAMES[i].name),
            .native_frame = NAMES[i].native,
            .unknown = true,
        };
}

/* --- the whole -------------------------------------------------------------------------------- */

struct method_map *method_map_create(jvmtiEnv *jvmti, const struct method_names *names,
                                     bool cleanup)
{
    struct method_map *map = mem_alloc(COMPONENT_METHOD_MAP, sizeof *map);
    if (map == NULL)
        return NULL;
    map->jvmti = jvmti;
    map->names = *names;
    map->cleanup = cleanup;
    map->chunk = 1;
    map->bound = UINT32_MAX;
    map->symbols = native_symbols_create();
    entries_resize(map, BUCKETS_FIRST);
    if (map->symbols == NULL || map->buckets == NULL) {
        method_map_destroy(map);
        return NULL;
    }
    name_shared(map);
    return map;
}

void method_map_set_bound(struct method_map *map, size_t bytes)
{
    size_t entries = bytes / METHOD_MAP_ENTRY_BYTES;
    map->bound = entries < UINT32_MAX ? (uint32_t)entries : UINT32_MAX;
}

void method_map_destroy(struct method_map *map)
{
    for (uint32_t i = 0; map->buckets != NULL && i < map->bucket_count; i++) {
        struct entry *next;
        for (struct entry *entry = map->buckets[i]; entry != NULL; entry = next) {
            next = entry->next;
            entry_destroy(map, entry);
        }
    }
    if (map->symbols != NULL)
        native_symbols_destroy(map->symbols);
    mem_free(map->expected);
    mem_free(map->buckets);
    mem_free(map);
}

static enum method_kind kind_of(const struct frame *frame)
{
    return frame->bci == FRAME_BCI_PC      ? METHOD_PC
           : frame->bci == FRAME_BCI_ERROR ? METHOD_ERROR
           : frame->kind == FRAME_SEEN     ? METHOD_SEEN
                                           : METHOD_JAVA;
}

static struct entry *find_frame(const struct method_map *map, const struct frame *frame)
{
    enum method_kind kind = kind_of(frame);
    if (map->last != NULL && map->last->value == frame->value && map->last->kind == kind)
        return map->last;
    return entry_find(map, frame->value, kind);
}

static const struct method_info *ask_shared(struct method_map *map, enum shared which)
{
    map->shared[which].chunk = map->chunk;
    return &map->shared[which].info;
}

/* Seen since the last call, by a handler whose stack is there already; so its name is, too. */
static struct entry *find_just_seen(struct method_map *map, const struct frame *frame)
{
    method_map_learn_seen(map);
    return find_frame(map, frame);
}

/* NULL: no memory. */
static struct entry *learn(struct method_map *map, JNIEnv *env, const struct frame *frame)
{
    enum method_kind kind = kind_of(frame);
    if (kind == METHOD_SEEN)
        return find_just_seen(map, frame);
    if (map->bounded_count >= map->bound)
        return NULL;
    struct entry *entry = entry_add(map, frame->value, kind);
    if (entry == NULL)
        return NULL;
    if (kind == METHOD_JAVA) {
        learn_java(map, env, entry);
    } else if (kind == METHOD_PC) {
        learn_native(map, entry);
        native_symbols_rest(map->symbols);
    } else {
        learn_error(map, entry);
    }
    return entry;
}

const struct method_info *method_map_get(struct method_map *map, JNIEnv *env,
                                         const struct frame *frame)
{
    if (kind_of(frame) == METHOD_SEEN && frame->value < SEEN_FIRST)
        return ask_shared(map, frame->value == SEEN_OVER_BUDGET ? SHARED_OVER_BUDGET
                                                                : SHARED_UNREADABLE);
    struct entry *entry = find_frame(map, frame);
    if (entry == NULL)
        entry = learn(map, env, frame);
    if (entry == NULL) {
        bool full = map->bounded_count >= map->bound;
        map->counts.unknown++;
        map->counts.over_budget += full;
        return ask_shared(map, full ? SHARED_OVER_BUDGET : SHARED_NO_MEMORY);
    }
    map->last = entry;
    entry->chunk = map->chunk;
    if (entry->kind == METHOD_JAVA)
        renew_lines(map, env, entry);
    if (entry->stands_for == NULL)
        return &entry->info;
    entry->stands_for->chunk = map->chunk;
    return &entry->stands_for->info;
}

void method_map_expect_end(struct method_map *map)
{
    native_symbols_look_up(map->symbols, map->expected, map->expected_count);
    for (size_t i = 0; i < map->expected_count; i++)
        learn_native(map, entry_find(map, map->expected[i], METHOD_PC));
    native_symbols_rest(map->symbols);
    mem_free(map->expected);
    map->expected = NULL;
    map->expected_count = 0;
}

/* Without memory they are learnt one by one when they are asked for. */
void method_map_expect(struct method_map *map, const struct frame *frame)
{
    if (frame->bci != FRAME_BCI_PC || map->bounded_count >= map->bound ||
        find_frame(map, frame) != NULL)
        return;
    if (map->expected_count == NATIVE_SYMBOLS_TOGETHER)
        method_map_expect_end(map);
    if (map->expected == NULL)
        map->expected =
            mem_alloc(COMPONENT_METHOD_MAP, NATIVE_SYMBOLS_TOGETHER * sizeof *map->expected);
    if (map->expected != NULL && entry_add(map, frame->value, METHOD_PC) != NULL)
        map->expected[map->expected_count++] = frame->value;
}

int method_map_line(struct method_map *map, const struct frame *frame)
{
    if (frame->bci < 0)
        return 0;
    const struct entry *entry = find_frame(map, frame);
    return entry == NULL || entry->lines == NULL ? 0 : line_table_line(entry->lines, frame->bci);
}

/* --- age -------------------------------------------------------------------------------------- */

void method_map_mark(struct method_map *map)
{
    map->chunk++; /* so that no entry is of this chunk */
}

static void visit_entry(const struct method_map *map, const struct entry *entry,
                        method_visit_fn *visit, void *context)
{
    if (entry->chunk == map->chunk && entry->stands_for == NULL)
        visit(context, &entry->info);
}

void method_map_each_referenced(const struct method_map *map, method_visit_fn *visit, void *context)
{
    for (uint32_t i = 0; i < map->bucket_count; i++)
        for (const struct entry *entry = map->buckets[i]; entry != NULL; entry = entry->next)
            visit_entry(map, entry, visit, context);
    for (int i = 0; i < SHARED_COUNT; i++)
        visit_entry(map, &map->shared[i], visit, context);
}

static void seen_gone(void *context, uint64_t number)
{
    struct entry *entry = entry_find(context, number, METHOD_SEEN);
    if (entry != NULL)
        entry->gone = true;
}

/* A seen method ages where it is met; those who keep its frames longer ask for it in each chunk. */
static bool is_over(const struct method_map *map, const struct entry *entry)
{
    uint64_t age = map->chunk - entry->chunk;
    return entry->kind == METHOD_SEEN ? entry->gone && age > 0 : age >= METHOD_MAP_AGE_MAX;
}

/* An entry that stands for another one was asked for no later than that: no entry outlives what it
 * stands for. */
void method_map_sweep(struct method_map *map)
{
    if (!map->cleanup)
        return;
    if (map->seen != NULL)
        seen_methods_turn(map->seen, seen_gone, map);
    map->last = NULL;
    for (uint32_t i = 0; i < map->bucket_count; i++) {
        struct entry **link = &map->buckets[i];
        while (*link != NULL) {
            struct entry *entry = *link;
            if (!is_over(map, entry)) {
                link = &entry->next;
                continue;
            }
            *link = entry->next;
            map->counts.swept += entry->stands_for == NULL;
            entry_destroy(map, entry);
        }
    }
    uint32_t fitting = map->bucket_count;
    while (fitting > BUCKETS_FIRST && map->entry_count < fitting / 4)
        fitting /= 2;
    if (fitting < map->bucket_count)
        entries_resize(map, fitting);
}

void method_map_counts(const struct method_map *map, struct method_map_counts *counts)
{
    *counts = map->counts;
}
