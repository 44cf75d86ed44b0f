#include "nmtwatch/jvm/user_map.h"

#include "nmtwatch/jvm/proc.h"

#include <stdlib.h>

static bool take_number(struct span *rest, int64_t *value)
{
    *rest = span_trim(*rest);
    return span_take_unsigned(rest, value);
}

bool user_map_covers(struct span text, int64_t id)
{
    struct span line;
    bool terminated;
    while (span_next_line(&text, &line, &terminated)) {
        int64_t inside, outside, count;
        if (take_number(&line, &inside) && take_number(&line, &outside) &&
            take_number(&line, &count) && id >= outside && id - outside < count)
            return true;
    }
    return false;
}

static bool covers(pid_t pid, const char *name, int64_t id)
{
    struct span text = proc_read(pid, name);
    bool good = text.ptr == NULL || user_map_covers(text, id);
    free((void *)text.ptr);
    return good;
}

bool user_map_has(pid_t pid, uid_t uid, gid_t gid)
{
    return covers(pid, "uid_map", uid) && covers(pid, "gid_map", gid);
}
