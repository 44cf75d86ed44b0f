#include "agent/sampling/jvm_key.h"

#include <limits.h>

bool jvm_key_find(int64_t thread_address, pthread_key_t *key)
{
    if (thread_address == 0)
        return false;
    /* Keys that nobody made read as NULL in glibc. */
    for (pthread_key_t candidate = 0; candidate < PTHREAD_KEYS_MAX; candidate++) {
        if ((int64_t)(intptr_t)pthread_getspecific(candidate) == thread_address) {
            *key = candidate;
            return true;
        }
    }
    return false;
}
