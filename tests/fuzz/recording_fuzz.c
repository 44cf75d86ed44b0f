/* Any file through the reader of recordings, gzip or plain. */
#include "nmtwatch/record/recording.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct event event;
    char path[64], error[512] = "";
    int fd = memfd_create("recording", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct recording *recording = recording_open(path, error, sizeof error);
    promise(recording != NULL || (error[0] != '\0' && strchr(error, '\n') == NULL));
    if (recording != NULL) {
        while (recording_next(recording, &event))
            promise((int)event.kind < EVENT_KIND_COUNT);
        promise(!recording_next(recording, &event));
        const char *damage = recording_damage(recording);
        promise(damage == NULL || strchr(damage, '\n') == NULL);
        recording_close(recording);
    }
    close(fd);
    return 0;
}
