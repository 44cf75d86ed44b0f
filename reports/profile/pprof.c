#include "reports/profile/call_tree.h"

#include "analyzers/model/texts.h"
#include "reports/text/escape.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Of profile.proto (github.com/google/pprof). */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2 };

#define WIRE_NUMBER 0
#define WIRE_BYTES  2
#define NAMES_FROM  3 /* in the table of strings: after "", type and unit */

struct bytes {
    uint8_t *at;
    size_t length, room;
    bool failed;
};

static void put_bytes(struct bytes *out, const void *bytes, size_t length)
{
    if (length == 0)
        return;
    if (out->failed || !array_room(&out->at, &out->room, out->length + length, 1)) {
        out->failed = true;
        return;
    }
    memcpy(out->at + out->length, bytes, length);
    out->length += length;
}

static void put_varint(struct bytes *out, uint64_t number)
{
    uint8_t text[10];
    size_t length = 0;
    for (; number >= 0x80; number >>= 7)
        text[length++] = (uint8_t)(number | 0x80);
    text[length++] = (uint8_t)number;
    put_bytes(out, text, length);
}

static void put_number(struct bytes *out, int field, uint64_t number)
{
    put_varint(out, (uint64_t)field << 3 | WIRE_NUMBER);
    put_varint(out, number);
}

static void put_field(struct bytes *out, int field, const void *bytes, size_t length)
{
    put_varint(out, (uint64_t)field << 3 | WIRE_BYTES);
    put_varint(out, length);
    put_bytes(out, bytes, length);
}

/* A message that was put together, which is emptied. */
static void put_message(struct bytes *out, int field, struct bytes *message)
{
    put_field(out, field, message->at, message->length);
    out->failed |= message->failed;
    message->length = 0;
}

static void put_text(struct bytes *out, const char *text)
{
    char *safe = escape_copy(ESCAPE_TERMINAL, text);
    out->failed |= safe == NULL;
    if (safe != NULL)
        put_field(out, PROFILE_STRING, safe, strlen(safe));
    free(safe);
}

/* Every name is a function and a location of its own. */
static void put_names(struct bytes *out, const struct call_tree *tree, struct bytes *message,
                      struct bytes *line)
{
    uint32_t names = call_tree_name_count(tree);
    for (uint32_t i = 0; i < names; i++) {
        put_number(message, FUNCTION_ID, i + 1);
        put_number(message, FUNCTION_NAME, NAMES_FROM + i);
        put_message(out, PROFILE_FUNCTION, message);
        put_number(line, LINE_FUNCTION, i + 1);
        put_number(message, LOCATION_ID, i + 1);
        put_message(message, LOCATION_LINE, line);
        put_message(out, PROFILE_LOCATION, message);
    }
}

/* A sample for each node in which samples ended, innermost frame first. */
static void put_samples(struct bytes *out, const struct call_tree *tree, int64_t each,
                        struct bytes *message, struct bytes *packed)
{
    uint32_t nodes = call_tree_node_count(tree);
    for (uint32_t i = 1; i < nodes; i++) {
        const struct call_node *node = call_tree_node(tree, i);
        if (node->self == 0)
            continue;
        for (uint32_t at = i; at != 0; at = call_tree_node(tree, at)->parent)
            put_varint(packed, call_tree_node(tree, at)->name + UINT64_C(1));
        put_message(message, SAMPLE_LOCATIONS, packed);
        put_varint(packed, (uint64_t)node->self * (uint64_t)each);
        put_message(message, SAMPLE_VALUES, packed);
        put_message(out, PROFILE_SAMPLE, message);
    }
}

static bool write_gzip(const struct bytes *bytes, FILE *out)
{
    uint8_t block[16384];
    z_stream stream = {.next_in = bytes->at, .avail_in = (uInt)bytes->length};
    int state = Z_OK;
    if (bytes->length > UINT32_MAX || deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                                   15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    bool good = true;
    while (good && state != Z_STREAM_END) {
        stream.next_out = block;
        stream.avail_out = sizeof block;
        state = deflate(&stream, Z_FINISH);
        size_t length = sizeof block - stream.avail_out;
        good = (state == Z_OK || state == Z_STREAM_END) && fwrite(block, 1, length, out) == length;
    }
    deflateEnd(&stream);
    return good;
}

bool pprof_write(const struct call_tree *tree, const struct pprof_about *about, FILE *out)
{
    struct bytes all = {0}, message = {0}, packed = {0};
    put_number(&message, TYPE_TYPE, 1);
    put_number(&message, TYPE_UNIT, 2);
    put_message(&all, PROFILE_SAMPLE_TYPE, &message);
    put_samples(&all, tree, about->each > 0 ? about->each : 1, &message, &packed);
    put_names(&all, tree, &message, &packed);
    put_text(&all, "");
    put_text(&all, about->type);
    put_text(&all, about->unit);
    for (uint32_t i = 0; i < call_tree_name_count(tree); i++)
        put_text(&all, call_tree_name(tree, i).name);
    put_number(&all, PROFILE_TIME, (uint64_t)about->start_ns);
    put_number(&all, PROFILE_DURATION, (uint64_t)about->duration_ns);
    bool good = !all.failed && !message.failed && !packed.failed && write_gzip(&all, out);
    free(all.at);
    free(message.at);
    free(packed.at);
    return good && !ferror(out);
}
