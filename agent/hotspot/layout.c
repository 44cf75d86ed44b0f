#include "agent/hotspot/layout.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct layout layout;

/* --- HotSpot's tables --------------------------------------------------------------------------
 * Arrays whose stride and field offsets libjvm exports beside them, ended by an entry without a
 * name. */

static struct {
    bool found;
    const char *fields, *types, *ints, *longs; /* the first entries */
    uint64_t field_stride, field_type, field_name, field_kind, field_offset, field_address;
    uint64_t type_stride, type_name, type_size;
    uint64_t int_stride, int_name, int_value;
    uint64_t long_stride, long_name, long_value;
} tables;

static bool find_tables(char *error, size_t error_size)
{
    const struct {
        const char *symbol;
        uint64_t *at; /* what the symbol holds: an address or a number */
    } SYMBOLS[] = {
        {"gHotSpotVMStructs", (uint64_t *)&tables.fields},
        {"gHotSpotVMStructEntryArrayStride", &tables.field_stride},
        {"gHotSpotVMStructEntryTypeNameOffset", &tables.field_type},
        {"gHotSpotVMStructEntryFieldNameOffset", &tables.field_name},
        {"gHotSpotVMStructEntryTypeStringOffset", &tables.field_kind},
        {"gHotSpotVMStructEntryOffsetOffset", &tables.field_offset},
        {"gHotSpotVMStructEntryAddressOffset", &tables.field_address},
        {"gHotSpotVMTypes", (uint64_t *)&tables.types},
        {"gHotSpotVMTypeEntryArrayStride", &tables.type_stride},
        {"gHotSpotVMTypeEntryTypeNameOffset", &tables.type_name},
        {"gHotSpotVMTypeEntrySizeOffset", &tables.type_size},
        {"gHotSpotVMIntConstants", (uint64_t *)&tables.ints},
        {"gHotSpotVMIntConstantEntryArrayStride", &tables.int_stride},
        {"gHotSpotVMIntConstantEntryNameOffset", &tables.int_name},
        {"gHotSpotVMIntConstantEntryValueOffset", &tables.int_value},
        {"gHotSpotVMLongConstants", (uint64_t *)&tables.longs},
        {"gHotSpotVMLongConstantEntryArrayStride", &tables.long_stride},
        {"gHotSpotVMLongConstantEntryNameOffset", &tables.long_name},
        {"gHotSpotVMLongConstantEntryValueOffset", &tables.long_value},
    };
    if (tables.found)
        return true;
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof *SYMBOLS; i++) {
        const uint64_t *symbol = libjvm_symbol(SYMBOLS[i].symbol);
        if (symbol == NULL || *symbol == 0) {
            /* Only the offset of a name at the start of its entry may be zero. */
            if (symbol != NULL && strstr(SYMBOLS[i].symbol, "Offset") != NULL) {
                *SYMBOLS[i].at = 0;
                continue;
            }
            snprintf(error, error_size, "this JVM does not export %s", SYMBOLS[i].symbol);
            return false;
        }
        *SYMBOLS[i].at = *symbol;
    }
    tables.found = true;
    return true;
}

static const char *text_at(const char *entry, uint64_t offset)
{
    return *(const char *const *)(entry + offset);
}

static uint64_t number_at(const char *entry, uint64_t offset)
{
    return *(const uint64_t *)(entry + offset);
}

/* --- one name ----------------------------------------------------------------------------------
 * A name is a piece of a row of layout.def: not ended by a NUL. */

struct name {
    const char *text;
    size_t length;
};

static bool is_name(struct name name, const char *text)
{
    return text != NULL && strlen(text) == name.length && memcmp(text, name.text, name.length) == 0;
}

/* "Type field"; a type may have blanks itself, a field has none. */
static const char *find_field(struct name name)
{
    size_t at = name.length;
    while (at > 0 && name.text[at - 1] != ' ')
        at--;
    if (at == 0)
        return NULL;
    const struct name type = {name.text, at - 1}, field = {name.text + at, name.length - at};
    for (const char *entry = tables.fields; text_at(entry, tables.field_type) != NULL;
         entry += tables.field_stride) {
        if (is_name(field, text_at(entry, tables.field_name)) &&
            is_name(type, text_at(entry, tables.field_type)))
            return entry;
    }
    return NULL;
}

