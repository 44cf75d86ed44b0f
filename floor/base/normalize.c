#include "floor/base/normalize.h"

#include <ctype.h>
#include <string.h>

#define PATTERN_NAME_MAX 256
#define DIGITS_SURE      19 /* of a number that fits into 64 bits */

enum { OTHER, LOWER, UPPER, DIGIT };

static const unsigned char kind_of[256] = {
    ['a' ... 'z'] = LOWER,
    ['A' ... 'Z'] = UPPER,
    ['0' ... '9'] = DIGIT,
    [128 ... 255] = LOWER, /* letters of UTF-8 names */
};

static int kind(char c)
{
    return kind_of[(unsigned char)c];
}

struct out {
    char *stem;
    size_t len;
    struct name_parts *parts;
    struct name_pattern *pattern;
    const char *varying; /* of the pattern, in the name */
    size_t varying_len;
};

static void put(struct out *out, const char *text, size_t len)
{
    size_t room = STEM_MAX - 1 - out->len;
    size_t taken = len < room ? len : room;
    memcpy(out->stem + out->len, text, taken);
    out->len += taken;
}

static void put_random(struct out *out, size_t len)
{
    put(out, "*", 1);
    out->parts->random_bytes = (uint32_t)len;
}

static void put_number(struct out *out, const char *digits, size_t len)
{
    uint64_t number = 0;
    for (size_t i = 0; i < len; i++) {
        if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
            __builtin_add_overflow(number, (uint64_t)(digits[i] - '0'), &number)) {
            number = UINT64_MAX;
            break;
        }
    }
    if (!out->parts->counted)
        out->parts->first_number = number;
    out->parts->last_number = number;
    out->parts->counted = true;
    out->pattern->is_last = false;
    put(out, "#", 1);
}

static void vary(struct out *out, int what, const char *at, size_t len)
{
    out->pattern->varies = what;
    out->varying = at;
    out->varying_len = len;
}

static size_t run_of_digits(const char *at, const char *end)
{
    const char *p = at;
    while (p < end && kind(*p) == DIGIT)
        p++;
    return (size_t)(p - at);
}

/* Copies text, each number of at least shortest digits as '#'. */
static void put_folding_numbers(struct out *out, struct span text, size_t shortest)
{
    const char *end = text.ptr + text.len;
    for (const char *p = text.ptr; p < end;) {
        const char *literal = p;
        while (p < end && kind(*p) != DIGIT)
            p++;
        put(out, literal, (size_t)(p - literal));
        size_t digits = run_of_digits(p, end);
        if (digits >= shortest)
            put_number(out, p, digits);
        else
            put(out, p, digits);
        p += digits;
    }
}

/* --- what a piece (a run of letters and digits) looks like ------------------------------------ */

struct look {
    size_t digits, lower, upper, switches, numbers;
    bool hex; /* digits and a-f, or digits and A-F */
    bool number_at_end_only;
};

/* What a byte adds, and what a change from one kind to another adds: sums of up to 64 K in fields
 * of their own, so that a piece is read once with two additions a byte. */
#define FIELD(n)         (UINT64_C(1) << 16 * (n))
#define FIELD_OF(sum, n) ((size_t)((sum) >> 16 * (n)&0xffff))
enum { DIGITS, UPPERS, ABOVE_F };
enum { SWITCHES, NUMBERS };
#define PIECE_MAX 0xffff /* bytes that fit; what follows is another piece */

static const uint64_t weight_of[256] = {
    ['0' ... '9'] = FIELD(DIGITS),
    ['A' ... 'F'] = FIELD(UPPERS),
    ['G' ... 'Z'] = FIELD(UPPERS) + FIELD(ABOVE_F),
    ['g' ... 'z'] = FIELD(ABOVE_F),
    [128 ... 255] = FIELD(ABOVE_F),
};
static const uint32_t change_of[4][4] = {
    [OTHER] = {[DIGIT] = FIELD(NUMBERS)},
    [LOWER] = {[UPPER] = FIELD(SWITCHES), [DIGIT] = FIELD(SWITCHES) + FIELD(NUMBERS)},
    [UPPER] = {[LOWER] = FIELD(SWITCHES), [DIGIT] = FIELD(SWITCHES) + FIELD(NUMBERS)},
    [DIGIT] = {[LOWER] = FIELD(SWITCHES), [UPPER] = FIELD(SWITCHES)},
};

