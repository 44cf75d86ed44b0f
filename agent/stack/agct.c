#include "agent/stack/agct.h"

#include <dlfcn.h>
#include <stdio.h>

static bool setup(JavaVM *vm, jvmtiEnv *jvmti, char *error, size_t error_size)
{
    (void)vm, (void)jvmti;
    void *function = dlsym(RTLD_DEFAULT, "AsyncGetCallTrace");
    if (function == NULL) { /* a launcher may have opened the JVM for itself alone */
        void *jvm = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
        if (jvm != NULL) {
            function = dlsym(jvm, "AsyncGetCallTrace");
            dlclose(jvm);
        }
    }
    if (function == NULL) {
        snprintf(error, error_size, "this JVM has no AsyncGetCallTrace");
        return false;
    }
    agct_function = (agct_fn *)function;
    return true;
}

const struct stack_engine engine_agct = {
    .name = "agct",
    .needs_method_ids = true,
    .setup = setup,
    .walk = agct_walk,
};
