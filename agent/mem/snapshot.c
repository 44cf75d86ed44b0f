#include "agent/mem/account.h"
#include "agent/mem/file_pages.h"

static const struct {
    const char *name;
    int64_t documented_bytes;
} components[COMPONENT_COUNT] = {
#define COMPONENT(id, name, documented, holds) [COMPONENT_##id] = {name, documented},
#include "agent/mem/components.def"
};

const char *component_name(enum component component)
{
    return component < COMPONENT_COUNT ? components[component].name : "several";
}

int64_t component_documented_bytes(enum component component)
{
    return component < COMPONENT_COUNT ? components[component].documented_bytes : -1;
}

static void add_usage(struct component_usage *to, const struct component_usage *usage, int sign)
{
    to->requested_bytes += sign * usage->requested_bytes;
    to->reserved_bytes += sign * usage->reserved_bytes;
    to->resident_bytes += sign * usage->resident_bytes;
    to->peak_bytes += sign * usage->peak_bytes;
    to->allocations += sign * usage->allocations;
    to->frees += sign * usage->frees;
}

static int64_t read_counter(const _Atomic int64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void mem_snapshot(struct mem_snapshot *snapshot)
{
    int64_t resident_bytes[COMPONENT_COUNT];
    *snapshot = (struct mem_snapshot){0};
    maps_resident(resident_bytes);
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        struct tally *tally = &account.tally[i];
        int64_t reserved_bytes = read_counter(&tally->reserved_bytes);
        account_raise_peak(&tally->peak_bytes, reserved_bytes);
        snapshot->component[i] = (struct component_usage){
            .requested_bytes = read_counter(&tally->requested_bytes),
            .reserved_bytes = reserved_bytes,
            .resident_bytes =
                reserved_bytes - read_counter(&tally->mapped_bytes) + resident_bytes[i],
            .peak_bytes = read_counter(&tally->peak_bytes),
            .allocations = read_counter(&tally->allocations),
            .frees = read_counter(&tally->frees),
        };
    }
    file_pages_count(snapshot->component);
    for (int i = 0; i < COMPONENT_COUNT; i++)
        add_usage(&snapshot->total, &snapshot->component[i], 1);
    account_raise_peak(&account.peak_bytes, snapshot->total.reserved_bytes);
    snapshot->peak_total_bytes = read_counter(&account.peak_bytes);
}

void mem_baseline(void)
{
    site_baseline();
    mem_snapshot(&account.baseline);
}

void mem_diff(struct mem_snapshot *growth)
{
    mem_snapshot(growth);
    const struct mem_snapshot *base = &account.baseline;
    for (int i = 0; i < COMPONENT_COUNT; i++)
        add_usage(&growth->component[i], &base->component[i], -1);
    add_usage(&growth->total, &base->total, -1);
    growth->peak_total_bytes -= base->peak_total_bytes;
}