/* The piece that begins at text.ptr. */
static struct span take_piece(struct span text, struct look *look)
{
    uint64_t sum = 0, changes = 0;
    int before = OTHER, now;
    size_t len = 0, most = text.len < PIECE_MAX ? text.len : PIECE_MAX;
    for (; len < most && (now = kind(text.ptr[len])) != OTHER; len++) {
        sum += weight_of[(unsigned char)text.ptr[len]];
        changes += change_of[before][now];
        before = now;
    }
    look->digits = FIELD_OF(sum, DIGITS);
    look->upper = FIELD_OF(sum, UPPERS);
    look->lower = len - look->digits - look->upper;
    look->switches = FIELD_OF(changes, SWITCHES);
    look->numbers = FIELD_OF(changes, NUMBERS);
    look->hex = FIELD_OF(sum, ABOVE_F) == 0 && (look->lower == 0 || look->upper == 0);
    look->number_at_end_only = look->numbers == 1 && before == DIGIT;
    return span_of(text.ptr, len);
}

/* Words in CamelCase change their kind of letter in less than half of the places (EntrySet 3 of 7,
 * Base64Encoder 4 of 12), random ones of base 62 in six of ten. */
static bool looks_random(struct span piece, const struct look *look)
{
    if (piece.len < 6)
        return false;
    if (look->digits == piece.len || look->number_at_end_only) /* Script12, CBC128 */
        return false;
    if (look->hex)
        return look->digits > 0;
    return (look->numbers >= 3 && piece.len >= 12) || look->switches * 2 >= piece.len;
}

bool name_looks_random(struct span piece)
{
    struct look look;
    take_piece(piece, &look);
    return looks_random(piece, &look);
}

#define GLUED_MIN 8 /* 32 bits in hexadecimal */

/* Bytes of a hash glued to the end of a word: LambdaPredicate86A0C95BB5846811. 0: there is none. */
static size_t glued_hash(struct span piece)
{
    size_t digits = 0, numbers = 0, at = piece.len;
    int letters = OTHER;
    for (; at > 0; at--) {
        char c = piece.ptr[at - 1];
        if (kind(c) == DIGIT) {
            digits++;
            numbers += at == piece.len || kind(piece.ptr[at]) != DIGIT;
        } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f' &&
                   (letters == OTHER || letters == kind(c))) {
            letters = kind(c);
        } else {
            break;
        }
    }
    size_t len = piece.len - at, surplus = len % GLUED_MIN;
    if (len < GLUED_MIN || digits < 3 || digits == len || numbers < 2)
        return 0;
    /* The e of Rule5f3a09c1 is the word's. */
    for (size_t i = 0; i < surplus; i++) {
        if (kind(piece.ptr[at + i]) == DIGIT)
            return len;
    }
    return len - surplus;
}

/* The piece after one that ends like this is random or a number, whatever it looks like. */
static bool announces_random(struct span piece)
{
    static const struct span endings[] = {
        SPAN_INIT("ByteBuddy"),
        SPAN_INIT("auxiliary"),
        SPAN_INIT("MockitoMock"),
        SPAN_INIT("ByCGLIB"),
        SPAN_INIT("BySpringCGLIB"),
        SPAN_INIT("ByGuice"),
        SPAN_INIT("ByProxool"),
        SPAN_INIT("HibernateProxy"),
        SPAN_INIT("HibernateBasicProxy"),
        SPAN_INIT("HibernateInstantiator"),
        SPAN_INIT("HibernateAccessOptimizer"),
    };
    if (piece.len < 7)
        return false;
    char last = piece.ptr[piece.len - 1];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (endings[i].ptr[endings[i].len - 1] == last && span_ends_with(piece, endings[i]))
            return true;
    }
    return false;
}

static bool is_hex(struct span text)
{
    struct look look;
    return take_piece(text, &look).len == text.len && look.hex;
}

static bool is_jvst(struct span piece)
{
    return piece.len >= 5 && piece.len <= 7 && memcmp(piece.ptr, "jvst", 4) == 0;
}

