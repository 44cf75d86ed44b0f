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

void mem_snapshot(struct mem_snapshot *snapshot)
{
    struct tally_sum sum[COMPONENT_COUNT];
    int64_t resident_bytes[COMPONENT_COUNT];
    int64_t second_count, allocated_bytes = 0;
    *snapshot = (struct mem_snapshot){0};
    struct account *account = account_get();
    bool whole = account_sum(sum, &second_count);
    maps_resident(resident_bytes);
    for (int i = 0; account != NULL && i < COMPONENT_COUNT; i++) {
        account_raise_peak(&account->peak_bytes[i], sum[i].reserved_bytes);
        struct component_usage usage = {
            .requested_bytes = sum[i].requested_bytes,
            .reserved_bytes = sum[i].reserved_bytes,
            .resident_bytes = sum[i].reserved_bytes - sum[i].mapped_bytes + resident_bytes[i],
            .peak_bytes = atomic_load_explicit(&account->peak_bytes[i], memory_order_relaxed),
            .allocations = sum[i].allocations,
            .frees = sum[i].frees,
        };
        snapshot->component[i] = usage;
        allocated_bytes += usage.reserved_bytes;
    }
    snapshot->consistent = whole && allocated_bytes == second_count;
    file_pages_count(snapshot->component);
    for (int i = 0; i < COMPONENT_COUNT; i++)
        add_usage(&snapshot->total, &snapshot->component[i], 1);
    if (account != NULL) {
        account_raise_peak(&account->peak_total_bytes, snapshot->total.reserved_bytes);
        snapshot->peak_total_bytes =
            atomic_load_explicit(&account->peak_total_bytes, memory_order_relaxed);
    }
}

void mem_baseline(void)
{
    struct account *account = account_get();
    site_baseline();
    if (account != NULL)
        mem_snapshot(&account->baseline);
}

void mem_diff(struct mem_snapshot *growth)
{
    mem_snapshot(growth);
    const struct account *account = account_get();
    if (account == NULL)
        return;
    const struct mem_snapshot *base = &account->baseline;
    for (int i = 0; i < COMPONENT_COUNT; i++)
        add_usage(&growth->component[i], &base->component[i], -1);
    add_usage(&growth->total, &base->total, -1);
    growth->peak_total_bytes -= base->peak_total_bytes;
}
