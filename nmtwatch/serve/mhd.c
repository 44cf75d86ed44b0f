#include "nmtwatch/serve/web.h"

#include <dlfcn.h>

#define LIBRARY "libmicrohttpd.so.12"

static struct mhd_functions functions;

static const struct {
    const char *name;
    void **into;
} rows[] = {
#define ROW(name) {"MHD_" #name, (void **)&functions.name},
    MHD_FUNCTIONS(ROW)
#undef ROW
};

bool mhd_open(char *error, size_t error_size)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* for the life of the process */
    if (library == NULL)
        return text_error(error, error_size,
                          LIBRARY " cannot be loaded (package libmicrohttpd12): %s", dlerror());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *rows[i].into = dlsym(library, rows[i].name);
        if (*rows[i].into == NULL)
            return text_error(error, error_size, LIBRARY " has no %s", rows[i].name);
    }
    return true;
}

const struct mhd_functions *mhd(void)
{
    return &functions;
}