/* --- the simple name, piece by piece ---------------------------------------------------------- */

enum before { NOTHING, ANNOUNCED, CGLIB_HASH, JVST, RANDOM };

/* Folds one piece and says what that means for the next one. */
static enum before put_piece(struct out *out, struct span piece, const struct look *look,
                             char separator, bool last, enum before before)
{
    bool marked = separator != '\0' && separator != '.';
    if (is_jvst(piece)) { /* Javassist: jvst, hash of the library, then a counter in hex */
        put(out, "jvst", 4);
        put_random(out, piece.len - 4);
        return JVST;
    }
    if (before == ANNOUNCED || (before == JVST && look->hex)) {
        if (before == ANNOUNCED && last && separator != '/' && separator != '+')
            vary(out, NAME_RANDOM, piece.ptr, piece.len);
        put_random(out, piece.len);
        return CGLIB_HASH;
    }
    if ((before == RANDOM && piece.len >= 4 && look->hex) || /* the rest of a UUID */
        (marked && looks_random(piece, look))) {
        put_random(out, piece.len);
        return RANDOM;
    }
    size_t hash = look->digits >= 3 ? glued_hash(piece) : 0;
    if (hash > 0) {
        put_folding_numbers(out, span_of(piece.ptr, piece.len - hash), 1);
        put_random(out, hash);
        return RANDOM;
    }
    if (!marked && piece.len >= 12 && look->upper == 0 && look->numbers >= 3) {
        size_t word = 0; /* Derby: ac12345a0x0158x */
        while (kind(piece.ptr[word]) != DIGIT)
            word++;
        put(out, piece.ptr, word);
        put_random(out, piece.len - word);
        return RANDOM;
    }
    if (last && (separator == '$' || separator == '_')) {
        out->parts->tail_at = (uint32_t)out->len;
        out->parts->tail_bytes = (uint32_t)piece.len;
        out->parts->anonymous = separator == '$' && kind(piece.ptr[0]) == DIGIT;
    }
    if (look->digits == 0) {
        put(out, piece.ptr, piece.len);
    } else if (before == NOTHING && look->number_at_end_only) {
        /* None of the rules above asks how long such a number is, or which. */
        size_t letters = piece.len - look->digits;
        bool is_first = !out->parts->counted;
        put(out, piece.ptr, letters);
        put_number(out, piece.ptr + letters, look->digits);
        vary(out, NAME_NUMBER, piece.ptr + letters, look->digits);
        out->pattern->is_first = is_first;
        out->pattern->is_last = true;
    } else {
        put_folding_numbers(out, piece, 1);
    }
    return marked && announces_random(piece) ? ANNOUNCED : NOTHING;
}

static void put_simple_name(struct out *out, struct span name)
{
    const char *end = name.ptr + name.len;
    enum before before = NOTHING;
    for (const char *p = name.ptr; p < end;) {
        const char *separators = p;
        while (p < end && kind(*p) == OTHER)
            p++;
        struct span gap = span_of(separators, (size_t)(p - separators));
        const char *start = p;
        struct look look;
        struct span piece = take_piece(span_of(p, (size_t)(end - p)), &look);
        p += piece.len;
        /* CGLIB's _N says that the key missed its cache; the class is one of the same kind. */
        if (before == CGLIB_HASH && p == end && gap.len == 1 && *gap.ptr == '_' &&
            run_of_digits(start, end) == piece.len)
            return;
        put(out, gap.ptr, gap.len);
        if (piece.len == 0)
            return;
        before = put_piece(out, piece, &look, gap.len > 0 ? gap.ptr[gap.len - 1] : '\0', p == end,
                           before);
    }
}

/* --- the package ------------------------------------------------------------------------------ */

/* A package keeps its digits (org.h2, log4j, v1_20_R1) unless a name in it is random or ends in a
 * number of two digits (com.acme.gen17): that may be a counter. jdk.proxy2 is counted from the
 * start. */
