/* http_post: requests to receivers that never wait (libcurl's multi interface on an epoll).
 *
 *   http_create -> http_post ... -> http_step (event loop) -> http_destroy
 *
 * libcurl is opened when the first receiver is configured: nmtwatch stays one file that can be
 * copied into a container with a libc alone. Debian's package is libcurl3-gnutls or libcurl4.
 * Names are looked up by libcurl in a thread of its own. http_proxy, https_proxy and no_proxy of
 * the environment count. Redirections are not followed: a receiver is what was configured.
 *
 * Event loop, one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is called of libcurl, by name. */
/* clang-format off */
#define CURL_FUNCTIONS(F)                                                                          \
    F(global_init) F(easy_init) F(easy_setopt) F(easy_getinfo) F(easy_strerror) F(easy_cleanup)    \
    F(slist_append) F(slist_free_all) F(multi_init) F(multi_setopt) F(multi_add_handle)            \
    F(multi_remove_handle) F(multi_socket_action) F(multi_info_read) F(multi_cleanup)
/* clang-format on */

struct http;

struct http_request {
    const char *url;
    const char *ca_file;     /* "": the system's */
    const char *credentials; /* user:password, or with bearer a token; "": none */
    bool bearer;
    int64_t timeout_ms;
    const char *content_type; /* NULL: JSON */
    const char *body;         /* copied */
    size_t length;
};

struct http_answer {
    int status;            /* 0: there was none */
    int64_t retry_after_s; /* 0: not said */
    char failure[256];     /* one sentence when the status is no 2xx */
};

typedef void http_done_fn(void *context, void *of, const struct http_answer *answer);

/* NULL with one sentence in error. */
struct http *http_create(http_done_fn *done, void *context, char *error, size_t error_size);
/* False: out of memory; otherwise done is called from a later http_step. */
bool http_post(struct http *http, const struct http_request *request, void *of);
/* Returns the milliseconds until it wants to be called again, INT64_MAX: when its descriptor can be
 * read. */
int64_t http_step(struct http *http, int64_t now_ms);
int http_fd(const struct http *http);
/* Gives up what is under way. */
void http_destroy(struct http *http);
