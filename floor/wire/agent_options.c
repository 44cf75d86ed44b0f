#include "floor/wire/agent_options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MICROSECOND   1000LL
#define MILLISECOND   1000000LL
#define SECOND        1000000000LL
#define END_AFTER_MAX (AGENT_END_AFTER_MAX_S * SECOND)

static const struct {
    const char *name;
    enum agent_option_type type;
    const char *dflt;
    const char *meaning;
} table[AGENT_OPTION_COUNT] = {
#define OPTION(id, name, type, dflt, meaning)                                                      \
    [OPTION_##id] = {name, AGENT_TYPE_##type, dflt, meaning},
#include "floor/wire/options.def"
};
_Static_assert(AGENT_OPTION_COUNT <= 32, "a bit each in agent_options.given");

static const char *const commands[AGENT_COMMAND_COUNT] = {
    [AGENT_START] = "start",   [AGENT_STOP] = "stop",     [AGENT_DUMP] = "dump",
    [AGENT_STATUS] = "status", [AGENT_MEMORY] = "memory", [AGENT_ALLOC] = "alloc",
    [AGENT_SET] = "set",       [AGENT_SITES] = "sites",   [AGENT_BASELINE] = "baseline",
};

/* What a number may be; 0 at both ends: anything that its type can hold. */
static const struct {
    int64_t least, most;
    const char *expected;
} ranges[AGENT_OPTION_COUNT] = {
    [OPTION_CPU] = {100 * MICROSECOND, 10 * SECOND, "100us to 10s, or 0"},
    [OPTION_ALLOC] = {1 << 10, 1 << 30, "1K to 1G"},
    [OPTION_LIVE] = {1, 1 << 20, "1 to 1048576"},
    [OPTION_WALL] = {MILLISECOND, 60 * SECOND, "1ms to 60s"},
    [OPTION_WALL_THREADS] = {1, 1024, "1 to 1024"},
    [OPTION_END_AFTER] = {SECOND, END_AFTER_MAX, "1s to 8784h"},
    [OPTION_CHUNK] = {100 * MILLISECOND, 86400 * SECOND, "100ms to 24h"},
    [OPTION_DEPTH] = {1, AGENT_DEPTH_MAX, "1 to 2048"},
    /* Three tables of 1 MB and the first pieces of their arenas have to fit. */
    [OPTION_TRACES] = {4 << 20, 4LL << 30, "4M to 4G"},
    [OPTION_MEMORY] = {8 << 20, 1LL << 40, "8M to 1024G"},
    [OPTION_WARN] = {0, 1LL << 40, "0 to 1024G"},
    [OPTION_SHED] = {0, 1LL << 40, "0 to 1024G"},
    [OPTION_STOP_AT] = {0, 1LL << 40, "0 to 1024G"},
    [OPTION_JMETHODID] = {64 << 10, 1LL << 40, "budget=64K to budget=1024G"},
};

/* What a text may be, where only a few words have a meaning. */
static const struct {
    enum agent_option option;
    const char *word;
} words[] = {
    {OPTION_TIMER, "auto"},          {OPTION_TIMER, "perf"},       {OPTION_TIMER, "posix"},
    {OPTION_TIMER, "itimer"},        {OPTION_ENGINE, "auto"},      {OPTION_ENGINE, "vm"},
    {OPTION_ENGINE, "agct"},         {OPTION_MEMORY_LEVEL, "off"}, {OPTION_MEMORY_LEVEL, "summary"},
    {OPTION_MEMORY_LEVEL, "detail"},
};
#define WORDS (sizeof words / sizeof words[0])

struct piece {
    const char *text;
    size_t length;
};

struct complaint {
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static bool refuse(const struct complaint *complaint,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(complaint->text, complaint->size, format, arguments);
    va_end(arguments);
    for (char *c = complaint->text; complaint->size > 0 && *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    return false;
}

/* For a sentence: the beginning of what was given. */
static int shown(size_t length)
{
    return length < 60 ? (int)length : 60;
}

/* --- values ----------------------------------------------------------------------------------- */

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit time_units[] = {
    {"ns", 1},          {"us", MICROSECOND},  {"ms", MILLISECOND},  {"s", SECOND},
    {"m", 60 * SECOND}, {"min", 60 * SECOND}, {"h", 3600 * SECOND}, {NULL, 0},
};
static const struct unit byte_units[] = {
    {"", 1},          {"k", 1 << 10},    {"K", 1 << 10},  {"KB", 1 << 10},
    {"m", 1 << 20},   {"M", 1 << 20},    {"MB", 1 << 20}, {"g", 1LL << 30},
    {"G", 1LL << 30}, {"GB", 1LL << 30}, {NULL, 0},
};
static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

static bool read_number(const char *text, const struct unit *units, int64_t *number)
{
    const char *c = text;
    int64_t value = 0;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *c - '0', &value))
            return false;
    if (c == text)
        return false;
    for (const struct unit *unit = units; unit->name != NULL; unit++)
        if (strcmp(c, unit->name) == 0)
            return !__builtin_mul_overflow(value, unit->factor, number);
    return false;
}

static bool word_known(enum agent_option option, const char *text)
{
    bool any = false;
    for (size_t i = 0; i < WORDS; i++) {
        if (words[i].option == option && strcmp(words[i].word, text) == 0)
            return true;
        any = any || words[i].option == option;
    }
    return !any;
}

static void list_words(enum agent_option option, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < WORDS && used < size; i++)
        if (words[i].option == option)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     words[i].word);
}

