/*
 * signal_stack: how much of a stack a signal handler may still use.
 *
 * A thread that has set an alternate signal stack (sigaltstack) gave it some size, and below it
 * lies anything. Signal context; to be called in the handler, or in what it calls.
 */
#ifndef AGENT_SAMPLING_SIGNAL_STACK_H
#define AGENT_SAMPLING_SIGNAL_STACK_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* Bytes below the caller's frame; SIZE_MAX: it runs on the thread's own stack. */
static inline size_t signal_stack_left(const void *ucontext)
{
    const stack_t *stack = &((const ucontext_t *)ucontext)->uc_stack;
    uintptr_t low = (uintptr_t)stack->ss_sp, here = (uintptr_t)__builtin_frame_address(0);
    if ((stack->ss_flags & SS_DISABLE) != 0 || here < low || here - low >= stack->ss_size)
        return SIZE_MAX;
    return here - low;
}

#endif
