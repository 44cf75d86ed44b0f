#include "nmtwatch/alert/http_post.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/alert/receiver.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Options by number: older headers than those of 7.85 and 7.87 do not have the names, newer ones deprecate the
 * second. */
#define PROTOCOLS_TEXT ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 318)) /* CURLOPT_PROTOCOLS_STR */
#define PROTOCOLS_BITS ((CURLoption)(CURLOPTTYPE_LONG + 181))        /* CURLOPT_PROTOCOLS */
#define QUICK_EXIT     ((CURLoption)(CURLOPTTYPE_LONG + 322))        /* CURLOPT_QUICK_EXIT */

#define ANSWER_SHOWN 80 /* bytes of an answer's body that go into a sentence */
#define ANSWER_READ  65536
#define EVENTS       16

struct curl_functions {
#define MEMBER(name) __typeof__(&curl_##name) name;
    CURL_FUNCTIONS(MEMBER)
#undef MEMBER
};
static struct curl_functions curl;

struct http {
    CURLM *multi;
    int epoll_fd;
    int64_t now_ms, timer_ms; /* -1: none */
    http_done_fn *done;
    void *context;
    struct transfer *transfers; /* under way, a list */
};

struct transfer {
    struct transfer *next;
    CURL *easy;
    struct curl_slist *headers;
    void *of;
    size_t received;
    char shown[ANSWER_SHOWN + 1];
    char error[CURL_ERROR_SIZE];
};

/* --- the library ------------------------------------------------------------------------------ */

static bool open_library(char *error, size_t error_size)
{
    static const char *const names[] = {"libcurl-gnutls.so.4", "libcurl.so.4"};
    static const struct {
        const char *name;
        void **into;
    } rows[] = {
#define ROW(name) {"curl_" #name, (void **)&curl.name},
        CURL_FUNCTIONS(ROW)
#undef ROW
    };
    void *library = NULL; /* for the life of the process */
    for (size_t i = 0; i < sizeof names / sizeof *names && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return text_error(error, error_size,
                          "libcurl cannot be loaded (package libcurl3-gnutls or libcurl4): %s",
                          dlerror());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *rows[i].into = dlsym(library, rows[i].name);
        if (*rows[i].into == NULL)
            return text_error(error, error_size, "libcurl has no %s", rows[i].name);
    }
    if (curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return true;
    return text_error(error, error_size, "libcurl does not start");
}

/* --- libcurl's wishes ------------------------------------------------------------------------- */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    struct http *http = context;
    struct epoll_event event = {.data.fd = fd};
    (void)easy;
    (void)known;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(http->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events |= (what & CURL_POLL_IN) != 0 ? EPOLLIN : 0;
    event.events |= (what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0;
    if (epoll_ctl(http->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT)
        epoll_ctl(http->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    return 0;
}

static int on_timer(CURLM *multi, long wait_ms, void *context)
{
    struct http *http = context;
    (void)multi;
    http->timer_ms = wait_ms < 0 ? -1 : http->now_ms + wait_ms;
    return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    size_t length = size * count;
    for (size_t i = 0; i < length && transfer->received + i < ANSWER_SHOWN; i++)
        transfer->shown[transfer->received + i] =
            bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : ' ';
    transfer->received += length;
    return transfer->received <= ANSWER_READ ? length : 0; /* 0 ends it: the status is known */
}

/* --- requests --------------------------------------------------------------------------------- */

static void transfer_free(struct http *http, struct transfer *transfer)
{
    for (struct transfer **at = &http->transfers; *at != NULL; at = &(*at)->next) {
        if (*at == transfer) {
            *at = transfer->next;
            break;
        }
    }
    if (transfer->easy != NULL) {
        curl.multi_remove_handle(http->multi, transfer->easy);
        curl.easy_cleanup(transfer->easy);
    }
    curl.slist_free_all(transfer->headers);
    free(transfer);
}

static bool configure(struct transfer *transfer, const struct http_request *request)
{
    CURL *easy = transfer->easy;
    char type[80];
    snprintf(type, sizeof type, "Content-Type: %.60s",
             request->content_type != NULL ? request->content_type : "application/json");
    char token[CREDENTIALS_MAX + 32];
    bool bearer = request->bearer && request->credentials[0] != '\0';
    snprintf(token, sizeof token, "Authorization: Bearer %s", request->credentials);
    const char *const lines[] = {type, "Expect:", token};
    for (size_t i = 0; i < (bearer ? 3 : 2); i++) {
        struct curl_slist *more = curl.slist_append(transfer->headers, lines[i]);
        if (more == NULL)
            return false;
        transfer->headers = more;
    }
    explicit_bzero(token, sizeof token);
    bool good = curl.easy_setopt(easy, CURLOPT_URL, request->url) == CURLE_OK &&
                (curl.easy_setopt(easy, PROTOCOLS_TEXT, "http,https") == CURLE_OK ||
                 curl.easy_setopt(easy, PROTOCOLS_BITS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS)) ==
                     CURLE_OK) &&
                curl.easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK &&
                curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)request->length) == CURLE_OK &&
                curl.easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body) == CURLE_OK;
    good = good &&
           curl.easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK;
    curl.easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
    curl.easy_setopt(easy, CURLOPT_USERAGENT, "nmtwatch/" NMTWATCH_VERSION);
    curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl.easy_setopt(easy, QUICK_EXIT, 1L); /* do not wait for a name server at the end */
    curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl.easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl.easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    if (request->ca_file[0] != '\0')
        good = good && curl.easy_setopt(easy, CURLOPT_CAINFO, request->ca_file) == CURLE_OK;
    if (!bearer && request->credentials[0] != '\0') {
        curl.easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        good = good && curl.easy_setopt(easy, CURLOPT_USERPWD, request->credentials) == CURLE_OK;
    }
    return good;
}

