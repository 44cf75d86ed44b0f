/*
 * fake_jvm: what a caller of JVMTI and JNI has to give back, counted: blocks of memory, local
 * references, local frames. A test's fake JVM hands them out; at the end nothing may be left.
 */
#pragma once

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct {
    _Atomic int64_t blocks, local_refs, frames;
} held;

static inline void fake_hold_nothing(void)
{
    held.blocks = held.local_refs = held.frames = 0;
}

static inline bool fake_holds_nothing(void)
{
    return held.blocks == 0 && held.local_refs == 0 && held.frames == 0;
}

/* Teardown of a group. */
static inline int fake_nothing_is_left(void **state)
{
    (void)state;
    return fake_holds_nothing() ? 0 : -1;
}

/* What JVMTI hands out and Deallocate takes back. */
static inline void *fake_block(size_t bytes)
{
    held.blocks++;
    return calloc(1, bytes == 0 ? 1 : bytes);
}

static inline char *fake_text(const char *text)
{
    return strcpy(fake_block(strlen(text) + 1), text);
}

static inline jvmtiError JNICALL fake_deallocate(jvmtiEnv *env, unsigned char *block)
{
    (void)env;
    free(block);
    held.blocks--;
    return JVMTI_ERROR_NONE;
}

static inline void JNICALL fake_delete_local_ref(JNIEnv *env, jobject reference)
{
    (void)env, (void)reference;
    held.local_refs--;
}

static inline jint JNICALL fake_push_local_frame(JNIEnv *env, jint capacity)
{
    (void)env, (void)capacity;
    held.frames++;
    return JNI_OK;
}

static inline jobject JNICALL fake_pop_local_frame(JNIEnv *env, jobject kept)
{
    (void)env;
    held.frames--;
    return kept;
}
