#include "agent/stack/frame_rule.h"
#include "agent/stack/native_unwind.h"

#include <stdio.h>

#ifdef NATIVE_UNWIND

#include "agent/mem/libraries.h"

#include <dlfcn.h>
#include <ucontext.h>

/* libunwind-x86_64 is in the same package as libunwind itself. */
#define LIBRARY "libunwind-x86_64.so.8"

static bool resolve(void *library, char *error, size_t error_size)
{
    const struct {
        const char *name;
        void **at;
        void *where;
    } SYMBOLS[] = {
        {"_Ux86_64_create_addr_space", (void **)&native_unwind.create, library},
        {"_Ux86_64_set_caching_policy", (void **)&native_unwind.set_caching, library},
        {"_Ux86_64_init_remote", (void **)&native_unwind.init, library},
        {"_Ux86_64_step", (void **)&native_unwind.step, library},
        {"_Ux86_64_get_reg", (void **)&native_unwind.get_register, library},
        {"_Ux86_64_dwarf_search_unwind_table", (void **)&native_unwind.search_table, library},
        {"_dl_find_object", (void **)&native_unwind.find_object, RTLD_DEFAULT},
    };
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof *SYMBOLS; i++) {
        *SYMBOLS[i].at = dlsym(SYMBOLS[i].where, SYMBOLS[i].name);
        if (*SYMBOLS[i].at == NULL) {
            snprintf(error, error_size, "no native frames: %s is not in %s", SYMBOLS[i].name,
                     SYMBOLS[i].where == library ? LIBRARY : "this C library (glibc 2.35 has it)");
            return false;
        }
    }
    return true;
}

/* Two functions whose frames must be found: shows that this libunwind is the one we were built for,
 * and lets it do its first-time work here and not in a signal handler. */
static __attribute__((noinline)) bool walk_from_here(uintptr_t caller)
{
    ucontext_t here;
    struct frame frames[8];
    if (getcontext(&here) != 0)
        return false;
    int depth = native_walk_by_libunwind(&here, frames, 8);
    return depth >= 3 && frames[1].value == (uintptr_t)__builtin_return_address(0) &&
           frames[2].value == caller;
}

bool native_setup_rules(void)
{
    void *find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (native_unwind.find_object == NULL && find_object != NULL) {
        frame_rules_forget(); /* which touches their memory: it is resident from now on */
        *(void **)&native_unwind.find_object = find_object;
    }
    return find_object != NULL;
}

bool native_setup(char *error, size_t error_size)
{
    if (native_unwind.space != NULL)
        return true;
    struct libraries before;
    libraries_look(&before);
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(error, error_size, "no native frames: %s is not installed (package libunwind8)",
                 LIBRARY);
        return false;
    }
    struct native_accessors accessors;
    native_fill_accessors(&accessors);
    frame_rules_forget(); /* which touches their memory: it is resident from now on */
    if (resolve(library, error, error_size)) {
        native_unwind.space = native_unwind.create(&accessors.known, 0);
        if (native_unwind.space != NULL) {
            native_unwind.set_caching(native_unwind.space, UNW_CACHE_GLOBAL);
            if (walk_from_here((uintptr_t)__builtin_return_address(0))) {
                libraries_count_new(&before);
                return true; /* the library stays: handlers call it */
            }
        }
        snprintf(error, error_size, "no native frames: this %s cannot walk our own stack", LIBRARY);
    }
    native_unwind.space = NULL;
    dlclose(library);
    return false;
}

#else

bool native_setup_rules(void)
{
    return false;
}

bool native_setup(char *error, size_t error_size)
{
    snprintf(error, error_size,
             "no native frames: built for another machine than x86-64, or without "
             "libunwind-x86_64.h");
    return false;
}

#endif
