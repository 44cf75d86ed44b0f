#include "nmtwatch/serve/serve_options.h"

#include "nmtwatch/observe/observe.h"
#include "reports/text/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

enum option_kind { OPTION_TEXT, OPTION_DURATION, OPTION_BYTES, OPTION_COUNT, OPTION_PERCENT };

struct row {
    const char *key;
    enum option_kind kind;
    size_t offset, size;
    const char *initial;
};

static const struct row rows[] = {
#define SERVE_OPTION(key, kind, field, initial, value, help)                                       \
    {key, OPTION_##kind, offsetof(struct serve_options, field),                                    \
     sizeof(((struct serve_options *)0)->field), initial},
#include "nmtwatch/serve/serve_options.def"
#undef SERVE_OPTION
};

static const struct setting settings[SERVE_SETTINGS] = {
#define SERVE_OPTION(key, kind, field, initial, value, help) {key, value, initial, help},
#include "nmtwatch/serve/serve_options.def"
#undef SERVE_OPTION
    {"include", "RULES", "", "which JVMs are watched (all)"},
    {"exclude", "RULES", "", "which are not"},
    {"target", "TEMPLATE", "%{user}/%{main}", "what a JVM is called"},
};

const struct setting *serve_settings(void)
{
    return settings;
}

#define COUNT_MAX 10000 /* connections and JVMs: more than one process should have */

static bool parse_count(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= 1 && *number <= COUNT_MAX;
}

/* Thousandths of a percent. */
static bool parse_percent(const char *text, int64_t *number)
{
    char *end;
    double percent = strtod(text, &end);
    if (end == text || !(percent >= 0.001 && percent <= 10000))
        return false;
    *number = (int64_t)(percent * 1000 + 0.5);
    return strcmp(end + strspn(end, " "), "%") == 0 || *end == '\0';
}

static bool take_row(void *into, const struct row *row, const char *text, char *problem,
                     size_t size)
{
    char *field = (char *)into + row->offset;
    char why[128];
    int64_t number = 0;
    switch (row->kind) {
    case OPTION_TEXT:
        if (strlen(text) >= row->size)
            return text_error(problem, size, "%s: longer than %zu bytes", row->key, row->size - 1);
        snprintf(field, row->size, "%s", text);
        return true;
    case OPTION_DURATION:
        if (!units_parse_duration(text, &number, why, sizeof why) || number < 100)
            return text_error(problem, size, "%s: a duration of at least 100ms is needed, as 5s",
                              row->key);
        break;
    case OPTION_BYTES:
        if (!units_parse_bytes(text, &number, why, sizeof why) || number < 65536)
            return text_error(problem, size, "%s: at least 64K is needed, as 16M", row->key);
        break;
    case OPTION_PERCENT:
        if (!parse_percent(text, &number))
            return text_error(problem, size,
                              "%s: a percentage from 0.001 to 10000 is needed, as 2%%", row->key);
        break;
    case OPTION_COUNT:
        if (!parse_count(text, &number))
            return text_error(problem, size, "%s: a number from 1 to %d is needed", row->key,
                              COUNT_MAX);
        break;
    }
    memcpy(field, &number, sizeof number);
    return true;
}

void serve_options_default(struct serve_options *options)
{
    char ignored[8];
    memset(options, 0, sizeof *options);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        take_row(options, &rows[i], rows[i].initial, ignored, sizeof ignored);
    target_rules_default(&options->rules);
    watch_options_default(&options->watch);
    options->watch.observe = false; /* [observe NAME] says what is observed, and how often */
}

/* The two that need no more than an address are keys of [serve]. */
static const struct {
    const char *name;
    enum receiver_kind kind;
    size_t url;
} short_receivers[] = {
    {"alertmanager", RECEIVER_ALERTMANAGER, offsetof(struct serve_options, alertmanager)},
    {"webhook", RECEIVER_WEBHOOK, offsetof(struct serve_options, webhook)},
};
#define SHORT_RECEIVERS ((int)(sizeof short_receivers / sizeof *short_receivers))

static bool is_short(const char *name)
{
    for (int i = 0; i < SHORT_RECEIVERS; i++)
        if (strcmp(name, short_receivers[i].name) == 0)
            return true;
    return false;
}

static bool check_url(const char *key, const char *text, char *problem, size_t size)
{
    struct receiver_options receiver;
    char why[200];
    if (text[0] == '\0' || (receiver_init(&receiver, key, why, sizeof why) &&
                            receiver_take(&receiver, "url", text, why, sizeof why)))
        return true;
    return text_error(problem, size, "%s: %s", key, why);
}

