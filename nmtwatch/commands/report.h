/* report: what `nmtwatch report` does, for verbs that end with a report. Setup context. */
#ifndef NMTWATCH_COMMANDS_REPORT_H
#define NMTWATCH_COMMANDS_REPORT_H

#include <stdbool.h>

/* The recording as page, pictures, Markdown and JSON in the directory, which is made when it is not
 * there. False after one line on stderr. */
bool report_make(const char *recording, const char *directory);
/* Makes it with the folders above it; false with errno. */
bool report_make_directory(const char *path);

#endif