/* Patterns: %p, %t, %%. */
static bool file_pattern_good(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c == '%' && *++c != 'p' && *c != 't' && *c != '%')
            return false;
    return true;
}

/* Tags are fields of the samples: identifiers that no field of a sample has already. */
static bool tag_name_good(const char *name, size_t length)
{
    static const char *const taken[] = {"startTime",  "sampledThread", "stackTrace",
                                        "state",      "inNative",      "spanId",
                                        "rootSpanId", "duration",      "eventThread"};
    if (length == 0 || length > 63 || (name[0] >= '0' && name[0] <= '9'))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
              (name[i] >= '0' && name[i] <= '9') || name[i] == '_'))
            return false;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strlen(taken[i]) == length && memcmp(taken[i], name, length) == 0)
            return false;
    return true;
}

static bool check_tags(const char *text, const struct complaint *complaint)
{
    enum { TAGS_MAX = 10 }; /* NMTAGENT_CONTEXT_TAGS */
    int count = 0;
    for (const char *name = text; text[0] != '\0';) {
        size_t length = strcspn(name, ";");
        if (!tag_name_good(name, length))
            return refuse(complaint,
                          "context: '%.*s' cannot be the name of a tag: letters, digits and _, at "
                          "most 63, and no field that samples have anyway",
                          shown(length), name);
        if (++count > TAGS_MAX)
            return refuse(complaint, "context: more than %d tags", TAGS_MAX);
        if (name[length] == '\0')
            break;
        name += length + 1;
    }
    return true;
}

static bool check_text(enum agent_option option, const char *text,
                       const struct complaint *complaint)
{
    if (!word_known(option, text)) {
        char known[128];
        list_words(option, known, sizeof known);
        return refuse(complaint, "%s=%.60s: expected %s", table[option].name, text, known);
    }
    if (option == OPTION_FILE && !file_pattern_good(text))
        return refuse(complaint, "file=%.60s: a %% is followed by p (pid), t (time) or %%", text);
    if (option == OPTION_ANSWER && text[0] != '/' && text[0] != '\0')
        return refuse(complaint, "answer=%.60s: expected an absolute path", text);
    return option != OPTION_CONTEXT || check_tags(text, complaint);
}

static bool take_number(enum agent_option option, const char *text, const struct unit *units,
                        const char *such_as, struct agent_options *options,
                        const struct complaint *complaint)
{
    int64_t number;
    const char *name = table[option].name;
    const char *whole = options->text[option]; /* `text`, or what ends in it */
    if (strcmp(text, "0") == 0)                /* of any unit */
        number = 0;
    else if (!read_number(text, units, &number))
        return refuse(complaint, "%s=%.60s: expected %s", name, whole, such_as);
    bool off = number == 0 &&
               (option == OPTION_CPU || (option == OPTION_WALL && options->command == AGENT_SET));
    if (!off && ranges[option].most != 0 &&
        (number < ranges[option].least || number > ranges[option].most))
        return refuse(complaint, "%s=%.60s: expected %s", name, whole, ranges[option].expected);
    options->number[option] = number;
    return true;
}

