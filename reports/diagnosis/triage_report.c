#include "reports/diagnosis/triage_report.h"

#include "analyzers/classes/family.h"
#include "reports/json/event_json.h"
#include "reports/story/story.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const STATUS[] = {"OK", "WARNING", "CRITICAL"};
static const char *const ANSWERS[] = {"no", "yes", "cannot tell"};

int triage_status(const struct triage *triage)
{
    int worst = 0;
    for (int i = 0; i < triage->finding_count; i++)
        if ((int)triage->findings[i].severity > worst)
            worst = (int)triage->findings[i].severity;
    return worst;
}

/* --- many error files ------------------------------------------------------------------------- */

void triage_overview_add(struct triage_overview *overview, const struct jvm_facts *facts)
{
    char cause[sizeof overview->row[0].cause];
    if (!facts->crash.have || facts->crash.end == HS_ERR_NO_END)
        return;
    crash_key(&facts->crash, cause, sizeof cause);
    overview->files++;
    int at = 0;
    while (at < overview->count && strcmp(overview->row[at].cause, cause) != 0)
        at++;
    if (at == TRIAGE_OVERVIEW_MAX)
        return;
    if (at == overview->count) {
        memcpy(overview->row[at].cause, cause, sizeof cause);
        overview->row[at].files = 0;
        overview->count++;
    }
    overview->row[at].files++;
    for (; at > 0 && overview->row[at].files > overview->row[at - 1].files; at--) {
        int files = overview->row[at].files;
        memcpy(cause, overview->row[at].cause, sizeof cause);
        overview->row[at] = overview->row[at - 1];
        overview->row[at - 1].files = files;
        memcpy(overview->row[at - 1].cause, cause, sizeof cause);
    }
}

void triage_overview_page(const struct triage_overview *overview, struct page *page)
{
    char heading[48];
    if (overview->files < 2)
        return;
    snprintf(heading, sizeof heading, "%d error files", overview->files);
    page_heading(page, heading);
    page_table(page, "#files", "how they ended");
    for (int i = 0; i < overview->count; i++) {
        char files[16];
        snprintf(files, sizeof files, "%d", overview->row[i].files);
        page_row(page, files, overview->row[i].cause);
    }
}

