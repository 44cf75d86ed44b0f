/*
 * normalize: the stem of a class name, which is the name with everything folded away that a
 * generator changes from class to class, and what was folded.
 *
 *   Script12$_run_closure1                    Script#$_run_closure#
 *   Host$$Lambda$171/0x00007f1368000c08       Host$$Lambda$#/0x*
 *   com.x.Foo$$EnhancerByCGLIB$$38272841_2    com.x.Foo$$EnhancerByCGLIB$$*
 *   com.x.Foo$ByteBuddy$aB3dE5gH              com.x.Foo$ByteBuddy$*
 *   jdk.proxy2.$Proxy14                       jdk.proxy#.$Proxy#
 *
 * '#' stands for a number, '*' for something random. Names that merely contain digits are folded as
 * well (Base64 becomes Base#): whether a stem's members are a family is for shape.h to say, from
 * the members, and not for one name.
 *
 * Cost: one pass, no allocation, about 130 ns a name. Calling context: any thread.
 */
#pragma once

#include "floor/base/span.h"

#define STEM_MAX 512 /* bytes with NUL; what a longer name has beyond is not part of its stem */

struct name_parts {
    bool folded;           /* the stem is not the name itself */
    bool hidden;           /* ends in the address of a hidden class, or JDK 8's number of one */
    bool anonymous;        /* ends in $1 or $1Local, as javac numbers classes inside methods */
    bool counted;          /* has numbers: */
    uint64_t first_number; /* saturated */
    uint64_t last_number;
    uint32_t random_bytes; /* length of the last random piece; 0: none */
    /* The last piece of the simple name, when it follows '$' or '_' and does not look random by
     * itself: its offset in the stem and its length in the name. tail_bytes 0: no such piece. */
    uint32_t tail_at;
    uint32_t tail_bytes;
};

/* Writes the NUL-terminated stem and returns its length. */
size_t normalize(struct span name, char stem[STEM_MAX], struct name_parts *parts);

/* The part of a name that may vary without a change of its stem, for a caller that sees many names of one generator:
 * comparing is much cheaper than normalising.
 *
 *   Script12$_run_closure1       front "Script", a number, back "$_run_closure1"
 */
struct name_pattern {
    enum { NAME_FIXED, NAME_NUMBER, NAME_ADDRESS, NAME_RANDOM } varies;
    bool is_first, is_last; /* number of the name */
    uint32_t front, back;   /* bytes of the name before and after what varies, */
    uint32_t digits;        /* and what it was long in the name */
    struct name_parts parts;
};

/* As normalize, and the pattern of the name. NAME_FIXED: there is none. */
size_t normalize_pattern(struct span name, char stem[STEM_MAX], struct name_parts *parts,
                         struct name_pattern *pattern);
/* Does the name have the stem of that other name, whose pattern it is? Then *parts is as normalize
 * fills it; false: it may have it or not. front_text, back_text: the first front and the last back
 * bytes of the other name. */
bool name_pattern_fits(const struct name_pattern *pattern, const char *front_text,
                       const char *back_text, struct span name, struct name_parts *parts);

/* Does a piece of a name, letters and digits only, look random: hexadecimal, base 62, base 36? */
bool name_looks_random(struct span piece);

/*
 * class_family: what the classes that one piece of code makes have in common: the text by which
 * they are counted.
 *
 *   com/x/Foo$$EnhancerByCGLIB$$38272841     com.x.Foo$$EnhancerByCGLIB$$*
 *   Script12$_run_closure1                   Script#$_run_closure#
 *   T$$Lambda$1+0x00007f1368000c08           T$$Lambda$#/0x*
 *   com/acme/orders/OrderService             com.acme.orders.*
 *   com/acme/orders/OrderService$1           com.acme.orders.*
 *   Main                                     Main
 *
 * A name with something in it that a generator changes from class to class is its stem; any other is one of
 * its package, so that thirty thousand classes of an application are some hundred families, or its own family
 * where it has no package.
 *
 * Pure, no allocation, some 200 ns. Any thread; 1.2 KB of stack.
 */
#define CLASS_NAME_MAX   512 /* with NUL; longer ones are cut */
#define CLASS_FAMILY_MAX 200 /* with NUL; longer ones are cut: what is alike up to there is one */

/* The JVM's own name ("a/b/C", "a/b/C+0x..", JVMTI's "La/b/C.0x..;") as people read it: "a.b.C",
 * "a.b.C/0x..". Returns the length. */
size_t class_name_readable(const char *name, char out[CLASS_NAME_MAX]);
/* Whether a readable name ends in the number of a hidden class. */
bool class_name_is_hidden(const char *readable);
/* readable: of class_name_readable. Returns the length. */
size_t class_family(const char *readable, size_t length, char out[CLASS_FAMILY_MAX]);