static const char *find_type(struct name name)
{
    for (const char *entry = tables.types; text_at(entry, tables.type_name) != NULL;
         entry += tables.type_stride) {
        if (is_name(name, text_at(entry, tables.type_name)))
            return entry;
    }
    return NULL;
}

enum row_kind { ROW_OFFSET, ROW_ADDRESS, ROW_SIZE, ROW_WIDTH, ROW_VALUE };

static bool read_value(struct name name, int64_t *out)
{
    for (const char *entry = tables.ints; text_at(entry, tables.int_name) != NULL;
         entry += tables.int_stride) {
        if (is_name(name, text_at(entry, tables.int_name))) {
            *out = *(const int32_t *)(entry + tables.int_value);
            return true;
        }
    }
    for (const char *entry = tables.longs; text_at(entry, tables.long_name) != NULL;
         entry += tables.long_stride) {
        if (is_name(name, text_at(entry, tables.long_name))) {
            *out = (int64_t)number_at(entry, tables.long_value);
            return true;
        }
    }
    return false;
}

/* An address is that of the field, not what it holds. */
static bool read_name(enum row_kind kind, struct name name, int64_t *out)
{
    const char *entry;
    switch (kind) {
    case ROW_OFFSET:
    case ROW_ADDRESS:
        entry = find_field(name);
        if (entry != NULL)
            *out = (int64_t)number_at(entry, kind == ROW_OFFSET ? tables.field_offset
                                                                : tables.field_address);
        return entry != NULL && (kind == ROW_OFFSET || *out != 0);
    case ROW_SIZE:
        entry = find_type(name);
        if (entry != NULL)
            *out = (int64_t)number_at(entry, tables.type_size);
        return entry != NULL;
    case ROW_WIDTH:
        entry = find_field(name);
        if (entry == NULL || text_at(entry, tables.field_kind) == NULL)
            return false;
        const char *type = text_at(entry, tables.field_kind);
        return read_name(ROW_SIZE, (struct name){type, strlen(type)}, out);
    case ROW_VALUE:
        return read_value(name, out);
    }
    return false;
}

