/* stacks: a sample of perf_events as the frames of Java and native code it was taken in.
 *
 *   registers, copy of the stack --+-> native frames, by the libraries' unwind tables (frame_rule.h)
 *                                  +-> Java frames, by the agent's walker (walk.h) over remote.h
 *
 * Code that is neither (the kernel's vdso, code of another runtime) ends a stack. Names are read when a
 * method is first sampled, and kept: they survive the class. Line numbers likewise.
 *
 * One process at a time; one thread. */
#pragma once

#include "analyzers/model/stack_frame.h"
#include "floor/base/normalize.h"
#include "nmtwatch/observe/perf_events.h"
#include "nmtwatch/observe/remote.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stack_outcome {
    STACK_COMPLETE, /* to the thread's outermost frame */
    STACK_DEEPER,   /* to the end of what was copied, or of the frames that fit */
    STACK_BROKEN,   /* Java frames that could not be followed further */
    STACK_NATIVE,   /* native frames without a way to their callers */
    STACK_NONE,     /* it has no user space: a thread of the kernel, or one that ends */
    STACK_OUTCOMES,
};
const char *stack_outcome_text(enum stack_outcome outcome);

#define STACK_FRAMES_MAX 1024

/* Reads where HotSpot keeps what the walker needs. remote_open has been called. False with one sentence:
 * then stacks have native frames only. */
bool stacks_open(char *error, size_t error_size);
void stacks_close(void);
/* Innermost first; texts are kept until stacks_close. The copy in the sample is used during the call only. */
int stacks_walk(const struct perf_sample *sample, struct stack_frame *out, int max,
                enum stack_outcome *outcome);
/* The JavaThread whose stack the sample is of; 0: not one of Java's, or not known. */
uintptr_t stacks_thread(const struct perf_sample *sample);
/* The stacks of Java's threads as they are now. */
void stacks_each_thread(void (*visit)(void *context, uintptr_t low, uintptr_t high), void *context);
/* Libraries whose symbols or unwind tables were left out, because those of all would take too much memory. */
int stacks_left_out(void);
/* The file of libjvm, read when it is asked for first; NULL with a sentence. */
struct elf_file;
const struct elf_file *stacks_jvm_file(char *error, size_t error_size);
/* A bool of libjvm; `instead` where this JDK has none of that name. */
bool stacks_jvm_flag(const char *name, bool instead);