/* none, lazy, all, or budget=SIZE, whose number is kept. */
static bool take_id_policy(const char *text, struct agent_options *options,
                           const struct complaint *complaint)
{
    static const char budget[] = "budget=";
    if (strcmp(text, "none") == 0 || strcmp(text, "lazy") == 0 || strcmp(text, "all") == 0)
        return true;
    if (strncmp(text, budget, sizeof budget - 1) != 0)
        return refuse(complaint, "jmethodid=%.60s: expected none, lazy, all or budget=SIZE", text);
    return take_number(OPTION_JMETHODID, text + sizeof budget - 1, byte_units,
                       "budget= and an amount such as 64M", options, complaint);
}

/* The value is in options->text already. */
static bool take_value(enum agent_option option, struct agent_options *options,
                       const struct complaint *complaint)
{
    const char *text = options->text[option];
    switch (table[option].type) {
    case AGENT_TYPE_FLAG:
        options->number[option] = 1;
        return true;
    case AGENT_TYPE_TIME:
        return take_number(option, text, time_units, "a time such as 500us, 10ms or 2s", options,
                           complaint);
    case AGENT_TYPE_BYTES:
        return take_number(option, text, byte_units, "an amount such as 512K, 64M or 2G", options,
                           complaint);
    case AGENT_TYPE_COUNT:
        return take_number(option, text, no_units, "a whole number", options, complaint);
    case AGENT_TYPE_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return refuse(complaint, "%s=%.60s: expected true or false", table[option].name, text);
        options->number[option] = text[0] == 't';
        return true;
    case AGENT_TYPE_TEXT:
        if (option == OPTION_JMETHODID)
            return take_id_policy(text, options, complaint);
        return check_text(option, text, complaint);
    }
    return false;
}

/* --- the string ------------------------------------------------------------------------------- */

/* Up to the next comma that is no text. */
static struct piece next_piece(const char **at)
{
    struct piece piece = {.text = *at};
    const char *c = *at;
    while (*c != '\0' && *c != ',')
        c += c[0] == '\\' && c[1] != '\0' ? 2 : 1;
    piece.length = (size_t)(c - *at);
    *at = c;
    return piece;
}

static bool copy_value(struct piece value, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < value.length; i++) {
        bool escape = value.text[i] == '\\' && i + 1 < value.length &&
                      (value.text[i + 1] == ',' || value.text[i + 1] == '\\');
        if (used + 1 >= size)
            return false;
        out[used++] = value.text[i += escape];
    }
    out[used] = '\0';
    return true;
}

static bool same_name(const char *name, struct piece given)
{
    if (strlen(name) != given.length)
        return false;
    for (size_t i = 0; i < given.length; i++)
        if (name[i] != (given.text[i] == '-' ? '_' : given.text[i]))
            return false;
    return true;
}

/* AGENT_OPTION_COUNT: there is none. */
static enum agent_option option_of(struct piece name)
{
    enum agent_option option = 0;
    while (option < AGENT_OPTION_COUNT && !same_name(table[option].name, name))
        option++;
    return option;
}

/* no_native is native=false. */
static bool is_negation(struct piece name, enum agent_option *option)
{
    if (name.length < 4 || memcmp(name.text, "no", 2) != 0 ||
        (name.text[2] != '_' && name.text[2] != '-'))
        return false;
    enum agent_option found = option_of((struct piece){name.text + 3, name.length - 3});
    if (found == AGENT_OPTION_COUNT || table[found].type != AGENT_TYPE_BOOL)
        return false;
    *option = found;
    return true;
}

