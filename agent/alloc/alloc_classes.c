#include "agent/alloc/alloc_classes.h"

#include "agent/dict/dictionary.h"
#include "agent/mem/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NAME_MAX_BYTES 1024
#define OTHERS         "[other classes]"

struct alloc_classes {
    struct dictionary *names;
    uint32_t count;
    struct alloc_class row[ALLOC_CLASSES_MAX];
};

/* Mapped: of the rows those are touched that are in use. */
struct alloc_classes *alloc_classes_create(void)
{
    struct alloc_classes *classes = mem_map(COMPONENT_ALLOC_PROFILE, sizeof *classes);
    if (classes == NULL)
        return NULL;
    classes->row[0].name = OTHERS;
    classes->count = 1;
    classes->names = dictionary_create(COMPONENT_ALLOC_PROFILE, ALLOC_CLASSES_MAX - 1);
    if (classes->names == NULL) {
        alloc_classes_destroy(classes);
        return NULL;
    }
    return classes;
}

/* "Lapp/Main$$Lambda.0x00007f;" -> "app/Main$$Lambda". Arrays keep their brackets, and the ';' of a
 * name that is cut: readers of JFR look for it. */
static size_t name_of(const char *signature, char *name)
{
    size_t dimensions = strspn(signature, "["), length = strlen(signature);
    bool class = signature[dimensions] == 'L' && signature[length - 1] == ';';
    if (class) {
        signature += dimensions == 0;
        length -= dimensions == 0 ? 2 : 1;
    }
    if (length > NAME_MAX_BYTES - 1)
        length = NAME_MAX_BYTES - 1;
    memcpy(name, signature, length);
    name[length] = '\0';
    char *address = strstr(name, ".0x"); /* a dot is in no other name of the JVM's */
    if (address != NULL)
        length = (size_t)(address - name);
    if (class && dimensions > 0)
        name[length++] = ';';
    name[length] = '\0';
    return length;
}

uint32_t alloc_classes_put(struct alloc_classes *classes, const char *signature)
{
    char name[NAME_MAX_BYTES + 1];
    size_t length = name_of(signature, name);
    uint32_t number = dictionary_put(classes->names, name, length);
    if (number == 0 || number >= ALLOC_CLASSES_MAX)
        return 0;
    struct alloc_class *row = &classes->row[number];
    if (row->name == NULL) {
        row->name = mem_copy_text(COMPONENT_ALLOC_PROFILE, name, length);
        if (row->name == NULL)
            return 0;
        if (number >= classes->count)
            classes->count = number + 1;
    }
    return number;
}

struct alloc_class *alloc_classes_at(struct alloc_classes *classes, uint32_t number)
{
    return &classes->row[number];
}

uint32_t alloc_classes_count(const struct alloc_classes *classes)
{
    return classes->count;
}

char *alloc_class_java_name(const char *name, char *out, size_t size)
{
    static const struct {
        char letter;
        const char *name;
    } PRIMITIVES[] = {{'Z', "boolean"}, {'B', "byte"}, {'C', "char"},  {'S', "short"},
                      {'I', "int"},     {'J', "long"}, {'F', "float"}, {'D', "double"}};
    if (strcmp(name, OTHERS) == 0) {
        snprintf(out, size, "%s", name);
        return out;
    }
    size_t dimensions = strspn(name, "["), length = strlen(name + dimensions), used;
    const char *element = name + dimensions;
    if (dimensions > 0 && element[0] == 'L' && element[length - 1] == ';') {
        element++;
        length -= 2;
    } else if (dimensions > 0 && length == 1) {
        for (size_t i = 0; i < sizeof PRIMITIVES / sizeof *PRIMITIVES; i++) {
            if (PRIMITIVES[i].letter == element[0]) {
                element = PRIMITIVES[i].name;
                length = strlen(element);
                break;
            }
        }
    }
    snprintf(out, size, "%.*s", (int)length, element);
    for (char *slash = out; (slash = strchr(slash, '/')) != NULL;)
        *slash = '.';
    used = strlen(out);
    for (; dimensions > 0 && used + 3 <= size; dimensions--, used += 2)
        memcpy(out + used, "[]", 3);
    return out;
}

void alloc_classes_json(const struct alloc_classes *classes, double calibration, struct json *json)
{
    char name[NAME_MAX_BYTES + 2 * 256];
    json_begin(json, "classes", '[');
    for (uint32_t i = 0; i < classes->count; i++) {
        const struct alloc_class *row = &classes->row[i];
        if (row->samples == 0)
            continue;
        double variance = row->settled_variance + weight_sums_variance(&row->pool, calibration);
        json_begin(json, NULL, '{');
        json_text(json, "class", alloc_class_java_name(row->name, name, sizeof name));
        json_double(json, "bytes", row->settled_bytes + weight_sums_bytes(&row->pool, calibration));
        json_double(json, "se_bytes", sqrt(variance));
        json_int(json, "samples", row->samples);
        json_double(json, "counted_bytes", row->counted_bytes);
        json_end(json, '}');
    }
    json_end(json, ']');
}

void alloc_classes_destroy(struct alloc_classes *classes)
{
    if (classes == NULL)
        return;
    for (uint32_t i = 1; i < classes->count; i++)
        mem_free((char *)(uintptr_t)classes->row[i].name);
    if (classes->names != NULL)
        dictionary_destroy(classes->names);
    mem_unmap(COMPONENT_ALLOC_PROFILE, classes, sizeof *classes);
}
