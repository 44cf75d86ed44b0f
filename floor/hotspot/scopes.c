/* Signal context. */
#include "floor/hotspot/scopes.h"

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"

/* --- methods ---------------------------------------------------------------------------------- */

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

/* --- scopes ----------------------------------------------------------------------------------- */

#define INLINED_MAX      128     /* HotSpot inlines at most 100 deep, method handles included */
#define DESCRIPTIONS_MAX 4000000 /* of one method */

/* Numbers of compressed streams: a digit below 192 ends one, at most five digits. */
#define DIGITS_MAX       5
#define DIGIT_BITS       6
#define DIGITS_LAST_LOW  192
/* Since then no digit is zero, so that streams may end with one. */
#define JDK_WITHOUT_ZERO 20

static int32_t load_int(uintptr_t structure, int32_t offset)
{
    return (int32_t)load_u32(field(structure, offset), 0);
}

struct tables {
    uintptr_t descriptions, end; /* PcDesc */
    uintptr_t scopes;            /* compressed */
    uintptr_t metadata;          /* Method * and Klass * */
};

static void find_tables(uintptr_t nmethod, struct tables *tables)
{
    if (layout.nmethod_immutable >= 0) {
        uintptr_t data = load_pointer(field(nmethod, layout.nmethod_immutable));
        uint32_t relocation = load_u32(field(nmethod, layout.blob_relocation_size), 0);
        tables->descriptions = field(data, load_int(nmethod, layout.nmethod_scopes_pcs));
        tables->scopes = field(data, load_int(nmethod, layout.nmethod_scopes_data));
        tables->end = tables->scopes;
        tables->metadata = load_pointer(field(nmethod, layout.blob_mutable_data)) +
                           (relocation + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
    } else {
        tables->descriptions = field(nmethod, load_int(nmethod, layout.nmethod_scopes_pcs));
        tables->end = field(nmethod, load_int(nmethod, layout.nmethod_dependencies));
        tables->scopes = load_pointer(field(nmethod, layout.nmethod_scopes_data_begin));
        tables->metadata = field(nmethod, load_int(nmethod, layout.nmethod_metadata));
    }
}

/* The first description whose pc is not before offset; 0: there are none. The first and the last
 * PcDesc are sentinels without a scope. */
static uintptr_t find_description(const struct tables *tables, int32_t offset)
{
    uintptr_t size = (uintptr_t)layout.pc_desc_size;
    if (tables->end <= tables->descriptions)
        return 0;
    uintptr_t count = (tables->end - tables->descriptions) / size;
    if (count < 3 || count > DESCRIPTIONS_MAX)
        return 0;
    uintptr_t low = 1, high = count - 1;
    while (low < high) {
        uintptr_t middle = low + (high - low) / 2;
        if (load_int(tables->descriptions + middle * size, layout.pc_desc_pc) < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return tables->descriptions + low * size;
}

static bool describes(uintptr_t description, int32_t offset)
{
    return description != 0 && load_int(description, layout.pc_desc_pc) == offset &&
           load_int(description, layout.pc_desc_scope) > 0;
}

static int find_scope(const struct tables *tables, int32_t offset, bool *described)
{
    uintptr_t description = find_description(tables, offset);
    *described = describes(description, offset);
    if (description == 0)
        return 0;
    int scope = load_int(description, layout.pc_desc_scope);
    /* Behind the last, in stubs at the end of the code, it is zero: no scope. But an instruction
     * may have a description of its own just before that, as polls have. */
    description -= (uintptr_t)layout.pc_desc_size;
    if (scope == 0 && load_int(description, layout.pc_desc_pc) == offset - 1)
        scope = load_int(description, layout.pc_desc_scope);
    return scope;
}

bool scopes_describe(const struct code_blob *blob, uintptr_t pc)
{
    struct tables tables;
    int32_t offset = (int32_t)(pc - blob->code);
    find_tables(blob->address, &tables);
    return describes(find_description(&tables, offset), offset);
}

static uint32_t take_number(uintptr_t *at)
{
    const uint32_t least = layout.jdk_major >= JDK_WITHOUT_ZERO ? 1 : 0;
    uint32_t sum = 0;
    for (int digit = 0; digit < DIGITS_MAX; digit++) {
        uint32_t byte = load_u8((*at)++, 0);
        sum += (byte - least) << (digit * DIGIT_BITS);
        if (byte < DIGITS_LAST_LOW)
            break;
    }
    return sum;
}

int scopes_at(const struct code_blob *blob, uintptr_t pc, struct walked_frame *out, int max,
              bool *described)
{
    struct tables tables;
    int depth = 0;
    *described = false;
    if (max <= 0)
        return 0;
    if (method_is_native(blob->method)) {
        *out = (struct walked_frame){
            .method = blob->method, .bci = FRAME_BCI_NATIVE_METHOD, .type = FRAME_TYPE_NATIVE};
        return 1;
    }
    find_tables(blob->address, &tables);
    int scope = find_scope(&tables, (int32_t)(pc - blob->code), described);
    while (scope > 0 && depth < max && depth < INLINED_MAX) {
        uintptr_t at = field(tables.scopes, scope);
        int outer = (int32_t)take_number(&at);
        uint32_t index = take_number(&at);
        int32_t bci = (int32_t)take_number(&at) - 1;
        uintptr_t method =
            index > 0 ? load_pointer(tables.metadata + (uintptr_t)(index - 1) * WORD_BYTES) : 0;
        if (!method_is_plausible(method))
            break;
        /* At a method's entry the index is -1. */
        out[depth++] = (struct walked_frame){
            .method = method, .bci = bci < 0 ? 0 : bci, .type = FRAME_TYPE_INLINED};
        if (outer >= scope) /* an outer scope is written first: anything else is damage */
            outer = 0;
        scope = outer;
    }
    if (scope > 0 && depth == max)
        return depth;
    if (depth == 0 || out[depth - 1].method != blob->method) {
        /* Nothing to be read: the method itself is known all the same. */
        depth = 0;
        out[depth++] = (struct walked_frame){.method = blob->method, .type = FRAME_TYPE_COMPILED};
    }
    out[depth - 1].type = FRAME_TYPE_COMPILED;
    return depth;
}

static uintptr_t deopt_handler(uintptr_t nmethod, int32_t begin, int32_t offset)
{
    if (begin >= 0)
        return load_pointer(field(nmethod, begin));
    return offset >= 0 ? field(nmethod, load_int(nmethod, offset)) : 0;
}

bool scopes_is_deoptimiser(const struct code_blob *blob, uintptr_t pc)
{
    uintptr_t nmethod = blob->address;
    return pc == deopt_handler(nmethod, layout.nmethod_deopt_begin, layout.nmethod_deopt_offset) ||
           pc == deopt_handler(nmethod, layout.nmethod_deopt_mh_begin,
                               layout.nmethod_deopt_mh_offset);
}

uintptr_t scopes_original_pc(const struct code_blob *blob, uintptr_t pc, uintptr_t sp)
{
    if (layout.nmethod_orig_pc < 0 || !scopes_is_deoptimiser(blob, pc))
        return pc;
    return load_pointer(field(sp, load_int(blob->address, layout.nmethod_orig_pc)));
}
