#include "floor/hotspot/layout.h"

#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct layout layout;

/* --- HotSpot's tables --------------------------------------------------------------------------
 * Arrays whose stride and field offsets libjvm exports beside them, ended by an entry without a
 * name. */

#define ENTRIES_MAX 8192 /* of one table: 788 in JDK 17, 585 in 25 */

static struct {
    bool found, endless;
    uint64_t fields, types, ints, longs; /* the first entries */
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
        {"gHotSpotVMStructs", &tables.fields},
        {"gHotSpotVMStructEntryArrayStride", &tables.field_stride},
        {"gHotSpotVMStructEntryTypeNameOffset", &tables.field_type},
        {"gHotSpotVMStructEntryFieldNameOffset", &tables.field_name},
        {"gHotSpotVMStructEntryTypeStringOffset", &tables.field_kind},
        {"gHotSpotVMStructEntryOffsetOffset", &tables.field_offset},
        {"gHotSpotVMStructEntryAddressOffset", &tables.field_address},
        {"gHotSpotVMTypes", &tables.types},
        {"gHotSpotVMTypeEntryArrayStride", &tables.type_stride},
        {"gHotSpotVMTypeEntryTypeNameOffset", &tables.type_name},
        {"gHotSpotVMTypeEntrySizeOffset", &tables.type_size},
        {"gHotSpotVMIntConstants", &tables.ints},
        {"gHotSpotVMIntConstantEntryArrayStride", &tables.int_stride},
        {"gHotSpotVMIntConstantEntryNameOffset", &tables.int_name},
        {"gHotSpotVMIntConstantEntryValueOffset", &tables.int_value},
        {"gHotSpotVMLongConstants", &tables.longs},
        {"gHotSpotVMLongConstantEntryArrayStride", &tables.long_stride},
        {"gHotSpotVMLongConstantEntryNameOffset", &tables.long_name},
        {"gHotSpotVMLongConstantEntryValueOffset", &tables.long_value},
    };
    if (tables.found)
        return true;
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof *SYMBOLS; i++) {
        uintptr_t symbol = libjvm_symbol(SYMBOLS[i].symbol);
        *SYMBOLS[i].at = symbol != 0 ? load_u64(symbol, 0) : 0;
        /* Only the offset of a name at the start of its entry may be zero. */
        if (symbol == 0 || (*SYMBOLS[i].at == 0 && strstr(SYMBOLS[i].symbol, "Offset") == NULL)) {
            snprintf(error, error_size, "this JVM does not export %s", SYMBOLS[i].symbol);
            return false;
        }
    }
    tables.found = true;
    return true;
}

static uintptr_t text_at(uintptr_t entry, uint64_t offset)
{
    return load_pointer(entry + offset);
}

/* Whether a table has an entry there, its count-th. A stranger's table may have no end. */
static bool is_entry(uintptr_t entry, uint64_t name, int count)
{
    tables.endless |= count == ENTRIES_MAX;
    return !tables.endless && text_at(entry, name) != 0;
}

static uint64_t number_at(uintptr_t entry, uint64_t offset)
{
    return load_u64(entry + offset, 0);
}

/* --- one name ----------------------------------------------------------------------------------
 * A name is a piece of a row of layout.def: not ended by a NUL. */

struct name {
    const char *text;
    size_t length;
};

static bool is_name(struct name name, uintptr_t text)
{
    size_t at = 0;
    while (at < name.length && load_u8(text + at, 0) == (uint8_t)name.text[at])
        at++;
    return at == name.length && load_u8(text + at, 1) == '\0';
}

static bool read_text(uintptr_t text, char *out, size_t size)
{
    for (size_t at = 0; text != 0 && at < size; at++) {
        out[at] = (char)load_u8(text + at, 0);
        if (out[at] == '\0')
            return at > 0;
    }
    return false;
}

