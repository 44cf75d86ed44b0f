#include "nmtwatch/serve/web.h"

#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/serve/views.h"
#include "reports/page/page.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* --- body ------------------------------------------------------------------------------------- */

#define GZIP_LEVEL  1 /* 500 KB of metrics: 5 ms instead of 20, for a sixth more bytes */
#define GZIP_WINDOW (15 + 16)

/* The bytes of one answer, immutable, shared by reference count. */
struct body {
    atomic_int references;
    size_t length;
    bool gzip;
    char bytes[];
};

/* Copies. NULL when out of memory. */
static struct body *body_create(const char *bytes, size_t length)
{
    struct body *body = malloc(sizeof *body + length);
    if (body == NULL)
        return NULL;
    atomic_init(&body->references, 1);
    body->length = length;
    body->gzip = false;
    memcpy(body->bytes, bytes, length);
    return body;
}

/* The same, compressed. */
static struct body *body_gzip(const struct body *body)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    size_t bound = deflateBound(&stream, body->length);
    struct body *packed = malloc(sizeof *packed + bound);
    if (packed != NULL) {
        atomic_init(&packed->references, 1);
        packed->gzip = true;
        stream.next_in = (unsigned char *)body->bytes;
        stream.avail_in = (unsigned)body->length;
        stream.next_out = (unsigned char *)packed->bytes;
        stream.avail_out = (unsigned)bound;
        deflate(&stream, Z_FINISH);
        packed->length = stream.total_out;
    }
    deflateEnd(&stream);
    return packed;
}

static struct body *body_share(struct body *body)
{
    if (body != NULL)
        atomic_fetch_add_explicit(&body->references, 1, memory_order_relaxed);
    return body;
}

static void body_release(struct body *body)
{
    /* As in snapshot_release: reads before the free, and the last one sees them done. */
    if (body != NULL && atomic_fetch_sub_explicit(&body->references, 1, memory_order_acq_rel) == 1)
        free(body);
}

#define THREADS          2
#define HEAD_MAX_BYTES   16384
#define IDLE_S           10
#define ANSWER_MS        30000
#define BLOCK_BYTES      32768
#define PEM_MAX_BYTES    (1 << 20)
#define RESULT_MAX_BYTES (64 << 20)
#define STALE_MS         30000 /* a loop that has not published for so long hangs */

/* What can be asked for. A route's answer depends on the snapshot and on its variant. */
enum route {
    ROUTE_METRICS,
    ROUTE_OPENMETRICS,
    ROUTE_PAGE,
    ROUTE_BAD,
    ROUTE_TARGETS,
    ROUTE_FINDINGS,
    ROUTES
};

struct cached {
    pthread_mutex_t lock; /* held while the answer is put together: it is made once */
    int64_t number;       /* of the snapshot */
    struct body *plain, *packed;
};

struct web {
    struct MHD_Daemon *daemon;
    struct board *board;
    struct users *users; /* NULL: everybody may read */
    struct callers *callers;
    int connections; /* at once */
    bool loopback;
    char observations[SERVE_PATH_MAX]; /* folder of results; "" none */
    char host[256];                    /* of external_url; "" none */
    char *cert, *key;
    int port;
    struct cached cache[ROUTES];
    atomic_llong answers[6];
};

/* --- bodies ----------------------------------------------------------------------------------- */

static struct body *metrics_body(const struct snapshot *snapshot, enum exposition_format format)
{
    struct exposition out = {.format = format};
    size_t length;
    metrics_write(snapshot, &out);
    const char *text = exposition_end(&out, &length);
    struct body *body = text != NULL ? body_create(text, length) : NULL;
    exposition_free(&out);
    return body;
}

static struct body *page_body(const struct snapshot *snapshot, bool bad)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL)
        return NULL;
    bool good = view_page(snapshot, bad, out);
    good = fclose(out) == 0 && good;
    struct body *body = good ? body_create(text, length) : NULL;
    free(text);
    return body;
}

static struct body *json_body(const struct snapshot *snapshot, bool findings)
{
    struct json_out out = {0};
    const char *text =
        findings ? view_findings_json(snapshot, &out) : view_targets_json(snapshot, &out);
    struct body *body = text != NULL ? body_create(text, out.length) : NULL;
    json_out_free(&out);
    return body;
}