static void put_package(struct out *out, struct span package)
{
    size_t ordinary = 0; /* nearly all packages are: small letters only */
    while (ordinary < package.len && kind(package.ptr[ordinary]) <= LOWER)
        ordinary++;
    if (ordinary == package.len) {
        put(out, package.ptr, package.len);
        return;
    }
    size_t shortest = span_starts_with(package, SPAN_LITERAL("jdk.proxy")) ? 1 : 2;
    const char *end = package.ptr + package.len;
    for (const char *p = package.ptr; p < end;) {
        const char *start = p;
        while (p < end && *p != '.')
            p++;
        size_t len = (size_t)(p - start), digits = 0;
        while (digits < len && kind(start[len - digits - 1]) == DIGIT)
            digits++;
        struct look look;
        struct span part = span_of(start, len);
        if (take_piece(part, &look).len == len && looks_random(part, &look)) {
            put_random(out, len);
        } else if (digits >= shortest) {
            put(out, start, len - digits);
            put_number(out, p - digits, digits);
        } else {
            put(out, start, len);
        }
        if (p < end)
            put(out, p++, 1);
    }
}

/* --- the whole name --------------------------------------------------------------------------- */

/* Length of the name before "/0x00007f...", "+0x..." or JDK 8's "/123456"; all of it if none. */
static size_t before_address(struct span name, const char **fold)
{
    size_t at = name.len;
    while (at > 0 && kind(name.ptr[at - 1]) != OTHER)
        at--;
    *fold = NULL;
    if (at == 0 || at == name.len)
        return name.len;
    char separator = name.ptr[at - 1];
    struct span tail = span_skip(name, at);
    if (separator != '/' && separator != '+')
        return name.len;
    if (tail.len > 2 && tail.ptr[0] == '0' && tail.ptr[1] == 'x' && is_hex(span_skip(tail, 2)))
        *fold = separator == '/' ? "/0x*" : "+0x*";
    else if (separator == '/' && run_of_digits(tail.ptr, tail.ptr + tail.len) == tail.len)
        *fold = "/#";
    return *fold != NULL ? at - 1 : name.len;
}

size_t normalize_pattern(struct span name, char stem[STEM_MAX], struct name_parts *parts,
                         struct name_pattern *pattern)
{
    *parts = (struct name_parts){0};
    *pattern = (struct name_pattern){0};
    stem[0] = '\0';
    if (name.len == 0)
        return 0;
    struct out out = {.stem = stem, .parts = parts, .pattern = pattern};

    const char *address;
    struct span body = span_of(name.ptr, before_address(name, &address));
    const char *dot = body.len > 0 ? memrchr(body.ptr, '.', body.len) : NULL;
    if (dot != NULL) {
        struct span package = span_of(body.ptr, (size_t)(dot - body.ptr) + 1);
        put_package(&out, package);
        body = span_of(dot + 1, body.len - package.len);
    }
    put_simple_name(&out, body);
    if (address != NULL) {
        parts->hidden = true;
        put(&out, address, strlen(address));
        const char *digits = body.ptr + body.len + sizeof "/0x" - 1;
        pattern->varies = NAME_FIXED;
        if (address[1] == '0')
            vary(&out, NAME_ADDRESS, digits, (size_t)(name.ptr + name.len - digits));
    }
    stem[out.len] = '\0';
    parts->folded = out.len != name.len || memcmp(stem, name.ptr, out.len) != 0;
    if (name.len > PATTERN_NAME_MAX)
        pattern->varies = NAME_FIXED;
    if (pattern->varies != NAME_FIXED) {
        pattern->front = (uint32_t)(out.varying - name.ptr);
        pattern->back = (uint32_t)(name.len - pattern->front - out.varying_len);
        pattern->digits = (uint32_t)out.varying_len;
        pattern->parts = *parts;
    }
    return out.len;
}

size_t normalize(struct span name, char stem[STEM_MAX], struct name_parts *parts)
{
    struct name_pattern ignored;
    return normalize_pattern(name, stem, parts, &ignored);
}

