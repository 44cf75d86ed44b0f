/* heap_scan: the records of a dump, window after window. */
#include "analyzers/heap/heap_internal.h"

#include <stdlib.h>
#include <string.h>

#define TOP_HEADER  9 /* tag, time, length */
#define PIECE_BYTES (UINT64_C(4) << 20)

enum top_tag {
    TOP_UTF8 = 0x01,
    TOP_LOAD_CLASS = 0x02,
    TOP_FRAME = 0x04,
    TOP_TRACE = 0x05,
    TOP_HEAP_DUMP = 0x0c,
    TOP_HEAP_DUMP_SEGMENT = 0x1c,
    TOP_HEAP_DUMP_END = 0x2c,
};
enum sub_tag {
    SUB_CLASS_DUMP = 0x20,
    SUB_INSTANCE = 0x21,
    SUB_OBJECT_ARRAY = 0x22,
    SUB_PRIMITIVE_ARRAY = 0x23,
};

/* What is left of a window, or of a record in it. */
struct part {
    const uint8_t *at;
    size_t left;
    int id_size;
};

static uint32_t be32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return __builtin_bswap32(value);
}

static uint16_t be16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static uint64_t read_id(const uint8_t *at, int id_size)
{
    uint64_t value;
    if (id_size == 4)
        return be32(at);
    memcpy(&value, at, sizeof value);
    return __builtin_bswap64(value);
}

static int type_size(uint8_t type, int id_size)
{
    static const uint8_t sizes[12] = {
        [4] = 1, [5] = 2, [6] = 4, [7] = 8, [8] = 1, [9] = 2, [10] = 4, [11] = 8};
    return type == TYPE_OBJECT ? id_size : type < sizeof sizes ? sizes[type] : 0;
}

void heap_scan_begin(struct heap_scan *scan, struct heap *heap, enum heap_pass pass)
{
    memset(scan, 0, sizeof *scan);
    scan->heap = heap;
    scan->pass = pass;
}

static void begin_piece(struct heap_scan *scan, uint64_t at);

void heap_scan_enter(struct heap_scan *scan, uint64_t at, uint64_t segment_end)
{
    scan->segment_end = segment_end;
    scan->open_segment = segment_end == UINT64_MAX;
    begin_piece(scan, at);
}