static struct body *make_body(enum route route, const struct snapshot *snapshot)
{
    switch (route) {
    case ROUTE_METRICS:
        return metrics_body(snapshot, EXPOSITION_TEXT);
    case ROUTE_OPENMETRICS:
        return metrics_body(snapshot, EXPOSITION_OPENMETRICS);
    case ROUTE_PAGE:
    case ROUTE_BAD:
        return page_body(snapshot, route == ROUTE_BAD);
    case ROUTE_TARGETS:
    case ROUTE_FINDINGS:
        return json_body(snapshot, route == ROUTE_FINDINGS);
    case ROUTES:
        break;
    }
    return NULL;
}

static void drop(struct cached *cached)
{
    body_release(cached->plain);
    body_release(cached->packed);
    cached->plain = cached->packed = NULL;
}

/* A reference to the answer of the newest snapshot; NULL when memory ran out. */
static struct body *take_body(struct web *web, enum route route, bool gzip)
{
    struct cached *cached = &web->cache[route];
    struct snapshot *snapshot = board_take(web->board);
    if (snapshot == NULL)
        return NULL;
    pthread_mutex_lock(&cached->lock);
    if (cached->number != snapshot->number) {
        drop(cached);
        cached->number = snapshot->number;
    }
    if (cached->plain == NULL)
        cached->plain = make_body(route, snapshot);
    if (gzip && cached->packed == NULL && cached->plain != NULL)
        cached->packed = body_gzip(cached->plain);
    struct body *body = body_share(gzip ? cached->packed : cached->plain);
    pthread_mutex_unlock(&cached->lock);
    snapshot_release(snapshot);
    return body;
}

/* --- answers ---------------------------------------------------------------------------------- */

struct sending {
    struct body *body;
    int64_t until_ms;
};

static ssize_t send_more(void *context, uint64_t at, char *into, size_t room)
{
    const struct sending *sending = context;
    size_t left = sending->body->length - at;
    if (left == 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (clock_ms(CLOCK_MONOTONIC) > sending->until_ms)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (room > left)
        room = left;
    memcpy(into, sending->body->bytes + at, room);
    return (ssize_t)room;
}

static void sent(void *context)
{
    struct sending *sending = context;
    body_release(sending->body);
    free(sending);
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    mhd()->add_response_header(response, name, value);
}

static enum MHD_Result answer(struct web *web, struct MHD_Connection *connection, unsigned status,
                              struct MHD_Response *response)
{
    if (response == NULL)
        return MHD_NO;
    atomic_fetch_add_explicit(&web->answers[status / 100], 1, memory_order_relaxed);
    add_header(response, "Cache-Control", "no-store");
    add_header(response, "X-Content-Type-Options", "nosniff");
    add_header(response, "X-Frame-Options", "DENY");
    add_header(response, "Referrer-Policy", "no-referrer");
    add_header(response, "Content-Security-Policy", page_csp);
    enum MHD_Result result = mhd()->queue_response(connection, status, response);
    mhd()->destroy_response(response);
    return result;
}

/* text is a literal. */
static struct MHD_Response *short_text(const char *text)
{
    union {
        const char *text;
        void *buffer; /* which it does not write to */
    } either = {text};
    struct MHD_Response *response =
        mhd()->create_response_from_buffer(strlen(text), either.buffer, MHD_RESPMEM_PERSISTENT);
    if (response != NULL)
        add_header(response, "Content-Type", "text/plain; charset=utf-8");
    return response;
}

static enum MHD_Result refuse(struct web *web, struct MHD_Connection *connection, unsigned status,
                              const char *text)
{
    struct MHD_Response *response = short_text(text);
    if (response != NULL && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        add_header(response, "Allow", "GET, HEAD");
    if (response != NULL && status == MHD_HTTP_UNAUTHORIZED)
        add_header(response, "WWW-Authenticate", "Basic realm=\"nmtwatch\", charset=\"UTF-8\"");
    if (response != NULL && status >= 400) /* what follows may be an unwanted body */
        add_header(response, "Connection", "close");
    return answer(web, connection, status, response);
}

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    const char *value = mhd()->lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value != NULL ? value : "";
}

static const char *content_type(enum route route)
{
    switch (route) {
    case ROUTE_METRICS:
        return exposition_content_type(EXPOSITION_TEXT);
    case ROUTE_OPENMETRICS:
        return exposition_content_type(EXPOSITION_OPENMETRICS);
    case ROUTE_PAGE:
    case ROUTE_BAD:
        return "text/html; charset=utf-8";
    case ROUTE_TARGETS:
    case ROUTE_FINDINGS:
    case ROUTES:
        break;
    }
    return "application/json";
}

/* Takes the reference over. */
static enum MHD_Result send_body(struct web *web, struct MHD_Connection *connection,
                                 struct body *body, const char *type)
{
    const char *reload =
        mhd()->lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "reload");
    struct sending *sending = calloc(1, sizeof *sending);
    if (sending == NULL) {
        body_release(body);
        return MHD_NO;
    }
    sending->until_ms = clock_ms(CLOCK_MONOTONIC) + ANSWER_MS;
    sending->body = body;
    struct MHD_Response *response = mhd()->create_response_from_callback(
        sending->body->length, BLOCK_BYTES, send_more, sending, sent);
    if (response == NULL) {
        sent(sending);
        return MHD_NO;
    }
    add_header(response, "Content-Type", type);
    add_header(response, "Vary", "Accept, Accept-Encoding");
    if (reload != NULL && strcmp(reload, VIEW_RELOAD_S) == 0) /* who requests it, and may stop it */
        add_header(response, "Refresh", VIEW_RELOAD_S);
    if (body->gzip)
        add_header(response, "Content-Encoding", "gzip");
    return answer(web, connection, MHD_HTTP_OK, response);
}

