#include "agent/stack/engine.h"

const char *walk_code_name(enum walk_code code)
{
    static const char *const NAMES[] = {
#define WALK(id, agct_code, name) [WALK_##id] = name,
#include "agent/stack/walks.def"
#undef WALK
    };
    return (unsigned)code < WALK_CODE_COUNT ? NAMES[code] : "other";
}
