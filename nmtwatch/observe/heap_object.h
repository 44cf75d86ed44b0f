/* heap_object: objects of a JVM's heap, read from outside: their class, and what their fields refer to.
 *
 * Fields have no names here: of an object those are found that refer to an object of a class. A collector moves objects
 * meanwhile, and ZGC's references are no addresses: what is not such an object is not found.
 *
 * One process at a time, that of stacks_open; one thread. */
#pragma once

#include "analyzers/model/stack_frame.h"
#include "nmtwatch/jvm/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the JVM's flags; stacks_open has been called. target: origins are asked for; NULL: they are not. */
void heap_objects_begin(const struct target *target);
/* Whether the JVM's tables say where an object has its class. */
bool heap_object_known(void);
/* The first words of an object: [mark 8][class 4][length 4], without compressed classes [mark 8][class 8][length 4],
 * with compact headers [class in the mark 8][length 4]. length: of an array. 0: not known. */
uintptr_t heap_object_class(const uint64_t word[3], uint32_t *length);

/* class_origin: where a class comes from, by its mirror:
 *
 *   Klass -> java.lang.Class -> ProtectionDomain -> CodeSource -> URL -> "jrt" or a path
 *
 *   a folder of classes, also in an archive of Spring Boot or of a web application     the application's
 *   a jar among jars (lib/, .m2/, /usr/share/java/), unless the main class is from it  a library's
 *   a domain without a location                                                        generated
 *
 * Another jar: not known. */
enum code_origin class_origin(uintptr_t klass);
