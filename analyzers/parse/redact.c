#include "analyzers/parse/redact.h"

#include "floor/base/span.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Anywhere in a name, whatever the case and without '.', '_' and '-'. */
static const char *const secret_names[] = {
    "password",      "passwd",           "passphrase",    "passcode",   "pwd",        "secret",
    "token",         "apikey",           "accesskey",     "authkey",    "privatekey", "signingkey",
    "encryptionkey", "credential",       "authorization", "jwt",        "bearer",     "sessionid",
    "cookie",        "connectionstring", "licensekey",    "accountkey", "sharedkey",
};
/* Only at the end of a name: dbpass, keystore.pw. */
static const char *const secret_ends[] = {"pass", "pw", "auth", "psk"};

/* A prefix and how many characters of a token follow at least. */
static const struct {
    const char *prefix;
    size_t more;
} forms[] = {
    {"AKIA", 16},     {"ASIA", 16},     {"ghp_", 20},        {"gho_", 20},   {"ghu_", 20},
    {"ghs_", 20},     {"ghr_", 20},     {"github_pat_", 20}, {"glpat-", 16}, {"xoxa-", 10},
    {"xoxb-", 10},    {"xoxp-", 10},    {"xoxr-", 10},       {"xoxs-", 10},  {"AIza", 30},
    {"sk_live_", 10}, {"rk_live_", 10}, {"sk-", 32},         {"npm_", 30},   {"hvs.", 20},
    {"eyJ", 20}, /* a JWT, or another JSON text in base64 */
};

#define NAME_MAX_LENGTH 80

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

static bool is_token_char(char c)
{
    return isalnum((unsigned char)c) || strchr("._-+/=", c) != NULL;
}

static bool is_secret_name(const char *name, size_t length)
{
    char plain[NAME_MAX_LENGTH + 1];
    size_t used = 0;
    if (length > NAME_MAX_LENGTH) { /* what it is about is said at its end */
        name += length - NAME_MAX_LENGTH;
        length = NAME_MAX_LENGTH;
    }
    for (size_t i = 0; i < length; i++) {
        if (isalnum((unsigned char)name[i]))
            plain[used++] = (char)tolower((unsigned char)name[i]);
    }
    plain[used] = '\0';
    for (size_t i = 0; i < sizeof secret_names / sizeof secret_names[0]; i++) {
        if (strstr(plain, secret_names[i]) != NULL)
            return true;
    }
    for (size_t i = 0; i < sizeof secret_ends / sizeof secret_ends[0]; i++) {
        size_t end = strlen(secret_ends[i]);
        if (used >= end && strcmp(plain + used - end, secret_ends[i]) == 0)
            return true;
    }
    return false;
}

/* --- one word ----------------------------------------------------------------------------------
 * Marks what is secret in hide, a byte for each of the word. */

struct word {
    const char *text;
    size_t length;
    bool oracle;     /* jdbc:oracle:thin: */
    size_t from, to; /* of what is found */
};

/* ",name=" begins another parameter. */
static bool next_parameter(const struct word *word, size_t at)
{
    size_t end = at + 1;
    while (end < word->length && is_name_char(word->text[end]))
        end++;
    return end > at + 1 && end < word->length && word->text[end] == '=';
}

static size_t value_end(const struct word *word, size_t at, bool whole_word)
{
    if (at < word->length && (word->text[at] == '"' || word->text[at] == '\'')) {
        const char *quote = memchr(word->text + at + 1, word->text[at], word->length - at - 1);
        return quote != NULL ? (size_t)(quote - word->text) : word->length;
    }
    while (at < word->length) {
        char c = word->text[at];
        if (!whole_word && (c == '&' || c == '"' || c == '\'' || (c == ';') ||
                            (c == ',' && next_parameter(word, at))))
            break;
        at++;
    }
    return at;
}

/* name=value, name:value; the first from `at` on. */
static bool find_named(struct word *word, size_t at)
{
    for (size_t i = at; i < word->length; i++) {
        char c = word->text[i];
        if (c != '=' && c != ':')
            continue;
        size_t name = i;
        while (name > 0 && is_name_char(word->text[name - 1]))
            name--;
        if (name == i || !is_secret_name(word->text + name, i - name))
            continue;
        /* A path in a list of paths is no value. */
        if (c == ':' && ((name > 0 && word->text[name - 1] == '/') ||
                         (i + 1 < word->length && word->text[i + 1] == '/')))
            continue;
        word->from = i + 1;
        word->to = value_end(word, i + 1, name == 0 && c == '=');
        if (word->from < word->length && strchr("\"'", word->text[word->from]) != NULL)
            word->from++;
        if (word->to > word->from)
            return true;
    }
    return false;
}

