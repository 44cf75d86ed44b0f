#include "agent/methods/method_facts.h"

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

/* "Lpkg/Name;", of a hidden class "Lpkg/Name.0x01c0;": that dot becomes a slash, as the JVM and its
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
