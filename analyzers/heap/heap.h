/*
 * heap: the object graph of a heap dump (HPROF 1.0.1 and 1.0.2), dense enough to keep whole.
 *
 *   heap_create (the first bytes: header)
 *   -> heap_scan_begin(HEAP_FIND), heap_scan_window ..., heap_scan_end     identifiers, classes,
 * roots
 *   -> (heap_needs_sizes: the same with HEAP_CLASSES, heap_begin_sizes, the same with HEAP_SIZES)
 *   -> heap_number
 *   -> HEAP_ROWS the same way                                              references
 *   -> heap_finish -> the questions: reach.h, retained.h, loaders.h -> heap_destroy
 *
 * Nodes. Classes are the nodes 0 .. class_count-1, objects follow by address (object_ids.h).
 *
 * Rows. The references of an object are a row of bytes, LEB128 numbers:
 *
 *      code of its class | references ... | 0
 *
 *   reference: 1 none (null, itself, a referent that does not hold), 2 n: n times none, 3: the next
 *   one is a soft referent, else zigzag(distance in units of 8 bytes, from the reference before or
 *   else the object) + 4. A row is as many bytes as it takes; where a word's rows begin is in its
 *   id_word, the others follow in order. Trailing nulls are left out. The k-th reference is the k-th
 *   reference field (its own class's first, as in the dump) or the array's k-th element: names need
 *   not be kept.
 *
 *   Only nodes that hold something have a row: an object with references, one whose class is not
 *   the boot loader's (those are roots), a class loader. A java.lang.String has a row without a
 *   code, and is not inner: it refers to an array of primitives, so that no path passes it.
 *   What an object takes in the JVM's heap is not kept; the HEAP_FETCH pass shows it again.
 *
 * What does not hold: `referent` of subclasses of java.lang.ref.Reference. Weak and phantom
 * ones are none, final ones until they are queued for the finalizer (`queue`), soft ones marked.
 *
 * Two threads may scan, each its own heap_scan and part of the dump, once the classes are known.
 * All lengths of the dump are distrusted: what does not fit is skipped and counted.
 */
#pragma once

#include "analyzers/heap/object_ids.h"

#include <stddef.h>

#define HEAP_HEADER_MAX 32 /* bytes heap_create wants to see */
#define HEAP_ERROR_MAX  200
#define NO_CLASS        UINT32_MAX

enum heap_type {
    TYPE_OBJECT = 2,
    TYPE_BOOLEAN = 4,
    TYPE_CHAR,
    TYPE_FLOAT,
    TYPE_DOUBLE,
    TYPE_BYTE,
    TYPE_SHORT,
    TYPE_INT,
    TYPE_LONG
};

enum root_kind {
#define ROOT(id, tag, name, words) ROOT_##id,
#include "analyzers/heap/roots.def"
    ROOT_KIND_COUNT,
};
extern const struct root_kind_row {
    const char *name, *words; /* "jni-global", "JNI global reference" */
} root_kinds[ROOT_KIND_COUNT];

struct heap_root {
    uint64_t id;
    uint32_t node;
    uint32_t thread; /* serial; 0: none */
    uint32_t frame;  /* of the thread's stack; UINT32_MAX: none */
    uint8_t kind;
};

struct heap_field {
    uint64_t name_id;
    uint8_t type;
};

struct heap_static {
    uint64_t name_id;
    uint64_t value;
};

/* A reference field of instances: its place among their bytes, who declares it. */
struct heap_ref_field {
    uint32_t offset;
    uint32_t declared_by; /* class */
    uint32_t field;       /* of heap.fields */
    uint8_t holds;        /* enum holds */
};
/* HOLDS_QUEUED: the referent of a FinalReference, which holds from the moment it is queued on;
 * HOLDS_LINK: its `queue`, which is ReferenceQueue.ENQUEUED then. What a GC has just found to be
 * unreachable is pending, and not yet queued. */
enum holds { HOLDS, HOLDS_SOFTLY, HOLDS_NOT, HOLDS_QUEUED, HOLDS_LINK };

