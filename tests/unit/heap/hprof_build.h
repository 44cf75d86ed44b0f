/* hprof_build: a heap dump in memory, record by record, as HotSpot would write it, and its answer. */
#pragma once

#include "analyzers/heap/holders.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hprof {
    uint8_t *bytes;
    size_t length, capacity;
    int id_size;
    size_t segment; /* where its length stands; 0: none is open */
    bool one_dump;  /* HEAP_DUMP instead of segments */
    uint64_t names; /* identifiers of names so far */
    uint32_t serials;
};

static inline void hprof_raw(struct hprof *out, const void *bytes, size_t length)
{
    if (out->length + length > out->capacity) {
        out->capacity = (out->length + length) * 2 + 4096;
        out->bytes = realloc(out->bytes, out->capacity);
        if (out->bytes == NULL)
            abort();
    }
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
}

static inline void hprof_number(struct hprof *out, uint64_t value, int size)
{
    uint8_t bytes[8];
    for (int i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    hprof_raw(out, bytes, (size_t)size);
}

static inline void hprof_id(struct hprof *out, uint64_t id)
{
    hprof_number(out, id, out->id_size);
}

static inline void hprof_begin(struct hprof *out, int version, int id_size)
{
    char magic[] = "JAVA PROFILE 1.0.2";
    memset(out, 0, sizeof *out);
    out->id_size = id_size;
    out->names = 0x1000;
    magic[17] = (char)('0' + version);
    hprof_raw(out, magic, sizeof magic);
    hprof_number(out, (uint64_t)id_size, 4);
    hprof_number(out, 1700000000000, 8);
}

static inline void hprof_close_segment(struct hprof *out)
{
    if (out->segment == 0)
        return;
    uint64_t length = out->length - out->segment - 4;
    for (int i = 0; i < 4; i++)
        out->bytes[out->segment + (size_t)i] = (uint8_t)(length >> (8 * (3 - i)));
    out->segment = 0;
}

static inline void hprof_open_segment(struct hprof *out)
{
    if (out->segment != 0)
        return;
    hprof_number(out, out->one_dump ? 0x0c : 0x1c, 1);
    hprof_number(out, 0, 4);
    out->segment = out->length;
    hprof_number(out, 0, 4);
}

static inline void hprof_end(struct hprof *out)
{
    hprof_close_segment(out);
    if (!out->one_dump) {
        hprof_number(out, 0x2c, 1);
        hprof_number(out, 0, 8);
    }
}

static inline uint64_t hprof_name(struct hprof *out, const char *text)
{
    hprof_close_segment(out);
    uint64_t id = out->names += 8;
    hprof_number(out, 0x01, 1);
    hprof_number(out, 0, 4);
    hprof_number(out, strlen(text) + (size_t)out->id_size, 4);
    hprof_id(out, id);
    hprof_raw(out, text, strlen(text));
    return id;
}

static inline void hprof_load_class(struct hprof *out, uint64_t id, const char *name)
{
    uint64_t name_id = hprof_name(out, name);
    hprof_number(out, 0x02, 1);
    hprof_number(out, 0, 4);
    hprof_number(out, 8 + 2 * (uint64_t)out->id_size, 4);
    hprof_number(out, ++out->serials, 4);
    hprof_id(out, id);
    hprof_number(out, 0, 4);
    hprof_id(out, name_id);
}

struct hprof_field {
    uint64_t name, value; /* value: of a static one */
    uint8_t type;
};

static inline void hprof_class(struct hprof *out, uint64_t id, uint64_t super, uint64_t loader,
                               const struct hprof_field *statics, int static_count,
                               const struct hprof_field *fields, int field_count)
{
    hprof_open_segment(out);
    hprof_number(out, 0x20, 1);
    hprof_id(out, id);
    hprof_number(out, 0, 4);
    hprof_id(out, super);
    hprof_id(out, loader);
    for (int i = 0; i < 4; i++)
        hprof_id(out, 0);
    hprof_number(out, 16, 4);
    hprof_number(out, 0, 2); /* constants */
    hprof_number(out, (uint64_t)static_count, 2);
    for (int i = 0; i < static_count; i++) {
        hprof_id(out, statics[i].name);
        hprof_number(out, TYPE_OBJECT, 1);
        hprof_id(out, statics[i].value);
    }
    hprof_number(out, (uint64_t)field_count, 2);
    for (int i = 0; i < field_count; i++) {
        hprof_id(out, fields[i].name);
        hprof_number(out, fields[i].type, 1);
    }
}

/* Then its bytes, own fields first. */
static inline void hprof_instance(struct hprof *out, uint64_t id, uint64_t class, uint32_t length)
{
    hprof_open_segment(out);
    hprof_number(out, 0x21, 1);
    hprof_id(out, id);
    hprof_number(out, 0, 4);
    hprof_id(out, class);
    hprof_number(out, length, 4);
}

/* Then its elements. */
static inline void hprof_object_array(struct hprof *out, uint64_t id, uint64_t class,
                                      uint32_t length)
{
    hprof_open_segment(out);
    hprof_number(out, 0x22, 1);
    hprof_id(out, id);
    hprof_number(out, 0, 4);
    hprof_number(out, length, 4);
    hprof_id(out, class);
}

/* Then its elements. */
static inline void hprof_primitive_array(struct hprof *out, uint64_t id, uint8_t type,
                                         uint32_t length)
{
    hprof_open_segment(out);
    hprof_number(out, 0x23, 1);
    hprof_id(out, id);
    hprof_number(out, 0, 4);
    hprof_number(out, length, 4);
    hprof_number(out, type, 1);
}

static inline void hprof_root(struct hprof *out, uint8_t tag, uint64_t id)
{
    hprof_open_segment(out);
    hprof_number(out, tag, 1);
    hprof_id(out, id);
    if (tag == 0x01)
        hprof_id(out, 0x77);
}

/* One pass over the whole dump in windows of this size. */
static inline bool hprof_run(struct heap_scan *scan, const uint8_t *bytes, size_t length,
                             size_t window)
{
    uint64_t at = scan->heap->header_bytes;
    size_t size = window;
    while (at < length && !scan->failed) {
        size_t left = length - (size_t)at, shown = size < left ? size : left;
        /* A buffer of its own: reading behind it is found by the sanitizer. */
        uint8_t *copy = malloc(shown);
        memcpy(copy, bytes + at, shown);
        uint64_t next = heap_scan_window(scan, copy, at, shown, shown == left);
        free(copy);
        if (next == at && shown == left)
            break;
        size = next == at ? size * 2 : window;
        at = next;
    }
    return heap_scan_end(scan);
}

static inline bool hprof_pass(struct heap *heap, enum heap_pass pass, const uint8_t *bytes,
                              size_t length, size_t window)
{
    struct heap_scan scan;
    heap_scan_begin(&scan, heap, pass);
    return hprof_run(&scan, bytes, length, window);
}

/* Each object of a dump that was read. */
static inline void hprof_fetch(struct heap *heap, const uint8_t *bytes, size_t length,
                               size_t window,
                               void (*object)(void *context, const struct heap_object *object),
                               void *context)
{
    struct heap_scan scan;
    heap_scan_begin(&scan, heap, HEAP_FETCH);
    scan.fetched = object;
    scan.context = context;
    hprof_run(&scan, bytes, length, window);
}

/* All passes; false as heap->error says. */
static inline bool hprof_read(struct heap *heap, const uint8_t *bytes, size_t length, size_t window)
{
    if (!heap_create(heap, bytes, length, length))
        return false;
    if (!hprof_pass(heap, HEAP_FIND, bytes, length, window)) {
        if (strcmp(heap->error, HEAP_AGAIN) != 0)
            return false;
        heap_destroy(heap);
        heap_create(heap, bytes, length, length);
        heap->ids.shift = 0;
        if (!hprof_pass(heap, HEAP_FIND, bytes, length, window))
            return false;
    }
    if (heap_needs_sizes(heap) &&
        (!hprof_pass(heap, HEAP_CLASSES, bytes, length, window) || !heap_begin_sizes(heap) ||
         !hprof_pass(heap, HEAP_SIZES, bytes, length, window)))
        return false;
    return heap_number(heap) && hprof_pass(heap, HEAP_ROWS, bytes, length, window) &&
           heap_finish(heap);
}

/* All questions about a dump that was read. */
struct hprof_asked {
    bool *asked, *strong;
    struct retained retained;
    struct holders holders;
};

static inline void hprof_name_text(void *context, const struct heap_object *object)
{
    struct hprof_asked *all = context;
    if (holders_among(&all->holders, object->id, object->id))
        holders_text(&all->holders, object);
}

static inline void hprof_weigh(void *context, const struct heap_object *object)
{
    struct hprof_asked *all = context;
    if (retained_among(&all->retained, object->id, object->id))
        retained_weigh(&all->retained, object);
}

/* Ends the program when memory does. */
static inline void hprof_ask(struct heap *heap, const uint8_t *bytes, size_t length, size_t window,
                             struct hprof_asked *all)
{
    struct walk walk;
    bool ok = (all->asked = holders_asked(heap)) != NULL && walk_create(&walk, heap, true);
    if (!ok)
        abort();
    walk_roots(&walk, false);
    ok = walk_run(&walk) && (all->strong = holders_reached(&walk)) != NULL;
    walk_roots(&walk, true);
    ok = ok && walk_run(&walk) && walk_run_soft(&walk) &&
         holders_create(&all->holders, heap, all->asked, &walk, all->strong);
    walk_destroy(&walk);
    if (!ok)
        abort();
    hprof_fetch(heap, bytes, length, window, hprof_name_text, all);
    uint32_t count = 0, *keepers = NULL;
    ok = holders_judge(&all->holders, NULL) &&
         (keepers = holders_keepers(&all->holders, &count)) != NULL &&
         retained_create(&all->retained, heap, keepers, count) && retained_first(&all->retained) &&
         retained_rest(&all->retained);
    free(keepers);
    if (!ok)
        abort();
    hprof_fetch(heap, bytes, length, window, hprof_weigh, all);
    if (!retained_sum(&all->retained) || !holders_weigh(&all->holders, &all->retained))
        abort();
}

static inline void hprof_forget(struct hprof_asked *all)
{
    holders_destroy(&all->holders);
    retained_destroy(&all->retained);
    free(all->strong);
    free(all->asked);
}
