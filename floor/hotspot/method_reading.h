/*
 * method_reading: what a Method * says of itself: names, signature, modifiers, line numbers.
 *
 *   Method -> ConstMethod -> ConstantPool -> Klass -> Symbol   class name
 *                  |               +-> Symbol, Symbol          name, signature
 *                  +-> [ bytecodes | compressed line numbers ]
 *
 * All of it through load.h, at the offsets of `layout`: where a Method is none (any more), or is
 * damaged, the answer is false or a text that is cut, never a fault. Texts are as the JVM keeps
 * them (modified UTF-8, slashes).
 *
 * Signal context.
 */
#pragma once

#include "floor/base/fold_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The JVM allows 65 535; what is longer is cut and ends with "...". */
#define METHOD_TEXT_MAX  4096
/* A compressed table takes a byte a line and more; what is longer counts as none. */
#define METHOD_LINES_MAX 16384

struct method_text {
    uintptr_t address;
    uint16_t length; /* what is read of it, at most METHOD_TEXT_MAX */
    uint16_t whole;
    bool cut;
};

struct method_reading {
    uintptr_t const_method;
    uintptr_t holder; /* Klass * */
    struct method_text class_name, name, signature;
    int32_t modifiers;
    uintptr_t lines;   /* where they begin; 0: none */
    size_t lines_room; /* bytes up to the end of the ConstMethod */
};

/* The pointer by which most methods at one address differ; 0: it cannot be read. */
uintptr_t method_reading_identity(uintptr_t method);
/* False: not a method, as far as can be seen. */
bool method_reading_begin(uintptr_t method, struct method_reading *reading);
/* Brings what method_reading_begin and _hash will read of some methods into the caches, for all of them at the
 * same time, where reading one after the other waits for each cache line. A hint; reads through load.h. */
#define METHOD_FETCH_MAX 32
void method_reading_fetch(const uintptr_t *methods, int count);
/* A hash of what was read: texts, modifiers and all that lies where the lines do. False: a text
 * cannot be read. class_hash: of the class name alone, method_class_hash of it. */
bool method_reading_hash(const struct method_reading *reading, uint64_t *hash,
                         uint32_t *class_hash);
/* text->length + 1 bytes with the NUL. A hidden class's "Name+0x..." is written as "Name/0x...", as
 * the JVM prints it, when is_class. False: it cannot be read, or is no text. */
bool method_reading_text(const struct method_text *text, bool is_class, char *out);
/* Copies the line table with its closing zero; bytes, 0 when it is damaged, or longer than size. */
size_t method_reading_lines(const struct method_reading *reading, uint8_t *out, size_t size);

/* A generic signature is not part of what is hashed. False: it has none. */
bool method_reading_generic(const struct method_reading *reading, struct method_text *text);
/* Its number in its class, which stays when the class is redefined; -1: it has none, the JVM made it. */
int32_t method_reading_idnum(const struct method_reading *reading);

/* Of a Klass *: false: it is none, as far as can be seen; generic.length 0: it has none. */
struct class_reading {
    struct method_text name, generic;
    int32_t modifiers;
};
bool class_reading_begin(uintptr_t klass, struct class_reading *reading);

/* A step through a compressed line table: a byte holds a step of each (five bits bytecode, three bits
 * line); 255 is followed by two signed numbers of up to five bytes; 0 ends it. lowest: what HotSpot adds to
 * each byte of a number so that none is zero (method_lines_lowest). */
struct line_steps {
    const uint8_t *at, *end;
    unsigned lowest;
    int64_t bci, line;
};
#define LINE_STEP_BYTES_MAX 11
/* False: at the end, or damaged. */
bool line_step(struct line_steps *steps);
/* 0 up to JDK 19, 1 since. */
unsigned method_lines_lowest(void);

#define METHOD_HASH_PIECE 256 /* texts are hashed, and read to be hashed, by so many bytes */

/* For names from elsewhere: that of an unloaded class. */
static inline uint32_t method_class_hash(const char *name, size_t length)
{
    uint64_t hash = 0;
    if (length > METHOD_TEXT_MAX)
        length = METHOD_TEXT_MAX;
    for (size_t at = 0; at < length; at += METHOD_HASH_PIECE) {
        size_t bytes = length - at < METHOD_HASH_PIECE ? length - at : METHOD_HASH_PIECE;
        hash = fold_hash(name + at, bytes, hash);
    }
    return (uint32_t)hash;
}