static bool take_option(struct piece piece, struct agent_options *options,
                        const struct complaint *complaint)
{
    const char *equals = memchr(piece.text, '=', piece.length);
    struct piece name = piece, value = {.text = ""};
    if (equals != NULL) {
        name.length = (size_t)(equals - piece.text);
        value = (struct piece){equals + 1, piece.length - name.length - 1};
    }
    if (piece.length == 0)
        return refuse(complaint, "an empty option between two commas, or after the last one");
    enum agent_option option = option_of(name);
    if (equals == NULL && option != AGENT_OPTION_COUNT && table[option].type == AGENT_TYPE_BOOL)
        value = (struct piece){"true", 4};
    if (equals == NULL && option == AGENT_OPTION_COUNT && is_negation(name, &option))
        value = (struct piece){"false", 5};
    if (option == AGENT_OPTION_COUNT)
        return refuse(complaint, "unknown option '%.*s'", shown(name.length), name.text);
    if ((options->given & 1u << option) != 0)
        return refuse(complaint, "%s is given twice", table[option].name);
    bool settable = options->command == AGENT_SET &&
                    (option == OPTION_ALLOC || option == OPTION_CPU || option == OPTION_WALL);
    if (options->command != AGENT_START && option != OPTION_ANSWER && !settable)
        return refuse(complaint, "%s takes no option %s", commands[options->command],
                      table[option].name);
    if (table[option].type == AGENT_TYPE_FLAG && equals != NULL)
        return refuse(complaint, "%s takes no value", table[option].name);
    if (table[option].type != AGENT_TYPE_FLAG && value.length == 0)
        return refuse(complaint, "%s needs a value: %s", table[option].name, table[option].meaning);
    if (!copy_value(value, options->text[option], sizeof options->text[option])) {
        options->text[option][0] = '\0';
        return refuse(complaint, "%s is longer than %d bytes", table[option].name,
                      AGENT_TEXT_MAX - 1);
    }
    if (!take_value(option, options, complaint)) {
        options->text[option][0] = '\0';
        return false;
    }
    options->given |= 1u << option;
    return true;
}

static bool take_command(struct piece piece, struct agent_options *options,
                         const struct complaint *complaint)
{
    for (int i = 0; i < AGENT_COMMAND_COUNT; i++)
        if (strlen(commands[i]) == piece.length &&
            memcmp(commands[i], piece.text, piece.length) == 0) {
            options->command = (enum agent_command)i;
            return true;
        }
    return refuse(complaint,
                  "'%.*s' is no command; start, stop, dump, status, memory, sites, baseline or "
                  "alloc comes first",
                  shown(piece.length), piece.text);
}

static void set_defaults(struct agent_options *options)
{
    struct complaint nobody = {0};
    memset(options, 0, sizeof *options);
    for (int i = 0; i < AGENT_OPTION_COUNT; i++) {
        memcpy(options->text[i], table[i].dflt, strlen(table[i].dflt) + 1);
        if (table[i].dflt[0] != '\0')
            take_value((enum agent_option)i, options, &nobody);
    }
}

/* Steps that come one after another; 0: left out. */
static bool check_steps(const struct agent_options *options, const struct complaint *complaint)
{
    static const enum agent_option STEPS[] = {OPTION_WARN, OPTION_SHED, OPTION_STOP_AT};
    enum agent_option lower = OPTION_WARN;
    for (size_t i = 1; i < sizeof STEPS / sizeof *STEPS; i++) {
        int64_t step = options->number[STEPS[i]];
        if (step != 0 && options->number[lower] > step)
            return refuse(complaint, "%s is above %s: one comes after the other", table[lower].name,
                          table[STEPS[i]].name);
        if (step != 0)
            lower = STEPS[i];
    }
    return true;
}

bool agent_options_parse(const char *text, struct agent_options *options, char *error,
                         size_t error_size)
{
    const struct complaint complaint = {error, error_size};
    if (error_size > 0)
        error[0] = '\0';
    set_defaults(options);
    if (text == NULL || text[0] == '\0')
        text = commands[AGENT_START];
    size_t length = strnlen(text, sizeof options->whole);
    if (length == sizeof options->whole)
        return refuse(&complaint, "the options are longer than %d bytes", AGENT_WHOLE_MAX - 1);
    memcpy(options->whole, text, length + 1);

    const char *at = text;
    bool good = take_command(next_piece(&at), options, &complaint);
    /* After a mistake only the answer file is of interest: that is where it is reported. */
    while (*at == ',') {
        at++;
        struct piece piece = next_piece(&at);
        char unheard[2];
        const struct complaint later = {unheard, sizeof unheard};
        if (good)
            good = take_option(piece, options, &complaint);
        else if (piece.length > 7 && memcmp(piece.text, "answer=", 7) == 0)
            take_option(piece, options, &later);
    }
    return good && check_steps(options, &complaint);
}

const char *agent_command_name(enum agent_command command)
{
    return commands[command];
}

const char *agent_option_name(enum agent_option option)
{
    return table[option].name;
}

const char *agent_option_meaning(enum agent_option option)
{
    return table[option].meaning;
}

const char *agent_option_default(enum agent_option option)
{
    return table[option].dflt;
}

enum agent_option_type agent_option_type(enum agent_option option)
{
    return table[option].type;
}