static enum MHD_Result answer_body(struct web *web, struct MHD_Connection *connection,
                                   enum route route)
{
    bool gzip = strstr(header_of(connection, "Accept-Encoding"), "gzip") != NULL;
    struct body *body = take_body(web, route, gzip);
    if (body == NULL)
        return refuse(web, connection, MHD_HTTP_SERVICE_UNAVAILABLE, "nothing to show yet\n");
    return send_body(web, connection, body, content_type(route));
}

/* The whole of a result that the newest snapshot has; NULL: there is none of that name. */
static struct body *result_body(const struct web *web, const char *name)
{
    char path[SERVE_PATH_MAX + 160];
    struct body *body = NULL;
    struct stat status;
    bool known = false;
    struct snapshot *snapshot = board_take(web->board);
    for (int i = 0; snapshot != NULL && i < snapshot->observation_count && !known; i++)
        known = strcmp(snapshot->observations[i].file, name) == 0;
    snapshot_release(snapshot);
    snprintf(path, sizeof path, "%s/%s", web->observations, name);
    int fd = known ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size <= RESULT_MAX_BYTES &&
        (body = malloc(sizeof *body + (size_t)status.st_size)) != NULL) {
        atomic_init(&body->references, 1);
        body->gzip = false;
        body->length = (size_t)status.st_size;
        if (pread(fd, body->bytes, body->length, 0) != (ssize_t)body->length) {
            free(body);
            body = NULL;
        }
    }
    if (fd >= 0)
        close(fd);
    return body;
}

static enum MHD_Result answer_result(struct web *web, struct MHD_Connection *connection,
                                     const char *name)
{
    struct body *body = result_body(web, name);
    if (body == NULL)
        return refuse(web, connection, MHD_HTTP_NOT_FOUND, "not here\n");
    size_t length = strlen(name);
    bool html = length > 5 && strcmp(name + length - 5, ".html") == 0;
    return send_body(web, connection, body, html ? "text/html; charset=utf-8" : "application/json");
}

static enum MHD_Result answer_health(struct web *web, struct MHD_Connection *connection)
{
    struct snapshot *snapshot = board_take(web->board);
    bool good = snapshot != NULL && clock_ms(CLOCK_REALTIME) - snapshot->unix_ms < STALE_MS;
    snapshot_release(snapshot);
    return good ? answer(web, connection, MHD_HTTP_OK, short_text("ok\n"))
                : refuse(web, connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the watching hangs\n");
}

/* --- requests --------------------------------------------------------------------------------- */

static bool host_is(const char *host, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(host, name, length) == 0;
}

static bool host_is_welcome(const struct web *web, const char *host)
{
    if (!web->loopback || host[0] == '\0') /* HTTP/1.0 has none; browsers always send it */
        return true;
    const char *bracket = host[0] == '[' ? strchr(host, ']') : NULL;
    size_t length = bracket != NULL ? (size_t)(bracket - host) + 1 : strcspn(host, ":");
    return host_is(host, length, "localhost") || host_is(host, length, "[::1]") ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == length) ||
           (web->host[0] != '\0' && host_is(host, length, web->host));
}

