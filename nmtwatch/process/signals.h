/* signals: what reaches this process from outside while it works.
 *
 * SIGINT, SIGTERM and SIGHUP ask it to end, which is counted; SIGHUP stays ignored where it was
 * (nohup). Any thread may be the one that is interrupted and a signal may come just before poll(2):
 * a descriptor becomes readable, so that none is noticed late.
 *
 * With a command of its own (SIGNALS_COMMAND) SIGQUIT, SIGUSR1 and SIGUSR2 are for that command
 * alone, and its end wakes, too. A terminal sends signals to the whole foreground process group:
 * the command has it already and is not sent it twice.
 *
 *   signals_catch -> poll on signals_fd, signals_seen -> signals_asked, _reload, _to_pass ...
 *
 * Setup context, then one thread. */
#pragma once

#include <signal.h>
#include <stdbool.h>

enum signals_mode {
    SIGNALS_END,     /* nothing but requests to end */
    SIGNALS_COMMAND, /* there is a command that signals are passed on to */
    SIGNALS_RELOAD,  /* SIGHUP asks for the configuration to be read again */
};
/* False with errno. */
bool signals_catch(enum signals_mode mode);
/* SIGNALS_END in a child that was forked without exec and has closed its parent's descriptors: nothing has been asked
 * of it yet. False with errno. */
bool signals_catch_in_child(void);
/* For poll(2), POLLIN; -1 before signals_catch. */
int signals_fd(void);
/* The wake-up of poll was handled: the descriptor is no longer readable. */
void signals_seen(void);

/* How often the process was asked to end. */
int signals_asked(void);
/* The same count, for loops of layers that know of no signals. */
const volatile sig_atomic_t *signals_asked_at(void);
/* Since the last call. */
bool signals_reload(void);
/* The next signal for the command since the last call; 0: none. */
int signals_to_pass(void);
