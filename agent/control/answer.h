/*
 * answer: what a command has to say, collected in memory and then written to the asker's file.
 *
 *   answer_begin -> write to answer.json, or answer_refuse -> answer_send -> answer_end
 *
 * The file is the asker's: it exists already, is empty, a regular file of this process's user, with
 * one name. Nothing else is ever written to, so an option string cannot make the agent create or
 * overwrite a file. The format is wire_formats.h.
 *
 * The text belongs to component CONTROL; the stream itself is a few hundred bytes of the C library
 * for as long as the answer lives. Commands' thread.
 */
#pragma once

#include "agent/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct answer {
    FILE *out;        /* NULL after a failed begin: a refusal can be sent all the same */
    struct json json; /* onto out */
    char *text;
    size_t length, capacity;
    bool lost; /* memory ran out: what was collected is not whole */
    bool refused;
    char sentence[512];
};

bool answer_begin(struct answer *answer);
/* Earlier output in out is dropped. */
__attribute__((format(printf, 2, 3))) void answer_refuse(struct answer *answer, const char *format,
                                                         ...);
/* To the file, or, when path is "", to the JVM's standard error. False with a sentence. */
bool answer_send(struct answer *answer, const char *path, char *error, size_t error_size);
void answer_end(struct answer *answer);
