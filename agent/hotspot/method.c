/* Signal context. */
#include "agent/hotspot/method.h"

#include "agent/hotspot/layout.h"
#include "agent/hotspot/load.h"

#define LOWEST_ADDRESS 4096
#define ACC_NATIVE     0x0100 /* of the class file format */

static bool is_pointer(uintptr_t value)
{
    return value >= LOWEST_ADDRESS && value % sizeof(void *) == 0;
}

static uintptr_t field(uintptr_t structure, int32_t offset)
{
    return structure + (uintptr_t)(intptr_t)offset;
}

bool method_is_plausible(uintptr_t method)
{
    if (!is_pointer(method))
        return false;
    uintptr_t at = load_pointer(field(method, layout.method_const));
    if (!is_pointer(at))
        return false;
    uintptr_t pool = load_pointer(field(at, layout.const_constants));
    if (!is_pointer(pool) || !is_pointer(load_pointer(field(pool, layout.pool_holder))))
        return false;
    uint16_t name = load_u16(field(at, layout.const_name_index), 0);
    return name > 0 && name < (int32_t)load_u32(field(pool, layout.pool_length), 0);
}

bool method_is_native(uintptr_t method)
{
    return (load_u16(field(method, layout.method_access_flags), 0) & ACC_NATIVE) != 0;
}

int32_t method_bci(uintptr_t method, uintptr_t bcp)
{
    uintptr_t at = load_pointer(field(method, layout.method_const));
    uintptr_t code = field(at, layout.const_size);
    uint16_t size = load_u16(field(at, layout.const_code_size), 0);
    return bcp >= code && bcp - code < size ? (int32_t)(bcp - code) : 0;
}