/* user:password@host, user/password@ behind ":thin:". */
static bool find_user(struct word *word, size_t at)
{
    for (size_t i = at; i < word->length; i++) {
        if (word->text[i] != '@' || i + 1 == word->length)
            continue;
        size_t begin = i;
        while (begin > at && strchr("/@\"'=,?&", word->text[begin - 1]) == NULL)
            begin--;
        const char *colon = memchr(word->text + begin, ':', i - begin);
        if (colon != NULL && (size_t)(colon - word->text) > begin) {
            word->from = (size_t)(colon - word->text) + 1;
            word->to = i;
            for (size_t k = i + 1; k < word->length && strchr("/\"'?&", word->text[k]) == NULL; k++)
                if (word->text[k] == '@' && k + 1 < word->length)
                    word->to = k; /* the password has one in it */
        } else if (begin > at && begin < i && begin >= 2 && word->text[begin - 1] == '/' &&
                   (word->oracle || word->text[begin - 2] == '/')) {
            /* https://TOKEN@host; a user alone is hidden with it. Oracle: USER/PASSWORD@host */
            word->from = begin;
            word->to = i;
        } else {
            continue;
        }
        if (word->to > word->from)
            return true;
    }
    return false;
}

static bool find_form(struct word *word, size_t at)
{
    for (size_t i = at; i < word->length; i++) {
        if (!isalpha((unsigned char)word->text[i]) ||
            (i > 0 && isalnum((unsigned char)word->text[i - 1])))
            continue;
        for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
            if (forms[f].prefix[0] != word->text[i])
                continue;
            size_t prefix = strlen(forms[f].prefix), end = i + prefix;
            if (word->length - i < prefix || memcmp(word->text + i, forms[f].prefix, prefix) != 0)
                continue;
            while (end < word->length && is_token_char(word->text[end]))
                end++;
            if (end - i - prefix < forms[f].more)
                continue;
            word->from = i;
            word->to = end;
            return true;
        }
    }
    return false;
}

typedef bool find_fn(struct word *, size_t);
static find_fn *const finders[] = {find_named, find_user, find_form};
#define FINDERS (sizeof finders / sizeof finders[0])

/* The earliest from `at` on. next: what each has found last; a finder is asked again only when that
 * lies behind, so that a long word is looked through once by each. */
static bool find_secret(struct word *word, struct word next[FINDERS], size_t at)
{
    struct word best = {.from = SIZE_MAX};
    for (size_t i = 0; i < FINDERS; i++) {
        if (next[i].from < at && !finders[i](&next[i], at))
            next[i].from = SIZE_MAX;
        if (next[i].from < best.from || (next[i].from == best.from && next[i].to > best.to))
            best = next[i];
    }
    word->from = best.from;
    word->to = best.to;
    return best.from != SIZE_MAX;
}

/* --- the text --------------------------------------------------------------------------------- */

/* After this word the next one is the secret: "--token x", "Authorization: Bearer x". */
static bool announces(const char *word, size_t length)
{
    if (length > 1 && word[length - 1] == ':')
        return is_secret_name(word, length - 1);
    if (length == 6 && strncasecmp(word, "bearer", 6) == 0)
        return true;
    return length > 1 && word[0] == '-' && memcmp(word, "-X", 2) != 0 &&
           memcmp(word, "-D", 2) != 0 && memchr(word, '=', length) == NULL &&
           memchr(word, ':', length) == NULL && is_secret_name(word, length);
}

static size_t put(char *text, size_t used, const char *from, size_t length)
{
    memmove(text + used, from, length);
    return used + length;
}

static size_t put_hidden(char *text, size_t used, size_t length, int *count)
{
    size_t stars = length < 3 ? length : 3;
    memset(text + used, '*', stars);
    (*count)++;
    return used + stars;
}

size_t redact(char *text, size_t length, int *count)
{
    size_t used = 0, at = 0;
    bool announced = false;
    while (at < length) {
        size_t begin = at;
        while (at < length && isspace((unsigned char)text[at]))
            at++;
        if (memchr(text + begin, '\n', at - begin) != NULL)
            announced = false;
        used = put(text, used, text + begin, at - begin);
        begin = at;
        while (at < length && !isspace((unsigned char)text[at]))
            at++;
        struct word word = {.text = text + begin, .length = at - begin};
        bool scheme = word.length == 6 && strncasecmp(word.text, "bearer", 6) == 0;
        scheme = scheme || (word.length == 5 && strncasecmp(word.text, "basic", 5) == 0);
        if (announced && word.length > 0 && !scheme &&
            (word.text[0] != '-' || word.length == 1 || isdigit((unsigned char)word.text[1]))) {
            used = put_hidden(text, used, word.length, count);
            announced = false;
            continue;
        }
        announced = (announced && scheme) || announces(word.text, word.length);
        size_t done = 0;
        struct word next[FINDERS];
        word.oracle = word.length > 6 && memmem(word.text, word.length, ":thin:", 6) != NULL;
        for (size_t i = 0; i < FINDERS; i++) {
            next[i] = word;
            if (!finders[i](&next[i], 0))
                next[i].from = SIZE_MAX;
        }
        /* Nothing in front of `begin + done` is looked at again, so it may be written over. */
        while (find_secret(&word, next, done)) {
            used = put(text, used, word.text + done, word.from - done);
            used = put_hidden(text, used, word.to - word.from, count);
            done = word.to;
        }
        used = put(text, used, word.text + done, word.length - done);
    }
    return used;
}