bool serve_options_take(struct serve_options *options, const char *key, const char *text,
                        char *problem, size_t size)
{
    struct target_rules *rules = &options->rules;
    bool include = strcmp(key, "include") == 0;
    char why[300];
    if (include || strcmp(key, "exclude") == 0)
        return target_match_add(include ? &rules->include : &rules->exclude, text, why,
                                sizeof why) ||
               text_error(problem, size, "%s: %s", key, why);
    if (strcmp(key, "target") == 0)
        return target_rules_template(rules, text, why, sizeof why) ||
               text_error(problem, size, "%s: %s", key, why);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sockaddr_storage address;
        if (strcmp(key, rows[i].key) != 0)
            continue;
        return take_row(options, &rows[i], text, problem, size) &&
               (strcmp(key, "listen") != 0 || serve_listen_parse(text, &address, problem, size)) &&
               (!is_short(key) || check_url(key, text, problem, size));
    }
    return text_error(problem, size, "unknown key '%.60s' in [serve]%s", key,
                      watch_options_has_key(key) ? ": it is one of [watch]" : "");
}

bool serve_options_take_receiver(struct serve_options *options, const char *name, const char *key,
                                 const char *text, char *problem, size_t size)
{
    int at = 0;
    while (at < options->receiver_count && strcmp(options->receivers[at].name, name) != 0)
        at++;
    if (at == RECEIVERS_MAX - SHORT_RECEIVERS)
        return text_error(problem, size, "[receiver %.40s]: there is room for %d receivers", name,
                          at);
    if (is_short(name))
        return text_error(problem, size, "[receiver %s]: that is the name of the one in [serve]",
                          name);
    if (at == options->receiver_count) {
        if (!receiver_init(&options->receivers[at], name, problem, size))
            return false;
        options->receiver_count++;
    }
    return receiver_take(&options->receivers[at], key, text, problem, size);
}

/* --- observe ---------------------------------------------------------------------------------- */

static const struct row section_rows[] = {
#define SECTION_OPTION(key, kind, field, initial, help)                                            \
    {key, OPTION_##kind, offsetof(struct observe_section, field),                                  \
     sizeof(((struct observe_section *)0)->field), initial},
#include "nmtwatch/serve/observe_section.def"
#undef SECTION_OPTION
};

#define SECTION_FOR_MAX_MS 600000

/* The next word of a list by commas or spaces; its length, 0 at the end. */
static size_t next_word(const char **at)
{
    *at += strspn(*at, ", \t");
    return strcspn(*at, ", \t");
}

bool observe_section_on(const struct observe_section *section, const char *finding)
{
    const char *at = section->on;
    for (size_t length; (length = next_word(&at)) > 0; at += length)
        if (strlen(finding) == length && memcmp(at, finding, length) == 0)
            return true;
    return false;
}

/* Those that a watch raises, and the one that serve looks for. */
static bool findings_exist(const struct observe_section *section, char *problem, size_t size)
{
    const char *at = section->on;
    for (size_t length; (length = next_word(&at)) > 0; at += length) {
        bool known = strncmp(at, OBSERVE_OUTSIDE, length) == 0 && OBSERVE_OUTSIDE[length] == '\0';
        for (int kind = 0; kind < FINDING_WATCH_COUNT && !known; kind++) {
            const char *id = finding_row((enum finding_kind)kind)->id;
            known = strlen(id) == length && memcmp(at, id, length) == 0;
        }
        if (!known)
            return text_error(problem, size,
                              "on: '%.*s' is no finding of a watch (nmtwatch explain)",
                              length < 60 ? (int)length : 60, at);
    }
    return true;
}

static bool section_value_good(const struct observe_section *section, const char *key,
                               char *problem, size_t size)
{
    enum observe_mode mode;
    struct target_match match = {0};
    char why[300];
    if (strcmp(key, "what") == 0 && !observe_mode_by_name(section->what, &mode))
        return text_error(problem, size,
                          "what: '%s' is none of cpu, classes, alloc, rss, jmethodids, methods",
                          section->what);
    if (strcmp(key, "for") == 0 && section->for_ms > SECTION_FOR_MAX_MS)
        return text_error(problem, size, "for: at most 10m");
    if (strcmp(key, "match") == 0 && !target_match_add(&match, section->match, why, sizeof why))
        return text_error(problem, size, "match: %s", why);
    return strcmp(key, "on") != 0 || findings_exist(section, problem, size);
}

