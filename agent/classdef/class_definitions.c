#include "agent/classdef/class_definitions.h"

#include "agent/classdef/family_table.h"
#include "agent/sampling/sampler.h"
#include "floor/base/fold_hash.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define JSON_ROWS 20

#define UNLINKED_MAX 4096

struct counts {
    int64_t stacks_taken, stacks_lost;
    int64_t nameless; /* classes whose name could not be had; in "[other]" */
    int64_t folded;   /* families that gave their row back */
};

struct class_definitions {
    jvmtiEnv *jvmti;
    bool sizes;
    _Atomic uint64_t unlinked[UNLINKED_MAX]; /* classes that were not linked yet when they came */
    pthread_mutex_t lock;                    /* of what follows */
    bool stacks;
    struct family_table *families;
    int64_t second; /* in which stacks_now were taken */
    int64_t stacks_now;
    struct counts counts;
};

/* --- class size ------------------------------------------------------------------------------ */

/*
 * What the metadata of a class takes, read from HotSpot's own structures.
 *
 *   InstanceKlass with vtable, itable and oop maps | constant pool with its tags
 *   | each method: Method and ConstMethod (bytecodes, line numbers, exception and other tables)
 *
 * That is what the class asks of Metaspace when it is defined. Not in it: fields and annotations,
 * what linking adds (the cache of the constant pool), compiled code, the java.lang.Class object,
 * and what a loader's chunks round up to: a lone class in a loader of its own costs some 8 KB
 * whatever its size. A class from the CDS archive has the same size, but asks for nothing.
 *
 * The mirror's address is read while the garbage collector may move it. So every load is guarded
 * and the name found must be the class's own; else the size is not known.
 *
 * ClassLoad and ClassPrepare callbacks; some hundred nanoseconds a method at most.
 */

#define WORD          8
#define METHODS_MAX   65535 /* of a class file */
#define CONSTANTS_MAX 65535
#define TABLE_MAX     (1 << 24) /* entries; more is no table of a class */
#define HANDLE_TAGS   3         /* of handles that are not local */

/* Whether this JVM's tables have what is needed. After layout_read. */
static bool class_size_possible(void)
{
    return layout.mirror_klass != 0 && layout.klass_vtable_length >= 0 &&
           layout.instance_itable_length >= 0 && layout.instance_oop_map_size >= 0 &&
           layout.instance_constants >= 0 && layout.instance_methods >= 0 &&
           layout.instance_size > 0 && layout.any_array_length >= 0 &&
           layout.method_array_data >= 0 && layout.klass_name >= 0;
}

/* The name must be the signature's, but for a hidden class's '+' that is written '.' there. */
static bool is_its_name(uintptr_t klass, const char *signature)
{
    char name[256];
    uintptr_t symbol = load_pointer(klass + (uintptr_t)layout.klass_name);
    size_t length = strlen(signature);
    if (symbol == 0 || length < 3 ||
        load_u16(symbol + (uintptr_t)layout.symbol_length, 0) != length - 2)
        return false;
    size_t compared = length - 2 < sizeof name ? length - 2 : sizeof name;
    if (!load_bytes(symbol + (uintptr_t)layout.symbol_body, name, compared))
        return false;
    for (size_t i = 0; i < compared; i++) {
        if (name[i] != signature[i + 1] && !(name[i] == '+' && signature[i + 1] == '.'))
            return false;
    }
    return true;
}

/* An entry of a local handle is the object's address. */
static uintptr_t klass_of(jclass class)
{
    uintptr_t handle = (uintptr_t) class;
    if (handle == 0 || (handle & HANDLE_TAGS) != 0)
        return 0;
    int32_t offset = (int32_t)load_u32(layout.mirror_klass, 0);
    uintptr_t mirror = load_pointer(handle);
    return mirror == 0 || offset <= 0 ? 0 : load_pointer(mirror + (uintptr_t)offset);
}

static int64_t table_length(uintptr_t klass, int32_t offset)
{
    int32_t length = (int32_t)load_u32(klass + (uintptr_t)offset, UINT32_MAX);
    return length >= 0 && length <= TABLE_MAX ? length : -1;
}

