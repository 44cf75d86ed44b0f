#include "agent/jfr/jfr_types.h"

#include "agent/context/context.h"
#include "floor/base/fold_hash.h"
#include "agent/mem/mem.h"

_Static_assert(NMTAGENT_CONTEXT_TAGS <= JFR_TAGS_MAX, "each tag is a field");

static const struct jfr_type_row rows[] = {
#define JFR_TABLE_ROWS
#include "floor/jfr/jfr_table.def"
};

const struct jfr_type_table jfr_agent_types = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .id = jfr_pool_type_id};

uint32_t jfr_pool_type_id(uint32_t type, uint32_t salt)
{
    static const enum jfr_type moving[] = {JFR_SYMBOL, JFR_THREAD, JFR_PACKAGE,
                                           JFR_CLASS,  JFR_METHOD, JFR_STACK_TRACE};
    for (uint32_t i = 0; i < sizeof moving / sizeof moving[0]; i++) {
        if (moving[i] == type)
            return (salt + 1) * 8 + JFR_TYPE_END + i;
    }
    return type;
}

/* Two salts in turn: a reader that keeps something for every type id it has met keeps it twice, not
 * once a chunk. */
uint32_t jfr_chunk_salt(uint64_t recording, int64_t chunk)
{
    uint32_t mixed = (uint32_t)(fold_word(recording) >> 44);
    return mixed << 1 | (uint32_t)(chunk & 1);
}

bool jfr_bytes_grow(struct jfr_bytes *bytes, size_t wanted)
{
    static const struct mem_array BYTES = {COMPONENT_JFR_WRITER, 1, 1024, 0};
    return mem_grow(&BYTES, &bytes->at, &bytes->capacity, wanted);
}

void jfr_bytes_free(struct jfr_bytes *bytes)
{
    mem_free(bytes->at);
    *bytes = (struct jfr_bytes){0};
}
