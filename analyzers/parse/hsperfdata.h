/*
 * hsperfdata: the counters in a JVM's performance-data file, read without touching the JVM.
 *
 *   hsperfdata_open -> hsperfdata_find once per counter -> hsperfdata_number / _string at each poll
 *
 *   byte 0  ca fe c0 c0        | entry header, 20 bytes at entry_offset and then each entry_length
 *        4  u8 byte order      |   0 i32 entry_length      12 u8 type  'J' number, 'B' string
 *        5  u8 major (2)       |   4 i32 name_offset       13 u8 flags
 *        6  u8 minor           |   8 i32 vector_length     14 u8 units
 *        7  u8 accessible      |                           15 u8 variability
 *        8  i32 used           |                           16 i32 data_offset
 *       12  i32 overflow       | offsets of an entry count from the entry's own start
 *       16  i64 mod_timestamp  |
 *       24  i32 entry_offset   |
 *       28  i32 num_entries    |
 *
 * The image is somebody else's file: every offset is checked against its length, nothing is
 * trusted. Names differ between JDKs: never require one.
 *
 * The view borrows the image. A counter found in one image may be read from a fresh image of the
 * same file (same process): its offset stays. Any thread.
 */
#pragma once

#include "floor/base/span.h"

struct hsperfdata {
    const unsigned char *image;
    size_t len;
    bool swapped; /* written in the other byte order */
    int32_t entry_offset;
    int32_t num_entries;
};

struct hsperfdata_entry {
    struct span name;
    char type;           /* 'J' 64-bit number, 'B' bytes; others exist in theory */
    uint8_t units;       /* 1 none 2 bytes 3 ticks 4 events 5 string 6 hertz */
    uint8_t variability; /* 1 constant 2 monotonic 3 variable */
    size_t offset;       /* of the data, from the start of the image */
    size_t data_bytes;
};

struct hsperfdata_cursor {
    size_t offset;
    int32_t left;
    enum parse_result result; /* after the walk: PARSE_MALFORMED when an entry cannot be */
};

/* PARSE_INCOMPLETE: too short for a header, or the JVM has not finished writing it (accessible is
 * 0): try again later. PARSE_MALFORMED: not such a file, or a version we do not know. */
enum parse_result hsperfdata_open(struct hsperfdata *view, const void *image, size_t len);

void hsperfdata_begin(const struct hsperfdata *view, struct hsperfdata_cursor *cursor);
bool hsperfdata_next(const struct hsperfdata *view, struct hsperfdata_cursor *cursor,
                     struct hsperfdata_entry *entry);

/* False when there is no entry of this name. */
bool hsperfdata_find(const struct hsperfdata *view, struct span name,
                     struct hsperfdata_entry *entry);

/* False when the entry is not of this type or lies outside of this image. */
bool hsperfdata_number(const struct hsperfdata *view, const struct hsperfdata_entry *entry,
                       int64_t *value);
/* Up to its NUL. */
bool hsperfdata_string(const struct hsperfdata *view, const struct hsperfdata_entry *entry,
                       struct span *value);
