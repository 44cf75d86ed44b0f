/*
 * agent_terminal: the agent's answers, JSON objects, as people read them.
 *
 * What is in an answer is the target's word: it is parsed, never trusted to be complete, and its
 * texts are escaped. A member that is missing is left out or shown as "?". False when the text is
 * no such object. One thread.
 */
#ifndef REPORTS_AGENT_TERMINAL_H
#define REPORTS_AGENT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* After `start`: what runs now. */
bool agent_print_started(const char *json, FILE *out);
/* After `stop`: where the recording is, what was counted, what cannot be given back. */
bool agent_print_stopped(const char *json, FILE *out);
/* The same when the recording was made into a file of ours. */
bool agent_print_written(const char *json, const char *output, FILE *out);
bool agent_print_dumped(const char *json, FILE *out);
bool agent_print_status(const char *json, FILE *out);
/* The account, a row per component. */
bool agent_print_memory(const char *json, FILE *out);
/* The same object on one line, safe for a terminal. */
bool agent_print_json(const char *json, FILE *out);

#endif