static bool may_read(const struct web *web, struct MHD_Connection *connection)
{
    char *password = NULL;
    if (web->users == NULL)
        return true;
    char *user = mhd()->basic_auth_get_username_password(connection, &password);
    bool good = user != NULL && password != NULL && users_know(web->users, user, password);
    if (user != NULL)
        mhd()->free(user);
    if (password != NULL)
        mhd()->free(password);
    return good;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **request)
{
    static const struct {
        const char *path;
        enum route route;
    } routes[] = {
        {"/", ROUTE_PAGE},
        {"/bad", ROUTE_BAD},
        {"/metrics", ROUTE_METRICS},
        {"/api/v1/targets", ROUTE_TARGETS},
        {"/api/v1/findings", ROUTE_FINDINGS},
    };
    static char seen;
    struct web *web = context;
    (void)version, (void)upload;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse(web, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
    if (*upload_size > 0)
        return MHD_NO; /* a body with a GET: no client of ours */
    if (*request == NULL) {
        *request = &seen; /* an answer before the request was read to its end closes */
        return MHD_YES;
    }
    if (!host_is_welcome(web, header_of(connection, "Host")))
        return refuse(web, connection, MHD_HTTP_FORBIDDEN,
                      "this host name is not known here (set external_url)\n");
    if (strcmp(url, "/healthz") == 0)
        return answer_health(web, connection);
    if (!may_read(web, connection))
        return refuse(web, connection, MHD_HTTP_UNAUTHORIZED, "user and password are needed\n");
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        enum route route = routes[i].route;
        if (strcmp(url, routes[i].path) != 0)
            continue;
        if (route == ROUTE_METRICS &&
            strstr(header_of(connection, "Accept"), "application/openmetrics-text") != NULL)
            route = ROUTE_OPENMETRICS;
        return answer_body(web, connection, route);
    }
    if (strncmp(url, OBSERVATIONS_PATH, sizeof OBSERVATIONS_PATH - 1) == 0)
        return answer_result(web, connection, url + sizeof OBSERVATIONS_PATH - 1);
    return refuse(web, connection, MHD_HTTP_NOT_FOUND, "not here\n");
}

/* --- life ------------------------------------------------------------------------------------- */

/* A key that everybody may read, or its group change, is none. */
static bool key_is_private(FILE *file, const char *path, char *error, size_t error_size)
{
    struct stat status;
    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) &&
        (status.st_mode & (S_IRWXO | S_IWGRP)) == 0)
        return true;
    return text_error(error, error_size, "tls_key %s: others may read or change it: chmod 600",
                      path);
}

static char *read_pem(const char *path, bool key, char *error, size_t error_size)
{
    FILE *file = privileged_fopen(path);
    if (file != NULL && key && !key_is_private(file, path, error, error_size)) {
        fclose(file);
        return NULL;
    }
    char *text = file != NULL ? calloc(1, PEM_MAX_BYTES) : NULL;
    if (text != NULL && fread(text, 1, PEM_MAX_BYTES - 1, file) == 0) {
        free(text);
        text = NULL;
    }
    if (text == NULL)
        snprintf(error, error_size, "%s: %s", path, errno != 0 ? strerror(errno) : "it is empty");
    if (file != NULL)
        fclose(file);
    return text;
}

static void host_of_url(const char *url, char *host, size_t size)
{
    const char *from = strstr(url, "://");
    from = from != NULL ? from + 3 : url;
    snprintf(host, size, "%.*s", (int)strcspn(from, ":/"), from);
}

static bool read_secrets(struct web *web, const struct serve_options *options, char *error,
                         size_t error_size)
{
    if (options->user_file[0] != '\0' &&
        (web->users = users_read(options->user_file, error, error_size)) == NULL)
        return false;
    return options->tls_cert[0] == '\0' ||
           ((web->cert = read_pem(options->tls_cert, false, error, error_size)) != NULL &&
            (web->key = read_pem(options->tls_key, true, error, error_size)) != NULL);
}