/* NULL with a problem. */
static struct observe_section *section_of(struct serve_options *options, const char *name,
                                          char *problem, size_t size)
{
    char ignored[8];
    struct receiver_options receiver; /* the same rules for a name */
    for (int i = 0; i < options->section_count; i++)
        if (strcmp(options->sections[i].name, name) == 0)
            return &options->sections[i];
    if (options->section_count == OBSERVE_SECTIONS_MAX) {
        snprintf(problem, size, "[observe %.40s]: there is room for %d sections", name,
                 OBSERVE_SECTIONS_MAX);
        return NULL;
    }
    if (!receiver_init(&receiver, name, ignored, sizeof ignored)) {
        snprintf(problem, size,
                 "[observe %.40s]: a name is up to %d letters, digits, '.', '_' and '-'", name,
                 RECEIVER_NAME_MAX - 1);
        return NULL;
    }
    struct observe_section *section = &options->sections[options->section_count++];
    memset(section, 0, sizeof *section);
    snprintf(section->name, sizeof section->name, "%s", name);
    for (size_t i = 0; i < sizeof section_rows / sizeof *section_rows; i++)
        if (section_rows[i].initial[0] != '\0')
            take_row(section, &section_rows[i], section_rows[i].initial, ignored, sizeof ignored);
    return section;
}

bool serve_options_take_section(struct serve_options *options, const char *name, const char *key,
                                const char *text, char *problem, size_t size)
{
    struct observe_section *section = section_of(options, name, problem, size);
    for (size_t i = 0; section != NULL && i < sizeof section_rows / sizeof *section_rows; i++) {
        if (strcmp(key, section_rows[i].key) == 0)
            return take_row(section, &section_rows[i], text, problem, size) &&
                   section_value_good(section, key, problem, size);
    }
    if (section != NULL)
        return text_error(problem, size, "unknown key '%.60s' in [observe %s]", key, name);
    return false;
}

static const char *sections_contradiction(const struct serve_options *options)
{
    if (options->section_count > 0 && options->observations[0] == '\0')
        return "sections [observe NAME] need a folder: observations in [serve]";
    for (int i = 0; i < options->section_count; i++) {
        if (options->sections[i].what[0] == '\0')
            return "an [observe NAME] does not say what";
        if (options->sections[i].every_ms == 0 && options->sections[i].on[0] == '\0')
            return "an [observe NAME] has neither every nor on: it would never start";
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------- */

int serve_options_receivers(const struct serve_options *options,
                            struct receiver_options receivers[static RECEIVERS_MAX])
{
    char ignored[8];
    int count = options->receiver_count;
    memcpy(receivers, options->receivers, (size_t)count * sizeof *receivers);
    for (int i = 0; i < SHORT_RECEIVERS; i++) {
        const char *url = (const char *)options + short_receivers[i].url;
        if (url[0] == '\0')
            continue;
        receiver_init(&receivers[count], short_receivers[i].name, ignored, sizeof ignored);
        receivers[count].kind = short_receivers[i].kind;
        receiver_take(&receivers[count++], "url", url, ignored, sizeof ignored);
    }
    return count;
}

const char *serve_options_contradiction(const struct serve_options *options)
{
    if ((options->tls_cert[0] == '\0') != (options->tls_key[0] == '\0'))
        return "tls_cert and tls_key belong together";
    if (options->keep_bytes < options->rotate_bytes)
        return "keep_size is smaller than rotate_size";
    struct receiver_options receivers[RECEIVERS_MAX];
    int count = serve_options_receivers(options, receivers);
    if (count > 0 && options->state[0] == '\0')
        return "receivers of alerts need a state folder: a restart has to know what is up";
    for (int i = 0; i < count; i++)
        if (receivers[i].url[0] == '\0')
            return "a [receiver] has no url";
    return sections_contradiction(options);
}

/* --- where to listen -------------------------------------------------------------------------- */

bool serve_listen_parse(const char *text, struct sockaddr_storage *address, char *error,
                        size_t size)
{
    char host[64];
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    long port =
        colon != NULL && colon[1] >= '0' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : -1;
    memset(address, 0, sizeof *address);
    if (port < 0 || port > 65535 || *end != '\0' || (size_t)(colon - text) >= sizeof host)
        return text_error(error, size, "'%.60s' is no ADDRESS:PORT, as 127.0.0.1:9779", text);
    snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
    size_t length = strlen(host);
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        if (inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1)
            return true;
    } else {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        v4->sin_addr.s_addr = htonl(INADDR_ANY);
        if (length == 0 || inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
                                     &v4->sin_addr) == 1)
            return true;
    }
    return text_error(error, size, "'%.60s' is no numeric address", host);
}

bool serve_listen_is_loopback(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    if (address->ss_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    return address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}
