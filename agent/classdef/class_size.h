/*
 * class_size: what the metadata of a class takes, read from HotSpot's own structures.
 *
 *   InstanceKlass with vtable, itable and oop maps | constant pool with its tags
 *   | each method: Method and ConstMethod (bytecodes, line numbers, exception and other tables)
 *
 * That is what the class asks of Metaspace when it is defined. Not in it: fields and annotations,
 * what linking adds (the cache of the constant pool), compiled code, the java.lang.Class object,
 * and what a loader's chunks round up to: a lone class in a loader of its own costs some 8 KB
 * whatever its size. A class from the CDS archive has the same size, but asks for nothing.
 *
 * The mirror's address is read while the garbage collector may move it. So every load is guarded
 * and the name found must be the class's own; else the size is not known.
 *
 * ClassLoad and ClassPrepare callbacks; some hundred nanoseconds a method at most.
 */
#ifndef AGENT_CLASSDEF_CLASS_SIZE_H
#define AGENT_CLASSDEF_CLASS_SIZE_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether this JVM's tables have what is needed. After layout_read. */
bool class_size_possible(void);
/* signature: as JVMTI gives it, "Lcom/x/Foo;". -1: not known. */
int64_t class_size_bytes(jclass class, const char *signature);
/* The Klass * of a class by a local reference; 0: not known, now. Any thread; after layout_read. */
uintptr_t class_klass(jclass class, const char *signature);

#endif
