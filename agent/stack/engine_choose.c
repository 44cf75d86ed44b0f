#include "agent/stack/engine.h"

#include <stdio.h>
#include <string.h>

const struct stack_engine *engine_choose(const char *wanted, JavaVM *vm, jvmtiEnv *jvmti,
                                         char *fallback, size_t fallback_size, char *error,
                                         size_t error_size)
{
    static const struct stack_engine *const ENGINES[] = {&engine_vm, &engine_agct};
    bool any = strcmp(wanted, "auto") == 0;
    fallback[0] = '\0';
    for (size_t i = 0; i < sizeof ENGINES / sizeof *ENGINES; i++) {
        const struct stack_engine *engine = ENGINES[i];
        char why[200];
        if (!any && strcmp(wanted, engine->name) != 0)
            continue;
        if (engine->setup(vm, jvmti, why, sizeof why))
            return engine;
        snprintf(error, error_size, "engine=%s: %s", engine->name, why);
        if (fallback[0] == '\0') /* of the better one */
            snprintf(fallback, fallback_size, "engine %s: %s", engine->name, why);
    }
    return NULL;
}
