#include "nmtwatch/pid_path.h"

#include <stdio.h>
#include <string.h>

bool pid_path_is_pattern(const char *pattern)
{
    return strstr(pattern, "%p") != NULL;
}

bool pid_path(const char *pattern, pid_t pid, char *out, size_t size)
{
    size_t used = 0;
    const char *at = pattern;
    for (; *at != '\0' && used + 1 < size; at++) {
        if (at[0] == '%' && at[1] == 'p') {
            used += (size_t)snprintf(out + used, size - used, "%d", (int)pid);
            at++;
        } else {
            out[used++] = *at;
        }
    }
    if (*at != '\0' || used >= size)
        return false;
    out[used] = '\0';
    return true;
}
