/* A file of serve's state: another program may have written it. */
#include "nmtwatch/serve/saved_state.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#define BOOT "5c9d1a3e-0000-4000-8000-000000000000"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct saved_target *target = calloc(1, sizeof *target);
    char error[300] = "";
    if (target == NULL)
        return 0;
    if (saved_json_read((const char *)data, size, BOOT, target, error, sizeof error))
        promise(memchr(target->label, '\0', sizeof target->label) != NULL);
    else
        promise(error[0] != '\0');
    saved_target_free(target);
    return 0;
}
