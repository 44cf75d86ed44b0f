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

static void no_memory(struct heap_scan *scan)
{
    fail(scan, "out of memory");
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
    if (!HEAP_ADD(heap, pieces, piece, piece))
        no_memory(scan);
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

/* Where the row under way is written. NULL: no memory. */
static uint8_t *room_in_row(struct heap_scan *scan, size_t bytes)
{
    struct heap_word_rows *word = &scan->word;
    size_t wanted = word->length + bytes;
    if (wanted > word->capacity) {
        size_t capacity = word->capacity < 4096 ? 4096 : word->capacity * 2;
        uint8_t *rows = realloc(word->rows, (capacity < wanted ? wanted : capacity) + 8);
        if (rows == NULL) {
            no_memory(scan);
            return NULL;
        }
        word->rows = rows;
        word->capacity = capacity < wanted ? wanted : capacity;
    }
    return word->rows + word->length;
}

/* A row being written: nulls that came before a reference are written with it. */
struct row_end {
    uint8_t *at;        /* 32 bytes of room for each reference */
    uint64_t own, last; /* units: of the object, of the reference before */
    uint64_t nulls;
};

static void put_reference(struct heap_scan *scan, struct row_end *row, uint64_t id, bool soft)
{
    unsigned shift = scan->heap->ids.shift;
    uint64_t unit = id >> shift;
    if (id == 0 || unit == row->own || (id & ((UINT64_C(1) << shift) - 1))) {
        scan->counts.dangling += id != 0 && unit != row->own;
        row->nulls++;
        return;
    }
    if (row->nulls > 0)
        row->at = put_nulls(row->at, row->nulls);
    row->nulls = 0;
    if (soft)
        *row->at++ = 3;
    uint64_t distance = unit - row->last;
    row->at = put(row->at, (distance << 1 ^ (0 - (distance >> 63))) + 4);
    row->last = unit;
}

static struct dumped_class *class_of(struct heap_scan *scan, uint64_t id)
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
static uint32_t code_of(struct heap *heap, struct dumped_class *class, bool array)
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
        code = number + 1;
        *own = code;
    }
    heap_unlock(heap);
    return code;
}

static struct id_word *word_at(struct heap_scan *scan, uint64_t unit)
{
    uint64_t key = unit >> REGION_UNITS_LOG2;
    if (scan->region == NULL || scan->region->key != key)
        scan->region = object_ids_region(&scan->heap->ids, key);
    return scan->region == NULL ? NULL : &scan->region->words[unit >> 6 & (REGION_WORDS - 1)];
}

/* Distance to the next object, in units; 0: it is not near. */
static uint32_t gap_after(struct heap_scan *scan, uint64_t unit)
{
    const struct id_word *word = word_at(scan, unit);
    if (word == NULL)
        return 0;
    unsigned bit = unit & 63;
    uint64_t above = bit == 63 ? 0 : word->bits >> (bit + 1);
    if (above != 0)
        return (uint32_t)__builtin_ctzll(above) + 1;
    const struct id_word *end = scan->region->words + REGION_WORDS;
    for (uint32_t i = 1; i <= 4 && word + i < end; i++) {
        if (word[i].bits != 0)
            return i * 64 - bit + (uint32_t)__builtin_ctzll(word[i].bits);
    }
    return 0;
}

/* Place bits of a word -> bits of its objects by number. */
static uint64_t by_number(uint64_t all, uint64_t places)
{
    uint64_t numbers = 0;
    for (; places != 0; places &= places - 1)
        numbers |= UINT64_C(1) << bit_count(all & ((places & -places) - 1));
    return numbers;
}

/* Puts rows that follow each other where they belong among those of their word. first: the number
 * of the first. False: there is no room for them. */
static bool insert_rows(uint8_t *front, const uint8_t *end, uint64_t have, uint32_t first,
                        const uint8_t *rows, size_t length)
{
    uint32_t before = bit_count(have & ((UINT64_C(1) << first) - 1)),
             behind = bit_count(have) - before;
    uint8_t *at = front + (heap_skip_rows(front, before) - front);
    const uint8_t *tail = heap_skip_rows(at, behind);
    if (length > (size_t)(end - tail))
        return false;
    if (tail != at)
        memmove(at + length, at, (size_t)(tail - at));
    memcpy(at, rows, length);
    return true;
}

