/*
 * soak_signals: what reaches a soak from outside, and what of it its command has to hear.
 *
 * SIGINT, SIGTERM and SIGHUP end the soak; SIGQUIT, SIGUSR1 and SIGUSR2 are the command's alone.
 * What a terminal sends goes to the whole foreground process group: the command has it already and
 * is not sent it twice. Setup context, then the event loop.
 */
#ifndef NMTWATCH_SOAK_SOAK_SIGNALS_H
#define NMTWATCH_SOAK_SOAK_SIGNALS_H

#include "nmtwatch/soak/child.h"

/* command: there is one that signals are passed on to. */
void soak_signals_catch(bool command);
/* Passes on what has come since the last call. */
void soak_signals_pass(const struct child *child);
/* How often the soak was asked to end. */
int soak_signals_asked(void);

#endif
