#include "agent/hotspot/libjvm.h"

#include <dlfcn.h>
#include <stddef.h>

void *libjvm_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (symbol != NULL)
        return symbol;
    void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL)
        return NULL;
    symbol = dlsym(library, name);
    dlclose(library); /* it stays: a JVM does not unload itself */
    return symbol;
}
