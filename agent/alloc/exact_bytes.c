#include "agent/alloc/exact_bytes.h"

#include <dlfcn.h>
#include <stddef.h>

typedef jint get_version_fn(JNIEnv *env);
typedef jlong one_thread_fn(JNIEnv *env, jlong java_id);

static one_thread_fn *one_thread;

enum { SLOT_GET_VERSION = 2 }; /* behind two reserved ones, in every version */

static const struct {
    jint version;
    int slot;
} versions[] = {{0x20050000, 10}, {0x20040000, 10}, {0x20030000, 9}};

bool exact_bytes_setup(JNIEnv *env)
{
    union { /* ISO C knows no way from void * to a function */
        void *symbol;
        void **(*call)(jint version);
    } management = {.symbol = dlsym(RTLD_DEFAULT, "JVM_GetManagement")};
    if (one_thread != NULL)
        return true;
    if (management.symbol == NULL) {
        void *jvm = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
        if (jvm != NULL)
            management.symbol = dlsym(jvm, "JVM_GetManagement");
    }
    for (size_t i = 0; management.symbol != NULL && i < sizeof versions / sizeof *versions; i++) {
        void **table = management.call(versions[i].version);
        if (table == NULL)
            continue;
        union {
            void *symbol;
            get_version_fn *get_version;
            one_thread_fn *one_thread;
        } function = {.symbol = table[SLOT_GET_VERSION]};
        if (function.symbol == NULL || function.get_version(env) != versions[i].version)
            continue;
        function.symbol = table[versions[i].slot];
        if (function.symbol == NULL)
            continue;
        /* This thread makes no object in between. The one that serves attach may never have. */
        jlong once = function.one_thread(env, 0), again = function.one_thread(env, 0);
        if (once >= 0 && again == once && function.one_thread(env, INT64_MAX) == -1)
            one_thread = function.one_thread;
        break;
    }
    return one_thread != NULL;
}

int64_t exact_bytes_own(JNIEnv *env)
{
    return one_thread != NULL ? one_thread(env, 0) : -1;
}

int64_t exact_bytes_of(JNIEnv *env, int64_t java_id)
{
    return one_thread != NULL && java_id > 0 ? one_thread(env, java_id) : -1;
}
