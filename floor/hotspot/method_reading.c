/* Signal context: reads the JVM's memory through load.h alone. */
#include "floor/hotspot/method_reading.h"

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"

#include <string.h>

#define MODIFIERS_WRITTEN   0x7fff /* what stands in class files; JDK 17 keeps more beside it */
#define ACC_NATIVE          0x0100
#define ACC_SYNTHETIC       0x1000
#define LINES_ESCAPE        0xff
#define LINES_LINE_BITS     3
#define UNSIGNED5_LAST      192 /* a byte below it ends a number */
#define UNSIGNED5_BITS      6
#define UNSIGNED5_BYTES_MAX 5
#define JDK_WITHOUT_ZEROS   20 /* since then no byte of such a number is zero */

uintptr_t method_reading_identity(uintptr_t method)
{
    return load_pointer(method + (uintptr_t)layout.method_const);
}

/* --- where it all lies ------------------------------------------------------------------------ */

static bool find_text(uintptr_t symbol, struct method_text *text)
{
    uint16_t length = load_u16(symbol + (uintptr_t)layout.symbol_length, 0);
    text->address = symbol + (uintptr_t)layout.symbol_body;
    text->cut = length > METHOD_TEXT_MAX;
    text->length = text->cut ? METHOD_TEXT_MAX : length;
    text->whole = length;
    return symbol != 0 && length != 0;
}

static uintptr_t pool_entry(uintptr_t pool, uint16_t index)
{
    return pool + (uintptr_t)layout.pool_size + (uintptr_t)index * WORD_BYTES;
}

static bool find_in_pool(uintptr_t pool, uint16_t index, struct method_text *text)
{
    int32_t length = (int32_t)load_u32(pool + (uintptr_t)layout.pool_length, 0);
    if (index == 0 || index >= length)
        return false;
    return find_text(load_pointer(pool_entry(pool, index)), text);
}

static void find_lines(struct method_reading *reading)
{
    uintptr_t at = reading->const_method;
    reading->lines = 0;
    reading->lines_room = 0;
    if (layout.const_flags < 0 || layout.const_has_lines <= 0)
        return;
    uint16_t flags = load_u16(at + (uintptr_t)layout.const_flags, 0);
    uint32_t words = load_u32(at + (uintptr_t)layout.const_words, 0);
    size_t before = (size_t)layout.const_size + load_u16(at + (uintptr_t)layout.const_code_size, 0);
    if ((flags & layout.const_has_lines) == 0 || words > INT32_MAX ||
        before >= (size_t)words * WORD_BYTES)
        return;
    reading->lines = at + before;
    reading->lines_room = (size_t)words * WORD_BYTES - before;
}

#define LINE_BYTES        64
#define FETCHED_LINES_MAX 4 /* of a line table */

static void fetch(uintptr_t address, int32_t offset)
{
    __builtin_prefetch((const void *)(address + (uintptr_t)offset));
}

static void fetch_symbol(uintptr_t symbol)
{
    fetch(symbol, layout.symbol_length);
    fetch(symbol, layout.symbol_body + LINE_BYTES / 2);
}

void method_reading_fetch(const uintptr_t *methods, int count)
{
    struct {
        uintptr_t at, pool, name, signature;
    } of[METHOD_FETCH_MAX];
    for (int i = 0; i < count; i++)
        fetch(methods[i], layout.method_const);
    for (int i = 0; i < count; i++) {
        of[i].at = method_reading_identity(methods[i]);
        fetch(of[i].at, layout.const_constants);
        fetch(of[i].at, layout.const_name_index);
    }
    for (int i = 0; i < count; i++) {
        uintptr_t at = of[i].at;
        of[i].pool = load_pointer(at + (uintptr_t)layout.const_constants);
        of[i].name = pool_entry(of[i].pool, load_u16(at + (uintptr_t)layout.const_name_index, 0));
        of[i].signature =
            pool_entry(of[i].pool, load_u16(at + (uintptr_t)layout.const_signature_index, 0));
        fetch(of[i].pool, layout.pool_holder);
        fetch(of[i].name, 0);
        fetch(of[i].signature, 0);
        uint32_t lines =
            (uint32_t)layout.const_size + load_u16(at + (uintptr_t)layout.const_code_size, 0);
        for (uint32_t line = 0; line < FETCHED_LINES_MAX; line++)
            fetch(at + lines, (int32_t)line * LINE_BYTES);
    }
    for (int i = 0; i < count; i++) {
        fetch(load_pointer(of[i].pool + (uintptr_t)layout.pool_holder), layout.klass_name);
        fetch_symbol(load_pointer(of[i].name));
        fetch_symbol(load_pointer(of[i].signature));
    }
    for (int i = 0; i < count; i++)
        fetch_symbol(load_pointer(load_pointer(of[i].pool + (uintptr_t)layout.pool_holder) +
                                  (uintptr_t)layout.klass_name));
}

