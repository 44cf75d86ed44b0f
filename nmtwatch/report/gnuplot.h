/* gnuplot: runs the installed gnuplot on a script and hands back the picture.
 *
 * gnuplot is optional and somebody else's program: it gets the script on its standard input, no
 * file name and no start-up file, and GNUPLOT_TIMEOUT_MS to finish. Ownership: the caller frees the
 * picture. Setup context, one thread. */
#pragma once

#include <stddef.h>

enum gnuplot_result {
    GNUPLOT_OK,
    GNUPLOT_MISSING, /* not installed: no other script will do better */
    GNUPLOT_FAILED,
};

enum gnuplot_result gnuplot_draw(const char *script, size_t script_size, char **picture,
                                 size_t *size, char *error, size_t error_size);
