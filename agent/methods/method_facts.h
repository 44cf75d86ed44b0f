/*
 * method_facts: what JVMTI knows of one method, asked while its class cannot go away.
 *
 * A jmethodID may be of a class that is unloaded: then JVMTI refuses the first question
 * (INVALID_METHODID) and nothing else is asked. Otherwise the declaring class is held by a local
 * reference until the answers are there. Every result of JVMTI is given back before or by
 * method_facts_end; held_bytes says what is not at this moment.
 *
 * Drain thread.
 */
#pragma once

#include <jvmti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct method_facts {
    const char *class_name; /* "java/lang/String", "pkg/Hidden/0x0000..."; no NUL behind it */
    size_t class_name_length;
    size_t package_length; /* of class_name, without the slash; 0: none */
    char *class_signature; /* what class_name is a part of */
    char *name;
    char *signature;
    jint modifiers;
    struct line_table *lines; /* the caller's; NULL: none */
};

/* False: nothing is known of it, and there is nothing to end. */
bool method_facts_ask(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method, struct method_facts *facts,
                      int64_t *held_bytes);
/* Its lines only, as they are now. False: the class is gone, or has none; lines is as before. */
bool method_facts_lines(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method, struct line_table **lines,
                        int64_t *held_bytes);
void method_facts_end(jvmtiEnv *jvmti, struct method_facts *facts, int64_t *held_bytes);

/*
 * line_tables: the line number table of a method, small: four bytes an entry where JVMTI's take
 * sixteen (bytecode indexes and lines are 16-bit numbers in a class file).
 *
 * The memory that JVMTI returned is copied and may be deallocated at once. Component LINE_TABLES. Drain
 * thread.
 */
struct line_table;

/* Entries in any order. NULL: there are none, or no memory. */
struct line_table *line_table_create(const jvmtiLineNumberEntry *entries, jint count);
/* The same from the table HotSpot keeps behind a method's bytecodes (line_step in method_reading.h).
 * Everything after damage is left out. */
struct line_table *line_table_decode(const uint8_t *bytes, size_t size, unsigned lowest);
/* The line of a bytecode index; 0: before the first entry. */
int line_table_line(const struct line_table *table, int32_t bci);
void line_table_destroy(struct line_table *table);