bool name_pattern_fits(const struct name_pattern *pattern, const char *front_text,
                       const char *back_text, struct span name, struct name_parts *parts)
{
    size_t around = (size_t)pattern->front + pattern->back;
    if (pattern->varies == NAME_FIXED || name.len <= around || name.len > PATTERN_NAME_MAX ||
        memcmp(name.ptr, front_text, pattern->front) != 0 ||
        memcmp(name.ptr + name.len - pattern->back, back_text, pattern->back) != 0)
        return false;
    struct span varying = span_of(name.ptr + pattern->front, name.len - around);
    if (pattern->varies == NAME_NUMBER) {
        uint64_t number = 0;
        for (size_t i = 0; i < varying.len; i++) {
            unsigned digit = (unsigned)(varying.ptr[i] - '0');
            if (digit > 9)
                return false;
            number = number * 10 + digit;
        }
        if (varying.len > DIGITS_SURE)
            return false;
        *parts = pattern->parts;
        if (pattern->is_first)
            parts->first_number = number;
        if (pattern->is_last)
            parts->last_number = number;
        if (parts->tail_bytes > 0 && pattern->back == 0) /* the number ends the tail */
            parts->tail_bytes += (uint32_t)varying.len - pattern->digits;
        return true;
    }
    struct look look;
    if (take_piece(varying, &look).len != varying.len ||
        (pattern->varies == NAME_ADDRESS ? !look.hex : is_jvst(varying)))
        return false;
    *parts = pattern->parts;
    if (pattern->varies == NAME_RANDOM)
        parts->random_bytes = (uint32_t)varying.len;
    return true;
}

/* --- families --------------------------------------------------------------------------------- */

/* Where a hidden class's own number begins: "+0x", ".0x" or "/0x", and JDK 8's "/123". 0: nowhere.
 * In Java no name of a package or class begins with a digit. */
static size_t tail_of(const char *name, size_t length)
{
    size_t at = length;
    while (at > 0 && isalnum((unsigned char)name[at - 1]))
        at--;
    bool tail = at > 1 && at < length && isdigit((unsigned char)name[at]) &&
                (name[at - 1] == '+' || name[at - 1] == '.' || name[at - 1] == '/');
    return tail ? at - 1 : 0;
}

size_t class_name_readable(const char *name, char out[CLASS_NAME_MAX])
{
    size_t length = strlen(name);
    if (length > 2 && name[0] == 'L' && name[length - 1] == ';') {
        name++;
        length -= 2;
    }
    size_t tail = tail_of(name, length);
    length = MIN(length, CLASS_NAME_MAX - 1);
    for (size_t i = 0; i < length; i++)
        out[i] = name[i] == '/' ? '.' : name[i];
    if (tail > 0 && tail < length)
        out[tail] = '/';
    out[length] = '\0';
    return length;
}

bool class_name_is_hidden(const char *readable)
{
    return strchr(readable, '/') != NULL; /* the only slash that is left in one */
}

static size_t keep(const char *text, size_t length, char out[CLASS_FAMILY_MAX])
{
    if (length > CLASS_FAMILY_MAX - 1) {
        length = CLASS_FAMILY_MAX - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) /* inside a character */
            length--;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return length;
}

/* Numbers that javac gives ("Outer$1", "Outer$1Local") are nobody's counter, unless there is more
 * in the name: another number, "$$" as generators write it, the address of a hidden class. */
static bool is_numbered_by_javac(const char *readable, size_t length, struct name_parts parts)
{
    char stem[STEM_MAX];
    if (parts.hidden || memmem(readable, length, "$$", 2) != NULL)
        return false;
    while (parts.folded) {
        const char *tail = memrchr(readable, '$', length);
        if (!parts.anonymous || tail == NULL)
            return false;
        length = (size_t)(tail - readable);
        normalize(span_of(readable, length), stem, &parts);
    }
    return true;
}

size_t class_family(const char *readable, size_t length, char out[CLASS_FAMILY_MAX])
{
    char stem[STEM_MAX];
    struct name_parts parts;
    size_t stem_length = normalize(span_of(readable, length), stem, &parts);
    if (parts.folded && !is_numbered_by_javac(readable, length, parts))
        return keep(stem, stem_length, out);
    const char *dot = memrchr(readable, '.', length);
    if (dot == NULL)
        return keep(readable, length, out);
    length = (size_t)(dot - readable) + 1;
    length = keep(readable, length < CLASS_FAMILY_MAX - 2 ? length : CLASS_FAMILY_MAX - 2, out);
    out[length++] = '*';
    out[length] = '\0';
    return length;
}