static void set_bits(_Atomic uint64_t *bits, uint32_t first, uint64_t set)
{
    unsigned shift = first % 64;
    if (set << shift != 0)
        atomic_fetch_or_explicit(bits + first / 64, set << shift, memory_order_relaxed);
    if (shift != 0 && set >> (64 - shift) != 0)
        atomic_fetch_or_explicit(bits + first / 64 + 1, set >> (64 - shift), memory_order_relaxed);
}

static void place_rows(struct heap_scan *scan)
{
    struct heap *heap = scan->heap;
    const struct heap_word_rows *own = &scan->word;
    struct id_word *word = word_at(scan, own->unit);
    if (word == NULL)
        return; /* the file has changed since it was first read */
    struct id_region *region = scan->region;
    uint32_t w = (uint32_t)(word - region->words);
    uint64_t all = word->bits, end = region->row_bytes;
    if (own->holding & ~all)
        return;
    uint64_t numbers = by_number(all, own->holding), inner = by_number(all, own->inner);
    for (uint32_t next = w + 1; next < REGION_WORDS; next++) {
        if (region->words[next].bits != 0) {
            end = region->words[next].row;
            break;
        }
    }
    uint8_t *rows = heap->rows + region->row_base;
    atomic_flag *lock = &heap->row_locks[(w ^ (uint32_t)region->key * 37) & 255];
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
        ;
    uint64_t have = heap_bits_window(heap->holding, word->first, bit_count(all));
    uint32_t first = (uint32_t)__builtin_ctzll(numbers);
    uint64_t between = ~UINT64_C(0) << first & ~UINT64_C(0) >> __builtin_clzll(numbers);
    uint64_t put_there = 0;
    if (!(have & between)) {
        if (insert_rows(rows + word->row, rows + end, have, first, own->rows, own->length))
            put_there = numbers;
    } else { /* row by row; a second object of an identifier is left out */
        const uint8_t *from = own->rows;
        for (uint64_t left = numbers; left != 0; left &= left - 1) {
            const uint8_t *to = heap_skip_rows(from, 1);
            uint64_t bit = left & -left;
            if (!(have & bit) &&
                insert_rows(rows + word->row, rows + end, have, (uint32_t)__builtin_ctzll(left),
                            from, (size_t)(to - from))) {
                have |= bit;
                put_there |= bit;
            }
            from = to;
        }
        numbers = put_there;
    }
    set_bits(heap->holding, word->first, put_there);
    set_bits(heap->inner, word->first, put_there & inner);
    atomic_flag_clear_explicit(lock, memory_order_release);
    scan->counts.damaged += put_there != numbers;
}

/* The state of the current word goes to the heap. */
static void flush_word(struct heap_scan *scan)
{
    struct heap_word_rows *word = &scan->word;
    struct object_ids *ids = &scan->heap->ids;
    uint32_t known = 0;
    enum id_added added = ID_ADDED;
    if (word->bits == 0)
        return;
    if (scan->pass == HEAP_FIND) {
        added = object_ids_add(ids, word->unit, word->bits, &scan->region, &known);
        scan->counts.duplicates += known;
    }
    if (added == ID_SCATTERED)
        fail(scan,
             "its identifiers are scattered over the address space: no dump of a HotSpot JVM");
    else if (added == ID_NO_MEMORY)
        no_memory(scan);
    else if (scan->pass == HEAP_ROWS && word->holding != 0)
        place_rows(scan);
    else if (scan->pass != HEAP_ROWS && word->length > 0 &&
             !object_ids_add_bytes(ids, word->unit, &scan->region, word->length))
        fail(scan, "arrays too large to be numbered");
    word->bits = word->holding = word->inner = 0;
    word->length = 0;
}

