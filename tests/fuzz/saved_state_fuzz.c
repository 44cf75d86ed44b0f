/* A file of serve's state, and that of the labels' owners: another program may have written them. */
#include "nmtwatch/serve/owners.h"
#include "nmtwatch/serve/saved_state.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BOOT    "5c9d1a3e-0000-4000-8000-000000000000"
#define WALL_MS INT64_C(1700000000000)

static char folder[] = "/tmp/nmtwatch-fuzz.XXXXXX";
static int folder_fd = -1;

static void remove_folder(void)
{
    unlinkat(folder_fd, "owners", 0);
    rmdir(folder);
}

static void read_owners(const uint8_t *data, size_t size)
{
    if (folder_fd < 0 && mkdtemp(folder) != NULL) {
        folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        atexit(remove_folder);
    }
    int fd = openat(folder_fd, "owners", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    promise(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
    struct owners *owners = owners_open(folder, WALL_MS);
    promise(owners != NULL && owners_count(owners) >= 0);
    owners_close(owners);
}

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
    if (size > 0 && data[0] >= '0' && data[0] <= '9')
        read_owners(data, size);
    return 0;
}
