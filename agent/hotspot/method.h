/*
 * method: what the walker asks of a Method *.
 *
 * Signal context; every load is guarded.
 */
#ifndef AGENT_HOTSPOT_METHOD_H
#define AGENT_HOTSPOT_METHOD_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the address may be that of a Method: it leads to a constant pool that holds its name. */
bool method_is_plausible(uintptr_t method);
bool method_is_native(uintptr_t method);
/* The index of a bytecode by its address; 0 where that is not in the method's code. */
int32_t method_bci(uintptr_t method, uintptr_t bcp);

#endif
