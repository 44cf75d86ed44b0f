#include "agent/classdef/class_size.h"

#include "agent/hotspot/layout.h"
#include "agent/hotspot/load.h"

#include <string.h>

#define WORD          8
#define METHODS_MAX   65535 /* of a class file */
#define CONSTANTS_MAX 65535
#define TABLE_MAX     (1 << 24) /* entries; more is no table of a class */
#define HANDLE_TAGS   3         /* of handles that are not local */

bool class_size_possible(void)
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

int64_t class_size_bytes(jclass class, const char *signature)
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
