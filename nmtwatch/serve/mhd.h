/*
 * mhd: libmicrohttpd, found when it is needed.
 *
 * nmtwatch is one file that can be copied into a container with nothing but a libc; only `serve`
 * needs an HTTP server, whose library brings GnuTLS and eight more. So it is opened at run time,
 * and every other verb works without it. The functions are those of mhd.def, called as mhd()->name.
 *
 * Setup context for mhd_open; then any thread.
 */
#ifndef NMTWATCH_SERVE_MHD_H
#define NMTWATCH_SERVE_MHD_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

struct mhd_functions {
#define MHD_FUNCTION(name) __typeof__(&MHD_##name) name;
#include "nmtwatch/serve/mhd.def"
#undef MHD_FUNCTION
};

/* False with one sentence: the library is not installed. */
bool mhd_open(char *error, size_t error_size);
/* After mhd_open. */
const struct mhd_functions *mhd(void);

#endif