static void free_secrets(struct web *web)
{
    users_free(web->users);
    free(web->cert);
    free(web->key);
}

static void no_log(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format, (void)arguments;
}

/* Before the first byte of a connection is read, and when it has ended. */
static void on_connection(void *context, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode what)
{
    struct web *web = context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        callers_go(web->callers, (int)(intptr_t)*place - 1);
        return;
    }
    /* One at a time: libmicrohttpd 1.0 returns both in the same place. */
    const union MHD_ConnectionInfo *info =
        mhd()->get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *from = info != NULL ? info->client_addr : NULL;
    info = mhd()->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info != NULL) /* 0: no place */
        *place = (void *)(intptr_t)(callers_come(web->callers, from, info->connect_fd) + 1);
}

static bool start_daemon(struct web *web, const struct sockaddr_storage *address)
{
    static char tls_versions[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, web->cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, web->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, tls_versions},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ERROR_LOG;
    if (web->cert != NULL)
        flags |= MHD_USE_TLS;
    if (address->ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    errno = 0;
    web->daemon = mhd()->start_daemon(
        flags, 0, NULL, NULL, on_request, web, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
        MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS,
        /* Shared out among the threads; callers.c keeps to fewer. */
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(THREADS * (web->connections + CALLERS_ENDING)),
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, web, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_MAX_BYTES,
        MHD_OPTION_ARRAY, web->cert != NULL ? tls : none, MHD_OPTION_END);
    return web->daemon != NULL;
}

bool web_check(const struct serve_options *options, char *error, size_t error_size)
{
    struct sockaddr_storage address;
    struct web *web = calloc(1, sizeof *web);
    bool good = web != NULL && serve_listen_parse(options->listen, &address, error, error_size) &&
                read_secrets(web, options, error, error_size);
    if (web == NULL)
        snprintf(error, error_size, "out of memory");
    else
        free_secrets(web);
    free(web);
    return good;
}

struct web *web_start(const struct serve_options *options, struct board *board, char *error,
                      size_t error_size)
{
    struct sockaddr_storage address;
    struct web *web = calloc(1, sizeof *web);
    if (web == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    web->board = board;
    web->connections = (int)options->max_connections;
    web->callers = callers_create(web->connections, (int)options->max_connections_per_address);
    if (web->callers == NULL) {
        free(web);
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    for (int i = 0; i < ROUTES; i++)
        pthread_mutex_init(&web->cache[i].lock, NULL);
    snprintf(web->observations, sizeof web->observations, "%s", options->observations);
    host_of_url(options->external_url, web->host, sizeof web->host);
    if (!mhd_open(error, error_size) ||
        !serve_listen_parse(options->listen, &address, error, error_size) ||
        !read_secrets(web, options, error, error_size)) {
        web_stop(web);
        return NULL;
    }
    web->loopback = serve_listen_is_loopback(&address);
    if (!start_daemon(web, &address)) {
        snprintf(error, error_size, "cannot listen on %s: %s", options->listen,
                 errno != 0          ? strerror(errno)
                 : web->cert != NULL ? "certificate and key are not accepted"
                                     : "libmicrohttpd refuses");
        web_stop(web);
        return NULL;
    }
    const union MHD_DaemonInfo *port =
        mhd()->get_daemon_info(web->daemon, MHD_DAEMON_INFO_BIND_PORT);
    web->port = port != NULL ? port->port : 0;
    return web;
}

int web_port(const struct web *web)
{
    return web->port;
}

void web_answers(const struct web *web, int64_t answers[6])
{
    for (int i = 0; i < 6; i++)
        answers[i] = atomic_load_explicit(&web->answers[i], memory_order_relaxed);
}

int64_t web_displaced(const struct web *web)
{
    return callers_displaced(web->callers);
}

void web_stop(struct web *web)
{
    if (web == NULL)
        return;
    if (web->daemon != NULL)
        mhd()->stop_daemon(web->daemon);
    for (int i = 0; i < ROUTES; i++) {
        drop(&web->cache[i]);
        pthread_mutex_destroy(&web->cache[i].lock);
    }
    callers_destroy(web->callers);
    free_secrets(web);
    free(web);
}