bool method_reading_begin(uintptr_t method, struct method_reading *reading)
{
    uintptr_t at = method_reading_identity(method);
    uintptr_t pool = load_pointer(at + (uintptr_t)layout.const_constants);
    uintptr_t holder = load_pointer(pool + (uintptr_t)layout.pool_holder);
    if (at == 0 || pool == 0 || holder == 0)
        return false;
    reading->const_method = at;
    reading->holder = holder;
    reading->modifiers =
        load_u16(method + (uintptr_t)layout.method_access_flags, 0) & MODIFIERS_WRITTEN;
    find_lines(reading);
    return find_text(load_pointer(holder + (uintptr_t)layout.klass_name), &reading->class_name) &&
           find_in_pool(pool, load_u16(at + (uintptr_t)layout.const_name_index, 0),
                        &reading->name) &&
           find_in_pool(pool, load_u16(at + (uintptr_t)layout.const_signature_index, 0),
                        &reading->signature);
}

/* The indexes of optional tables stand at the end of a ConstMethod, before the pointers to
 * annotations. */
bool method_reading_generic(const struct method_reading *reading, struct method_text *text)
{
    const int64_t annotations[] = {
        layout.const_has_annotations,
        layout.const_has_parameter_annotations,
        layout.const_has_type_annotations,
        layout.const_has_default_annotations,
    };
    uintptr_t at = reading->const_method;
    *text = (struct method_text){0};
    if (layout.const_flags < 0 || layout.const_has_generic <= 0)
        return false;
    uint16_t flags = load_u16(at + (uintptr_t)layout.const_flags, 0);
    uint32_t words = load_u32(at + (uintptr_t)layout.const_words, 0);
    if ((flags & layout.const_has_generic) == 0 || words > INT32_MAX)
        return false;
    uintptr_t end = at + (uintptr_t)words * WORD_BYTES;
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++) {
        if (annotations[i] <= 0)
            return false; /* where it stands is not known */
        if ((flags & annotations[i]) != 0)
            end -= WORD_BYTES;
    }
    return find_in_pool(load_pointer(at + (uintptr_t)layout.const_constants),
                        load_u16(end - sizeof(uint16_t), 0), text);
}

/* Of those the JVM makes itself (MethodHandle.linkToStatic and the like) all have 0. */
int32_t method_reading_idnum(const struct method_reading *reading)
{
    const int32_t made = ACC_NATIVE | ACC_SYNTHETIC;
    return layout.const_idnum < 0 || (reading->modifiers & made) == made
               ? -1
               : load_u16(reading->const_method + (uintptr_t)layout.const_idnum, 0);
}

bool class_reading_begin(uintptr_t klass, struct class_reading *reading)
{
    *reading = (struct class_reading){0};
    if (klass == 0 || klass % WORD_BYTES != 0 ||
        !find_text(load_pointer(klass + (uintptr_t)layout.klass_name), &reading->name))
        return false;
    if (layout.klass_access_flags >= 0)
        reading->modifiers =
            load_u16(klass + (uintptr_t)layout.klass_access_flags, 0) & MODIFIERS_WRITTEN;
    uintptr_t pool = load_pointer(klass + (uintptr_t)layout.instance_constants);
    if (layout.instance_constants < 0 || pool == 0)
        return true;
    uint16_t generic = 0;
    if (layout.pool_generic >= 0)
        generic = load_u16(pool + (uintptr_t)layout.pool_generic, 0);
    else if (layout.instance_generic >= 0)
        generic = load_u16(klass + (uintptr_t)layout.instance_generic, 0);
    find_in_pool(pool, generic, &reading->generic);
    return true;
}

