#include "nmtwatch/alert/receiver.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/jvm/privileged.h"
#include "reports/text/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define TIMEOUT_MS     10000
#define TIMEOUT_MAX_MS 120000

bool receiver_init(struct receiver_options *receiver, const char *name, char *problem, size_t size)
{
    size_t length = strlen(name);
    memset(receiver, 0, sizeof *receiver);
    if (length == 0 || length >= sizeof receiver->name || name[0] == '.' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != length)
        return text_error(
            problem, size,
            "[receiver NAME]: a name of at most %d letters, digits, '.', '_' and '-' is "
            "needed",
            RECEIVER_NAME_MAX - 1);
    memcpy(receiver->name, name, length);
    receiver->kind = RECEIVER_WEBHOOK;
    receiver->timeout_ms = TIMEOUT_MS;
    return true;
}

static bool take_text(char *field, size_t field_size, const char *key, const char *text,
                      char *problem, size_t size)
{
    if (strlen(text) >= field_size)
        return text_error(problem, size, "%s: longer than %zu bytes", key, field_size - 1);
    snprintf(field, field_size, "%s", text);
    return true;
}

static bool take_url(struct receiver_options *receiver, const char *text, char *problem,
                     size_t size)
{
    const char *host = strstr(text, "://");
    bool http = strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
    if (!http || host[3] == '\0' || host[3] == '/' || strpbrk(text, " \t\"<>") != NULL)
        return text_error(problem, size, "url: '%.80s' is no http:// or https:// address", text);
    return take_text(receiver->url, sizeof receiver->url, "url", text, problem, size);
}

static bool take_kind(struct receiver_options *receiver, const char *text, char *problem,
                      size_t size)
{
    static const char *const kinds[] = {
        [RECEIVER_ALERTMANAGER] = "alertmanager",
        [RECEIVER_WEBHOOK] = "webhook",
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(text, kinds[i]) == 0) {
            receiver->kind = (enum receiver_kind)i;
            return true;
        }
    }
    return text_error(problem, size, "kind: '%.60s' is neither alertmanager nor webhook", text);
}

static bool take_timeout(struct receiver_options *receiver, const char *text, char *problem,
                         size_t size)
{
    char why[128];
    int64_t ms;
    if (units_parse_duration(text, &ms, why, sizeof why) && ms >= 100 && ms <= TIMEOUT_MAX_MS) {
        receiver->timeout_ms = ms;
        return true;
    }
    return text_error(problem, size, "timeout: a duration of 100ms to 2min is needed, as 10s");
}

bool receiver_same(const struct receiver_options *a, const struct receiver_options *b)
{
    return strcmp(a->name, b->name) == 0 && a->kind == b->kind && strcmp(a->url, b->url) == 0 &&
           strcmp(a->ca_file, b->ca_file) == 0 && strcmp(a->user_file, b->user_file) == 0 &&
           strcmp(a->token_file, b->token_file) == 0 &&
           a->plain_credentials == b->plain_credentials && a->timeout_ms == b->timeout_ms;
}

bool receiver_take(struct receiver_options *receiver, const char *key, const char *text,
                   char *problem, size_t size)
{
    if (strcmp(key, "kind") == 0)
        return take_kind(receiver, text, problem, size);
    if (strcmp(key, "url") == 0)
        return take_url(receiver, text, problem, size);
    if (strcmp(key, "timeout") == 0)
        return take_timeout(receiver, text, problem, size);
    if (strcmp(key, "plain_credentials") == 0) {
        receiver->plain_credentials = strcmp(text, "yes") == 0;
        if (receiver->plain_credentials || strcmp(text, "no") == 0)
            return true;
        return text_error(problem, size, "plain_credentials: yes or no is needed");
    }
    if (strcmp(key, "ca_file") == 0)
        return take_text(receiver->ca_file, sizeof receiver->ca_file, key, text, problem, size);
    if (strcmp(key, "user_file") == 0)
        return take_text(receiver->user_file, sizeof receiver->user_file, key, text, problem, size);
    if (strcmp(key, "token_file") == 0)
        return take_text(receiver->token_file, sizeof receiver->token_file, key, text, problem,
                         size);
    return text_error(problem, size, "unknown key '%.60s' in [receiver]", key);
}

bool receiver_is_private(const struct receiver_options *receiver, char *error, size_t error_size)
{
    const char *host = strstr(receiver->url, "://");
    bool in_url = host != NULL && memchr(host + 3, '@', strcspn(host + 3, "/?#")) != NULL;
    if (strncasecmp(receiver->url, "https://", 8) == 0 || receiver->plain_credentials ||
        (!in_url && receiver->user_file[0] == '\0' && receiver->token_file[0] == '\0'))
        return true;
    return text_error(
        error, error_size,
        "receiver %s: a password or a token would go over http:// where anybody on the way "
        "can read it: "
        "use https://, or plain_credentials = yes",
        receiver->name);
}

/* A blank or a sign that is none would end the header, or begin another one. */
static bool is_token(const char *line)
{
    const char *at = line;
    while (*at > ' ' && *at < 0x7f)
        at++;
    return at > line && *at == '\0';
}

bool receiver_credentials(const struct receiver_options *receiver, char *line, size_t line_size,
                          char *error, size_t error_size)
{
    struct stat status;
    const char *wrong = NULL;
    bool token = receiver->token_file[0] != '\0';
    const char *path = token ? receiver->token_file : receiver->user_file;
    line[0] = '\0';
    if (path[0] == '\0')
        return true;
    if (token && receiver->user_file[0] != '\0')
        return text_error(error, error_size, "receiver %s: either user_file or token_file",
                          receiver->name);
    FILE *file = privileged_fopen(path);
    if (file == NULL || fstat(fileno(file), &status) != 0)
        wrong = strerror(errno);
    else if (!S_ISREG(status.st_mode))
        wrong = "not a file";
    else if ((status.st_mode & 077) != 0)
        wrong = "others may read it: chmod 600";
    else if (fgets(line, (int)line_size, file) == NULL)
        wrong = "empty";
    else if (strchr(line, '\n') == NULL && !feof(file))
        wrong = "its line is too long";
    line[strcspn(line, "\r\n")] = '\0';
    if (wrong == NULL && token && !is_token(line))
        wrong = "the first line is not a token";
    if (wrong == NULL && !token && (line[0] == ':' || strchr(line, ':') == NULL))
        wrong = "the first line is not user:password";
    if (file != NULL)
        fclose(file);
    if (wrong == NULL)
        return true;
    explicit_bzero(line, line_size);
    return text_error(error, error_size, "receiver %s: %s %s: %s", receiver->name,
                      token ? "token_file" : "user_file", path, wrong);
}