enum class_trait {
    CLASS_LOADER = 1, /* instances are class loaders */
    CLASS_WEAK = 2,   /* subclass of Reference: the referent does not hold */
    CLASS_SOFT = 4,   /* ... when memory is short */
    CLASS_THREAD = 8,
    CLASS_DUMPED = 16,   /* its CLASS_DUMP was read */
    CLASS_LAID_OUT = 32, /* refs are known */
    CLASS_FINAL = 128,   /* ... from when its finalize() waits to be called */
    CLASS_STRING = 64,   /* java.lang.String: its one reference is to an array of primitives */
};

struct dumped_class {
    uint64_t id, name_id, super_id, loader_id, signers_id, domain_id;
    uint32_t serial;
    uint32_t super; /* NO_CLASS */
    uint32_t first_field, field_count;
    uint32_t first_static, static_count; /* those that are references */
    uint32_t first_ref, ref_count;       /* of heap.refs, supers' included */
    uint32_t instance_bytes;             /* as dumped, all fields */
    uint32_t own_bytes;                  /* of its own fields */
    uint16_t traits;
    _Atomic uint32_t gap;        /* least distance to the next object, units; UINT32_MAX */
    _Atomic uint32_t code;       /* of its instances in rows; 0: none yet */
    _Atomic uint32_t array_code; /* of arrays of which it is the class */
    int64_t objects;             /* instances */
    int64_t shallow;             /* bytes of an instance; of arrays 0 */
    char *name;                  /* "java.lang.String", "int[]"; after heap_names */
};

struct heap_frame {
    uint64_t id, method_id;
    uint32_t class_serial;
};
struct heap_trace {
    uint32_t serial, first, count; /* of trace_frames */
};

/* Where the HEAP_FIND pass found records to begin: parts that can be read again by themselves. */
struct heap_piece {
    uint64_t from, to; /* offsets in the dump */
    uint64_t segment_end;
    uint64_t least_id, most_id;
};

struct heap_counts {
    int64_t instances, object_arrays, primitive_arrays, classes;
    int64_t duplicates;   /* two objects of one identifier */
    int64_t dangling;     /* references to nothing */
    int64_t unknown_tags; /* the rest of their segment was skipped */
    int64_t damaged;      /* records that do not fit their segment or class */
    int64_t classless;    /* instances of a class that is not in the dump */
};

/* Of arrays, for each base that they may have and each size of references [base * 2 + references of 8 bytes]:
 * what they take, and how often the distance to what follows says so or otherwise. */
struct heap_sizes {
    int64_t primitives[4], references[8];
    int64_t base_hits[4], base_misses[4], oop_hits[8], oop_misses[8];
};

struct heap {
    int id_size;
    int version; /* 1: 1.0.1, 2: 1.0.2 */
    int64_t dumped_ms;
    uint64_t header_bytes, file_bytes;
    struct object_ids ids;

    char *text; /* names, each with its NUL */
    size_t text_length, text_capacity;
    struct id_table name_of; /* identifier -> number */
    uint64_t *name_at;       /* number -> offset in text */
    uint32_t name_count, name_capacity;

    struct dumped_class *classes;
    uint32_t class_count, class_capacity;
    struct id_table class_of, class_of_serial;
    struct heap_field *fields;
    uint32_t field_count, field_capacity;
    struct heap_static *statics;
    uint32_t static_count, static_capacity;
    struct heap_ref_field *refs;
    uint32_t ref_count, ref_capacity;
    struct heap_root *roots;
    uint32_t root_count, root_capacity;
    struct heap_frame *frames;
    uint32_t frame_count, frame_capacity;
    struct heap_trace *traces;
    uint32_t trace_count, trace_capacity;
    uint64_t *trace_frames;
    uint32_t trace_frame_count, trace_frame_capacity;
    struct heap_piece *pieces;
    uint32_t piece_count, piece_capacity;
    uint32_t *class_of_code; /* code - 1 -> class, and CODE_OF_ARRAYS */
    _Atomic uint32_t code_count;

