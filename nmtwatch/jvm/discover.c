#include "nmtwatch/jvm/discover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_pid(const void *a, const void *b)
{
    const struct target *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static bool add(struct discovery *discovery, size_t *capacity, const struct target *target)
{
    if ((size_t)discovery->count == *capacity) {
        size_t more = *capacity == 0 ? 8 : *capacity * 2;
        struct target *bigger = reallocarray(discovery->targets, more, sizeof *bigger);
        if (bigger == NULL)
            return false;
        discovery->targets = bigger;
        *capacity = more;
    }
    discovery->targets[discovery->count++] = *target;
    return true;
}

int discover_jvms(struct discovery *discovery)
{
    *discovery = (struct discovery){0};
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return -1;

    size_t capacity = 0;
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(proc)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct target target;
        struct failure failure;
        if (pid == getpid())
            continue;
        enum failure_kind kind = target_open(&target, pid, &failure);
        if (kind == FAILURE_PERMISSION)
            discovery->unreadable++;
        /* A process with a socket of the right name but without libjvm.so is asked only when its
         * pid is given. */
        else if (kind == FAILURE_NONE && target.libjvm_mapped)
            good = add(discovery, &capacity, &target);
    }
    closedir(proc);
    if (!good) {
        discovery_free(discovery);
        errno = ENOMEM;
        return -1;
    }
    if (discovery->count > 1)
        qsort(discovery->targets, (size_t)discovery->count, sizeof *discovery->targets, by_pid);
    return 0;
}

void discovery_free(struct discovery *discovery)
{
    for (int i = 0; i < discovery->count; i++)
        target_close(&discovery->targets[i]);
    free(discovery->targets);
    *discovery = (struct discovery){0};
}