bool http_post(struct http *http, const struct http_request *request, void *of)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (transfer == NULL)
        return false;
    transfer->of = of;
    transfer->easy = curl.easy_init();
    if (transfer->easy != NULL && configure(transfer, request) &&
        curl.multi_add_handle(http->multi, transfer->easy) == CURLM_OK) {
        transfer->next = http->transfers;
        http->transfers = transfer;
        return true;
    }
    transfer_free(http, transfer);
    return false;
}

static void end(struct http *http, struct transfer *transfer, CURLcode code)
{
    struct http_answer answer = {0};
    long status = 0;
    curl_off_t retry_after_s = 0;
    curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    curl.easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    answer.status = (int)status;
    answer.retry_after_s = retry_after_s;
    if (status == 0)
        snprintf(answer.failure, sizeof answer.failure, "%.200s",
                 transfer->error[0] != '\0' ? transfer->error : curl.easy_strerror(code));
    else if (status / 100 != 2)
        snprintf(answer.failure, sizeof answer.failure, "it answered %ld%s%.*s", status,
                 transfer->shown[0] != '\0' ? ": " : "", ANSWER_SHOWN, transfer->shown);
    void *of = transfer->of;
    transfer_free(http, transfer);
    http->done(http->context, of, &answer);
}

int64_t http_step(struct http *http, int64_t now_ms)
{
    struct epoll_event events[EVENTS];
    int running, left;
    http->now_ms = now_ms;
    int count = epoll_wait(http->epoll_fd, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        int bits = (events[i].events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & EPOLLERR ? CURL_CSELECT_ERR : 0);
        curl.multi_socket_action(http->multi, events[i].data.fd, bits, &running);
    }
    if (http->timer_ms >= 0 && now_ms >= http->timer_ms) {
        http->timer_ms = -1;
        curl.multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (CURLMsg *message; (message = curl.multi_info_read(http->multi, &left)) != NULL;) {
        char *transfer = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result; /* message is gone with its handle */
        curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        end(http, (struct transfer *)(void *)transfer, code);
    }
    if (http->timer_ms < 0)
        return INT64_MAX;
    return http->timer_ms > now_ms ? http->timer_ms - now_ms : 0;
}

int http_fd(const struct http *http)
{
    return http->epoll_fd;
}

/* --- life ------------------------------------------------------------------------------------- */

struct http *http_create(http_done_fn *done, void *context, char *error, size_t error_size)
{
    if (!open_library(error, error_size))
        return NULL;
    struct http *http = calloc(1, sizeof *http);
    if (http != NULL) {
        http->done = done;
        http->context = context;
        http->timer_ms = -1;
        http->multi = curl.multi_init();
        http->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    }
    if (http == NULL || http->multi == NULL || http->epoll_fd < 0) {
        snprintf(error, error_size, "libcurl does not start: %s", strerror(errno));
        http_destroy(http);
        return NULL;
    }
    curl.multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl.multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    curl.multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl.multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    curl.multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, 8L);
    return http;
}

void http_destroy(struct http *http)
{
    if (http == NULL)
        return;
    while (http->transfers != NULL)
        transfer_free(http, http->transfers);
    if (http->multi != NULL)
        curl.multi_cleanup(http->multi);
    if (http->epoll_fd >= 0)
        close(http->epoll_fd);
    free(http);
}
