#include "analyzers/parse/nmt_detail.h"

static struct span after(struct span text, size_t n)
{
    return span_skip(text, n);
}

void nmt_detail_begin(struct nmt_detail *detail, struct span text)
{
    memset(detail, 0, sizeof *detail);
    line_cursor_begin(&detail->lines, text);
}

static bool take_address(struct span *text, uint64_t *address)
{
    return span_take(text, SPAN_LITERAL("0x")) && span_take_hex(text, address);
}

/* "[0x00007f] symbol(args)+0x1f in libfoo.so"; the symbol may hold spaces, plus signs and " in " */
static bool read_frame(struct span line, struct nmt_frame *frame)
{
    struct span rest = line;
    memset(frame, 0, sizeof *frame);
    if (!span_take(&rest, SPAN_LITERAL("[")) || !take_address(&rest, &frame->address) ||
        !span_take(&rest, SPAN_LITERAL("]")))
        return false;
    rest = span_trim(rest);
    size_t offset_at = rest.len; /* of the last "+0x" */
    for (size_t i = 0; i + 3 <= rest.len; i++) {
        if (memcmp(rest.ptr + i, "+0x", 3) == 0)
            offset_at = i;
    }
    frame->symbol = span_of(rest.ptr, offset_at);
    if (offset_at < rest.len) {
        struct span tail = after(rest, offset_at + 3);
        span_take_hex(&tail, &frame->offset);
        if (span_take(&tail, SPAN_LITERAL(" in ")))
            frame->library = span_trim(tail);
    } else if (span_starts_with(rest, SPAN_LITERAL("in "))) {
        frame->symbol = span_of(rest.ptr, 0); /* a library without symbols */
        frame->library = span_trim(after(rest, 3));
    }
    return true;
}

static int64_t take_unit(struct span *text)
{
    if (span_take(text, SPAN_LITERAL("KB")))
        return INT64_C(1) << 10;
    if (span_take(text, SPAN_LITERAL("MB")))
        return INT64_C(1) << 20;
    if (span_take(text, SPAN_LITERAL("GB")))
        return INT64_C(1) << 30;
    return 1;
}

/* " +13KB", " -2", or nothing. */
static bool take_delta(struct span *text, int64_t *delta)
{
    *delta = 0;
    if (text->len < 2 || text->ptr[0] != ' ' || (text->ptr[1] != '+' && text->ptr[1] != '-'))
        return true;
    struct span rest = after(*text, 1);
    int64_t number;
    if (!span_take_i64(&rest, &number) || __builtin_mul_overflow(number, take_unit(&rest), delta))
        return false;
    *text = rest;
    return true;
}

static bool take_size(struct span *text, int64_t *bytes, int64_t *delta)
{
    int64_t number;
    return span_take_unsigned(text, &number) &&
           !__builtin_mul_overflow(number, take_unit(text), bytes) && take_delta(text, delta);
}

/* " type=Java Heap": ends before " #", " +", " -" or ")". */
static void take_category(struct span *text, struct nmt_site *site)
{
    static const struct span marks[] = {SPAN_INIT(" type="), SPAN_INIT(" tag="),
                                        SPAN_INIT(" Type="), SPAN_INIT(" Tag=")};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (!span_take(text, marks[i]))
            continue;
        size_t n = 0;
        while (
            n < text->len && text->ptr[n] != ')' &&
            !(text->ptr[n] == ' ' && n + 1 < text->len && strchr("#+-", text->ptr[n + 1]) != NULL))
            n++;
        site->category_name = span_of(text->ptr, n);
        site->category = nmt_category_from_name(site->category_name);
        *text = after(*text, n);
        return;
    }
}

/* "3KB type=Class +1KB #3 +2)" and what a peak adds behind it. */
static bool read_malloc(struct span rest, struct nmt_site *site)
{
    if (!take_size(&rest, &site->bytes, &site->bytes_delta))
        return false;
    take_category(&rest, site);
    int64_t delta;
    if (!take_delta(&rest, &delta)) /* behind the category, unlike in the summary */
        return false;
    if (delta != 0)
        site->bytes_delta = delta;
    if (span_take(&rest, SPAN_LITERAL(" #"))) {
        site->has_count = true;
        if (!span_take_unsigned(&rest, &site->count) || !take_delta(&rest, &site->count_delta))
            return false;
    }
    site->reserved_bytes = site->bytes;
    site->reserved_delta = site->bytes_delta;
    return span_take(&rest, SPAN_LITERAL(")"));
}

/* "reserved=20KB +4KB, committed=20KB Type=GC)" */
static bool read_mmap(struct span rest, struct nmt_site *site)
{
    if (!take_size(&rest, &site->reserved_bytes, &site->reserved_delta) ||
        !span_take(&rest, SPAN_LITERAL(", committed=")) ||
        !take_size(&rest, &site->bytes, &site->bytes_delta))
        return false;
    take_category(&rest, site);
    return span_take(&rest, SPAN_LITERAL(")")) || span_starts_with(rest, SPAN_LITERAL(", "));
}

/* The line below the frames. */
static bool read_holding(struct span content, struct nmt_site *site)
{
    struct span rest = content;
    span_take(&rest, SPAN_LITERAL("("));
    span_take(&rest, SPAN_LITERAL("("));
    site->category = NMT_NOT_IN_TABLE;
    site->category_name = span_of(content.ptr, 0);
    if (span_take(&rest, SPAN_LITERAL("malloc="))) {
        site->kind = NMT_SITE_MALLOC;
        return read_malloc(rest, site);
    }
    site->kind = NMT_SITE_MMAP;
    span_take(&rest, SPAN_LITERAL("mmap: "));
    if (span_take(&rest, SPAN_LITERAL("reserved=")))
        return read_mmap(rest, site);
    site->kind = NMT_SITE_UNTYPED;
    return read_malloc(rest, site);
}

