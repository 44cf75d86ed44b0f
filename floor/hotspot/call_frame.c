/* Signal context. Reaches _dl_find_object. */
#include "floor/hotspot/call_frame.h"

#include "floor/hotspot/machine.h"

#include <dlfcn.h>
#include <stddef.h>

#ifdef NATIVE_UNWIND

struct frame_tables frame_tables;

/* --- tables ----------------------------------------------------------------------------------- */

/* The head of .eh_frame_hdr as linkers write it: encodings that make a sorted table of pairs. */
struct table_header {
    uint8_t version, frame_encoding, count_encoding, table_encoding;
    int32_t frame_offset;
    uint32_t count;
};
#define ENCODING_UDATA4         0x03
#define ENCODING_DATAREL_SDATA4 0x3b

/* Offsets from the head. */
struct row {
    int32_t code, description;
};
_Static_assert(sizeof(struct row) == FRAME_ROW_BYTES, "of the file");

/* What finds no room is not given back for now. */
static void note_touched(uintptr_t map_start)
{
    for (int i = 0; i < FRAME_TABLES_TOUCHED_MAX; i++) {
        uintptr_t there = atomic_load_explicit(&frame_tables.touched[i], memory_order_relaxed);
        if (there == map_start || (there == 0 && atomic_compare_exchange_strong_explicit(
                                                     &frame_tables.touched[i], &there, map_start,
                                                     memory_order_relaxed, memory_order_relaxed)))
            return;
    }
}

bool frame_table_find(uintptr_t pc, struct frame_table *table)
{
    struct dl_find_object object;
    struct table_header header;
    if (frame_tables.find_object((void *)pc, &object) != 0 || object.dlfo_eh_frame == NULL)
        return false;
    uintptr_t at = (uintptr_t)object.dlfo_eh_frame, end = (uintptr_t)object.dlfo_map_end;
    if (at > end || end - at < sizeof header)
        return false;
    __builtin_memcpy(&header, object.dlfo_eh_frame, sizeof header);
    if (header.version != 1 || header.frame_encoding != FRAME_ENCODING_PCREL_SDATA4 ||
        header.count_encoding != ENCODING_UDATA4 ||
        header.table_encoding != ENCODING_DATAREL_SDATA4)
        return false;
    note_touched((uintptr_t)object.dlfo_map_start);
    *table = (struct frame_table){
        .object_low = (uintptr_t)object.dlfo_map_start,
        .object_high = end,
        .header = at,
        .rows = at + sizeof header,
        .row_count = header.count,
    };
    return table->row_count <= (end - table->rows) / FRAME_ROW_BYTES;
}

/* Of an observed process a table may begin anywhere. */
static struct row row_at(const struct frame_table *table, uint64_t number)
{
    struct row row;
    __builtin_memcpy(&row, (const void *)(table->rows + number * sizeof row), sizeof row);
    return row;
}

