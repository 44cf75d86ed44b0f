#include "agent/methods/method_facts.h"

#include "agent/mem/mem.h"
#include "floor/hotspot/method_reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ACC_NATIVE 0x0100

static void give_back(jvmtiEnv *jvmti, void *result, int64_t bytes, int64_t *held_bytes)
{
    if ((*jvmti)->Deallocate(jvmti, result) == JVMTI_ERROR_NONE)
        *held_bytes -= bytes;
}

static int64_t text_bytes(const char *text)
{
    return text == NULL ? 0 : (int64_t)strlen(text) + 1;
}

static void give_back_text(jvmtiEnv *jvmti, char **text, int64_t *held_bytes)
{
    if (*text != NULL)
        give_back(jvmti, *text, text_bytes(*text), held_bytes);
    *text = NULL;
}

static struct line_table *ask_lines(jvmtiEnv *jvmti, jmethodID method, int64_t *held_bytes)
{
    jint count = 0;
    jvmtiLineNumberEntry *entries = NULL;
    if ((*jvmti)->GetLineNumberTable(jvmti, method, &count, &entries) != JVMTI_ERROR_NONE)
        return NULL;
    int64_t bytes = count * (int64_t)sizeof *entries;
    *held_bytes += bytes;
    struct line_table *lines = line_table_create(entries, count);
    give_back(jvmti, entries, bytes, held_bytes);
    return lines;
}

/* "Lpkg/Name;", of a hidden class "Lpkg/Name.0x01c0;": that dot is a slash here, as the JVM and its
 * own recorder write such names. */
static void name_class(struct method_facts *facts)
{
    char *text = facts->class_signature;
    size_t length = strlen(text);
    if (length > 2 && text[0] == 'L' && text[length - 1] == ';') {
        text++;
        length -= 2;
    }
    const char *slash = memrchr(text, '/', length);
    char *dot = memchr(text, '.', length);
    facts->package_length = slash == NULL ? 0 : (size_t)(slash - text);
    if (dot != NULL)
        *dot = '/';
    facts->class_name = text;
    facts->class_name_length = length;
}

/* The class is held. */
static bool ask(jvmtiEnv *jvmti, jclass class, jmethodID method, struct method_facts *facts,
                int64_t *held_bytes)
{
    bool good = (*jvmti)->GetMethodName(jvmti, method, &facts->name, &facts->signature, NULL) ==
                JVMTI_ERROR_NONE;
    good = good && (*jvmti)->GetClassSignature(jvmti, class, &facts->class_signature, NULL) ==
                       JVMTI_ERROR_NONE;
    *held_bytes +=
        text_bytes(facts->name) + text_bytes(facts->signature) + text_bytes(facts->class_signature);
    if (!good || facts->name == NULL || facts->signature == NULL || facts->class_signature == NULL)
        return false;
    name_class(facts);
    if ((*jvmti)->GetMethodModifiers(jvmti, method, &facts->modifiers) != JVMTI_ERROR_NONE)
        facts->modifiers = 0;
    if ((facts->modifiers & ACC_NATIVE) == 0)
        facts->lines = ask_lines(jvmti, method, held_bytes);
    return true;
}

bool method_facts_ask(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method, struct method_facts *facts,
                      int64_t *held_bytes)
{
    jclass class = NULL;
    *facts = (struct method_facts){0};
    if (method == NULL ||
        (*jvmti)->GetMethodDeclaringClass(jvmti, method, &class) != JVMTI_ERROR_NONE ||
        class == NULL)
        return false;
    bool good = ask(jvmti, class, method, facts, held_bytes);
    (*env)->DeleteLocalRef(env, class);
    if (!good)
        method_facts_end(jvmti, facts, held_bytes);
    return good;
}

bool method_facts_lines(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method, struct line_table **lines,
                        int64_t *held_bytes)
{
    jclass class = NULL;
    if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, &class) != JVMTI_ERROR_NONE ||
        class == NULL)
        return false;
    struct line_table *found = ask_lines(jvmti, method, held_bytes);
    (*env)->DeleteLocalRef(env, class);
    if (found != NULL)
        *lines = found;
    return found != NULL;
}

void method_facts_end(jvmtiEnv *jvmti, struct method_facts *facts, int64_t *held_bytes)
{
    give_back_text(jvmti, &facts->name, held_bytes);
    give_back_text(jvmti, &facts->signature, held_bytes);
    give_back_text(jvmti, &facts->class_signature, held_bytes);
}

struct line {
    uint16_t bci;
    uint16_t line;
};
_Static_assert(sizeof(struct line) == 4, "a quarter of jvmtiLineNumberEntry");

struct line_table {
    uint32_t count;
    struct line lines[]; /* by bci */
};

/* Shell's sort: javac writes most tables in order, and the C library's qsort allocates. */
static void sort(struct line *lines, uint32_t count)
{
    for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < count; i++) {
            struct line moving = lines[i];
            uint32_t at = i;
            for (; at >= gap && lines[at - gap].bci > moving.bci; at -= gap)
                lines[at] = lines[at - gap];
            lines[at] = moving;
        }
    }
}

struct line_table *line_table_create(const jvmtiLineNumberEntry *entries, jint count)
{
    if (count <= 0)
        return NULL;
    struct line_table *table =
        mem_alloc(COMPONENT_LINE_TABLES, sizeof *table + (size_t)count * sizeof *table->lines);
    if (table == NULL)
        return NULL;
    for (jint i = 0; i < count; i++) {
        if (entries[i].start_location < 0 || entries[i].start_location > UINT16_MAX)
            continue; /* in no class file */
        table->lines[table->count++] =
            (struct line){(uint16_t)entries[i].start_location, (uint16_t)entries[i].line_number};
    }
    sort(table->lines, table->count);
    return table;
}

struct line_table *line_table_decode(const uint8_t *bytes, size_t size, unsigned lowest)
{
    const struct line_steps first = {.at = bytes, .end = bytes + size, .lowest = lowest};
    struct line_steps steps = first;
    uint32_t count = 0;
    while (line_step(&steps))
        count++;
    if (count == 0)
        return NULL;
    struct line_table *table =
        mem_alloc(COMPONENT_LINE_TABLES, sizeof *table + count * sizeof *table->lines);
    if (table == NULL)
        return NULL;
    for (steps = first; line_step(&steps); table->count++)
        table->lines[table->count] = (struct line){(uint16_t)steps.bci, (uint16_t)steps.line};
    sort(table->lines, table->count);
    return table;
}

/* ---------------------------------------------------------------------------------------------- */

int line_table_line(const struct line_table *table, int32_t bci)
{
    uint32_t low = 0, high = table->count; /* the first entry beyond bci is in low..high */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->lines[middle].bci <= bci)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? 0 : table->lines[low - 1].line;
}

void line_table_destroy(struct line_table *table)
{
    mem_free(table);
}