/* "[0x1 - 0x2] reserved and committed 4KB for Internal from" */
static bool read_region(struct span line, struct nmt_region *region)
{
    struct span rest = span_trim(line);
    memset(region, 0, sizeof *region);
    region->category = NMT_NOT_IN_TABLE;
    region->category_name = span_of(rest.ptr, 0);
    region->part = line.len > 0 && line.ptr[0] != '[';
    if (!span_take(&rest, SPAN_LITERAL("[")) || !take_address(&rest, &region->low) ||
        !span_take(&rest, SPAN_LITERAL(" - ")) || !take_address(&rest, &region->high) ||
        !span_take(&rest, SPAN_LITERAL("] ")) || region->high < region->low)
        return false;
    bool reserved = span_take(&rest, SPAN_LITERAL("reserved "));
    span_take(&rest, SPAN_LITERAL("and "));
    region->committed = span_take(&rest, SPAN_LITERAL("committed "));
    int64_t number;
    if ((!reserved && !region->committed) || !span_take_unsigned(&rest, &number))
        return false;
    take_unit(&rest);
    if (span_take(&rest, SPAN_LITERAL(" for "))) {
        rest = span_trim(rest);
        if (span_ends_with(rest, SPAN_LITERAL(" from")))
            rest.len -= 5;
        region->category_name = span_trim(rest);
        region->category = nmt_category_from_name(region->category_name);
    }
    return true;
}

static bool is_heading(struct nmt_detail *detail, struct span content)
{
    static const struct span files = SPAN_INIT("Memory file details");
    if (span_equals(content, SPAN_LITERAL("Virtual memory map:"))) {
        detail->in_map = true;
    } else if (span_equals(content, SPAN_LITERAL("Details:"))) {
        detail->in_map = false;
        detail->in_table = true;
    } else if (span_equals(content, files)) {
        detail->in_map = false;
    } else {
        return false;
    }
    detail->started = true;
    return true;
}

static bool is_omitted_line(struct nmt_detail *detail, struct span content)
{
    struct span rest = content;
    int64_t sites;
    if (!span_take(&rest, SPAN_LITERAL("(")) || !span_take_unsigned(&rest, &sites) ||
        !span_starts_with(rest, SPAN_LITERAL(" call sites weighting less than ")))
        return false;
    detail->omitted_sites = sites;
    return true;
}

/* Takes the lines of one call site, of which `line` is the first frame. */
static bool read_site(struct nmt_detail *detail, struct span line)
{
    struct nmt_site *site = &detail->site;
    memset(site, 0, sizeof *site);
    struct span first = line;
    do {
        struct nmt_frame frame;
        struct span content = span_trim(line);
        if (read_frame(content, &frame)) {
            if (site->frame_count < NMT_SITE_FRAMES_MAX)
                site->frames[site->frame_count++] = frame;
            continue;
        }
        if (content.len > 0 && content.ptr[0] == '(' && read_holding(content, site))
            return true;
        line_cursor_count_unknown(&detail->lines, line);
        if (content.len == 0) /* a site without its figures */
            line_cursor_give_back(&detail->lines, line);
        return false;
    } while (line_cursor_next(&detail->lines, &line));
    if (detail->lines.result == PARSE_OK) { /* the text ends behind a frame */
        line_cursor_give_back(&detail->lines, first);
        detail->lines.result = PARSE_INCOMPLETE;
    }
    return false;
}

/* A line of another command's reply, which has to be given back: "1234:" or its heading. */
static bool ends_table(const struct nmt_detail *detail, struct span line, struct span content)
{
    return detail->started && !detail->in_map && line.ptr[0] != ' ' && line.ptr[0] != '\t' &&
           content.ptr[0] != '(' && content.ptr[0] != '[';
}

bool nmt_detail_next(struct nmt_detail *detail)
{
    struct span line;
    while (line_cursor_next(&detail->lines, &line)) {
        struct span content = span_trim(line);
        if (content.len == 0 || is_heading(detail, content))
            continue;
        bool address = span_starts_with(content, SPAN_LITERAL("[0x"));
        if (address && !detail->in_map && !detail->in_table &&
            span_find(content, SPAN_LITERAL(" - 0x")) > 0)
            detail->in_map = detail->started = true; /* a piece of the map, without its heading */
        if (detail->in_map) {
            if (!address)
                line_cursor_count_unknown(&detail->lines, line);
            else if (span_find(content, SPAN_LITERAL(" - 0x")) > 0) {
                detail->item = NMT_DETAIL_REGION;
                if (read_region(line, &detail->region))
                    return true;
                line_cursor_count_unknown(&detail->lines, line);
            }
            continue;
        }
        if (address) {
            detail->started = detail->in_table = true;
            detail->item = NMT_DETAIL_SITE;
            if (read_site(detail, line))
                return true;
            if (detail->lines.result != PARSE_OK)
                return false;
            continue;
        }
        if (is_omitted_line(detail, content))
            continue;
        if (!detail->started)
            continue; /* the summary */
        if (ends_table(detail, line, content))
            return line_cursor_stop(&detail->lines, line, PARSE_OK);
        memset(&detail->site, 0, sizeof detail->site);
        detail->item = NMT_DETAIL_SITE;
        if (content.ptr[0] == '(' && read_holding(content, &detail->site))
            return true; /* JDK 26: what was there before stacks were taken has no frames */
        line_cursor_count_unknown(&detail->lines, line);
    }
    if (detail->lines.result == PARSE_OK && !detail->started)
        detail->lines.result = PARSE_MALFORMED;
    return false;
}