static int64_t methods_bytes(uintptr_t klass)
{
    uintptr_t methods = load_pointer(klass + (uintptr_t)layout.instance_methods);
    if (methods == 0)
        return -1;
    int32_t count = (int32_t)load_u32(methods + (uintptr_t)layout.any_array_length, UINT32_MAX);
    if (count < 0 || count > METHODS_MAX)
        return -1;
    int64_t bytes = layout.method_array_data + (int64_t)count * WORD;
    for (int32_t i = 0; i < count; i++) {
        uintptr_t method = load_pointer(methods + (uintptr_t)layout.method_array_data +
                                        (uintptr_t)i * sizeof(uintptr_t));
        uintptr_t constant = load_pointer(method + (uintptr_t)layout.method_const);
        uint32_t words = load_u32(constant + (uintptr_t)layout.const_words, UINT32_MAX);
        if (words > TABLE_MAX)
            return -1;
        bytes += layout.method_size + (int64_t)words * WORD;
    }
    return bytes;
}

uintptr_t class_klass(jclass class, const char *signature)
{
    uintptr_t klass = layout.mirror_klass != 0 ? klass_of(class) : 0;
    return klass != 0 && is_its_name(klass, signature) ? klass : 0;
}

/* signature: as JVMTI gives it, "Lcom/x/Foo;". -1: not known. */
static int64_t class_size_bytes(jclass class, const char *signature)
{
    uintptr_t klass = class_klass(class, signature);
    if (klass == 0)
        return -1;
    int64_t vtable = table_length(klass, layout.klass_vtable_length);
    int64_t itable = table_length(klass, layout.instance_itable_length);
    int64_t oop_maps = table_length(klass, layout.instance_oop_map_size);
    uintptr_t pool = load_pointer(klass + (uintptr_t)layout.instance_constants);
    int64_t constants =
        pool == 0 ? -1 : (int32_t)load_u32(pool + (uintptr_t)layout.pool_length, UINT32_MAX);
    int64_t methods = methods_bytes(klass);
    if (vtable < 0 || itable < 0 || oop_maps < 0 || constants < 0 || constants > CONSTANTS_MAX ||
        methods < 0)
        return -1;
    return layout.instance_size + (vtable + itable + oop_maps) * WORD + layout.pool_size +
           constants * (WORD + 1) + methods;
}

/* --- its life --------------------------------------------------------------------------------- */

struct class_definitions *class_definitions_create(jvmtiEnv *jvmti, bool stacks, bool sizes)
{
    struct class_definitions *definitions =
        mem_map(COMPONENT_CLASS_DEFINITIONS, sizeof *definitions);
    if (definitions == NULL)
        return NULL;
    definitions->families = family_table_create();
    if (definitions->families == NULL) {
        mem_unmap(COMPONENT_CLASS_DEFINITIONS, definitions, sizeof *definitions);
        return NULL;
    }
    definitions->jvmti = jvmti;
    definitions->stacks = stacks;
    definitions->sizes = sizes && class_size_possible();
    pthread_mutex_init(&definitions->lock, NULL);
    return definitions;
}

void class_definitions_destroy(struct class_definitions *definitions)
{
    if (definitions == NULL)
        return;
    pthread_mutex_destroy(&definitions->lock);
    family_table_destroy(definitions->families);
    mem_unmap(COMPONENT_CLASS_DEFINITIONS, definitions, sizeof *definitions);
}

void class_definitions_no_stacks(struct class_definitions *definitions)
{
    pthread_mutex_lock(&definitions->lock);
    definitions->stacks = false;
    pthread_mutex_unlock(&definitions->lock);
}

/* --- callbacks -------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* HotSpot also posts ClassLoad when a loader has only found a class that another one defined: each
 * new loader so "loads" java.lang.Object. Such a class is linked, or it is one of those that came
 * by already: we remember UNLINKED_MAX, by hash and name. One that is older than we are and was
 * never linked counts when it is first found: some dozens of the JDK's own. A hidden class is
 * linked before its event, but nobody can find it later. */
