/* report: what `nmtwatch report` does, for verbs that end with a report. Setup context. */
#ifndef NMTWATCH_COMMANDS_REPORT_H
#define NMTWATCH_COMMANDS_REPORT_H

#include "reports/page/page.h"

#include <stdbool.h>

/* The recording as page, pictures, Markdown and JSON in the directory, which is made when it is not
 * there. False after one line on stderr. */
bool report_make(const char *recording, const char *directory);
/* A page as stem.html and stem.md in the directory. False after one line on stderr. */
bool report_add_page(const char *directory, const char *stem, const struct page *page);
/* Makes it with the folders above it; false with errno. */
bool report_make_directory(const char *path);

#endif