    uint8_t *rows;
    _Atomic uint64_t *holding; /* a bit a node: it has a row */
    _Atomic uint64_t *inner;   /* a bit a node: a class, or an object that a path may pass */
    uint32_t string_class;
    uint64_t enqueued_id; /* ReferenceQueue.ENQUEUED; 0 */
    atomic_flag row_locks[256];
    atomic_flag lock;
    bool threads_scan; /* several do: classes can no more be added */

    /* Edges of classes, after heap_finish: nodes, in rows of class_edge_first. */
    uint32_t *class_edge_first, *class_edge_to;
    uint32_t *class_edge_name; /* number of a static, or EDGE_... */
    uint32_t inner_count;
    uint32_t *inner_rank; /* for each 512 nodes: how many before them are inner */
    /* Loaders by node, and which classes each has defined. */
    uint32_t loader_count;
    uint32_t *loader_node;
    uint32_t *loader_class_first, *loader_class;

    /* Of the JVM, as the distances between objects show: bytes of an array before its elements (of
     * less than 8 bytes), of a reference. */
    uint32_t array_base, oop_bytes;
    int64_t class_mirror_bytes; /* of a java.lang.Class without its static fields */
    struct heap_sizes sizes;
    int64_t object_bytes; /* of all objects in the JVM's heap, classes not among them */
    struct heap_counts counts;
    bool truncated, late_classes, failed;
    char error[HEAP_ERROR_MAX]; /* one sentence when failed */
};

#define CODE_OF_ARRAYS (UINT32_C(1) << 31)

#define EDGE_SUPER   (UINT32_MAX - 1)
#define EDGE_LOADER  (UINT32_MAX - 2)
#define EDGE_SIGNERS (UINT32_MAX - 3)
#define EDGE_DOMAIN  (UINT32_MAX - 4)

/* bytes: the beginning of the dump. False with heap->error: no dump that can be read. */
bool heap_create(struct heap *heap, const uint8_t *bytes, size_t length, uint64_t file_bytes);
void heap_destroy(struct heap *heap);
static inline uint32_t heap_nodes(const struct heap *heap)
{
    return heap->class_count + heap->ids.count;
}

/* --- scanning ------------------------------------------------------------------------------ */

enum heap_pass { HEAP_FIND, HEAP_CLASSES, HEAP_SIZES, HEAP_ROWS, HEAP_FETCH };

/* An object as the dump has it. */
struct heap_object {
    uint64_t id, class_id; /* class_id: of instances and arrays of objects */
    enum heap_type type;   /* of an array's elements; 0: an instance */
    uint32_t elements;     /* of an array */
    const uint8_t *bytes;  /* of instances and arrays of primitives; valid during the call */
    size_t there;          /* of them; of a long array its front */
};

struct heap_scan {
    struct heap *heap;
    enum heap_pass pass;
    uint64_t segment_end;    /* 0: between segments */
    bool open_segment;       /* its length is not known: to the end of the dump */
    bool objects_seen;       /* of this segment or before: the classes are complete (HotSpot) */
    bool stop_after_classes; /* HEAP_FIND: returns at the first segment begun after objects_seen */
    bool stopped;
    struct id_region *region;
    struct dumped_class *last_class;
    /* Objects of the word under way, in the order of their places, and their rows; the last row is
     * being written. */
    struct heap_word_rows {
        uint64_t unit;                 /* of its first place */
        uint64_t bits, holding, inner; /* by place */
        uint8_t *rows;
        size_t length, capacity;
    } word;
    struct heap_piece piece; /* under way */
    uint64_t next_unit;
    struct heap_sizes sizes;
    int64_t *instances; /* by class */
    struct heap_counts counts;
    bool truncated, late_classes, failed;
    char error[HEAP_ERROR_MAX];
    /* HEAP_FETCH: each object. */
    void (*fetched)(void *context, const struct heap_object *object);
    void *context;
};