static bool is_found_only(struct class_definitions *definitions, jclass class, const char *name,
                          size_t length)
{
    jvmtiEnv *jvmti = definitions->jvmti;
    jint status = 0, hash = 0;
    if (class_name_is_hidden(name))
        return false;
    if ((*jvmti)->GetClassStatus(jvmti, class, &status) == JVMTI_ERROR_NONE &&
        (status & JVMTI_CLASS_STATUS_PREPARED) != 0)
        return true;
    if ((*jvmti)->GetObjectHashCode(jvmti, class, &hash) != JVMTI_ERROR_NONE)
        return false;
    /* Of two threads that find the same class for the first time both may be right. Relaxed: the
     * value is all there is. */
    uint64_t key = fold_hash(name, length, fold_word((uint32_t)hash));
    return atomic_exchange_explicit(&definitions->unlinked[key % UNLINKED_MAX], key,
                                    memory_order_relaxed) == key;
}

/* Whether this class gives a stack; how many classes that stands for. Locked. */
static bool stack_is_due(struct class_definitions *definitions, struct family_row *row,
                         int64_t *stands_for)
{
    int64_t now = now_ms();
    if (!definitions->stacks || now < row->next_stack_ms)
        return false;
    if (now / 1000 != definitions->second) {
        definitions->second = now / 1000;
        definitions->stacks_now = 0;
    }
    if (definitions->stacks_now == CLASS_STACKS_PER_S)
        return false;
    definitions->stacks_now++;
    row->next_stack_ms = now + CLASS_STACK_EVERY_MS;
    *stands_for = row->unreported;
    row->unreported = 0;
    return true;
}

static void record_stack(struct class_definitions *definitions, struct sampler *stacks, JNIEnv *env,
                         struct jfr_class_definition *definition)
{
    struct sampler_here here;
    bool taken = sampler_here_begin(stacks, env, true, &here);
    if (taken) {
        definition->tid = here.tid;
        definition->trace_id = here.trace;
        sampler_here_end(stacks, &here,
                         jfr_encode_class_definition(definition, here.out, RECORDING_GUARD_BYTES));
    }
    pthread_mutex_lock(&definitions->lock);
    definitions->counts.stacks_taken += taken;
    definitions->counts.stacks_lost += !taken;
    pthread_mutex_unlock(&definitions->lock);
}

void class_definitions_loaded(struct class_definitions *definitions, struct sampler *stacks,
                              JNIEnv *env, jclass class)
{
    char name[CLASS_NAME_MAX] = "[no name]", family[CLASS_FAMILY_MAX];
    char *signature = NULL;
    jvmtiEnv *jvmti = definitions->jvmti;
    struct jfr_class_definition definition = {.class_name = name, .family = family, .bytes = -1};
    size_t length = 0;
    bool named = (*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) == JVMTI_ERROR_NONE;
    if (named) {
        length = class_name_readable(signature, name);
        bool found_only = is_found_only(definitions, class, name, length);
        if (definitions->sizes && !found_only)
            definition.bytes = class_size_bytes(class, signature);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
        if (found_only)
            return;
        length = class_family(name, length, family);
    }
    pthread_mutex_lock(&definitions->lock);
    struct family_row *row =
        family_table_loaded(definitions->families, named ? family : NULL, length, definition.bytes);
    definitions->counts.nameless += !named;
    bool due = stack_is_due(definitions, row, &definition.count);
    if (due)
        memcpy(family, row->name, sizeof family);
    pthread_mutex_unlock(&definitions->lock);
    if (due)
        record_stack(definitions, stacks, env, &definition);
}

void class_definitions_unloaded(struct class_definitions *definitions, const char *name)
{
    char readable[CLASS_NAME_MAX], family[CLASS_FAMILY_MAX] = "";
    size_t length = 0;
    if (name != NULL)
        length = class_family(readable, class_name_readable(name, readable), family);
    pthread_mutex_lock(&definitions->lock);
    family_table_unloaded(definitions->families, name != NULL ? family : NULL, length);
    pthread_mutex_unlock(&definitions->lock);
}

/* --- drain thread ----------------------------------------------------------------------------- */

static struct family_row copy_row(struct class_definitions *definitions, uint32_t at)
{
    pthread_mutex_lock(&definitions->lock);
    struct family_row row = *family_table_at(definitions->families, at);
    pthread_mutex_unlock(&definitions->lock);
    return row;
}

