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
 * A name with something in it that a generator changes from class to class is its stem
 * (analyzers/classes/normalize.h, the same that a watch goes by); any other is one of its package,
 * so that thirty thousand classes of an application are some hundred families, or its own family
 * where it has no package.
 *
 * Pure, no allocation, some 200 ns. Any thread; 1.2 KB of stack.
 */
#ifndef AGENT_CLASSDEF_CLASS_FAMILY_H
#define AGENT_CLASSDEF_CLASS_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#define CLASS_NAME_MAX   512 /* with NUL; longer ones are cut */
#define CLASS_FAMILY_MAX 200 /* with NUL; longer ones are cut: what is alike up to there is one */

/* The JVM's own name ("a/b/C", "a/b/C+0x..", JVMTI's "La/b/C.0x..;") as people read it: "a.b.C",
 * "a.b.C/0x..". Returns the length. */
size_t class_name_readable(const char *name, char out[CLASS_NAME_MAX]);
/* Whether a readable name ends in the number of a hidden class. */
bool class_name_is_hidden(const char *readable);
/* readable: of class_name_readable. Returns the length. */
size_t class_family(const char *readable, size_t length, char out[CLASS_FAMILY_MAX]);

#endif
