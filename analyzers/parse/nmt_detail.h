/*
 * nmt_detail: the call sites and the memory map of `VM.native_memory detail` and `detail.diff`.
 *
 *   [0x00007f1cf215e691] G1ConcurrentMark::G1ConcurrentMark(...)+0x5b1      frames, innermost first
 *   [0x00007f1cf21488cb] G1CollectedHeap::initialize()+0x67b
 *                                (malloc=2048KB type=GC #2) (at peak)       what they hold
 *
 * Understood are the forms of JDK 8 to 27: type= and tag=, doubled parentheses, frames without a
 * symbol (8) or with a library (` in libfoo.so`), sites without any frame (26), the mmap lines of
 * table and difference, thread sites that lost their prefix in a difference ("(12KB +3KB #9 +2)":
 * the kind is then NMT_SITE_UNTYPED). The summary before them is skipped: nmt_summary reads it.
 *
 *   nmt_detail_begin -> nmt_detail_next ... -> lines.result, omitted_sites
 *
 * Frames of mappings are skipped. Allocates nothing, spans point into the text. Any thread.
 */
#pragma once

#include "analyzers/parse/nmt_row.h"
#include "analyzers/parse/jcmd_reply.h"

#define NMT_SITE_FRAMES_MAX 8 /* the JVM keeps four */

struct nmt_frame {
    uint64_t address;
    struct span symbol;  /* empty: address only */
    uint64_t offset;     /* into the symbol */
    struct span library; /* empty: libjvm.so, or not printed */
};

enum nmt_site_kind { NMT_SITE_MALLOC, NMT_SITE_MMAP, NMT_SITE_UNTYPED };

struct nmt_site {
    enum nmt_site_kind kind;
    struct span category_name; /* as printed; empty when it was not */
    enum nmt_category category;
    bool has_count;
    int64_t bytes; /* malloc'd, or committed */
    int64_t bytes_delta;
    int64_t count;
    int64_t count_delta;
    int64_t reserved_bytes; /* mmap; for a malloc the same as bytes */
    int64_t reserved_delta;
    int frame_count; /* those kept */
    struct nmt_frame frames[NMT_SITE_FRAMES_MAX];
};

struct nmt_region {
    uint64_t low;
    uint64_t high;
    bool committed;            /* a committed part, or a region that is committed throughout */
    bool part;                 /* of the reserved region before it */
    struct span category_name; /* empty for a part */
    enum nmt_category category;
};

enum nmt_detail_item { NMT_DETAIL_SITE, NMT_DETAIL_REGION };

struct nmt_detail {
    struct line_cursor lines;
    enum nmt_detail_item item; /* what the last _next found */
    struct nmt_site site;
    struct nmt_region region;
    int64_t omitted_sites; /* "(1633 call sites weighting less than 1KB each omitted.)" */
    bool started;
    bool in_map;
    bool in_table;
};

void nmt_detail_begin(struct nmt_detail *detail, struct span text);
/* True: detail->item says whether site or region was filled. False at the end: see lines.result
 * (PARSE_MALFORMED: neither sites nor a memory map) and omitted_sites. */
bool nmt_detail_next(struct nmt_detail *detail);
