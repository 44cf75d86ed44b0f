#include "nmtwatch/jfr/jfr_read.h"

#include <limits.h>
#include <stdio.h>

#define TEXT_DEPTH_MAX 4     /* a constant that names a constant ... */
#define NAME_BYTES_MAX 65535 /* as in a class file */

/* What was made of a constant. Which fields refer to which types is the file's word, so what is
 * found says what it is: a method is not taken for a text. */
struct decoded {
    enum decoded_kind { NOTHING, TEXT, METHOD, TRACE, THREAD } kind;
    union {
        const char *text;
        struct stack_frame method;
        struct jfr_trace trace;
        struct jfr_thread thread;
    };
};

/* The constant's place for a decoded value; *fresh: it was not decoded before, and is nothing yet. */
static struct decoded *decoded_of(struct jfr_chunk *chunk, const struct jfr_value *value,
                                  struct jfr_constant **constant, bool *fresh)
{
    *fresh = false;
    if (value == NULL || !value->pool)
        return NULL;
    *constant = jfr_chunk_constant(chunk, value->type, value->number);
    if (*constant == NULL)
        return NULL;
    if ((*constant)->decoded == NULL) {
        (*constant)->decoded = jfr_chunk_alloc(chunk, sizeof(struct decoded));
        *fresh = (*constant)->decoded != NULL;
    }
    return (*constant)->decoded;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* UTF-16 units, a LEB128 each. A unit is a byte at least and becomes three at most. */
static const char *text_of_chars(struct jfr_chunk *chunk, struct span bytes)
{
    struct jfr_cursor cursor = {(const uint8_t *)bytes.ptr, (const uint8_t *)bytes.ptr + bytes.len,
                                false};
    char *text = jfr_chunk_alloc(chunk, bytes.len * 3 + 1), *out = text;
    while (text != NULL && cursor.at < cursor.end) {
        uint32_t unit = (uint16_t)jfr_take(&cursor);
        if (unit >= 0xd800 && unit < 0xdc00 && cursor.at < cursor.end) {
            struct jfr_cursor ahead = cursor;
            uint32_t second = (uint16_t)jfr_take(&ahead);
            if (second >= 0xdc00 && second < 0xe000) {
                unit = 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
                cursor = ahead;
            }
        }
        if (unit != 0)
            out += utf8_put(out, unit);
    }
    return text;
}

static const char *text_of_latin1(struct jfr_chunk *chunk, struct span bytes)
{
    char *text = jfr_chunk_alloc(chunk, bytes.len * 2 + 1), *out = text;
    for (size_t i = 0; text != NULL && i < bytes.len; i++)
        if (bytes.ptr[i] != '\0')
            out += utf8_put(out, (uint8_t)bytes.ptr[i]);
    return text;
}

/* NUL inside of a text would end it: the rest is kept without. */
static const char *text_of_utf8(struct jfr_chunk *chunk, struct span bytes)
{
    char *text = jfr_chunk_alloc(chunk, bytes.len + 1), *out = text;
    for (size_t i = 0; text != NULL && i < bytes.len; i++)
        if (bytes.ptr[i] != '\0')
            *out++ = bytes.ptr[i];
    return text;
}

static int string_type(const struct jfr_chunk *chunk)
{
    for (int i = 0; i < chunk->schema.type_count; i++)
        if (chunk->schema.types[i].layout == JFR_LAYOUT_STRING)
            return i;
    return -1;
}

static const char *text_within(struct jfr_chunk *chunk, const struct jfr_value *value, int depth);

static const char *string_within(struct jfr_chunk *chunk, const struct jfr_string *string,
                                 int depth)
{
    switch (string->encoding) {
    case JFR_STRING_EMPTY:
        return "";
    case JFR_STRING_UTF8:
        return text_of_utf8(chunk, string->bytes);
    case JFR_STRING_LATIN1:
        return text_of_latin1(chunk, string->bytes);
    case JFR_STRING_CHARS:
        return text_of_chars(chunk, string->bytes);
    case JFR_STRING_POOL: {
        struct jfr_value value = {
            .pool = true, .type = string_type(chunk), .number = string->pool_id};
        return text_within(chunk, &value, depth + 1);
    }
    case JFR_STRING_NULL:
        break;
    }
    return NULL;
}

static const char *constant_text(struct jfr_chunk *chunk, const struct jfr_constant *constant,
                                 int depth)
{
    struct jfr_cursor cursor = jfr_chunk_at(chunk, constant);
    if (chunk->schema.types[constant->type].layout == JFR_LAYOUT_STRING) {
        struct jfr_string string = jfr_take_string(&cursor);
        return cursor.bad ? NULL : string_within(chunk, &string, depth);
    }
    struct jfr_values values;
    if (!jfr_chunk_decode(chunk, &cursor, constant->type, &values, NULL, NULL))
        return NULL;
    static const enum jfr_name names[] = {JFR_NAME_STRING, JFR_NAME_NAME, JFR_NAME_DESCRIPTION};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct jfr_value *value = jfr_value(&values, names[i]);
        if (value != NULL)
            return text_within(chunk, value, depth + 1);
    }
    return NULL;
}