/* An object of any pass that makes rows: those after it of the same word follow it in memory. */
static void found_object(struct heap_scan *scan, uint64_t id)
{
    if (scan->pass == HEAP_FIND) {
        scan->piece.least_id = MIN(scan->piece.least_id, id);
        scan->piece.most_id = MAX(scan->piece.most_id, id);
        if (id & ((UINT64_C(1) << scan->heap->ids.shift) - 1)) {
            scan->heap->ids.shift = 0; /* whoever drives the passes begins again */
            fail(scan, HEAP_AGAIN);
            return;
        }
    }
    struct heap_word_rows *word = &scan->word;
    uint64_t unit = id >> scan->heap->ids.shift, bit = UINT64_C(1) << (unit & 63);
    if (word->unit != (unit & ~UINT64_C(63)) || word->bits >= bit)
        flush_word(scan);
    word->unit = unit & ~UINT64_C(63);
    word->bits |= bit;
}

/* Keeps the row under way, which ends there. */
static void keep_row(struct heap_scan *scan, const uint8_t *end, bool inner)
{
    struct heap_word_rows *word = &scan->word;
    uint64_t bit = UINT64_C(1) << (63 - __builtin_clzll(word->bits)); /* the last object's */
    word->holding |= bit;
    if (inner)
        word->inner |= bit;
    word->length = (size_t)(end - word->rows);
}

/* What an array takes by each size of headers and references, and which of them fit the distance to
 * the next object. element: bytes, 0 of references. */
static void learn_sizes(struct heap_scan *scan, uint64_t unit, int element, uint32_t length)
{
    struct heap *heap = scan->heap;
    if (scan->pass != HEAP_ROWS)
        return;
    int64_t gap = (int64_t)gap_after(scan, unit) << heap->ids.shift;
    bool references = element == 0;
    struct heap_sizes *sizes = &scan->sizes;
    int64_t *bytes = references ? sizes->references : sizes->primitives;
    int64_t *hits = references ? sizes->oop_hits : sizes->base_hits,
            *misses = references ? sizes->oop_misses : sizes->base_misses;
    for (int i = 0; i < (references ? 8 : 4); i++) {
        int64_t own = references ? heap_array_bytes(HEAP_ARRAY_BASES[i / 2], i % 2 ? 8 : 4, length)
                                 : heap_array_bytes(HEAP_ARRAY_BASES[i], element, length);
        bytes[i] += own;
        hits[i] += gap != 0 && element < 8 && own == gap;
        misses[i] += gap != 0 && element < 8 && own > gap;
    }
}

/* Instances are counted by class; what one takes is known at the end. */
static void count_instance(struct heap_scan *scan, const struct dumped_class *class)
{
    if (scan->instances == NULL)
        scan->instances = calloc(scan->heap->class_count, sizeof *scan->instances);
    if (scan->instances == NULL)
        no_memory(scan);
    else
        scan->instances[class - scan->heap->classes]++;
}

/* A FinalReference whose object waits for its finalize(). */
static bool is_queued(const struct heap *heap, const struct dumped_class *class,
                      const uint8_t *bytes)
{
    for (uint32_t i = 0; i < class->ref_count; i++) {
        const struct heap_ref_field *ref = &heap->refs[class->first_ref + i];
        if (ref->holds == HOLDS_LINK)
            return heap->enqueued_id != 0 &&
                   read_id(bytes + ref->offset, heap->id_size) == heap->enqueued_id;
    }
    return false;
}

static void take_instance(struct heap_scan *scan, uint64_t id, uint64_t class_id,
                          const uint8_t *bytes, uint32_t length)
{
    struct heap *heap = scan->heap;
    struct dumped_class *class = class_of(scan, class_id);
    if (scan->pass == HEAP_FIND) {
        scan->counts.instances++;
        if (class == NULL)
            scan->late_classes = true;
    }
    if (class == NULL || class->instance_bytes > length) {
        if (scan->pass == HEAP_ROWS)
            *(class == NULL ? &scan->counts.classless : &scan->counts.damaged) += 1;
        return;
    }
    uint64_t unit = id >> heap->ids.shift;
    uint8_t *begin = room_in_row(scan, 64 + (size_t) class->ref_count * 32);
    if (begin == NULL)
        return;
    bool string = class->traits & CLASS_STRING;
    bool always = class->loader_id != 0 || (class->traits & CLASS_LOADER);
    uint8_t *front = string ? begin : put(begin, code_of(heap, class, false));
    struct row_end row = {.at = front, .own = unit, .last = unit};
    bool queued = class->traits & CLASS_FINAL && is_queued(heap, class, bytes);
    for (uint32_t i = 0; i < class->ref_count; i++) {
        const struct heap_ref_field *ref = &heap->refs[class->first_ref + i];
        if (ref->holds == HOLDS_NOT || (ref->holds == HOLDS_QUEUED && !queued))
            row.nulls++;
        else
            put_reference(scan, &row, read_id(bytes + ref->offset, heap->id_size),
                          ref->holds == HOLDS_SOFTLY);
    }
    if (scan->pass == HEAP_ROWS) {
        count_instance(scan, class);
        uint32_t gap = gap_after(scan, unit);
        if (gap != 0 && gap < class->gap)
            class->gap = gap;
    }
    if (row.at == front && !always)
        return;
    *row.at++ = 0;
    keep_row(scan, row.at, !string);
}

