#include "nmtwatch/observe/rss.h"

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "nmtwatch/observe/elf_file.h"
#include "nmtwatch/machine/machine.h"

#define NODES_MAX 4096 /* of a list of Metaspace: it may be a circle */
#define RANGE_MAX (UINT64_C(1) << 40)

/* Where pointers stand that HotSpot's tables do not name; the same in JDK 16 to 27. */
enum {
    CONTEXT_LIST = 8, /* MetaspaceContext: _name, _vslist */
    LIST_FIRST = 16,  /* VirtualSpaceList: virtual functions, _name, _first_node */
    NODE_NEXT = 0,    /* VirtualSpaceNode: _next, _rs */
    NODE_BASE = 8,    /* ReservedSpace: _base, _size */
    NODE_BYTES = 16,
};

struct ranges {
    struct rss_range *at;
    int count;
};

static void add(struct ranges *ranges, uint64_t low, uint64_t bytes, enum nmt_category category)
{
    if (low != 0 && bytes != 0 && low + bytes > low && ranges->count < JVM_RANGES_MAX)
        ranges->at[ranges->count++] = (struct rss_range){low, low + bytes, category};
}

static void add_stack(void *context, uintptr_t low, uintptr_t high)
{
    add(context, low, high - low, NMT_THREAD);
}

static void add_heap(struct ranges *ranges)
{
    uintptr_t heap = layout.collected_heap != 0 ? load_pointer(layout.collected_heap) : 0;
    if (heap == 0 || layout.heap_reserved < 0 || layout.region_start < 0 || layout.region_words < 0)
        return;
    uintptr_t region = heap + (uintptr_t)layout.heap_reserved;
    add(ranges, load_pointer(region + (uintptr_t)layout.region_start),
        load_pointer(region + (uintptr_t)layout.region_words) * WORD_BYTES, NMT_JAVA_HEAP);
}

static bool whole_pages(uintptr_t low, uintptr_t bytes)
{
    return (low | bytes) % machine_page_bytes() == 0;
}

/* Not every collector has one: what is there then is no card table, and its size would be no multiple of a page
 * or its start no page. */
static void add_cards(struct ranges *ranges)
{
    uintptr_t set = layout.barrier_set != 0 ? load_pointer(layout.barrier_set) : 0;
    if (set == 0 || layout.barrier_cards < 0 || layout.cards_bytes < 0 || layout.cards_start < 0)
        return;
    uintptr_t table = load_pointer(set + (uintptr_t)layout.barrier_cards);
    uintptr_t low = load_pointer(table + (uintptr_t)layout.cards_start);
    uintptr_t bytes = load_pointer(table + (uintptr_t)layout.cards_bytes);
    if (table != 0 && whole_pages(low, bytes) && bytes <= RANGE_MAX)
        add(ranges, low, bytes, NMT_GC);
}

static void add_metaspace(struct ranges *ranges, const char *symbol, enum nmt_category category)
{
    char unheard[200];
    uint64_t address;
    const struct elf_file *file = stacks_jvm_file(unheard, sizeof unheard);
    if (file == NULL || !elf_file_variable(file, symbol, &address))
        return;
    uintptr_t context = load_pointer(remote_jvm()->bias + address);
    uintptr_t list = context != 0 ? load_pointer(context + CONTEXT_LIST) : 0;
    uintptr_t node = list != 0 ? load_pointer(list + LIST_FIRST) : 0;
    for (int i = 0; node != 0 && i < NODES_MAX; i++) {
        uintptr_t low = load_pointer(node + NODE_BASE), bytes = load_pointer(node + NODE_BYTES);
        if (!whole_pages(low, bytes) || bytes > RANGE_MAX)
            return;
        add(ranges, low, bytes, category);
        node = load_pointer(node + NODE_NEXT);
    }
}

int jvm_ranges_read(struct rss_range out[JVM_RANGES_MAX])
{
    struct ranges ranges = {.at = out};
    uintptr_t code_low, code_high;
    remote_forget();
    add_heap(&ranges);
    if (layout_code_cache(&code_low, &code_high))
        add(&ranges, code_low, code_high - code_low, NMT_CODE);
    add_cards(&ranges);
    add_metaspace(&ranges, "_ZN9metaspace16MetaspaceContext20_class_space_contextE", NMT_CLASS);
    add_metaspace(&ranges, "_ZN9metaspace16MetaspaceContext23_nonclass_space_contextE",
                  NMT_METASPACE);
    stacks_each_thread(add_stack, &ranges);
    return rss_ranges_sort(out, ranges.count);
}

const struct rss_range *jvm_range_of(const struct rss_range *ranges, int count, uint64_t address)
{
    size_t low = entries_up_to(ranges, (size_t)count, sizeof *ranges, address);
    return low > 0 && address < ranges[low - 1].high ? &ranges[low - 1] : NULL;
}