void class_definitions_end_chunk(struct class_definitions *definitions, struct jfr_writer *writer)
{
    pthread_mutex_lock(&definitions->lock);
    uint32_t count = family_table_count(definitions->families);
    pthread_mutex_unlock(&definitions->lock);
    for (uint32_t i = 0; i < count; i++) { /* rows move in _fold alone */
        struct family_row row = copy_row(definitions, i);
        if (row.changed)
            jfr_class_family(writer, row.name, row.loaded, row.unloaded, row.bytes, row.sized);
    }
    pthread_mutex_lock(&definitions->lock);
    definitions->counts.folded += family_table_fold(definitions->families);
    pthread_mutex_unlock(&definitions->lock);
}

void class_definitions_churn(struct class_definitions *definitions, struct class_churn *churn)
{
    int64_t bytes;
    *churn = (struct class_churn){0};
    pthread_mutex_lock(&definitions->lock);
    family_table_sum(definitions->families, &churn->loaded, &churn->unloaded, &bytes);
    const struct family_row *row =
        family_table_grown(definitions->families, &churn->family_loaded, &churn->family_net);
    if (row != NULL)
        memcpy(churn->family, row->name, sizeof churn->family);
    pthread_mutex_unlock(&definitions->lock);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* The rows that loaded most, most first; returns how many. Locked. */
static int largest(struct family_table *families, struct family_row *out, int max)
{
    int found = 0;
    for (uint32_t i = 0; i < family_table_count(families); i++) {
        const struct family_row *row = family_table_at(families, i);
        int at = found < max ? found++ : max;
        for (; at > 0 && out[at - 1].loaded < row->loaded; at--)
            if (at < max)
                out[at] = out[at - 1];
        if (at < max)
            out[at] = *row;
    }
    return found;
}

static void put_row(const struct family_row *row, struct json *json)
{
    json_begin(json, NULL, '{');
    json_text(json, "family", row->name);
    json_int(json, "loaded", row->loaded);
    json_int(json, "unloaded", row->unloaded);
    json_int(json, "sized", row->sized);
    json_int_if(json, "bytes", row->bytes, row->sized > 0);
    json_end(json, '}');
}

void class_definitions_json(struct class_definitions *definitions, struct json *json,
                            const char *name)
{
    struct family_row rows[JSON_ROWS];
    int64_t loaded, unloaded, bytes;
    pthread_mutex_lock(&definitions->lock);
    family_table_sum(definitions->families, &loaded, &unloaded, &bytes);
    int count = largest(definitions->families, rows, JSON_ROWS);
    struct counts counts = definitions->counts;
    bool stacks = definitions->stacks;
    uint32_t families = family_table_count(definitions->families);
    pthread_mutex_unlock(&definitions->lock);
    json_begin(json, name, '{');
    json_bool(json, "stacks", stacks);
    json_int(json, "loaded", loaded);
    json_int(json, "unloaded", unloaded);
    json_int(json, "families", families);
    json_int(json, "families_max", FAMILIES_MAX);
    json_int(json, "families_folded", counts.folded);
    json_int(json, "nameless", counts.nameless);
    json_int(json, "stacks_taken", counts.stacks_taken);
    json_int(json, "stacks_lost", counts.stacks_lost);
    json_int_if(json, "bytes", bytes, definitions->sizes);
    json_begin(json, "top", '[');
    for (int i = 0; i < count; i++)
        put_row(&rows[i], json);
    json_end(json, ']');
    json_end(json, '}');
}

bool class_unload_listen(jvmtiEnv *jvmti, jvmtiExtensionEvent callback)
{
    bool names = false;
    jint count = 0;
    jvmtiExtensionEventInfo *events = NULL;
    if ((*jvmti)->GetExtensionEvents(jvmti, &count, &events) != JVMTI_ERROR_NONE)
        return false;
    for (jint i = 0; i < count; i++) {
        if (strcmp(events[i].id, "com.sun.hotspot.events.ClassUnload") == 0) {
            jint event = events[i].extension_event_index;
            names = events[i].param_count == 2 && events[i].params[1].base_type == JVMTI_TYPE_CCHAR;
            (*jvmti)->SetExtensionEventCallback(jvmti, event, callback);
            /* JDK 25 sends it only when it is switched on as well. */
            (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, (jvmtiEvent)event, NULL);
        }
        for (jint p = 0; p < events[i].param_count; p++)
            (*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].params[p].name);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].params);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].id);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].short_description);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)events);
    return names;
}