/* A row is written straight from the elements; its buffer grows with what is in them. */
static void take_object_array(struct heap_scan *scan, uint64_t id, uint64_t class_id,
                              const uint8_t *bytes, uint32_t length)
{
    struct heap *heap = scan->heap;
    struct dumped_class *class = class_of(scan, class_id);
    if (scan->pass == HEAP_FIND) {
        scan->counts.object_arrays++;
        if (class == NULL)
            scan->late_classes = true;
    }
    if (class == NULL) {
        scan->counts.classless += scan->pass == HEAP_ROWS;
        return;
    }
    uint64_t unit = id >> heap->ids.shift;
    uint8_t *begin = room_in_row(scan, 64);
    if (begin == NULL)
        return;
    struct row_end row = {.at = put(begin, code_of(heap, class, true)), .own = unit, .last = unit};
    size_t code_bytes = (size_t)(row.at - begin), used = code_bytes;
    for (uint32_t i = 0; i < length; i++) {
        begin = room_in_row(scan, used + 40);
        if (begin == NULL)
            return;
        row.at = begin + used;
        put_reference(scan, &row, read_id(bytes + (size_t)i * (size_t)heap->id_size, heap->id_size),
                      false);
        used = (size_t)(row.at - begin);
    }
    learn_sizes(scan, unit, 0, length);
    if (used == code_bytes && class->loader_id == 0)
        return;
    *row.at++ = 0;
    keep_row(scan, row.at, true);
}

static void take_primitive_array(struct heap_scan *scan, uint64_t id, uint8_t type, uint32_t length)
{
    scan->counts.primitive_arrays += scan->pass == HEAP_FIND;
    learn_sizes(scan, id >> scan->heap->ids.shift, heap_type_bytes(type, 8), length);
}

/* --- classes and roots ------------------------------------------------------------------------ */