static void fail(struct heap_scan *scan, const char *sentence)
{
    if (!scan->failed)
        memcpy(scan->error, sentence, strnlen(sentence, sizeof scan->error - 1) + 1);
    scan->failed = true;
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void end_piece(struct heap_scan *scan, uint64_t at)
{
    struct heap *heap = scan->heap;
    struct heap_piece *piece = &scan->piece;
    if (scan->pass != HEAP_FIND || piece->to == 0 || at <= piece->from)
        return;
    piece->to = at;
    heap_lock(heap);
    if (!heap_room((void **)&heap->pieces, &heap->piece_capacity, heap->piece_count + 1,
                   sizeof *piece))
        fail(scan, "out of memory");
    else
        heap->pieces[heap->piece_count++] = *piece;
    heap_unlock(heap);
    piece->to = 0;
}

static void begin_piece(struct heap_scan *scan, uint64_t at)
{
    scan->piece = (struct heap_piece){
        .from = at, .to = 1, .segment_end = scan->segment_end, .least_id = UINT64_MAX};
}

/* --- objects ---------------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_nulls(uint8_t *at, uint64_t nulls)
{
    if (nulls >= 3) {
        at = put(at, 2);
        return put(at, nulls);
    }
    for (; nulls > 0; nulls--)
        *at++ = 1;
    return at;
}

static bool room_in_row(struct heap_scan *scan, size_t bytes)
{
    if (bytes <= scan->row_capacity)
        return true;
    size_t capacity = scan->row_capacity < 4096 ? 4096 : scan->row_capacity * 2;
    uint8_t *row = realloc(scan->row, capacity < bytes ? bytes : capacity);
    if (row == NULL) {
        fail(scan, "out of memory");
        return false;
    }
    scan->row = row;
    scan->row_capacity = capacity < bytes ? bytes : capacity;
    return true;
}

/* One reference; nulls that came before are written with it. 32 bytes of room. */
static uint8_t *put_reference(struct heap_scan *scan, uint8_t *at, uint64_t id, uint64_t unit,
                              bool soft, uint64_t *nulls)
{
    unsigned shift = scan->heap->ids.shift;
    uint64_t distance = (id >> shift) - unit;
    if (id == 0 || distance == 0 || (id & ((UINT64_C(1) << shift) - 1))) {
        scan->counts.dangling += id != 0 && distance != 0;
        (*nulls)++;
        return at;
    }
    if (*nulls > 0)
        at = put_nulls(at, *nulls);
    *nulls = 0;
    if (soft)
        *at++ = 3;
    uint64_t zigzag = distance << 1 ^ (0 - (distance >> 63));
    return put(at, zigzag + 3);
}

static struct heap_class *class_of(struct heap_scan *scan, uint64_t id)
{
    if (scan->last_class != NULL && scan->last_class->id == id)
        return scan->last_class;
    uint32_t class = id_table_get(&scan->heap->class_of, id);
    if (class == ID_TABLE_NONE || !(scan->heap->classes[class].traits & CLASS_LAID_OUT))
        return NULL;
    scan->last_class = &scan->heap->classes[class];
    return scan->last_class;
}

/* Common classes are met early: those have the short codes. */
static uint32_t code_of(struct heap *heap, struct heap_class *class, bool array)
{
    _Atomic uint32_t *own = array ? &class->array_code : &class->code;
    uint32_t code = atomic_load_explicit(own, memory_order_relaxed);
    if (code != 0)
        return code;
    heap_lock(heap);
    code = *own;
    if (code == 0) {
        uint32_t number = heap->code_count++;
        heap->class_of_code[number] =
            (uint32_t)(class - heap->classes) | (array ? CODE_OF_ARRAYS : 0);
        code = number + ROW_CODE_CLASS;
        *own = code;
    }
    heap_unlock(heap);
    return code;
}

/* Where the k-th of the zero bytes from at on ends. */
static uint8_t *skip_rows(uint8_t *at, uint32_t k)
{
    return (uint8_t *)(uintptr_t)heap_skip_rows(at, k);
}

static uint64_t filled_window(const struct heap *heap, uint32_t first, uint32_t count)
{
    const _Atomic uint64_t *at = &heap->filled[first / 64];
    unsigned shift = first % 64;
    uint64_t window = atomic_load_explicit(at, memory_order_relaxed) >> shift;
    if (shift != 0 && shift + count > 64)
        window |= atomic_load_explicit(at + 1, memory_order_relaxed) << (64 - shift);
    return count == 64 ? window : window & ((UINT64_C(1) << count) - 1);
}

/* Distance to the next object of the same word, in units; 0: not known. */
static uint32_t gap_after(const struct id_word *word, uint64_t unit)
{
    unsigned bit = unit & 63;
    uint64_t above = bit == 63 ? 0 : word->bits >> (bit + 1);
    return above == 0 ? 0 : (uint32_t)__builtin_ctzll(above) + 1;
}

/* Puts the row in its place among those of its word. holding: something may hang on it. */
static void place_row(struct heap_scan *scan, uint64_t unit, const uint8_t *row, size_t length,
                      bool holding)
{
    struct heap *heap = scan->heap;
    uint64_t key = unit >> REGION_UNITS_LOG2;
    if (scan->region == NULL || scan->region->key != key)
        scan->region = object_ids_region(&heap->ids, key);
    struct id_region *region = scan->region;
    if (region == NULL)
        return; /* the file has changed since it was first read */
    uint32_t w = unit >> 6 & (REGION_WORDS - 1);
    struct id_word *word = &region->words[w];
    uint32_t number = id_word_number(word, unit);
    if (number == NO_OBJECT)
        return;
    uint32_t count = (uint32_t)__builtin_popcountll(word->bits), k = number - word->first;
    uint64_t end = region->row_bytes;
    for (uint32_t next = w + 1; next < REGION_WORDS; next++) {
        if (region->words[next].bits != 0) {
            end = region->words[next].row;
            break;
        }
    }
    atomic_flag *lock = &heap->row_locks[(w ^ (uint32_t)region->key * 37) & 255];
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
        ;
    uint64_t filled = filled_window(heap, word->first, count);
    if (!(filled >> k & 1)) { /* else a second object of this identifier */
        uint8_t *rows = heap->rows + region->row_base;
        uint8_t *at = skip_rows(rows + word->row,
                                (uint32_t)__builtin_popcountll(filled & ((UINT64_C(1) << k) - 1)));
        uint8_t *tail = k == 63 || filled >> k == 0
                            ? at
                            : skip_rows(at, (uint32_t)__builtin_popcountll(filled >> k));
        if ((uint64_t)(tail - rows) + length <= end) {
            if (tail != at)
                memmove(at + length, at, (size_t)(tail - at));
            memcpy(at, row, length);
            uint64_t bit = UINT64_C(1) << (number % 64);
            atomic_fetch_or_explicit(&heap->filled[number / 64], bit, memory_order_relaxed);
            if (holding)
                atomic_fetch_or_explicit((_Atomic uint64_t *)&heap->holding[number / 64], bit,
                                         memory_order_relaxed);
        } else {
            scan->counts.damaged++;
        }
    }
    atomic_flag_clear_explicit(lock, memory_order_release);
}

static void found_object(struct heap_scan *scan, uint64_t id)
{
    if (id < scan->piece.least_id)
        scan->piece.least_id = id;
    if (id > scan->piece.most_id)
        scan->piece.most_id = id;
    switch (object_ids_add(&scan->heap->ids, id, &scan->region)) {
    case ID_NEW:
        break;
    case ID_KNOWN:
        scan->counts.duplicates++;
        break;
    case ID_MISALIGNED:
        scan->heap->ids.shift = 0; /* whoever drives the passes begins again */
        fail(scan, HEAP_AGAIN);
        break;
    case ID_SCATTERED:
        fail(scan,
             "its identifiers are scattered over the address space: no dump of a HotSpot JVM");
        break;
    case ID_NO_MEMORY:
        fail(scan, "out of memory");
        break;
    }
}

static void keep_row(struct heap_scan *scan, uint64_t id, const uint8_t *row, size_t length,
                     bool holding)
{
    if (scan->pass == HEAP_ROWS)
        place_row(scan, id >> scan->heap->ids.shift, row, length, holding);
    else if (!object_ids_add_bytes(&scan->heap->ids, id, &scan->bytes_region, length))
        fail(scan, "arrays too large to be numbered");
}

static void take_instance(struct heap_scan *scan, uint64_t id, uint64_t class_id,
                          const uint8_t *bytes, uint32_t length)
{
    struct heap *heap = scan->heap;
    struct heap_class *class = class_of(scan, class_id);
    uint8_t empty = 0;
    if (scan->pass == HEAP_FIND) {
        scan->counts.instances++;
        if (class == NULL)
            scan->late_classes = true;
    }
    if (class == NULL || class->instance_bytes > length) {
        if (scan->pass == HEAP_ROWS)
            *(class == NULL ? &scan->counts.classless : &scan->counts.damaged) += 1;
        keep_row(scan, id, &empty, 1, false);
        return;
    }
    const struct heap_ref_field *ref = &heap->refs[class->first_ref];
    uint64_t nulls = 0, unit = id >> heap->ids.shift;
    if (!room_in_row(scan, 64 + (size_t) class->ref_count * 32))
        return;
    uint8_t *at = put(scan->row, code_of(heap, class, false)), *before = at;
    for (uint32_t i = 0; i < class->ref_count; i++, ref++) {
        if (ref->holds == HOLDS_NOT)
            nulls++;
        else
            at = put_reference(scan, at, read_id(bytes + ref->offset, heap->id_size), unit,
                               ref->holds == HOLDS_SOFTLY, &nulls);
    }
    bool holding = at != before || class->loader_id != 0 || (class->traits & CLASS_LOADER);
    *at++ = 0;
    if (scan->pass == HEAP_ROWS) {
        struct id_word *word = object_ids_word(&heap->ids, unit);
        uint32_t gap = word == NULL ? 0 : gap_after(word, unit);
        if (gap != 0 && gap < class->gap)
            class->gap = gap;
    }
    keep_row(scan, id, scan->row, (size_t)(at - scan->row), holding);
}

/* A row is written straight from the elements; its buffer grows with what is in them. */
static void take_object_array(struct heap_scan *scan, uint64_t id, uint64_t class_id,
                              const uint8_t *bytes, uint32_t length)
{
    struct heap *heap = scan->heap;
    struct heap_class *class = class_of(scan, class_id);
    uint8_t empty = 0;
    if (scan->pass == HEAP_FIND) {
        scan->counts.object_arrays++;
        if (class == NULL)
            scan->late_classes = true;
    }
    if (class == NULL) {
        scan->counts.classless += scan->pass == HEAP_ROWS;
        keep_row(scan, id, &empty, 1, false);
        return;
    }
    uint64_t nulls = 0, unit = id >> heap->ids.shift;
    if (!room_in_row(scan, 64))
        return;
    uint8_t *at = put(scan->row, code_of(heap, class, true));
    at = put(at, (uint64_t)length + 1);
    size_t used = (size_t)(at - scan->row), before = used;
    for (uint32_t i = 0; i < length; i++) {
        if (!room_in_row(scan, used + 40))
            return;
        at = put_reference(scan, scan->row + used,
                           read_id(bytes + (size_t)i * (size_t)heap->id_size, heap->id_size), unit,
                           false, &nulls);
        used = (size_t)(at - scan->row);
    }
    bool holding = used != before || class->loader_id != 0;
    scan->row[used++] = 0;
    if (scan->pass == HEAP_ROWS) {
        struct id_word *word = object_ids_word(&heap->ids, unit);
        uint32_t gap = word == NULL ? 0 : gap_after(word, unit);
        for (uint32_t i = 0; gap != 0 && i < 8; i++) {
            int64_t own = heap_array_bytes(HEAP_ARRAY_BASES[i / 2], i % 2 ? 8 : 4, length);
            scan->oop_hits[i] += own == (int64_t)gap << heap->ids.shift;
            scan->oop_misses[i] += own > (int64_t)gap << heap->ids.shift;
        }
    }
    keep_row(scan, id, scan->row, used, holding);
}

static void take_primitive_array(struct heap_scan *scan, uint64_t id, uint8_t type, uint32_t length)
{
    struct heap *heap = scan->heap;
    uint8_t row[16], *at = put(row, (uint64_t)type - 3);
    at = put(at, (uint64_t)length + 1);
    *at++ = 0;
    scan->counts.primitive_arrays += scan->pass == HEAP_FIND;
    if (scan->pass == HEAP_ROWS) {
        uint64_t unit = id >> heap->ids.shift;
        struct id_word *word = object_ids_word(&heap->ids, unit);
        uint32_t gap = word == NULL ? 0 : gap_after(word, unit);
        for (int i = 0; gap != 0 && type_size(type, 8) < 8 && i < 4; i++) {
            int64_t bytes = heap_array_bytes(HEAP_ARRAY_BASES[i], type_size(type, 8), length);
            scan->base_hits[i] += bytes == (int64_t)gap << heap->ids.shift;
            scan->base_misses[i] += bytes > (int64_t)gap << heap->ids.shift;
        }
    }
    keep_row(scan, id, row, (size_t)(at - row), false);
}

/* --- classes and roots ------------------------------------------------------------------------ */

static struct heap_class *make_class(struct heap_scan *scan, uint64_t id)
{
    struct heap *heap = scan->heap;
    uint32_t number = id_table_get(&heap->class_of, id);
    if (number != ID_TABLE_NONE)
        return &heap->classes[number];
    if (!heap_room((void **)&heap->classes, &heap->class_capacity, heap->class_count + 1,
                   sizeof *heap->classes) ||
        !id_table_put(&heap->class_of, id, heap->class_count)) {
        fail(scan, "out of memory");
        return NULL;
    }
    struct heap_class *class = &heap->classes[heap->class_count++];
    memset(class, 0, sizeof *class);
    class->id = id;
    class->super = NO_CLASS;
    class->gap = UINT32_MAX;
    scan->last_class = NULL; /* they may have moved */
    return class;
}

static bool take(struct part *part, size_t bytes, const uint8_t **at)
{
    if (part->left < bytes)
        return false;
    *at = part->at;
    part->at += bytes;
    part->left -= bytes;
    return true;
}

/* How long a CLASS_DUMP is; 0: longer than what there is; SIZE_MAX: it cannot be told. */
static size_t class_dump_length(struct part part)
{
    const uint8_t *start = part.at, *at;
    size_t id = (size_t)part.id_size;
    if (!take(&part, 7 * id + 8 + 2, &at))
        return 0;
    for (uint16_t n = be16(at + 7 * id + 8); n > 0; n--) {
        if (!take(&part, 3, &at))
            return 0;
        int size = type_size(at[2], part.id_size);
        if (size == 0)
            return SIZE_MAX;
        if (!take(&part, (size_t)size, &at))
            return 0;
    }
    if (!take(&part, 2, &at))
        return 0;
    for (uint16_t n = be16(at); n > 0; n--) {
        if (!take(&part, id + 1, &at))
            return 0;
        int size = type_size(at[id], part.id_size);
        if (size == 0)
            return SIZE_MAX;
        if (!take(&part, (size_t)size, &at))
            return 0;
    }
    if (!take(&part, 2, &at))
        return 0;
    for (uint16_t n = be16(at); n > 0; n--) {
        if (!take(&part, id + 1, &at))
            return 0;
        if (type_size(at[id], part.id_size) == 0)
            return SIZE_MAX;
    }
    return (size_t)(part.at - start);
}

/* The record is there as a whole. */
static void take_class_dump(struct heap_scan *scan, const uint8_t *at)
{
    struct heap *heap = scan->heap;
    int size = heap->id_size;
    size_t id = (size_t)size;
    if (scan->objects_seen) {
        scan->late_classes = true;
        if (heap->threads_scan)
            return; /* read again alone */
    }
    struct heap_class *class = make_class(scan, read_id(at, size));
    if (class == NULL || class->traits & CLASS_DUMPED)
        return;
    scan->counts.classes++;
    class->traits |= CLASS_DUMPED;
    class->super_id = read_id(at + id + 4, size);
    class->loader_id = read_id(at + 2 * id + 4, size);
    class->signers_id = read_id(at + 3 * id + 4, size);
    class->domain_id = read_id(at + 4 * id + 4, size);
    at += 7 * id + 8;
    uint16_t n = be16(at);
    for (at += 2; n > 0; n--)
        at += 3 + type_size(at[2], size);
    n = be16(at);
    at += 2;
    if (!heap_room((void **)&heap->statics, &heap->static_capacity, heap->static_count + n,
                   sizeof *heap->statics)) {
        fail(scan, "out of memory");
        return;
    }
    class->first_static = heap->static_count;
    for (; n > 0; n--) {
        if (at[id] == TYPE_OBJECT)
            heap->statics[heap->static_count++] =
                (struct heap_static){read_id(at, size), read_id(at + id + 1, size)};
        at += id + 1 + (size_t)type_size(at[id], size);
    }
    class->static_count = heap->static_count - class->first_static;
    n = be16(at);
    at += 2;
    if (!heap_room((void **)&heap->fields, &heap->field_capacity, heap->field_count + n,
                   sizeof *heap->fields)) {
        fail(scan, "out of memory");
        return;
    }
    class->first_field = heap->field_count;
    class->field_count = n;
    for (; n > 0; n--, at += id + 1) {
        heap->fields[heap->field_count++] = (struct heap_field){read_id(at, size), at[id]};
        class->own_bytes += (uint32_t)type_size(at[id], size);
    }
}

static void take_root(struct heap_scan *scan, enum root_kind kind, const uint8_t *at)
{
    struct heap *heap = scan->heap;
    size_t id = (size_t)heap->id_size;
    if (scan->pass != HEAP_FIND)
        return;
    struct heap_root root = {
        .id = read_id(at, heap->id_size), .kind = (uint8_t)kind, .frame = UINT32_MAX};
    if (kind == ROOT_THREAD || kind == ROOT_JNI_LOCAL || kind == ROOT_JAVA_FRAME ||
        kind == ROOT_NATIVE_STACK || kind == ROOT_THREAD_BLOCK)
        root.thread = be32(at + id);
    if (kind == ROOT_THREAD || kind == ROOT_JAVA_FRAME) /* the thread's trace serial: */
        root.frame = be32(at + id + 4);
    heap_lock(heap);
    if (heap_room((void **)&heap->roots, &heap->root_capacity, heap->root_count + 1, sizeof root))
        heap->roots[heap->root_count++] = root;
    else
        fail(scan, "out of memory");
    heap_unlock(heap);
}

/* Bytes of a root's record after its tag; 0: the tag is none of a root. */
static size_t root_length(int tag, size_t id, enum root_kind *kind)
{
    switch (tag) {
#define ROOT(name, tag_of, text, words)                                                            \
    case tag_of:                                                                                   \
        *kind = ROOT_##name;                                                                       \
        break;
#include "analyzers/heap/roots.def"
#undef ROOT
    default:
        return 0;
    }
    switch (*kind) {
    case ROOT_JNI_GLOBAL:
        return 2 * id;
    case ROOT_JNI_LOCAL:
    case ROOT_JAVA_FRAME:
    case ROOT_THREAD:
        return id + 8;
    case ROOT_NATIVE_STACK:
    case ROOT_THREAD_BLOCK:
        return id + 4;
    default:
        return id;
    }
}

/* --- records of the heap ---------------------------------------------------------------------- */

/* Bytes of the record at part, its tag included; 0: more are needed to tell (or to take it);
 * whole: it may be longer than the window. SIZE_MAX: no such record. */
static uint64_t sub_record(struct heap_scan *scan, struct part part)
{
    struct heap *heap = scan->heap;
    size_t id = (size_t)part.id_size;
    const uint8_t *at = part.at + 1;
    enum root_kind kind;
    size_t left = part.left - 1;
    if (part.left == 0)
        return 0;
    switch (part.at[0]) {
    case SUB_INSTANCE: {
        if (left < 2 * id + 8)
            return 0;
        uint32_t length = be32(at + 2 * id + 4);
        uint64_t whole = 2 * id + 8 + (uint64_t)length;
        if (left < whole)
            return 0;
        return whole + 1;
    }
    case SUB_OBJECT_ARRAY: {
        if (left < 2 * id + 8)
            return 0;
        uint64_t whole = 2 * id + 8 + (uint64_t)be32(at + id + 4) * id;
        if (left < whole)
            return 0;
        return whole + 1;
    }
    case SUB_PRIMITIVE_ARRAY: {
        if (left < id + 9)
            return 0;
        int size = type_size(at[id + 8], 0);
        if (size == 0)
            return SIZE_MAX;
        return 1 + id + 9 + (uint64_t)be32(at + id + 4) * (uint64_t)size;
    }
    case SUB_CLASS_DUMP: {
        size_t length = class_dump_length((struct part){at, left, part.id_size});
        return length == 0 || length == SIZE_MAX ? length : length + 1;
    }
    default: {
        size_t length = root_length(part.at[0], id, &kind);
        if (length == 0)
            return SIZE_MAX;
        (void)heap;
        return left < length ? 0 : length + 1;
    }
    }
}

static void first_object(struct heap_scan *scan)
{
    if (scan->objects_seen)
        return;
    scan->objects_seen = true;
    if (scan->pass == HEAP_FIND && !heap_lay_out(scan->heap))
        fail(scan, scan->heap->error);
}

static void fetch(struct heap_scan *scan, uint64_t id, uint64_t class_id, uint8_t type,
                  const uint8_t *bytes, uint64_t length, size_t there)
{
    if (id_table_get(scan->wanted, id) != ID_TABLE_NONE)
        scan->fetched(scan->context, id, class_id, type, bytes,
                      length < there ? (size_t)length : there, length);
}

/* The record is there; of an array of primitives its front at least. */
static void take_sub_record(struct heap_scan *scan, struct part part)
{
    struct heap *heap = scan->heap;
    int size = heap->id_size;
    size_t id = (size_t)size;
    const uint8_t *at = part.at + 1;
    enum root_kind kind;
    uint64_t object = read_id(at, size);
    bool find = scan->pass == HEAP_FIND;
    switch (part.at[0]) {
    case SUB_INSTANCE:
    case SUB_OBJECT_ARRAY:
    case SUB_PRIMITIVE_ARRAY:
        if (object == 0) {
            scan->counts.damaged += find;
            return;
        }
        if (scan->pass == HEAP_CLASSES)
            return;
        if (scan->pass != HEAP_FETCH) {
            if (find) {
                first_object(scan);
                found_object(scan, object);
            }
            if (scan->failed)
                return;
        }
        break;
    case SUB_CLASS_DUMP:
        if (find || scan->pass == HEAP_CLASSES)
            take_class_dump(scan, at);
        return;
    default:
        if (root_length(part.at[0], id, &kind) > 0)
            take_root(scan, kind, at);
        return;
    }
    if (part.at[0] == SUB_INSTANCE) {
        uint64_t class_id = read_id(at + id + 4, size);
        uint32_t length = be32(at + 2 * id + 4);
        if (scan->pass == HEAP_FETCH)
            fetch(scan, object, class_id, 0, at + 2 * id + 8, length, length);
        else
            take_instance(scan, object, class_id, at + 2 * id + 8, length);
    } else if (part.at[0] == SUB_OBJECT_ARRAY) {
        if (scan->pass != HEAP_FETCH)
            take_object_array(scan, object, read_id(at + id + 8, size), at + 2 * id + 8,
                              be32(at + id + 4));
    } else {
        uint32_t length = be32(at + id + 4);
        if (scan->pass == HEAP_FETCH)
            fetch(scan, object, 0, at[id + 8], at + id + 9,
                  (uint64_t)length * (uint64_t)type_size(at[id + 8], 0), part.left - id - 10);
        else
            take_primitive_array(scan, object, at[id + 8], length);
    }
}

/* --- records of the dump ---------------------------------------------------------------------- */

static void take_name(struct heap_scan *scan, const uint8_t *at, uint32_t length)
{
    struct heap *heap = scan->heap;
    uint32_t id = (uint32_t)heap->id_size;
    if (length < id)
        return;
    if (!heap_keep_name(heap, read_id(at, heap->id_size), at + id, length - id))
        fail(scan, "out of memory");
}

static void take_load_class(struct heap_scan *scan, const uint8_t *at, uint32_t length)
{
    struct heap *heap = scan->heap;
    size_t id = (size_t)heap->id_size;
    if (length < 2 * id + 8)
        return;
    struct heap_class *class = make_class(scan, read_id(at + 4, heap->id_size));
    if (class == NULL)
        return;
    class->serial = be32(at);
    class->name_id = read_id(at + id + 8, heap->id_size);
    if (!id_table_put(&heap->class_of_serial, class->serial, (uint32_t)(class - heap->classes)))
        fail(scan, "out of memory");
}

static void take_frame(struct heap_scan *scan, const uint8_t *at, uint32_t length)
{
    struct heap *heap = scan->heap;
    size_t id = (size_t)heap->id_size;
    if (length < 4 * id + 8)
        return;
    struct heap_frame frame = {read_id(at, heap->id_size), read_id(at + id, heap->id_size),
                               be32(at + 4 * id)};
    if (heap_room((void **)&heap->frames, &heap->frame_capacity, heap->frame_count + 1,
                  sizeof frame))
        heap->frames[heap->frame_count++] = frame;
    else
        fail(scan, "out of memory");
}

static void take_trace(struct heap_scan *scan, const uint8_t *at, uint32_t length)
{
    struct heap *heap = scan->heap;
    size_t id = (size_t)heap->id_size;
    if (length < 12)
        return;
    uint32_t count = be32(at + 8);
    if (count > (length - 12) / id)
        count = (uint32_t)((length - 12) / id);
    if (!heap_room((void **)&heap->traces, &heap->trace_capacity, heap->trace_count + 1,
                   sizeof *heap->traces) ||
        !heap_room((void **)&heap->trace_frames, &heap->trace_frame_capacity,
                   (uint64_t)heap->trace_frame_count + count, sizeof *heap->trace_frames)) {
        fail(scan, "out of memory");
        return;
    }
    heap->traces[heap->trace_count++] =
        (struct heap_trace){be32(at), heap->trace_frame_count, count};
    for (uint32_t i = 0; i < count; i++)
        heap->trace_frames[heap->trace_frame_count++] = read_id(at + 12 + i * id, heap->id_size);
}

static bool top_tag_known(uint8_t tag)
{
    return (tag >= 0x01 && tag <= 0x0e) || tag == TOP_HEAP_DUMP_SEGMENT || tag == TOP_HEAP_DUMP_END;
}

/* A record between segments. Returns where the next begins; `from`: more is needed. */
static uint64_t take_top_record(struct heap_scan *scan, const uint8_t *bytes, uint64_t from,
                                size_t left)
{
    if (left < TOP_HEADER)
        return from;
    uint8_t tag = bytes[0];
    uint32_t length = be32(bytes + 5);
    const uint8_t *at = bytes + TOP_HEADER;
    if (tag == TOP_HEAP_DUMP || tag == TOP_HEAP_DUMP_SEGMENT) {
        /* A JVM that could not finish leaves 0 as the length of the last one. */
        if (length == 0 && left < TOP_HEADER + 1 && from + left < scan->heap->file_bytes)
            return from;
        scan->open_segment = length == 0 && left > TOP_HEADER && at[0] != TOP_HEAP_DUMP_SEGMENT &&
                             at[0] != TOP_HEAP_DUMP_END;
        scan->segment_end = scan->open_segment ? UINT64_MAX : from + TOP_HEADER + length;
        if (length > 0 || scan->open_segment)
            begin_piece(scan, from + TOP_HEADER);
        else
            scan->segment_end = 0;
        return from + TOP_HEADER;
    }
    if (!top_tag_known(tag)) {
        scan->counts.unknown_tags += scan->pass == HEAP_FIND;
        if (tag > 0x40 || tag == 0) { /* no record: what follows cannot be read either */
            scan->truncated = true;
            return UINT64_MAX;
        }
    }
    bool wanted = scan->pass == HEAP_FIND && (tag == TOP_UTF8 || tag == TOP_LOAD_CLASS ||
                                              tag == TOP_FRAME || tag == TOP_TRACE);
    if (wanted) {
        if (left < TOP_HEADER + (size_t)length)
            return from;
        if (tag == TOP_UTF8)
            take_name(scan, at, length);
        else if (tag == TOP_LOAD_CLASS)
            take_load_class(scan, at, length);
        else if (tag == TOP_FRAME)
            take_frame(scan, at, length);
        else
            take_trace(scan, at, length);
    }
    return from + TOP_HEADER + length;
}

#define NAME_BYTES 65536 /* of an array that is fetched */

uint64_t heap_scan_window(struct heap_scan *scan, const uint8_t *bytes, uint64_t from,
                          size_t length, bool last)
{
    struct heap *heap = scan->heap;
    uint64_t at = from, end = from + length;
    while (at < end && !scan->failed && !scan->stopped) {
        size_t left = (size_t)(end - at);
        if (scan->segment_end == 0) {
            if (scan->stop_after_classes && scan->objects_seen &&
                (bytes[at - from] == TOP_HEAP_DUMP_SEGMENT)) {
                scan->stopped = true;
                break;
            }
            uint64_t next = take_top_record(scan, bytes + (at - from), at, left);
            if (next == at && !last)
                return at;
            if (next == at || next == UINT64_MAX || next > heap->file_bytes)
                scan->truncated = true;
            if (next == at || next == UINT64_MAX)
                return UINT64_MAX;
            at = next;
            continue;
        }
        if (at >= scan->segment_end) {
            end_piece(scan, scan->segment_end);
            scan->segment_end = 0;
            continue;
        }
        bool segment_here = scan->segment_end <= end;
        if (segment_here)
            left = (size_t)(scan->segment_end - at);
        struct part part = {bytes + (at - from), left, heap->id_size};
        uint64_t taken = sub_record(scan, part);
        if (taken != 0 && taken != SIZE_MAX && scan->pass == HEAP_FETCH && taken > left &&
            left < NAME_BYTES && !last && !segment_here)
            return at;
        if (taken == 0 && !segment_here && !last)
            return at;
        if (taken == SIZE_MAX && scan->open_segment &&
            (part.at[0] == TOP_HEAP_DUMP_END || part.at[0] == TOP_HEAP_DUMP_SEGMENT)) {
            end_piece(scan, at);
            scan->segment_end = 0;
            scan->open_segment = false;
            continue;
        }
        bool beyond = taken != SIZE_MAX && taken > scan->segment_end - at;
        if (taken == 0 || taken == SIZE_MAX || beyond) {
            bool cut = last && !segment_here;
            if (taken == 0 && cut) {
                scan->truncated = true;
            } else if (taken == SIZE_MAX) {
                scan->counts.unknown_tags += scan->pass == HEAP_FIND;
            } else {
                scan->counts.damaged += scan->pass == HEAP_FIND;
            }
            end_piece(scan, at);
            at = scan->segment_end;
            scan->segment_end = 0;
            if (scan->open_segment || at > heap->file_bytes) {
                scan->truncated = true;
                return UINT64_MAX;
            }
            continue;
        }
        if (at + taken > heap->file_bytes) { /* an array whose end is not there */
            scan->truncated = true;
            end_piece(scan, at);
            return UINT64_MAX;
        }
        take_sub_record(scan, part);
        at += taken;
        if (scan->pass == HEAP_FIND && at - scan->piece.from >= PIECE_BYTES) {
            end_piece(scan, at);
            begin_piece(scan, at);
        }
    }
    return at;
}

void heap_scan_leave(struct heap_scan *scan)
{
    uint64_t file_bytes = scan->heap->file_bytes;
    if (scan->segment_end != 0 && scan->piece.to != 0)
        end_piece(scan, scan->segment_end < file_bytes ? scan->segment_end : file_bytes);
    scan->segment_end = 0;
    scan->piece.to = 0;
}

bool heap_scan_end(struct heap_scan *scan)
{
    struct heap *heap = scan->heap;
    heap_scan_leave(scan);
    int64_t *sum = &heap->counts.instances;
    const int64_t *own = &scan->counts.instances;
    for (size_t i = 0; i < sizeof heap->counts / sizeof *sum; i++)
        sum[i] += own[i];
    for (int i = 0; i < 4; i++) {
        heap->base_hits[i] += scan->base_hits[i];
        heap->base_misses[i] += scan->base_misses[i];
    }
    for (int i = 0; i < 8; i++) {
        heap->oop_hits[i] += scan->oop_hits[i];
        heap->oop_misses[i] += scan->oop_misses[i];
    }
    heap->truncated = heap->truncated || scan->truncated;
    heap->late_classes = heap->late_classes || scan->late_classes;
    if (scan->failed && !heap->failed) {
        heap->failed = true;
        memcpy(heap->error, scan->error, sizeof heap->error);
    }
    free(scan->row);
    scan->row = NULL;
    return !heap->failed;
}
