/*
 * mhd: libmicrohttpd, found when it is needed.
 *
 * nmtwatch is one file that can be copied into a container with nothing but a libc; only `serve`
 * needs an HTTP server, whose library brings GnuTLS and eight more. So it is opened at run time,
 * and every other verb works without it. The functions are those of MHD_FUNCTIONS, called as mhd()->name.
 *
 * Setup context for mhd_open; then any thread.
 */
#ifndef NMTWATCH_SERVE_MHD_H
#define NMTWATCH_SERVE_MHD_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

/* What `serve` calls of libmicrohttpd: names without MHD_. */
#define MHD_FUNCTIONS(row)                                                                         \
    row(start_daemon) row(stop_daemon) row(get_daemon_info) row(get_connection_info)               \
        row(queue_response) row(create_response_from_callback) row(create_response_from_buffer)    \
            row(destroy_response) row(add_response_header) row(lookup_connection_value)            \
                row(basic_auth_get_username_password) row(free)

struct mhd_functions {
#define MEMBER(name) __typeof__(&MHD_##name) name;
    MHD_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* False with one sentence: the library is not installed. */
bool mhd_open(char *error, size_t error_size);
/* After mhd_open. */
const struct mhd_functions *mhd(void);

#endif