static struct dumped_class *make_class(struct heap_scan *scan, uint64_t id)
{
    struct heap *heap = scan->heap;
    uint32_t number = id_table_get(&heap->class_of, id);
    if (number != ID_TABLE_NONE)
        return &heap->classes[number];
    if (!heap_room(&heap->classes, &heap->class_capacity, heap->class_count + 1,
                   sizeof *heap->classes) ||
        !id_table_put(&heap->class_of, id, heap->class_count)) {
        no_memory(scan);
        return NULL;
    }
    struct dumped_class *class = &heap->classes[heap->class_count++];
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

/* Passes a count and that many entries: bytes, the last of them a type, and a value of it if there are values. */
static size_t pass_entries(struct part *part, size_t bytes, bool values)
{
    const uint8_t *at;
    if (!take(part, 2, &at))
        return 0;
    for (uint16_t n = be16(at); n > 0; n--) {
        if (!take(part, bytes, &at))
            return 0;
        int size = heap_type_bytes(at[bytes - 1], part->id_size);
        if (size == 0)
            return SIZE_MAX;
        if (values && !take(part, (size_t)size, &at))
            return 0;
    }
    return 1;
}

/* How long a CLASS_DUMP is; 0: longer than what there is; SIZE_MAX: not known. */
static size_t class_dump_length(struct part part)
{
    const uint8_t *start = part.at, *at;
    size_t id = (size_t)part.id_size, good;
    if (!take(&part, 7 * id + 8, &at))
        return 0;
    if ((good = pass_entries(&part, 3, true)) != 1 || /* the pool's constants, statics, fields */
        (good = pass_entries(&part, id + 1, true)) != 1 ||
        (good = pass_entries(&part, id + 1, false)) != 1)
        return good;
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
    struct dumped_class *class = make_class(scan, read_id(at, size));
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
        at += 3 + heap_type_bytes(at[2], size);
    n = be16(at);
    at += 2;
    if (!heap_room(&heap->statics, &heap->static_capacity, heap->static_count + n,
                   sizeof *heap->statics)) {
        no_memory(scan);
        return;
    }
    class->first_static = heap->static_count;
    for (; n > 0; n--) {
        if (at[id] == TYPE_OBJECT)
            heap->statics[heap->static_count++] =
                (struct heap_static){read_id(at, size), read_id(at + id + 1, size)};
        at += id + 1 + (size_t)heap_type_bytes(at[id], size);
    }
    class->static_count = heap->static_count - class->first_static;
    n = be16(at);
    at += 2;
    if (!heap_room(&heap->fields, &heap->field_capacity, heap->field_count + n,
                   sizeof *heap->fields)) {
        no_memory(scan);
        return;
    }
    class->first_field = heap->field_count;
    class->field_count = n;
    for (; n > 0; n--, at += id + 1) {
        heap->fields[heap->field_count++] = (struct heap_field){read_id(at, size), at[id]};
        class->own_bytes += (uint32_t)heap_type_bytes(at[id], size);
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
    if (!HEAP_ADD(heap, roots, root, &root))
        no_memory(scan);
    heap_unlock(heap);
}

/* Bytes of a root's record after its tag; 0: the tag is not that of a root. */
static size_t root_length(int tag, size_t id, enum root_kind *kind)
{
    switch (tag) {
#define ROOT(name, tag_of, text, words)                                                            \
    case tag_of:                                                                                   \
        *kind = ROOT_##name;                                                                       \
        break;
#include "analyzers/heap/roots.def"
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

/* Bytes of the record at part, its tag included; 0: more are needed to know it (or to take it);
 * whole: it may be longer than the window. SIZE_MAX: no such record. */
static uint64_t sub_record(struct part part)
{
    size_t id = (size_t)part.id_size;
    const uint8_t *at = part.at + 1;
    enum root_kind kind;
    size_t left = part.left - 1;
    if (part.left == 0)
        return 0;
    switch (part.at[0]) {
    case SUB_INSTANCE:
    case SUB_OBJECT_ARRAY: {
        if (left < 2 * id + 8)
            return 0;
        uint64_t whole = 2 * id + 8 +
                         (part.at[0] == SUB_INSTANCE ? (uint64_t)be32(at + 2 * id + 4)
                                                     : (uint64_t)be32(at + id + 4) * id);
        return left < whole ? 0 : whole + 1;
    }
    case SUB_PRIMITIVE_ARRAY: {
        if (left < id + 9)
            return 0;
        int size = heap_type_bytes(at[id + 8], 0);
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

/* The record is there; of an array of primitives its front at least. */
static void take_sub_record(struct heap_scan *scan, struct part part)
{
    int size = scan->heap->id_size;
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
            if (find)
                first_object(scan);
            found_object(scan, object);
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
    bool instance = part.at[0] == SUB_INSTANCE, of_objects = part.at[0] == SUB_OBJECT_ARRAY;
    uint32_t number = be32(at + (instance ? 2 * id : id) + 4); /* bytes or elements */
    uint64_t class_id = instance     ? read_id(at + id + 4, size)
                        : of_objects ? read_id(at + id + 8, size)
                                     : 0;
    const uint8_t *content = at + (instance || of_objects ? 2 * id + 8 : id + 9);
    if (scan->pass == HEAP_FETCH) {
        struct heap_object shown = {.id = object, .class_id = class_id, .bytes = content};
        uint64_t bytes = number;
        if (!instance) {
            shown.type = of_objects ? TYPE_OBJECT : at[id + 8];
            shown.elements = number;
            bytes *= (uint64_t)heap_type_bytes(shown.type, size);
        }
        size_t there = part.left - (size_t)(content - part.at);
        shown.there = bytes < there ? (size_t)bytes : there;
        scan->fetched(scan->context, &shown);
    } else if (instance) {
        take_instance(scan, object, class_id, content, number);
    } else if (of_objects) {
        take_object_array(scan, object, class_id, content, number);
    } else {
        take_primitive_array(scan, object, at[id + 8], number);
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
        no_memory(scan);
}

static void take_load_class(struct heap_scan *scan, const uint8_t *at, uint32_t length)
{
    struct heap *heap = scan->heap;
    size_t id = (size_t)heap->id_size;
    if (length < 2 * id + 8)
        return;
    struct dumped_class *class = make_class(scan, read_id(at + 4, heap->id_size));
    if (class == NULL)
        return;
    class->serial = be32(at);
    class->name_id = read_id(at + id + 8, heap->id_size);
    if (!id_table_put(&heap->class_of_serial, class->serial, (uint32_t)(class - heap->classes)))
        no_memory(scan);
}

static void take_frame(struct heap_scan *scan, const uint8_t *at, uint32_t length)
{
    struct heap *heap = scan->heap;
    size_t id = (size_t)heap->id_size;
    if (length < 4 * id + 8)
        return;
    struct heap_frame frame = {read_id(at, heap->id_size), read_id(at + id, heap->id_size),
                               be32(at + 4 * id)};
    if (!HEAP_ADD(heap, frames, frame, &frame))
        no_memory(scan);
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
    const struct heap_trace trace = {be32(at), heap->trace_frame_count, count};
    if (!HEAP_ADD(heap, traces, trace, &trace) ||
        !heap_room(&heap->trace_frames, &heap->trace_frame_capacity,
                   (uint64_t)heap->trace_frame_count + count, sizeof *heap->trace_frames)) {
        no_memory(scan);
        return;
    }
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
    static void (*const takers[])(struct heap_scan *, const uint8_t *,
                                  uint32_t) = {[TOP_UTF8] = take_name,
                                               [TOP_LOAD_CLASS] = take_load_class,
                                               [TOP_FRAME] = take_frame,
                                               [TOP_TRACE] = take_trace};
    if (scan->pass == HEAP_FIND && tag < sizeof takers / sizeof takers[0] && takers[tag] != NULL) {
        if (left < TOP_HEADER + (size_t)length)
            return from;
        takers[tag](scan, at, length);
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
        uint64_t taken = sub_record(part);
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
            if (taken == 0 && last && !segment_here)
                scan->truncated = true;
            else
                *(taken == SIZE_MAX ? &scan->counts.unknown_tags : &scan->counts.damaged) +=
                    scan->pass == HEAP_FIND;
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
    flush_word(scan);
    uint64_t file_bytes = scan->heap->file_bytes;
    if (scan->segment_end != 0 && scan->piece.to != 0)
        end_piece(scan, scan->segment_end < file_bytes ? scan->segment_end : file_bytes);
    scan->segment_end = 0;
    scan->piece.to = 0;
}

/* Structures of nothing but int64_t. */
static void add_all(void *sum, const void *own, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(int64_t); i++)
        ((int64_t *)sum)[i] += ((const int64_t *)own)[i];
}

bool heap_scan_end(struct heap_scan *scan)
{
    struct heap *heap = scan->heap;
    heap_scan_leave(scan);
    add_all(&heap->counts, &scan->counts, sizeof heap->counts);
    add_all(&heap->sizes, &scan->sizes, sizeof heap->sizes);
    for (uint32_t i = 0; scan->instances != NULL && i < heap->class_count; i++)
        heap->classes[i].objects += scan->instances[i];
    free(scan->instances);
    scan->instances = NULL;
    heap->truncated = heap->truncated || scan->truncated;
    heap->late_classes = heap->late_classes || scan->late_classes;
    if (scan->failed && !heap->failed) {
        heap->failed = true;
        memcpy(heap->error, scan->error, sizeof heap->error);
    }
    free(scan->word.rows);
    scan->word.rows = NULL;
    return !heap->failed;
}
