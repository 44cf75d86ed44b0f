/*
 * rss_account: the resident memory of a JVM against what its Native Memory Tracking knows.
 *
 * /proc/PID/smaps says what is resident and not whose it is; NMT says whose it is and not what is
 * resident. Ranges the JVM printed (heap from GC.heap_info, all mappings from the map of a detail) are
 * found in smaps; malloc is known by glibc's ways ([heap], arenas that begin at multiples of
 * 64 MiB); the rest is anonymous. Memory that NMT knows is resident at most once, therefore
 *
 *   outside NMT >= resident malloc and anonymous memory
 *                  - what NMT says of malloc (headers included) and of mappings without a range
 *
 * which is a lower bound: free memory that glibc keeps counts as outside, too (trimmable), and committed
 * memory of NMT that was not touched hides some. Two measurements show more than one: the growth of both
 * sides is compared, and what was hidden at both times falls out.
 *
 * By version: JDK 8 counts thread stacks as committed in full (they are taken as touched); arenas
 * are printed beside malloc, and Arena Chunk has only what no arena holds, so that malloc, arenas
 * and tracking overhead add up to the total the JVM prints (from 17 on); the read-only part of a
 * class archive is file memory.
 *
 *   rss_account_begin -> rss_account_add for each mapping of smaps -> rss_account_compare
 *
 * Plain data, no ownership but the names it copies. Any thread.
 */
#pragma once

#include "analyzers/parse/nmt_summary.h"
#include "analyzers/parse/proc_text.h"

enum rss_kind {
#define RSS_KIND(id, key, what) RSS_##id,
#include "analyzers/native/rss_kinds.def"
    RSS_KIND_COUNT,
};
extern const struct rss_kind_row {
    const char *key, *what;
} rss_kinds[RSS_KIND_COUNT];

/* Memory the JVM says is its own. Sorted by low, not overlapping: rss_ranges_sort makes it so. */
struct rss_range {
    uint64_t low;
    uint64_t high;
    enum nmt_category category;
};
/* In place; returns how many are left when overlapping ones were merged into the first. */
int rss_ranges_sort(struct rss_range *ranges, int count);

/* The heap's place, from GC.heap_info: "[0x00000000f0000000, 0x00000000f5550000, 0x0000000100000000)". That of every
 * collector but ZGC is one range; its generations and spaces lie inside. */
bool rss_heap_range(struct span heap_info, struct rss_range *heap);

#define RSS_LARGEST_MAX 8
#define RSS_FILES_MAX   8

struct rss_file {
    char path[128];
    enum rss_kind kind; /* RSS_SHARED or RSS_FILES */
    int64_t rss_bytes;  /* of all its mappings that follow each other */
};

struct rss_account {
    const struct rss_range *ranges; /* borrowed until the last rss_account_add */
    int range_count;
    int64_t mappings;
    int64_t rss_bytes;
    int64_t swap_bytes;
    struct {
        int64_t mappings;
        int64_t size_bytes;
        int64_t rss_bytes;
    } kind[RSS_KIND_COUNT];
    int64_t
        found_stacks_bytes; /* of the stacks: they were known by their guards, NMT may know them or not */
    int largest_count; /* anonymous mappings without a known owner, largest first */
    struct {
        uint64_t low;
        uint64_t high;
        int64_t rss_bytes;
    } largest[RSS_LARGEST_MAX];
    int file_count; /* shared memory and mapped files, largest first */
    struct rss_file file[RSS_FILES_MAX];
    uint64_t arena_end; /* of the malloc arena the last mapping began */
    uint64_t guard_end; /* of the last mapping, if it may be a stack's guard */
    /* After rss_account_compare: */
    bool compared;
    bool exact_mappings;        /* all of NMT's mappings were given as ranges */
    int64_t nmt_malloc_bytes;   /* headers included */
    int64_t nmt_unplaced_bytes; /* committed by mappings without a range */
    bool heap_placed;           /* the heap's range was known: else its pages are anonymous */
    int64_t nmt_freed_bytes;    /* below the peaks of malloc and arenas: malloc may keep so much */
    int64_t outside_nmt_bytes;  /* lower bound; 0 when nothing is certain */
};

/* ranges may be NULL. */
void rss_account_begin(struct rss_account *account, const struct rss_range *ranges, int count);
/* Where a mapping lies, of mappings, in the order of smaps. */
enum rss_kind rss_account_kind(struct rss_account *account, const struct proc_map *map);
enum rss_kind rss_account_add(struct rss_account *account, const struct smaps_mapping *mapping);
/* With the summary taken closest to the smaps. exact_mappings: ranges hold a whole memory map. */
void rss_account_compare(struct rss_account *account, const struct nmt_summary *summary,
                         bool exact_mappings);

/* Growth outside NMT between two measurements at the same JVM: the growth of resident malloc and anonymous
 * memory less NMT's. Negative: NMT grew more (into memory that was there already). */
int64_t rss_growth_outside_nmt(const struct rss_account *now, const struct rss_account *before);