/* --- the same again? -------------------------------------------------------------------------- */

static bool hash_bytes(uintptr_t address, size_t length, uint64_t *hash)
{
    uint8_t piece[METHOD_HASH_PIECE];
    for (size_t at = 0; at < length; at += sizeof piece) {
        size_t bytes = length - at < sizeof piece ? length - at : sizeof piece;
        if (!load_bytes(address + at, piece, bytes))
            return false;
        *hash = fold_hash(piece, bytes, *hash);
    }
    return true;
}

bool method_reading_hash(const struct method_reading *reading, uint64_t *hash, uint32_t *class_hash)
{
    size_t lines_bytes =
        reading->lines_room < METHOD_LINES_MAX ? reading->lines_room : (size_t)METHOD_LINES_MAX;
    *hash = 0;
    if (!hash_bytes(reading->class_name.address, reading->class_name.length, hash))
        return false;
    *class_hash = (uint32_t)*hash;
    *hash ^= (uint64_t)reading->modifiers << 32;
    return hash_bytes(reading->name.address, reading->name.length, hash) &&
           hash_bytes(reading->signature.address, reading->signature.length, hash) &&
           hash_bytes(reading->lines, lines_bytes, hash);
}

/* --- copies ----------------------------------------------------------------------------------- */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* "pkg/Name+0x00007f01c8001000" */
static void show_hidden(char *name, size_t length)
{
    size_t at = length;
    while (at > 0 && is_hex(name[at - 1]))
        at--;
    if (at >= 3 && at < length && name[at - 1] == 'x' && name[at - 2] == '0' && name[at - 3] == '+')
        name[at - 3] = '/';
}

bool method_reading_text(const struct method_text *text, bool is_class, char *out)
{
    if (!load_bytes(text->address, out, text->length) || memchr(out, '\0', text->length) != NULL)
        return false;
    out[text->length] = '\0';
    if (text->cut)
        memcpy(out + text->length - 3, "...", 3);
    else if (is_class)
        show_hidden(out, text->length);
    return true;
}

/* A number of up to five bytes; where it ends, which may be beyond what is there. */
static size_t skip_number(const uint8_t *bytes, size_t size, size_t at)
{
    for (int i = 0; i < UNSIGNED5_BYTES_MAX; i++) {
        if (at >= size)
            return size;
        if (bytes[at++] < UNSIGNED5_LAST)
            break;
    }
    return at;
}

/* A byte with both steps; or the escape and two numbers; a zero ends the table. */
size_t method_reading_lines(const struct method_reading *reading, uint8_t *out, size_t size)
{
    size_t room = reading->lines_room < size ? reading->lines_room : size;
    if (reading->lines == 0 || !load_bytes(reading->lines, out, room))
        return 0;
    for (size_t at = 0; at < room;) {
        uint8_t step = out[at++];
        if (step == 0)
            return at;
        if (step == LINES_ESCAPE)
            at = skip_number(out, room, skip_number(out, room, at));
    }
    return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

unsigned method_lines_lowest(void)
{
    return layout.jdk_major >= JDK_WITHOUT_ZEROS;
}

static bool number(struct line_steps *steps, int64_t *out)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < UNSIGNED5_BYTES_MAX; i++) {
        if (steps->at == steps->end || *steps->at < steps->lowest)
            return false;
        uint8_t byte = *steps->at++;
        sum += (uint32_t)(byte - steps->lowest) << (UNSIGNED5_BITS * i);
        if (byte < UNSIGNED5_LAST)
            break;
    }
    *out = (int32_t)(sum >> 1 ^ -(sum & 1));
    return true;
}

bool line_step(struct line_steps *steps)
{
    int64_t bci, line;
    if (steps->at == steps->end || *steps->at == 0)
        return false;
    uint8_t byte = *steps->at++;
    if (byte != LINES_ESCAPE) {
        bci = byte >> LINES_LINE_BITS;
        line = byte & ((1 << LINES_LINE_BITS) - 1);
    } else if (!number(steps, &bci) || !number(steps, &line)) {
        return false;
    }
    steps->bci += bci;
    steps->line += line;
    return steps->bci >= 0 && steps->bci <= UINT16_MAX && steps->line >= 0 &&
           steps->line <= UINT16_MAX;
}