/* "Type field"; a type may have blanks itself, a field has none. */
static uintptr_t find_field(struct name name)
{
    size_t at = name.length;
    while (at > 0 && name.text[at - 1] != ' ')
        at--;
    if (at == 0)
        return 0;
    const struct name type = {name.text, at - 1}, field = {name.text + at, name.length - at};
    int count = 0;
    for (uintptr_t entry = tables.fields; is_entry(entry, tables.field_type, count);
         entry += tables.field_stride, count++) {
        if (is_name(field, text_at(entry, tables.field_name)) &&
            is_name(type, text_at(entry, tables.field_type)))
            return entry;
    }
    return 0;
}

static uintptr_t find_type(struct name name)
{
    int count = 0;
    for (uintptr_t entry = tables.types; is_entry(entry, tables.type_name, count);
         entry += tables.type_stride, count++) {
        if (is_name(name, text_at(entry, tables.type_name)))
            return entry;
    }
    return 0;
}

enum row_kind { ROW_OFFSET, ROW_ADDRESS, ROW_SIZE, ROW_WIDTH, ROW_VALUE };

static bool read_value(struct name name, int64_t *out)
{
    int count = 0;
    for (uintptr_t entry = tables.ints; is_entry(entry, tables.int_name, count);
         entry += tables.int_stride, count++) {
        if (is_name(name, text_at(entry, tables.int_name))) {
            *out = (int32_t)load_u32(entry + tables.int_value, 0);
            return true;
        }
    }
    count = 0;
    for (uintptr_t entry = tables.longs; is_entry(entry, tables.long_name, count);
         entry += tables.long_stride, count++) {
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
    uintptr_t entry;
    switch (kind) {
    case ROW_OFFSET:
    case ROW_ADDRESS:
        entry = find_field(name);
        if (entry != 0)
            *out = (int64_t)number_at(entry, kind == ROW_OFFSET ? tables.field_offset
                                                                : tables.field_address);
        return entry != 0 && (kind == ROW_OFFSET || *out != 0);
    case ROW_SIZE:
        entry = find_type(name);
        if (entry != 0)
            *out = (int64_t)number_at(entry, tables.type_size);
        return entry != 0;
    case ROW_WIDTH:
        entry = find_field(name);
        char type[128];
        return entry != 0 && read_text(text_at(entry, tables.field_kind), type, sizeof type) &&
               read_name(ROW_SIZE, (struct name){type, strlen(type)}, out);
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
    if (tables.endless)
        snprintf(error, error_size, "the tables of this JVM do not end");
    else
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
#include "floor/hotspot/layout.def"
#undef LAYOUT_OFFSET
#undef LAYOUT_ADDRESS
#undef LAYOUT_SIZE
#undef LAYOUT_WIDTH
#undef LAYOUT_VALUE
#undef ROW
    return !tables.endless || complain("", error, error_size);
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

static bool read_slots(struct layout *out, char *error, size_t error_size)
{
    if (machine.call_wrapper_slot != 0) {
        out->call_wrapper_slot = machine.call_wrapper_slot;
        out->sender_sp_slot = machine.sender_sp_slot;
        out->last_sp_slot = machine.last_sp_slot;
    }
    return out->call_wrapper_slot != -1 && out->last_sp_slot != -1
               ? true
               : complain("frame::entry_frame_call_wrapper_offset", error, error_size);
}

bool layout_fill(struct layout *out, char *error, size_t error_size)
{
    if (!find_tables(error, error_size) || !read_rows(out, error, error_size) ||
        !read_slots(out, error, error_size))
        return false;
    out->jdk_major = (int)load_u32(out->vm_major, 0);
    return check_shape(out, error, error_size);
}

void layout_forget(void)
{
    memset(&tables, 0, sizeof tables);
    memset(&layout, 0, sizeof layout);
}

bool layout_code_cache(uintptr_t *low, uintptr_t *high)
{
    char unheard[2];
    int64_t low_at, high_at;
    if (!find_tables(unheard, sizeof unheard) ||
        !read_row(ROW_ADDRESS, "CodeCache _low_bound", &low_at) ||
        !read_row(ROW_ADDRESS, "CodeCache _high_bound", &high_at))
        return false;
    *low = load_pointer((uintptr_t)low_at);
    *high = load_pointer((uintptr_t)high_at);
    return *low < *high;
}