static const char *text_within(struct jfr_chunk *chunk, const struct jfr_value *value, int depth)
{
    if (value == NULL || depth > TEXT_DEPTH_MAX)
        return NULL;
    if (!value->pool)
        return string_within(chunk, &value->string, depth);
    struct jfr_constant *constant;
    bool fresh;
    struct decoded *decoded = decoded_of(chunk, value, &constant, &fresh);
    if (fresh) {
        const char *text = constant_text(chunk, constant, depth);
        decoded->kind = TEXT;
        decoded->text = text;
    }
    return decoded != NULL && decoded->kind == TEXT ? decoded->text : NULL;
}

const char *jfr_text(struct jfr_chunk *chunk, const struct jfr_value *value)
{
    return text_within(chunk, value, 0);
}

const char *jfr_string_text(struct jfr_chunk *chunk, const struct jfr_string *string)
{
    return string_within(chunk, string, 0);
}

/* --- methods ---------------------------------------------------------------------------------- */

/* Fields of the constant a value refers to. */
static bool decode_constant(struct jfr_chunk *chunk, const struct jfr_value *value,
                            struct jfr_values *values)
{
    struct jfr_constant *constant =
        value != NULL && value->pool ? jfr_chunk_constant(chunk, value->type, value->number) : NULL;
    if (constant == NULL)
        return false;
    struct jfr_cursor cursor = jfr_chunk_at(chunk, constant);
    return jfr_chunk_decode(chunk, &cursor, constant->type, values, NULL, NULL);
}

/* Java's dots for the JVM's slashes, but for the one before a hidden class's number. */
static void copy_class(char *out, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool number = name[i] == '/' && i + 2 < length && name[i + 1] == '0' && name[i + 2] == 'x';
        out[i] = name[i] == '/' && !number ? '.' : name[i];
    }
}

/* "[Ljava/lang/String;" is java.lang.String[], "[[B" byte[][]. */
static const char *java_name(struct jfr_chunk *chunk, const char *name)
{
    static const char *const primitives[] = {"Zboolean", "Bbyte", "Cchar",  "Sshort",
                                             "Iint",     "Jlong", "Ffloat", "Ddouble"};
    size_t length = strnlen(name, NAME_BYTES_MAX), dimensions = 0;
    while (dimensions < length && name[dimensions] == '[')
        dimensions++;
    const char *element = name + dimensions;
    length -= dimensions;
    for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++) {
        if (dimensions > 0 && length == 1 && element[0] == primitives[i][0]) {
            element = primitives[i] + 1;
            length = strlen(element);
        }
    }
    if (dimensions > 0 && length > 2 && element[0] == 'L' && element[length - 1] == ';') {
        element++;
        length -= 2;
    }
    char *text = jfr_chunk_alloc(chunk, length + 2 * dimensions + 1);
    if (text == NULL)
        return NULL;
    copy_class(text, element, length);
    for (size_t i = 0; i < dimensions; i++)
        memcpy(text + length + 2 * i, "[]", 2);
    return text;
}

const char *jfr_class_name(struct jfr_chunk *chunk, const struct jfr_value *value)
{
    struct jfr_constant *constant;
    bool fresh;
    struct decoded *decoded = decoded_of(chunk, value, &constant, &fresh);
    if (fresh) {
        struct jfr_values class;
        const char *name = NULL;
        if (decode_constant(chunk, value, &class))
            name = jfr_text(chunk, jfr_value(&class, JFR_NAME_NAME));
        decoded->text = name != NULL ? java_name(chunk, name) : NULL;
        decoded->kind = TEXT;
    }
    return decoded != NULL && decoded->kind == TEXT ? decoded->text : NULL;
}

