#include "analyzers/classes/normalize.h"

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
    put(out, "#", 1);
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

static struct look look_at(struct span piece)
{
    struct look look = {.hex = true};
    size_t above_f = 0;
    for (size_t i = 0; i < piece.len; i++) {
        int now = kind(piece.ptr[i]), before = i > 0 ? kind(piece.ptr[i - 1]) : now;
        look.digits += now == DIGIT;
        look.lower += now == LOWER;
        look.upper += now == UPPER;
        look.switches += now != before;
        look.numbers += now == DIGIT && (i == 0 || before != DIGIT);
        above_f += now != DIGIT && ((unsigned char)piece.ptr[i] | 0x20) > 'f';
    }
    look.hex = above_f == 0 && (look.lower == 0 || look.upper == 0);
    look.number_at_end_only = look.numbers == 1 && kind(piece.ptr[piece.len - 1]) == DIGIT;
    return look;
}

/* Words in CamelCase change their kind of letter in less than half of the places (EntrySet 3 of 7,
 * Base64Encoder 4 of 12), random ones of base 62 in six of ten. */
bool name_looks_random(struct span piece)
{
    if (piece.len < 6)
        return false;
    struct look look = look_at(piece);
    if (look.digits == piece.len || look.number_at_end_only) /* Script12, CBC128 */
        return false;
    if (look.hex)
        return look.digits > 0;
    return (look.numbers >= 3 && piece.len >= 12) || look.switches * 2 >= piece.len;
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
    static const char *const endings[] = {
        "ByteBuddy",
        "auxiliary",
        "MockitoMock",
        "ByCGLIB",
        "BySpringCGLIB",
        "ByGuice",
        "ByProxool",
        "HibernateProxy",
        "HibernateBasicProxy",
        "HibernateInstantiator",
        "HibernateAccessOptimizer",
    };
    if (piece.len < 7)
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (span_ends_with(piece, span_from_cstr(endings[i])))
            return true;
    }
    return false;
}

static bool is_hex(struct span piece)
{
    return look_at(piece).hex;
}

static bool is_jvst(struct span piece)
{
    return piece.len >= 5 && piece.len <= 7 && memcmp(piece.ptr, "jvst", 4) == 0;
}

/* --- the simple name, piece by piece ---------------------------------------------------------- */

enum before { NOTHING, ANNOUNCED, CGLIB_HASH, JVST, RANDOM };

/* Folds one piece and says what that means for the next one. */
static enum before put_piece(struct out *out, struct span piece, char separator, bool last,
                             enum before before)
{
    bool marked = separator != '\0' && separator != '.';

    if (is_jvst(piece)) { /* Javassist: jvst, hash of the library, then a counter in hex */
        put(out, "jvst", 4);
        put_random(out, piece.len - 4);
        return JVST;
    }
    if (before == ANNOUNCED || (before == JVST && is_hex(piece))) {
        put_random(out, piece.len);
        return CGLIB_HASH;
    }
    if (before == RANDOM && piece.len >= 4 && is_hex(piece)) { /* the rest of a UUID */
        put_random(out, piece.len);
        return RANDOM;
    }
    if (marked && name_looks_random(piece)) {
        put_random(out, piece.len);
        return RANDOM;
    }
    size_t hash = glued_hash(piece);
    if (hash > 0) {
        put_folding_numbers(out, span_of(piece.ptr, piece.len - hash), 1);
        put_random(out, hash);
        return RANDOM;
    }
    if (!marked && piece.len >= 12 && look_at(piece).upper == 0 && look_at(piece).numbers >= 3) {
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
    put_folding_numbers(out, piece, 1);
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
        while (p < end && kind(*p) != OTHER)
            p++;
        struct span piece = span_of(start, (size_t)(p - start));
        /* CGLIB's _N says that the key missed its cache; the class is one of the same kind. */
        if (before == CGLIB_HASH && p == end && gap.len == 1 && *gap.ptr == '_' &&
            run_of_digits(start, end) == piece.len)
            return;
        put(out, gap.ptr, gap.len);
        if (piece.len == 0)
            return;
        before = put_piece(out, piece, gap.len > 0 ? gap.ptr[gap.len - 1] : '\0', p == end, before);
    }
}

/* --- the package ------------------------------------------------------------------------------ */

static bool is_one_piece(struct span text)
{
    struct look look = look_at(text);
    return look.digits + look.lower + look.upper == text.len;
}

/* A package keeps its digits (org.h2, log4j, v1_20_R1) unless a name in it is random or ends in a
 * number of two digits (com.acme.gen17): that may be a counter. jdk.proxy2 is counted from the
 * start. */
static void put_package(struct out *out, struct span package)
{
    size_t shortest = span_starts_with(package, SPAN_LITERAL("jdk.proxy")) ? 1 : 2;
    const char *end = package.ptr + package.len;
    for (const char *p = package.ptr; p < end;) {
        const char *start = p;
        while (p < end && *p != '.')
            p++;
        size_t len = (size_t)(p - start), digits = 0;
        while (digits < len && kind(start[len - digits - 1]) == DIGIT)
            digits++;
        if (is_one_piece(span_of(start, len)) && name_looks_random(span_of(start, len))) {
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
    struct span tail = span_of(name.ptr + at, name.len - at);
    if (separator != '/' && separator != '+')
        return name.len;
    if (tail.len > 2 && tail.ptr[0] == '0' && tail.ptr[1] == 'x' &&
        is_hex(span_of(tail.ptr + 2, tail.len - 2)))
        *fold = separator == '/' ? "/0x*" : "+0x*";
    else if (separator == '/' && run_of_digits(tail.ptr, tail.ptr + tail.len) == tail.len)
        *fold = "/#";
    return *fold != NULL ? at - 1 : name.len;
}

size_t normalize(struct span name, char stem[STEM_MAX], struct name_parts *parts)
{
    *parts = (struct name_parts){0};
    stem[0] = '\0';
    if (name.len == 0)
        return 0;
    struct out out = {stem, 0, parts};

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
    }
    stem[out.len] = '\0';
    parts->folded = out.len != name.len || memcmp(stem, name.ptr, out.len) != 0;
    return out.len;
}
