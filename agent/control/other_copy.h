/*
 * other_copy: is another copy of the agent at work in this process?
 *
 * The same library under two paths is two agents: two handlers of signals, every thread with two
 * timers. Each copy that serves commands says so through the exported function
 * nmtagent_in_charge(), and looks for that function in every other library that is loaded. So no
 * file, property or environment variable has to be left behind.
 *
 * The same path is loaded once only and needs no care. Setup context; loads nothing.
 */
#ifndef AGENT_CONTROL_OTHER_COPY_H
#define AGENT_CONTROL_OTHER_COPY_H

#include <stdbool.h>
#include <stddef.h>

/* True when one is; path tells which. */
bool other_copy_in_charge(char *path, size_t size);
/* This copy serves commands from now on. */
void other_copy_take_charge(void);

#endif