void triage_overview_json(const struct triage_overview *overview, struct json_out *out)
{
    if (overview->files < 2)
        return;
    json_out_begin(out, "overview", '[');
    for (int i = 0; i < overview->count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_text(out, "cause", overview->row[i].cause);
        json_out_int(out, "files", overview->row[i].files);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

/* --- the page -------------------------------------------------------------------------------- */

static void put_findings(const struct triage *triage, struct page *page)
{
    page_heading(page, "Findings");
    if (triage->finding_count == 0)
        page_text(page, "None.");
    for (int i = 0; i < triage->finding_count; i++)
        page_finding(page, &triage->findings[i]);
}

/* Fastest first where there is growth, then the largest. */
static int table_order(const void *a, const void *b)
{
    const struct facts_category *x = *(const struct facts_category *const *)a;
    const struct facts_category *y = *(const struct facts_category *const *)b;
    int64_t left = x->has_change && x->change_bytes > 0 ? x->change_bytes : 0;
    int64_t right = y->has_change && y->change_bytes > 0 ? y->change_bytes : 0;
    if (left != right)
        return left < right ? 1 : -1;
    if (x->committed_bytes != y->committed_bytes)
        return x->committed_bytes < y->committed_bytes ? 1 : -1;
    if (x->reserved_bytes != y->reserved_bytes)
        return x->reserved_bytes < y->reserved_bytes ? 1 : -1;
    return strcmp(x->name, y->name);
}

struct category_table {
    int count;
    const struct facts_category *row[FACTS_CATEGORIES_MAX];
    int64_t committed_bytes; /* of the total, else of the rows */
};

static void category_table(const struct jvm_facts *facts, struct category_table *table)
{
    int64_t sum = 0;
    table->count = facts->category_count;
    for (int i = 0; i < table->count; i++) {
        table->row[i] = &facts->categories[i];
        sum += table->row[i]->committed_bytes > 0 ? table->row[i]->committed_bytes : 0;
    }
    table->committed_bytes = facts->nmt_committed_bytes > 0 ? facts->nmt_committed_bytes : sum;
    qsort(table->row, (size_t)table->count, sizeof table->row[0], table_order);
}

/* -1: not known */
static int share_percent(const struct category_table *table, const struct facts_category *row)
{
    return table->committed_bytes <= 0 || row->committed_bytes < 0
               ? -1
               : (int)((double)row->committed_bytes * 100.0 / (double)table->committed_bytes + 0.5);
}

static const char *bytes_or_dash(int64_t bytes, struct units_text *text)
{
    if (bytes < 0)
        return "-";
    *text = units_bytes(bytes);
    return text->text;
}

static void put_categories(const struct jvm_facts *facts, struct page *page)
{
    struct category_table table;
    if (facts->category_count == 0)
        return;
    category_table(facts, &table);
    page_heading(page, "NMT by category");
    page_shows(page, SUBJECT_NMT | SUBJECT_INTERNAL);
    page_table(page, "category", "#committed", "#share", "#change", "#reserved", "#malloc", "#mmap",
               "#arenas", "#peak");
    for (int i = 0; i < table.count; i++) {
        const struct facts_category *row = table.row[i];
        struct units_text committed, malloc_text, mmap, arena, peak;
        char share[16];
        int percent = share_percent(&table, row);
        snprintf(share, sizeof share, percent < 0 ? "-" : "%d %%", percent);
        page_row(page, row->name, bytes_or_dash(row->committed_bytes, &committed), share,
                 row->has_change ? units_growth(row->change_bytes).text : "-",
                 units_bytes(row->reserved_bytes).text,
                 bytes_or_dash(row->malloc_bytes, &malloc_text),
                 bytes_or_dash(row->mmap_bytes, &mmap), bytes_or_dash(row->arena_bytes, &arena),
                 bytes_or_dash(row->peak_bytes, &peak));
    }
    if (facts->nmt_committed_bytes >= 0)
        page_text(page, "Total: %s committed of %s reserved.",
                  units_bytes(facts->nmt_committed_bytes).text,
                  units_bytes(facts->nmt_reserved_bytes).text);
}

static struct units_text signed_bytes(int64_t bytes)
{
    return bytes < 0 ? units_growth(bytes) : units_bytes(bytes);
}

/* By owner, with what changed: rows that add up. */
static void put_account(const struct triage_report *report, struct page *page)
{
    const struct jvm_facts *facts = report->facts;
    const struct account *now = &report->triage->account, *before = &report->triage->account_before;
    bool both = facts->have_account_before;
    if (!facts->have_account)
        return;
    page_heading(page, "RSS by owner");
    page_shows(page, SUBJECT_RSS);
    page_table(page, "owner", "#resident", "#change");
    for (int i = 0; i < ACCOUNT_OWNERS; i++) {
        if (now->bytes[i] != 0 || (both && before->bytes[i] != 0))
            page_row(page, account_rows[i].what, signed_bytes(now->bytes[i]).text,
                     both ? units_growth(now->bytes[i] - before->bytes[i]).text : "-");
    }
    page_row(page, "in all", units_bytes(now->rss_bytes).text,
             both ? units_growth(now->rss_bytes - before->rss_bytes).text : "-");
    if (facts->container_limit_bytes > 0)
        page_text(page, "The container's limit is %s: %s are left.",
                  units_bytes(facts->container_limit_bytes).text,
                  signed_bytes(facts->container_limit_bytes - now->rss_bytes).text);
}

static void put_rss(const struct jvm_facts *facts, struct page *page)
{
    const struct rss_account *rss = &facts->rss;
    if (!facts->have_rss)
        return;
    page_heading(page, "RSS against NMT");
    page_shows(page, SUBJECT_RSS);
    page_table(page, "where", "#mappings", "#resident");
    for (int i = 0; i < RSS_KIND_COUNT; i++) {
        if (rss->kind[i].mappings > 0)
            page_row(page, rss_kinds[i].what, units_count(rss->kind[i].mappings).text,
                     units_bytes(rss->kind[i].rss_bytes).text);
    }
    page_row(page, "in all", units_count(rss->mappings).text, units_bytes(rss->rss_bytes).text);
    if (!rss->compared) {
        page_text(page, "Without an NMT summary of the same moment it cannot be compared.");
        return;
    }
    page_text(page,
              "NMT knows %s of malloc and %s of mappings whose place it does not have; at least %s "
              "are outside NMT.",
              units_bytes(rss->nmt_malloc_bytes).text, units_bytes(rss->nmt_unplaced_bytes).text,
              units_bytes(rss->outside_nmt_bytes).text);
    if (facts->have_rss_before && facts->rss_before.compared)
        page_text(page, "Outside NMT it grew by %s between the two measurements.",
                  units_bytes(rss_growth_outside_nmt(rss, &facts->rss_before)).text);
}

static void put_sites(const struct jvm_facts *facts, struct page *page)
{
    if (!facts->have_sites)
        return;
    const struct call_site_totals *sites = &facts->sites;
    bool growth = facts->sites_have_growth;
    page_heading(page, "NMT call sites by who is responsible");
    page_shows(page, SUBJECT_NMT | SUBJECT_INTERNAL | SUBJECT_AGENT);
    page_table(page, "responsible", "#sites", "#bytes", "#growth");
    for (int i = 0; i < CALL_SITE_GROUP_COUNT; i++) {
        const struct call_site_sum *sum = &sites->group[i];
        if (sum->sites > 0)
            page_row(page, call_site_rows[i].responsible, units_count(sum->sites).text,
                     units_bytes(sum->bytes).text,
                     growth ? units_growth(sum->bytes_delta).text : "-");
    }
    for (int i = 0; i < sites->library_count; i++)
        page_text(page, "Of these, %s run through %s.",
                  units_bytes(sites->library[i].sum.bytes).text, sites->library[i].name);
    struct call_site_breakdown breakdown = call_site_breakdown(sites);
    page_table(page, "below", "#bytes", "#growth");
    page_row(page, "GetClassMethods: jmethodIDs",
             units_bytes(breakdown.get_class_methods.bytes).text,
             growth ? units_growth(breakdown.get_class_methods.bytes_delta).text : "-");
    page_row(page, "GetLineNumberTable: line number tables",
             units_bytes(breakdown.get_line_number_table.bytes).text,
             growth ? units_growth(breakdown.get_line_number_table.bytes_delta).text : "-");
    page_row(page, "other malloc", units_bytes(breakdown.other_malloc.bytes).text,
             growth ? units_growth(breakdown.other_malloc.bytes_delta).text : "-");
}

static void put_agent(const struct triage_report *report, struct page *page)
{
    const struct explained *explained = &report->triage->explained;
    page_heading(page, "An agent that preallocates jmethodIDs");
    page_shows(page, SUBJECT_AGENT);
    page_text(page, "%s%s%s: %s.", ANSWERS[explained->preallocates],
              explained->library[0] != '\0' ? ", " : "", explained->library, explained->reason);
    page_text(
        page,
        "For every class it would cost %s, %s of it never freed; for all classes alive %s, for "
        "those unloaded %s.",
        units_bytes(explained->bytes_per_class_load).text,
        units_bytes(explained->kept_bytes_per_class).text,
        units_bytes(jmethodid_loaded_bytes(&explained->alive)).text,
        units_bytes(explained->kept_after_unload_bytes).text);
    if (explained->ids_counted)
        page_text(page, "Counted from outside: %s jmethodIDs now, about %s.",
                  units_count(explained->ids).text, units_bytes(explained->ids_bytes).text);
    if (explained->have_growth)
        page_text(page, "Internal grew by %s: %s explained by jmethodIDs, %s not.",
                  units_bytes(explained->growth_bytes).text,
                  units_bytes(explained->explained_growth_bytes).text,
                  units_bytes(explained->unexplained_growth_bytes).text);
}

static void put_names(const struct facts_names *names, const char *heading, bool flow,
                      struct page *page)
{
    if (!names->have || names->row_count == 0)
        return;
    page_heading(page, heading);
    page_shows(page, SUBJECT_CLASSES);
    page_table(page, "family", "#classes", "#unloaded", "#names", "example");
    for (int i = 0; i < names->row_count && i < 12; i++) {
        const struct family_row *row = &names->rows[i];
        page_row(page, row->family, units_count(row->loads).text,
                 flow ? units_count(row->unloads).text : "-", units_count(row->names).text,
                 row->example);
    }
}

static void put_loaders(const struct jvm_facts *facts, struct page *page)
{
    const struct facts_loaders *loaders = &facts->loaders;
    if (!loaders->have)
        return;
    page_heading(page, "Class loaders");
    page_shows(page, SUBJECT_LOADERS);
    page_table(page, "type of loader", "#loaders", "#classes", "#Metaspace");
    for (int i = 0; i < loaders->row_count && i < 12; i++)
        page_row(page, loaders->rows[i].type, units_count(loaders->rows[i].loaders).text,
                 units_count(loaders->rows[i].classes).text,
                 units_bytes(loaders->rows[i].chunk_bytes).text);
    page_text(page, "%s loaders hold %s classes in all.", units_count(loaders->loaders).text,
              units_count(loaders->classes).text);
}

static void put_heap_growth(const struct jvm_facts *facts, struct page *page)
{
    const struct facts_heap_growth *growth = &facts->heap_growth;
    if (growth->histograms < 2)
        return;
    page_heading(page, "Objects that grew");
    page_shows(page, SUBJECT_HEAP);
    page_text(page, "%d histograms of the heap: %s in %s objects at first, %s in %s at last.",
              growth->histograms, units_bytes(growth->bytes_before).text,
              units_count(growth->instances_before).text, units_bytes(growth->bytes).text,
              units_count(growth->instances).text);
    if (growth->row_count > 0)
        heap_growth_head(page);
    for (int i = 0; i < growth->row_count; i++)
        heap_growth_row(page, &growth->rows[i]);
}

static void put_steps(const struct triage_report *report, struct page *page)
{
    int64_t pause_us = 0;
    if (report->step_count == 0)
        return;
    page_heading(page, "What the measurement cost");
    page_table(page, "step", "#pause at most", "#took", "note");
    for (int i = 0; i < report->step_count; i++) {
        const struct triage_step *step = &report->steps[i];
        pause_us += step->pause_us > 0 ? step->pause_us : 0;
        page_row(page, step->name,
                 step->pause_us < 0    ? "not run"
                 : step->pause_us == 0 ? "none"
                                       : units_microseconds(step->pause_us).text,
                 units_microseconds(step->took_us).text, step->note);
    }
    page_text(page, "The JVM was stopped for %s at most, in all.",
              units_microseconds(pause_us).text);
}

/* A saved text does so when an agent or what agents leave behind is in it; a live triage does always. */
static bool speaks_of_profiler(const struct triage_report *report)
{
    return report->step_count > 0 || report->facts->agent_count > 0 || report->facts->ids.have ||
           report->triage->explained.preallocates != EXPLAINED_CANNOT_TELL ||
           report->triage->suitability.suitability == SUITABILITY_NOT_APPROPRIATE;
}

/* A page that is short does not hide what the JVM was not asked. */
static bool asked_everything(const struct triage_report *report)
{
    for (int i = 0; i < report->step_count; i++) {
        if (report->steps[i].pause_us < 0)
            return false;
    }
    return true;
}

/* What grew, or that nothing did, and what was looked at. */
static void headline_of(const struct triage_report *report, char *out, size_t size)
{
    const struct triage *triage = report->triage;
    const struct jvm_facts *facts = report->facts;
    bool found = triage->finding_count > 0 && (triage->findings[0].severity > SEVERITY_INFO ||
                                               triage->undecided || report->step_count == 0);
    int at = 0;
    while (found && triage->undecided && triage_status(triage) == 0 &&
           at + 1 < triage->finding_count &&
           finding_evidence(&triage->findings[at], "growth_bytes") == NULL &&
           finding_evidence(&triage->findings[at], "growth_threads") == NULL)
        at++;
    if (found)
        snprintf(out, size, "%s", triage->findings[at].title);
    else if (facts->have_account_before)
        snprintf(out, size, "nothing above a note: RSS is %s, it changed by %s while observed",
                 units_bytes(facts->account.rss_bytes).text,
                 units_growth(facts->account.rss_bytes - facts->account_before.rss_bytes).text);
    else
        snprintf(out, size, "nothing above a note");
}

void triage_report_page(const struct triage_report *report, struct page *page)
{
    const struct jvm_facts *facts = report->facts;
    const struct triage *triage = report->triage;
    char title[600], who[128] = "";
    if (facts->identity.pid > 0)
        snprintf(who, sizeof who, "pid %" PRId64, facts->identity.pid);
    if (facts->identity.jdk_major > 0)
        snprintf(who + strlen(who), sizeof who - strlen(who), "%sJDK %d", who[0] ? ", " : "",
                 facts->identity.jdk_major);
    char headline[FINDING_TITLE_MAX];
    headline_of(report, headline, sizeof headline);
    snprintf(title, sizeof title, "%s%s%s", headline, who[0] != '\0' ? " - " : "", who);
    int status = triage_status(triage);
    bool noted = report->step_count == 0 && triage->finding_count > 0;
    const char *word = status > 0          ? STATUS[status]
                       : triage->undecided ? "CANNOT TELL YET"
                       : noted             ? "NOTE"
                                           : STATUS[status];
    page_begin(page, title, word, (enum severity)status);
    put_findings(triage, page);
    put_account(report, page);
    if (report->brief && status == 0 && !triage->undecided && asked_everything(report))
        return;
    put_categories(facts, page);
    put_rss(facts, page);
    put_sites(facts, page);
    bool profiler = speaks_of_profiler(report);
    if (profiler)
        put_agent(report, page);
    put_names(&facts->flow, "Classes loaded, by family", true, page);
    put_names(&facts->stock, "Classes alive, by family", false, page);
    methods_section(page, &facts->sample, &facts->methods);
    put_loaders(facts, page);
    put_heap_growth(facts, page);
    put_steps(report, page);
    if (!profiler)
        return;
    page_heading(page, "A profiler on this application");
    const struct suitability_verdict *verdict = &triage->suitability;
    page_text(page, "%s: %s.", suitability_name(verdict->suitability), verdict->reason);
    if (verdict->costs_reason[0] != '\0')
        page_text(page, "By measured costs %s: %s.", suitability_name(verdict->by_costs),
                  verdict->costs_reason);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void json_sum(struct json_out *out, const char *key, const struct call_site_sum *sum,
                     bool growth)
{
    json_out_begin(out, key, '{');
    json_out_int(out, "sites", sum->sites);
    json_out_int(out, "bytes", sum->bytes);
    if (growth)
        json_out_int(out, "growth_bytes", sum->bytes_delta);
    json_out_end(out, '}');
}

static void json_sites(const struct jvm_facts *facts, struct json_out *out)
{
    if (!facts->have_sites)
        return;
    const struct call_site_totals *sites = &facts->sites;
    struct call_site_breakdown breakdown = call_site_breakdown(sites);
    bool growth = facts->sites_have_growth;
    json_out_begin(out, "call_sites", '{');
    for (int i = 0; i < CALL_SITE_GROUP_COUNT; i++)
        if (sites->group[i].sites > 0)
            json_sum(out, call_site_rows[i].key, &sites->group[i], growth);
    json_out_end(out, '}');
    json_out_begin(out, "breakdown", '{');
    json_sum(out, "get_class_methods", &breakdown.get_class_methods, growth);
    json_sum(out, "get_line_number_table", &breakdown.get_line_number_table, growth);
    json_sum(out, "other_malloc", &breakdown.other_malloc, growth);
    json_out_end(out, '}');
}

static void json_bytes(struct json_out *out, const char *key, int64_t bytes)
{
    if (bytes >= 0)
        json_out_int(out, key, bytes);
}

static void json_categories(const struct jvm_facts *facts, struct json_out *out)
{
    struct category_table table;
    if (facts->category_count == 0)
        return;
    category_table(facts, &table);
    json_out_begin(out, "nmt", '{');
    json_bytes(out, "reserved_bytes", facts->nmt_reserved_bytes);
    json_bytes(out, "committed_bytes", facts->nmt_committed_bytes);
    json_out_begin(out, "categories", '[');
    for (int i = 0; i < table.count; i++) {
        const struct facts_category *row = table.row[i];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "category", row->name);
        json_out_int(out, "reserved_bytes", row->reserved_bytes);
        json_bytes(out, "committed_bytes", row->committed_bytes);
        json_bytes(out, "share_percent", share_percent(&table, row));
        json_bytes(out, "malloc_bytes", row->malloc_bytes);
        json_bytes(out, "mmap_bytes", row->mmap_bytes);
        json_bytes(out, "arena_bytes", row->arena_bytes);
        json_bytes(out, "peak_bytes", row->peak_bytes);
        json_bytes(out, "count", row->count);
        if (row->has_change) {
            json_out_int(out, "change_bytes", row->change_bytes);
            json_out_int(out, "reserved_change_bytes", row->reserved_change_bytes);
        }
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_end(out, '}');
}

static void json_rss(const struct jvm_facts *facts, struct json_out *out)
{
    if (!facts->have_rss)
        return;
    const struct rss_account *rss = &facts->rss;
    json_out_begin(out, "rss", '{');
    json_out_int(out, "total_bytes", rss->rss_bytes);
    for (int i = 0; i < RSS_KIND_COUNT; i++) {
        char key[48];
        snprintf(key, sizeof key, "%s_bytes", rss_kinds[i].key);
        json_out_int(out, key, rss->kind[i].rss_bytes);
    }
    if (rss->compared) {
        json_out_int(out, "nmt_malloc_bytes", rss->nmt_malloc_bytes);
        json_out_int(out, "nmt_unplaced_bytes", rss->nmt_unplaced_bytes);
        json_out_int(out, "outside_nmt_bytes", rss->outside_nmt_bytes);
        if (facts->have_rss_before && facts->rss_before.compared)
            json_out_int(out, "outside_nmt_growth_bytes",
                         rss_growth_outside_nmt(rss, &facts->rss_before));
    }
    json_out_end(out, '}');
}

static void json_account(const struct triage_report *report, struct json_out *out)
{
    const struct jvm_facts *facts = report->facts;
    const struct account *now = &report->triage->account, *before = &report->triage->account_before;
    if (!facts->have_account)
        return;
    json_out_begin(out, "account", '[');
    for (int i = 0; i < ACCOUNT_OWNERS; i++) {
        json_out_begin(out, NULL, '{');
        json_out_text(out, "owner", account_rows[i].key);
        json_out_int(out, "resident_bytes", now->bytes[i]);
        json_out_int_if(out, "change_bytes", facts->have_account_before,
                        now->bytes[i] - before->bytes[i]);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static void json_explained(const struct explained *explained, struct json_out *out)
{
    json_out_begin(out, "explained", '{');
    json_out_text(out, "preallocates", ANSWERS[explained->preallocates]);
    json_out_text_if(out, "library", explained->library);
    json_out_text(out, "reason", explained->reason);
    json_out_int(out, "bytes_per_class_load", explained->bytes_per_class_load);
    json_out_int(out, "kept_bytes_per_class", explained->kept_bytes_per_class);
    json_out_int(out, "predicted_bytes", jmethodid_loaded_bytes(&explained->alive));
    json_out_int(out, "kept_after_unload_bytes", explained->kept_after_unload_bytes);
    if (explained->ids_counted) {
        json_out_int(out, "jmethod_ids", explained->ids);
        json_out_int(out, "jmethod_ids_bytes", explained->ids_bytes);
    }
    if (explained->have_growth) {
        json_out_int(out, "growth_bytes", explained->growth_bytes);
        json_out_int(out, "explained_growth_bytes", explained->explained_growth_bytes);
        json_out_int(out, "unexplained_growth_bytes", explained->unexplained_growth_bytes);
    }
    json_out_end(out, '}');
}

static void json_steps(const struct triage_report *report, struct json_out *out)
{
    if (report->step_count == 0)
        return;
    json_out_begin(out, "steps", '[');
    for (int i = 0; i < report->step_count; i++) {
        const struct triage_step *step = &report->steps[i];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "step", step->name);
        json_out_bool(out, "run", step->pause_us >= 0);
        if (step->pause_us >= 0) {
            json_out_int(out, "pause_us", step->pause_us);
            json_out_int(out, "took_us", step->took_us);
        }
        if (step->note[0] != '\0')
            json_out_text(out, "note", step->note);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static void json_heap_growth(const struct jvm_facts *facts, struct json_out *out)
{
    const struct facts_heap_growth *growth = &facts->heap_growth;
    if (growth->histograms < 2)
        return;
    json_out_begin(out, "heap_growth", '{');
    json_out_int(out, "histograms", growth->histograms);
    json_out_int(out, "bytes_before", growth->bytes_before);
    json_out_int(out, "bytes", growth->bytes);
    json_out_int(out, "instances_before", growth->instances_before);
    json_out_int(out, "instances", growth->instances);
    json_out_begin(out, "grown", '[');
    for (int i = 0; i < growth->row_count; i++)
        fields_write_object(out, NULL, &histogram_class_record, &growth->rows[i]);
    json_out_end(out, ']');
    json_out_end(out, '}');
}

static void json_methods(const struct jvm_facts *facts, struct json_out *out)
{
    int64_t methods, source;
    if (!sample_get(&facts->sample, SAMPLE_METHODS, &methods) ||
        !sample_get(&facts->sample, SAMPLE_METHODS_SOURCE, &source))
        return;
    json_out_begin(out, "methods", '{');
    json_out_text(out, "source", methods_source_name(source));
    json_out_int(out, "methods", methods);
    if (facts->methods.event.methods > 0)
        fields_write_object(out, "counted", &methods_record, &facts->methods.event);
    json_out_end(out, '}');
}

void triage_report_json(const struct triage_report *report, struct json_out *out)
{
    const struct suitability_verdict *verdict = &report->triage->suitability;
    json_out_bool(out, "undecided", report->triage->undecided);
    json_out_text(out, "suitability", suitability_name(verdict->suitability));
    json_out_text(out, "suitability_reason", verdict->reason);
    json_explained(&report->triage->explained, out);
    json_categories(report->facts, out);
    json_sites(report->facts, out);
    json_rss(report->facts, out);
    json_account(report, out);
    json_heap_growth(report->facts, out);
    json_methods(report->facts, out);
    json_steps(report, out);
}
