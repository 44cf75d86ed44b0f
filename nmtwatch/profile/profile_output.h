/*
 * profile_output: a recording of the agent as the file that a suffix asks for.
 *
 *   .jfr  the recording itself        .txt  collapsed stacks
 *   .html a flame graph               .json the top table
 */
#ifndef NMTWATCH_PROFILE_PROFILE_OUTPUT_H
#define NMTWATCH_PROFILE_PROFILE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

enum profile_format { PROFILE_JFR, PROFILE_HTML, PROFILE_COLLAPSED, PROFILE_TOP, PROFILE_TOP_TEXT };

/* By the name's suffix; false: by none of them. */
bool profile_output_format(const char *name, enum profile_format *format);
/* Whether that file can be written, before anything is recorded for it. False with a sentence. */
bool profile_output_possible(const char *output, char *error, size_t error_size);
/* recording: a descriptor of the file. False with a sentence; the output file is removed then. */
bool profile_output_write(int recording, enum profile_format format, const char *output,
                          const char *title, char *error, size_t error_size);

#endif