/* NULL: out of memory. */
static char *copy_of(struct jfr_chunk *chunk, const char *text, size_t length)
{
    char *copy = jfr_chunk_alloc(chunk, length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

static const char *method_name(struct jfr_chunk *chunk, const char *class, const char *name)
{
    size_t class_length = strnlen(class, NAME_BYTES_MAX),
           name_length = strnlen(name, NAME_BYTES_MAX);
    char *both = jfr_chunk_alloc(chunk, class_length + name_length + 2);
    if (both == NULL)
        return NULL;
    copy_class(both, class, class_length);
    both[class_length] = '.';
    memcpy(both + class_length + 1, name, name_length);
    both[class_length + 1 + name_length] = '\0';
    return both;
}

/* Brackets around it may be there: of what is no library's, too ("[stack not walked]"). */
static const char *library_name(struct jfr_chunk *chunk, const char *class)
{
    size_t length = strnlen(class, NAME_BYTES_MAX);
    return class[0] == '[' && length > 2 ? copy_of(chunk, class + 1, length - 2)
                                         : copy_of(chunk, class, length);
}

/* A function of a library is written as a method without a return type. */
static const struct stack_frame *method_of(struct jfr_chunk *chunk, const struct jfr_value *value)
{
    struct jfr_constant *constant;
    bool fresh;
    struct decoded *decoded = decoded_of(chunk, value, &constant, &fresh);
    if (fresh) {
        struct jfr_values method, class;
        const char *class_name = NULL, *name = NULL, *descriptor = NULL;
        if (decode_constant(chunk, value, &method)) {
            name = jfr_text(chunk, jfr_value(&method, JFR_NAME_NAME));
            descriptor = jfr_text(chunk, jfr_value(&method, JFR_NAME_DESCRIPTOR));
            if (decode_constant(chunk, jfr_value(&method, JFR_NAME_TYPE), &class))
                class_name = jfr_text(chunk, jfr_value(&class, JFR_NAME_NAME));
        }
        bool library = descriptor != NULL && strcmp(descriptor, "()") == 0;
        bool in_class = class_name != NULL && strcmp(class_name, "[unknown]") != 0;
        struct stack_frame *frame = &decoded->method;
        frame->name = name != NULL ? name : "[unknown]";
        frame->kind = library ? CALL_FRAME_NATIVE : CALL_FRAME_JAVA;
        if (in_class && library)
            frame->library = library_name(chunk, class_name);
        else if (in_class)
            frame->name = method_name(chunk, class_name, frame->name);
        decoded->kind = METHOD;
    }
    bool good = decoded != NULL && decoded->kind == METHOD && decoded->method.name != NULL;
    return good ? &decoded->method : NULL;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static bool decode_frames(struct jfr_chunk *chunk, const struct jfr_value *array,
                          struct jfr_trace *trace)
{
    struct jfr_cursor cursor = array->array;
    /* The length was passed once, so there are so many elements; each took a byte or a step. */
    if (array->pool || array->length > INT_MAX / 64 ||
        (trace->frames = jfr_chunk_alloc(chunk, array->length * sizeof *trace->frames)) == NULL)
        return false;
    for (uint64_t i = 0; i < array->length; i++) {
        struct jfr_values values;
        if (!jfr_chunk_decode(chunk, &cursor, array->type, &values, NULL, NULL))
            return false;
        const struct stack_frame *method = method_of(chunk, jfr_value(&values, JFR_NAME_METHOD));
        const struct jfr_value *line = jfr_value(&values, JFR_NAME_LINE_NUMBER);
        struct stack_frame *frame = &trace->frames[i];
        *frame = method != NULL ? *method : (struct stack_frame){.name = "[unknown]"};
        frame->line = line != NULL ? (int32_t)line->number : 0;
        trace->depth++;
    }
    return true;
}

const struct jfr_trace *jfr_trace(struct jfr_chunk *chunk, const struct jfr_value *value)
{
    struct jfr_constant *constant;
    bool fresh;
    struct decoded *decoded = decoded_of(chunk, value, &constant, &fresh);
    if (fresh) {
        struct jfr_values values;
        if (decode_constant(chunk, value, &values)) {
            const struct jfr_value *truncated = jfr_value(&values, JFR_NAME_TRUNCATED);
            const struct jfr_value *frames = jfr_value(&values, JFR_NAME_FRAMES);
            decoded->trace.truncated = truncated != NULL && truncated->number != 0;
            if (frames != NULL && decode_frames(chunk, frames, &decoded->trace))
                decoded->kind = TRACE;
        }
    }
    return decoded != NULL && decoded->kind == TRACE ? &decoded->trace : NULL;
}

const struct jfr_thread *jfr_thread(struct jfr_chunk *chunk, const struct jfr_value *value)
{
    struct jfr_constant *constant;
    bool fresh;
    struct decoded *decoded = decoded_of(chunk, value, &constant, &fresh);
    if (fresh) {
        struct jfr_values values;
        if (decode_constant(chunk, value, &values)) {
            const struct jfr_value *os_id = jfr_value(&values, JFR_NAME_OS_THREAD_ID);
            const char *name = jfr_text(chunk, jfr_value(&values, JFR_NAME_JAVA_NAME));
            if (name == NULL)
                name = jfr_text(chunk, jfr_value(&values, JFR_NAME_OS_NAME));
            decoded->thread.name = name;
            decoded->thread.os_id = os_id != NULL ? (int64_t)os_id->number : -1;
            decoded->kind = THREAD;
        }
    }
    return decoded != NULL && decoded->kind == THREAD ? &decoded->thread : NULL;
}