/* The address of the description of the last function that begins at pc or before it. */
static bool find_description(const struct frame_table *table, uintptr_t pc, uintptr_t *address)
{
    uint64_t low = 0, high = table->row_count; /* the first that begins beyond pc */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (table->header + (uintptr_t)(intptr_t)row_at(table, middle).code <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        *address = table->header + (uintptr_t)(intptr_t)row_at(table, low - 1).description;
    return low > 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Beyond the end there are zeros, and it is noted. */
struct reader {
    const uint8_t *at, *end;
    bool beyond;
};

static void take(struct reader *reader, void *into, uint64_t bytes)
{
    if (bytes > (uint64_t)(reader->end - reader->at)) {
        reader->beyond = true;
        reader->at = reader->end;
        return;
    }
    for (uint64_t i = 0; i < bytes; i++)
        ((uint8_t *)into)[i] = reader->at[i];
    reader->at += bytes;
}

static void skip(struct reader *reader, uint64_t bytes)
{
    if (bytes > (uint64_t)(reader->end - reader->at)) {
        reader->beyond = true;
        bytes = (uint64_t)(reader->end - reader->at);
    }
    reader->at += bytes;
}

static uint8_t take_byte(struct reader *reader)
{
    uint8_t value = 0;
    take(reader, &value, 1);
    return value;
}

static uint16_t take_half(struct reader *reader)
{
    uint16_t value = 0;
    take(reader, &value, sizeof value);
    return value;
}

static uint32_t take_word(struct reader *reader)
{
    uint32_t value = 0;
    take(reader, &value, sizeof value);
    return value;
}

/* LEB128; what does not fit into 63 bits is no number we could use. */
static uint64_t take_number(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = take_byte(reader);
        if (shift > 56) {
            reader->beyond = true;
            return 0;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
}

static int64_t take_signed(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint8_t byte = take_byte(reader);
        if (shift > 56) {
            reader->beyond = true;
            return 0;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if ((byte & 0x80) == 0)
            return (byte & 0x40) != 0 ? (int64_t)(value | UINT64_MAX << shift) : (int64_t)value;
    }
}

/* The longest of LLVM has 2 388 bytes, of libjvm 1 800. One of 64 MB would be run for each place in code. */
#define RECORD_MAX (UINT32_C(1) << 16)

/* A record of .eh_frame, without its length. The format of 64-bit lengths is not used. */
static bool open_record(const struct frame_table *table, uintptr_t address, struct reader *record)
{
    if (address < table->object_low || address >= table->object_high)
        return false;
    *record = (struct reader){(const uint8_t *)address, (const uint8_t *)table->object_high, false};
    uint32_t bytes = take_word(record);
    if (record->beyond || bytes == 0 || bytes > RECORD_MAX ||
        bytes > (uint64_t)(record->end - record->at))
        return false;
    record->end = record->at + bytes;
    return true;
}

/* --- call frame instructions ------------------------------------------------------------------ */

#define STATES_MAX 4

struct program {
    uint64_t code_unit;
    int64_t data_unit;
    uintptr_t location, pc;
    struct call_frame initial, now, kept[STATES_MAX];
    int kept_count;
};

/* What would not fit is damage, and any number then. */
static int64_t in_units(const struct program *program, int64_t number)
{
    return (int64_t)((uint64_t)number * (uint64_t)program->data_unit);
}

static void set_place(struct program *program, uint64_t number, enum call_frame_where where,
                      int64_t offset)
{
    struct call_frame_place place = {where, offset};
    if (number == machine.dwarf_fp)
        program->now.bp = place;
    else if (number == machine.dwarf_return)
        program->now.return_address = place;
}

static void restore_place(struct program *program, uint64_t number)
{
    if (number == machine.dwarf_fp)
        program->now.bp = program->initial.bp;
    else if (number == machine.dwarf_return)
        program->now.return_address = program->initial.return_address;
}

/* False: what follows is for instructions beyond pc. */
static bool advance(struct program *program, uint64_t units)
{
    program->location += units * program->code_unit;
    return program->location <= program->pc;
}

/* Those that have their operand in the first byte are done. False: not known. */
static bool run_extended(struct program *program, struct reader *code, uint8_t instruction,
                         bool *more)
{
    struct call_frame *now = &program->now;
    uint64_t number;
    switch (instruction) {
    case 0x00: /* nop */
        return true;
    case 0x02: /* advance_loc1 */
        *more = advance(program, take_byte(code));
        return true;
    case 0x03: /* advance_loc2 */
        *more = advance(program, take_half(code));
        return true;
    case 0x04: /* advance_loc4 */
        *more = advance(program, take_word(code));
        return true;
    case 0x05: /* offset_extended */
        number = take_number(code);
        set_place(program, number, CALL_FRAME_SAVED, in_units(program, (int64_t)take_number(code)));
        return true;
    case 0x06: /* restore_extended */
        restore_place(program, take_number(code));
        return true;
    case 0x07: /* undefined */
        set_place(program, take_number(code), CALL_FRAME_UNDEFINED, 0);
        return true;
    case 0x08: /* same_value */
        set_place(program, take_number(code), CALL_FRAME_SAME, 0);
        return true;
    case 0x0a: /* remember_state */
        if (program->kept_count == STATES_MAX)
            return false;
        program->kept[program->kept_count++] = *now;
        return true;
    case 0x0b: /* restore_state */
        if (program->kept_count == 0)
            return false;
        *now = program->kept[--program->kept_count];
        return true;
    case 0x0c: /* def_cfa */
        now->base = take_number(code);
        now->offset = (int64_t)take_number(code);
        return true;
    case 0x0d: /* def_cfa_register */
        now->base = take_number(code);
        return true;
    case 0x0e: /* def_cfa_offset */
        now->offset = (int64_t)take_number(code);
        return true;
    case 0x0f: /* def_cfa_expression */
        now->base = CALL_FRAME_BASE_OTHER;
        skip(code, take_number(code));
        return true;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        set_place(program, take_number(code), CALL_FRAME_OTHER, 0);
        skip(code, take_number(code));
        return true;
    case 0x11: /* offset_extended_sf */
        number = take_number(code);
        set_place(program, number, CALL_FRAME_SAVED, in_units(program, take_signed(code)));
        return true;
    case 0x12: /* def_cfa_sf */
        now->base = take_number(code);
        now->offset = in_units(program, take_signed(code));
        return true;
    case 0x13: /* def_cfa_offset_sf */
        now->offset = in_units(program, take_signed(code));
        return true;
    case 0x2d: /* AARCH64_negate_ra_state: the return address is signed from here, or is not */
        return true;
    case 0x2e: /* GNU_args_size */
        take_number(code);
        return true;
    default:
        return false;
    }
}

static bool run(struct program *program, struct reader *code)
{
    bool more = true;
    while (more && code->at < code->end) {
        uint8_t first = take_byte(code), operand = first & 0x3f;
        if (first >> 6 == 1) /* advance_loc */
            more = advance(program, operand);
        else if (first >> 6 == 2) /* offset */
            set_place(program, operand, CALL_FRAME_SAVED,
                      in_units(program, (int64_t)take_number(code)));
        else if (first >> 6 == 3) /* restore */
            restore_place(program, operand);
        else if (!run_extended(program, code, first, &more))
            return false;
    }
    return !code->beyond;
}

/* --- descriptions ----------------------------------------------------------------------------- */

/* "zR", with a language's handler "zPLR". A signal's frame (S) is libunwind's. */
static bool open_common(const struct frame_table *table, uintptr_t address, struct program *program,
                        struct reader *code)
{
    uint8_t encoding = 0;
    char letters[8] = "";
    if (!open_record(table, address, code) || take_word(code) != 0 || take_byte(code) != 1)
        return false;
    for (unsigned i = 0; (letters[i] = (char)take_byte(code)) != '\0'; i++) {
        if (i == sizeof letters - 1)
            return false;
    }
    program->code_unit = take_number(code);
    program->data_unit = take_signed(code);
    if (take_byte(code) != machine.dwarf_return || letters[0] != 'z')
        return false;
    uint64_t bytes = take_number(code);
    struct reader rest = *code;
    skip(code, bytes);
    for (unsigned i = 1; letters[i] != '\0'; i++) {
        if (letters[i] == 'R') {
            encoding = take_byte(&rest);
        } else if (letters[i] == 'L') {
            take_byte(&rest);
        } else if (letters[i] == 'B') { /* signed by the other key */
            continue;
        } else if (letters[i] == 'P') { /* the address of a handler; relative ones of 4 bytes */
            if ((take_byte(&rest) & 0x0f) != (FRAME_ENCODING_PCREL_SDATA4 & 0x0f))
                return false;
            take_word(&rest);
        } else {
            return false;
        }
    }
    return !rest.beyond && !code->beyond && encoding == FRAME_ENCODING_PCREL_SDATA4;
}

bool call_frame_describe(uintptr_t pc, struct call_frame *frame)
{
    struct program program = {.pc = pc, .now = {.base = CALL_FRAME_BASE_OTHER}};
    struct frame_table table;
    struct reader description, code;
    uintptr_t address;
    if (!frame_table_find(pc, &table) || !find_description(&table, pc, &address) ||
        !open_record(&table, address, &description))
        return false;
    uintptr_t common = (uintptr_t)description.at;
    common -= take_word(&description);
    if (!open_common(&table, common, &program, &code))
        return false;
    uintptr_t here = (uintptr_t)description.at;
    uintptr_t start = here + (uintptr_t)(intptr_t)(int32_t)take_word(&description);
    uint32_t size = take_word(&description);
    if (pc < start || pc - start >= size)
        return false;
    skip(&description, take_number(&description)); /* of its handler */
    program.location = start;
    if (!run(&program, &code) || program.location != start)
        return false;
    program.initial = program.now;
    if (!run(&program, &description))
        return false;
    *frame = program.now;
    return true;
}

#endif