/* The first of "name|older name" that this JVM has. */
static bool read_row(enum row_kind kind, const char *names, int64_t *out)
{
    for (const char *at = names;;) {
        size_t length = strcspn(at, "|");
        if (read_name(kind, (struct name){at, length}, out))
            return true;
        if (at[length] == '\0')
            return false;
        at += length + 1;
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

#define NEEDED   true
#define OPTIONAL false

static bool complain(const char *names, char *error, size_t error_size)
{
    snprintf(error, error_size, "this JVM's tables do not name %.*s", (int)strcspn(names, "|"),
             names);
    return false;
}

static bool read_rows(struct layout *out, char *error, size_t error_size)
{
    int64_t number;
#define ROW(kind, id, need, names, missing)                                                        \
    number = missing;                                                                              \
    if (!read_row(kind, names, &number) && (need))                                                 \
        return complain(names, error, error_size);                                                 \
    out->id = (__typeof__(out->id))number;
#define LAYOUT_OFFSET(id, need, names)  ROW(ROW_OFFSET, id, need, names, -1)
#define LAYOUT_ADDRESS(id, need, names) ROW(ROW_ADDRESS, id, need, names, 0)
#define LAYOUT_SIZE(id, need, names)    ROW(ROW_SIZE, id, need, names, -1)
#define LAYOUT_WIDTH(id, need, names)   ROW(ROW_WIDTH, id, need, names, -1)
#define LAYOUT_VALUE(id, need, names)   ROW(ROW_VALUE, id, need, names, -1)
#include "agent/hotspot/layout.def"
#undef LAYOUT_OFFSET
#undef LAYOUT_ADDRESS
#undef LAYOUT_SIZE
#undef LAYOUT_WIDTH
#undef LAYOUT_VALUE
#undef ROW
    return true;
}

/* Optional fields come in groups: how code is described changed twice. One that has neither shape
 * is a JVM nobody has looked at. */
static bool check_shape(const struct layout *now, char *error, size_t error_size)
{
    bool old = now->blob_code_begin >= 0 && now->nmethod_scopes_data_begin >= 0 &&
               now->nmethod_dependencies >= 0 && now->nmethod_metadata >= 0 &&
               now->nmethod_immutable < 0;
    bool new = now->blob_code_offset >= 0 && now->nmethod_scopes_data >= 0 &&
               now->nmethod_immutable >= 0 && now->blob_mutable_data >= 0 &&
               now->blob_relocation_size >= 0 && now->blob_kind >= 0 && now->kind_nmethod >= 0;
    if (old || new)
        return true;
    snprintf(error, error_size, "JDK %d describes its compiled code in a way that is not known",
             now->jdk_major);
    return false;
}

/* java.lang.Thread keeps the address of its JavaThread in a field of its own. */
static bool find_thread(struct layout *now, jvmtiEnv *jvmti, JNIEnv *env, char *error,
                        size_t error_size)
{
    jthread thread = NULL;
    uintptr_t java_thread = 0, here = (uintptr_t)&java_thread;
    if ((*jvmti)->GetCurrentThread(jvmti, &thread) == JVMTI_ERROR_NONE && thread != NULL) {
        jclass class = (*env)->FindClass(env, "java/lang/Thread");
        jfieldID field = class != NULL ? (*env)->GetFieldID(env, class, "eetop", "J") : NULL;
        if (field != NULL)
            java_thread = (uintptr_t)(*env)->GetLongField(env, thread, field);
        else
            (*env)->ExceptionClear(env);
        if (class != NULL)
            (*env)->DeleteLocalRef(env, class);
        (*env)->DeleteLocalRef(env, thread);
    }
    if (java_thread != 0) {
        uintptr_t base = *(uintptr_t *)(java_thread + (uintptr_t)now->thread_stack_base);
        uintptr_t size = *(uintptr_t *)(java_thread + (uintptr_t)now->thread_stack_size);
        now->env_offset = (intptr_t)((uintptr_t)env - java_thread);
        if (here < base && base - here < size)
            return true;
    }
    snprintf(error, error_size, "the JVM's own thread is not to be found from this Java thread");
    return false;
}

static bool read_layout(jvmtiEnv *jvmti, JNIEnv *env, char *error, size_t error_size)
{
    struct layout now = {0};
    if (layout.env_offset != 0)
        return true;
#ifndef __x86_64__
    snprintf(error, error_size, "walks stacks of x86-64 only");
    return false;
#endif
    if (!find_tables(error, error_size) || !read_rows(&now, error, error_size))
        return false;
    now.jdk_major = *(const int32_t *)now.vm_major;
    if (!check_shape(&now, error, error_size) || !find_thread(&now, jvmti, env, error, error_size))
        return false;
    layout = now;
    return true;
}

bool layout_read(jvmtiEnv *jvmti, JNIEnv *env, char *error, size_t error_size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool good = read_layout(jvmti, env, error, error_size);
    pthread_mutex_unlock(&lock);
    return good;
}

bool layout_code_cache(uintptr_t *low, uintptr_t *high)
{
    char unheard[2];
    int64_t low_at, high_at;
    if (!find_tables(unheard, sizeof unheard) ||
        !read_row(ROW_ADDRESS, "CodeCache _low_bound", &low_at) ||
        !read_row(ROW_ADDRESS, "CodeCache _high_bound", &high_at))
        return false;
    *low = *(const uintptr_t *)low_at;
    *high = *(const uintptr_t *)high_at;
    return *low < *high;
}

bool layout_has(const char *type, const char *field)
{
    char name[256], unheard[2];
    int length = snprintf(name, sizeof name, "%s %s", type, field);
    return length > 0 && (size_t)length < sizeof name && find_tables(unheard, sizeof unheard) &&
           find_field((struct name){name, (size_t)length}) != NULL;
}

void *libjvm_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (symbol != NULL)
        return symbol;
    void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL)
        return NULL;
    symbol = dlsym(library, name);
    dlclose(library); /* it stays: a JVM does not unload itself */
    return symbol;
}