void heap_scan_begin(struct heap_scan *scan, struct heap *heap, enum heap_pass pass);
/* Begins inside of a segment: a piece, or behind a segment's header. */
void heap_scan_enter(struct heap_scan *scan, uint64_t at, uint64_t segment_end);
/* Ends what was entered, wherever it is. */
void heap_scan_leave(struct heap_scan *scan);
/* Whole records of a window of the dump that begins at offset `from`. Returns the offset of the
 * first record that was not taken: `from` itself when the window is too small for it, beyond the
 * window when it need not be seen. last: nothing follows the window. */
uint64_t heap_scan_window(struct heap_scan *scan, const uint8_t *bytes, uint64_t from,
                          size_t length, bool last);
/* Adds what it counted to the heap. False: heap->error. One at a time. */
bool heap_scan_end(struct heap_scan *scan);

/* After HEAP_FIND. */
static inline bool heap_needs_sizes(const struct heap *heap)
{
    return heap->late_classes;
}
bool heap_begin_sizes(struct heap *heap);
/* Where the references of all classes known so far are. HEAP_FIND does it by itself. */
bool heap_lay_out(struct heap *heap);
bool heap_number(struct heap *heap);
/* After HEAP_ROWS. */
bool heap_finish(struct heap *heap);

/* --- questions about nodes ------------------------------------------------------------------ */

/* The node of an identifier, of a unit; NO_OBJECT. */
uint32_t heap_node_of(const struct heap *heap, uint64_t id);
uint32_t heap_node_at(const struct heap *heap, uint64_t unit);
uint64_t heap_id_of(const struct heap *heap, uint32_t node);
/* The class of a node that has a row; NO_CLASS of others and of a class (java.lang.Class). */
uint32_t heap_class_of_node(const struct heap *heap, uint32_t node);
const char *heap_name(const struct heap *heap, uint64_t name_id); /* "" */
/* What it takes in the JVM's heap; exact where the dump shows it. */
int64_t heap_object_bytes(const struct heap *heap, const struct heap_object *object);
int64_t heap_class_bytes(const struct heap *heap, uint32_t class);
/* Number of the loader that a node is; NO_OBJECT. */
uint32_t heap_loader_of_node(const struct heap *heap, uint32_t node);

/* The row of an object, taken apart. */
struct heap_row {
    const uint8_t *at;
    uint32_t class; /* NO_CLASS: it has no row */
    bool is_array;
    /* heap_row_next: */
    uint32_t position; /* of the reference, from 1 on */
    uint64_t to;       /* unit; at first the object's own */
    bool soft;
};
void heap_row_begin(const struct heap *heap, const struct id_word *word, uint64_t unit,
                    struct heap_row *row);
bool heap_row_of(const struct heap *heap, uint32_t node, struct heap_row *row); /* false: a class */
/* The rows of all inner objects, or of all strings, by number; false as soon as each says so.
 * among: a bit a node, NULL all. */
bool heap_each_row(const struct heap *heap, bool strings, const uint64_t *among,
                   bool (*each)(void *context, uint32_t node, struct heap_row *row), void *context);

static inline uint64_t heap_number_read(const uint8_t **at)
{
    const uint8_t *p = *at;
    uint64_t value = *p++;
    if (value & 0x80) {
        value &= 0x7f;
        for (unsigned shift = 7;; shift += 7) {
            uint8_t byte = *p++;
            value |= (uint64_t)(byte & 0x7f) << shift;
            if (!(byte & 0x80))
                break;
        }
    }
    *at = p;
    return value;
}

static inline bool heap_row_next(struct heap_row *row)
{
    row->soft = false;
    for (;;) {
        uint64_t value = heap_number_read(&row->at);
        if (value > 3) {
            value -= 4;
            row->to += (value >> 1) ^ (0 - (value & 1));
            row->position++;
            return true;
        }
        if (value == 0) {
            row->at--; /* stays at the end */
            return false;
        }
        if (value == 1)
            row->position++;
        else if (value == 2)
            row->position += (uint32_t)heap_number_read(&row->at);
        else
            row->soft = true;
    }
}
