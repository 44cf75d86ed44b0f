/*
 * Who loads classes: class-explosion, and class-churn by name.
 *
 * A family explodes when its loads fill each third of the time observed and the last third is not
 * slower than half the whole: a start-up burst, however large, fails that. One cause is one alert,
 * also when several families grow for it.
 */
#include "analyzers/judge/judge_internal.h"

#include "analyzers/classes/family.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define YOUNG_JVM_MS     30000 /* in its first moments a JVM must show an explosion for longer */
#define YOUNG_SPAN_MS    14000
/* At a high rate a GC that unloads is only seconds away: wait for it before saying "leak". */
#define FAST_RATE_PER_S  100
#define UNPROVEN_SPAN_MS 17000
#define LAST_THIRD_MIN   0.5
#define MINOR_SHARE      4  /* a family with less than a quarter of the leader's loads follows it */
#define SAME_COUNT_PART  10 /* counts that differ by less than a tenth are equal */
#define REPEATED_MIN     8  /* loads of one name that are no coincidence */
#define START_SHARE      5  /* in a start-up a family has less than a fifth of all loads */

/* A family that is found to explode, and how fast. */
struct suspect {
    const struct family_row *row;
    double per_s;
    int64_t span_ms;
    bool follows; /* another suspect is the cause */
};

/* together: the families that grow with this one, ready to print. */
static void raise_family(struct judge *judge, const struct suspect *suspect, const char *together)
{
    const struct family_row *row = suspect->row;
    double per_s = suspect->per_s;
    int64_t span_ms = suspect->span_ms;
    const struct family *family = family_by_id(row->family);
    int64_t caller_classes;
    const struct caller_row *caller =
        finding_caller(judge->callers, judge->caller_count, row->example, &caller_classes);
    const char *producer = family != NULL                              ? family->producer
                           : caller != NULL && caller->through[0] != 0 ? caller->through
                                                                       : "";
    bool churn = judge_is_churn(judge);
    struct finding finding =
        finding_begin(&judge->texts, churn ? FINDING_CLASS_CHURN : FINDING_CLASS_EXPLOSION);
    finding_family(&finding, row->family);

    char unloading[96], each[80] = "";
    judge_describe_unloading(judge, unloading, sizeof unloading);
    int64_t class_bytes;
    bool have_bytes = !churn && judge_bytes_per_class(judge, &class_bytes);
    if (have_bytes)
        snprintf(each, sizeof each, ", about %s each", units_bytes(class_bytes).text);
    finding_title(&finding, "%s: %.100s (%.60s) defines %.1f classes/s for %" PRId64 " s%s; %s",
                  churn ? "class churn" : "class explosion",
                  producer[0] != '\0' ? producer : "an unknown generator", row->family, per_s,
                  span_ms / 1000, each, unloading);
    if (family != NULL)
        finding_advice(&finding, "%s Why it grows: %s", family->fix, family->cause);
    else if (producer[0] != '\0')
        finding_advice(&finding,
                       "%.150s makes a class each time it is called: call it once for each text or "
                       "type, and keep what it returns.",
                       producer);
    else
        finding_advice(&finding, "Find the code that defines %.100s and cache what it generates.",
                       row->example);

    finding_add_real(&finding, "rate_per_s", per_s);
    finding_add_int(&finding, "loads", row->loads);
    finding_add_int(&finding, "unloads", row->unloads);
    finding_add_int(&finding, "names", row->names);
    finding_add_int(&finding, "max_same_name", row->max_same_name);
    finding_add_int(&finding, "observed_s", span_ms / 1000);
    if (have_bytes)
        finding_add_int(&finding, "bytes_per_class", class_bytes);
    finding_add_text(&finding, "producer", producer);
    finding_add_text(&finding, "example", row->example);
    finding_add_text(&finding, "stem", row->stem);
    finding_add_text(&finding, "source", row->source);
    finding_add_text(&finding, "invokes", row->invokes);
    finding_add_text(&finding, "together_with", together);
    double jvm_per_s;
    if (rate_over(&judge->loaded, SUSPICION_WINDOW_MS, &jvm_per_s))
        finding_add_real(&finding, "jvm_load_per_s", jvm_per_s);
    int percent = judge_unloaded_percent(judge);
    if (percent >= 0)
        finding_add_int(&finding, "unloaded_percent", percent);
    finding_add_text(&finding, "unloading", unloading);
    finding_add_caller(&finding, judge->callers, judge->caller_count, row->example);

    int64_t started_ms = judge->suspicious_ms >= 0 ? judge->suspicious_ms : judge->now_ms - span_ms;
    struct episode *nameless = judge_episode(judge, FINDING_CLASS_LOAD_RATE, "");
    if (nameless != NULL)
        judge_clear(judge, nameless); /* it has a name now */
    struct episode *mistaken =
        judge_episode(judge, churn ? FINDING_CLASS_EXPLOSION : FINDING_CLASS_CHURN, row->family);
    if (mistaken != NULL)
        judge_clear(judge, mistaken); /* a GC has shown it to be the other thing */
    judge_raise(judge, &finding, row->family, started_ms);
}

static bool has_role(const struct family_row *row, enum family_role role)
{
    const struct family *family = family_by_id(row->family);
    return family != NULL && family->role == role;
}

static bool is_secondary(const struct family_row *row)
{
    return has_role(row, FAMILY_SECONDARY);
}

static struct family_track *track_of(struct judge *judge, const char *family)
{
    for (int i = 0; i < judge->family_count; i++) {
        if (strcmp(judge->families[i].family, family) == 0)
            return &judge->families[i];
    }
    if (judge->families == NULL)
        judge->families = calloc(FAMILIES_MAX, sizeof *judge->families);
    if (judge->families == NULL || judge->family_count == FAMILIES_MAX)
        return NULL;
    struct family_track *track = &judge->families[judge->family_count++];
    memset(track, 0, sizeof *track);
    track->stock[0].classes = track->stock[1].classes = -1;
    snprintf(track->family, sizeof track->family, "%s", family);
    return track;
}

static void track_add(struct family_track *track, int64_t ms, int64_t repeating)
{
    if (track->count == FAMILY_POINTS) {
        int kept = 0;
        for (int i = 0; i < FAMILY_POINTS; i += 2)
            track->point[kept++] = track->point[i];
        track->count = kept;
    }
    track->point[track->count].ms = ms;
    track->point[track->count++].repeating = repeating;
}

/* When the family began: it is seen once it has members enough, so its first count is traced back
 * at the pace that followed. */
static double track_from(const struct judge *judge, const struct family_track *track)
{
    double from_ms = (double)judge->load_log_from_own_ms;
    if (track->count == 0)
        return from_ms;
    double first_ms = (double)track->point[0].ms, first = (double)track->point[0].repeating;
    double grown = (double)track->point[track->count - 1].repeating - first;
    if (grown <= 0)
        return from_ms;
    double pace_ms = ((double)track->point[track->count - 1].ms - first_ms) / grown;
    return first_ms - first * pace_ms > from_ms ? first_ms - first * pace_ms : from_ms;
}

/* The cumulative counter at a moment, linear between points; 0 when the family began. */
static double track_at(const struct family_track *track, double from_ms, double ms)
{
    double before_ms = from_ms, before = 0;
    for (int i = 0; i < track->count; i++) {
        double at_ms = (double)track->point[i].ms, value = (double)track->point[i].repeating;
        if (at_ms >= ms)
            return at_ms > before_ms
                       ? before + (value - before) * (ms - before_ms) / (at_ms - before_ms)
                       : value;
        before_ms = at_ms;
        before = value;
    }
    return before;
}

/* Numbered classes of no known family, from a file: a jar may hold a thousand of them (Groovy's
 * dgm$0, dgm$1, ...) that are loaded in their order. */
static bool may_be_in_a_jar(const struct family_row *row)
{
    return family_by_id(row->family) == NULL && strchr(row->source, '/') != NULL &&
           strchr(row->stem, '*') == NULL && row->max_same_name < REPEATED_MIN;
}

static int64_t span_needed_ms(const struct judge *judge, const struct family_row *row, double per_s)
{
    int64_t span_ms = judge_threshold(judge, TH_FAMILY_SPAN_S) * 1000;
    if (is_secondary(row) || may_be_in_a_jar(row))
        span_ms *= 2;
    if (judge->identity.uptime_ms + judge->own_ms < YOUNG_JVM_MS && span_ms < YOUNG_SPAN_MS)
        span_ms = YOUNG_SPAN_MS;
    if (per_s >= FAST_RATE_PER_S && !judge_had_chance_to_unload(judge) &&
        span_ms < UNPROVEN_SPAN_MS)
        span_ms = UNPROVEN_SPAN_MS;
    return span_ms;
}

/* A start-up generates, too, but most of what it loads is ordinary. Not asked of a name that comes
 * again and again: no start-up does that. */
static bool is_part_of_a_start(const struct judge *judge, const struct family_row *row,
                               double since_ms, double loads)
{
    const struct family_track *all = &judge->all_loads;
    double from_ms = (double)judge->load_log_from_own_ms;
    double all_loads =
        track_at(all, from_ms, (double)judge->own_ms) - track_at(all, from_ms, since_ms);
    return row->max_same_name < REPEATED_MIN && loads * START_SHARE < all_loads;
}

/* True when the family's loads are an explosion by now; the suspect's figures describe it. */
static bool explodes(const struct judge *judge, const struct family_track *track,
                     struct suspect *suspect)
{
    double from_ms = track_from(judge, track), now_ms = (double)judge->own_ms;
    double span_ms = now_ms - from_ms, third_ms = span_ms / 3;
    if (span_ms < 1)
        return false;
    double at1 = track_at(track, from_ms, from_ms + third_ms),
           at2 = track_at(track, from_ms, from_ms + 2 * third_ms),
           at3 = track_at(track, from_ms, now_ms);
    double per_s = at3 * 1000 / span_ms, last_per_s = (at3 - at2) * 1000 / third_ms;
    double needed_per_s = (double)judge_threshold(judge, TH_FAMILY_RATE_PER_S);
    suspect->per_s = per_s;
    suspect->span_ms = (int64_t)span_ms;
    return at3 >= (double)judge_threshold(judge, TH_FAMILY_LOADS) && per_s >= needed_per_s &&
           at1 > 0 && at2 > at1 && last_per_s >= needed_per_s &&
           last_per_s >= LAST_THIRD_MIN * per_s &&
           suspect->span_ms >= span_needed_ms(judge, suspect->row, per_s) &&
           !is_part_of_a_start(judge, suspect->row, now_ms - third_ms, at3 - at2);
}

/* "Rule#$$Lambda/0x*" belongs to "Rule#". */
static bool starts_with_host(const char *name, const char *host)
{
    size_t len = strlen(host);
    return len > 0 && strncmp(name, host, len) == 0 && name[len] == '$';
}

/* Several families may grow for one reason: a host that is generated brings its lambdas, a plug-in
 * that is loaded again brings all its classes, a new interface brings a proxy. Names show the
 * reason, or else equal counts: then the family that is known and has a fix is reported. */
static bool follows(const struct family_row *row, const struct family_row *leader)
{
    if (has_role(row, FAMILY_HOSTED))
        return starts_with_host(row->stem, leader->stem) ||
               starts_with_host(row->example, leader->example);
    if (family_by_id(row->family) != NULL || has_role(leader, FAMILY_HOSTED))
        return false;
    int64_t mine = judge_value(row->repeating), its = judge_value(leader->repeating);
    int64_t more = mine > its ? mine : its, less = mine > its ? its : mine;
    return more - less <= more / SAME_COUNT_PART + 1;
}

/* Marks as followers those suspects whose reason is a leader of the kind asked for. */
static void mark_followers(struct suspect *suspects, int count, bool by_known)
{
    for (int i = 0; i < count; i++) {
        const struct family_row *leader = suspects[i].row;
        bool known = family_by_id(leader->family) != NULL;
        for (int j = 0; j < count && known == by_known; j++) {
            bool hosted = has_role(suspects[j].row, FAMILY_HOSTED);
            if (j != i && (hosted || !suspects[i].follows) && follows(suspects[j].row, leader))
                suspects[j].follows = true;
        }
    }
}

static void raise_suspects(struct judge *judge, struct suspect *suspects, int count)
{
    mark_followers(suspects, count, true);
    mark_followers(suspects, count, false); /* the most frequent first: rows come in that order */
    for (int i = 0; i < count; i++) {
        if (suspects[i].follows)
            continue;
        char together[EVENT_NAME_MAX] = "";
        size_t len = 0;
        for (int j = 0; j < count; j++) {
            if (!suspects[j].follows || !follows(suspects[j].row, suspects[i].row))
                continue;
            const char *family = suspects[j].row->family;
            size_t needed = strlen(family) + (len > 0 ? 2 : 0);
            if (len + needed >= sizeof together)
                break;
            len += (size_t)snprintf(together + len, sizeof together - len, "%s%s",
                                    len > 0 ? ", " : "", family);
        }
        raise_family(judge, &suspects[i], together);
    }
}

/* --- whose code asked ------------------------------------------------------------------------- */

#define CALLERS_LATE_MS 3000  /* an observation is waited for so much longer than it takes */
#define CALLERS_FOR_MS  20000 /* and no longer than that */
#define CALLERS_EACH_MS 60000 /* between two that are wanted */

/* Whether callers are known, but those of other families: an observation of a start saw what the start loads. */
static bool lacks_caller(const struct judge *judge, const struct suspect *suspects, int count)
{
    int64_t unused;
    for (int i = 0; i < count && judge->callers != NULL; i++)
        if (finding_caller(judge->callers, judge->caller_count, suspects[i].row->example,
                           &unused) == NULL)
            return true;
    return false;
}

/* The alert waits for it to begin, and then until it ends. */
static void want_callers(struct judge *judge)
{
    if (judge->now_ms < judge->callers_again_ms)
        return;
    judge->callers_wanted = true;
    judge->callers_again_ms = judge->now_ms + CALLERS_EACH_MS;
    judge->callers_until_ms = judge->now_ms + CALLERS_LATE_MS;
}

bool judge_wants_callers(const struct judge *judge)
{
    return judge->callers_wanted;
}

static void judge_flow(struct judge *judge, const struct names_event *names)
{
    if (names->load_log != judge->load_log ||
        judge_value(names->from_ms) != judge->load_log_from_ms) {
        judge->load_log = names->load_log;
        judge->load_log_from_ms = judge_value(names->from_ms);
        judge->load_log_from_own_ms =
            judge->own_ms -
            (int64_t)(judge->pace * (double)(judge->now_ms - judge->load_log_from_ms));
        judge->family_count = 0;
        judge->all_loads.count = 0;
    }
    track_add(&judge->all_loads, judge->own_ms, judge_value(names->loads));
    int64_t producer_max = 0, any_max = 0;
    for (int i = 0; i < names->row_count; i++) {
        const struct family_row *row = &names->rows[i];
        struct family_track *track = track_of(judge, row->family);
        if (track == NULL)
            continue;
        int64_t repeating = judge_value(row->repeating);
        track_add(track, judge->own_ms, repeating);
        any_max = MAX(any_max, repeating);
        if (!is_secondary(row) && repeating > producer_max)
            producer_max = repeating;
    }
    bool producer_named = producer_max * MINOR_SHARE >= any_max && producer_max > 0;
    struct suspect suspects[EVENT_ROWS_MAX];
    int count = 0;
    for (int i = 0; i < names->row_count && count < EVENT_ROWS_MAX; i++) {
        const struct family_row *row = &names->rows[i];
        const struct family_track *track = track_of(judge, row->family);
        struct suspect suspect = {.row = row};
        if (track == NULL || (producer_named && is_secondary(row)) ||
            judge_value(row->repeating) * MINOR_SHARE < any_max)
            continue;
        if (explodes(judge, track, &suspect))
            suspects[count++] = suspect;
    }
    /* The call site will be known in a moment. */
    if (judge->now_ms >= judge->callers_until_ms && lacks_caller(judge, suspects, count))
        want_callers(judge);
    if (names->last || judge->now_ms >= judge->callers_until_ms)
        raise_suspects(judge, suspects, count);
}

void judge_callers(struct judge *judge, const struct callers_event *callers)
{
    int64_t for_ms = judge_value(callers->for_ms);
    judge->callers_until_ms =
        judge->now_ms + (for_ms < CALLERS_FOR_MS ? for_ms : CALLERS_FOR_MS) + CALLERS_LATE_MS;
    if (!callers->last)
        return;
    judge->callers_until_ms = 0;
    judge->callers_wanted = false;
    if (judge->callers == NULL)
        judge->callers = calloc(EVENT_ROWS_MAX, sizeof *judge->callers);
    if (judge->callers == NULL || callers->row_count == 0)
        return; /* what is known stays */
    judge->caller_count = callers->row_count < EVENT_ROWS_MAX ? callers->row_count : EVENT_ROWS_MAX;
    memcpy(judge->callers, callers->rows, (size_t)judge->caller_count * sizeof *judge->callers);
    /* Alerts that came before are not raised again; a reader sees it. */
    for (int i = 0; i < judge->episode_count; i++) {
        if (judge->episodes[i].active)
            finding_add_late_caller(&judge->episodes[i].finding, judge->callers,
                                    judge->caller_count);
    }
}

/* A stock of live classes: growth between two of them, or, when there is only one, a family that
 * holds most of what was loaded since the suspicion began. */
static void judge_stock(struct judge *judge, const struct names_event *names)
{
    int64_t needed_per_s = judge_threshold(judge, TH_FAMILY_RATE_PER_S);
    int64_t needed = judge_threshold(judge, TH_FAMILY_LOADS);
    int64_t needed_span_ms = judge_threshold(judge, TH_FAMILY_SPAN_S) * 1000;
    bool by_loaders = names->method == CENSUS_LOADER_TYPES;
    struct suspect suspects[EVENT_ROWS_MAX];
    int count = 0;
    for (int i = 0; i < names->row_count && count < EVENT_ROWS_MAX; i++) {
        const struct family_row *row = &names->rows[i];
        struct family_track *track = track_of(judge, row->family);
        if (track == NULL)
            continue;
        int64_t *classes_then = &track->stock[by_loaders].classes;
        int64_t *then_ms = &track->stock[by_loaders].ms;
        int64_t repeating = judge_value(row->repeating);
        int64_t grown = -1, span_ms = 0;
        if (*classes_then >= 0) {
            grown = repeating - *classes_then;
            span_ms = judge->own_ms - *then_ms;
        } else if (judge->suspicious_ms >= 0 && judge->classes_loaded >= 0) {
            int64_t loaded = judge->classes_loaded - judge->turnover.loaded;
            span_ms = judge->own_ms - judge->suspicious_own_ms;
            if (repeating * 2 >= loaded)
                grown = loaded < repeating ? loaded : repeating;
        }
        /* Censuses may be closer together than the span: the older one is then kept. */
        if (*classes_then < 0 || grown < 0 || span_ms >= needed_span_ms) {
            *classes_then = repeating;
            *then_ms = judge->own_ms;
        }
        double per_s = span_ms > 0 ? (double)grown * 1000.0 / (double)span_ms : 0;
        if (grown >= needed && per_s >= (double)needed_per_s && !is_secondary(row) &&
            span_ms >= needed_span_ms)
            suspects[count++] = (struct suspect){.row = row, .per_s = per_s, .span_ms = span_ms};
    }
    raise_suspects(judge, suspects, count);
}

void judge_names(struct judge *judge, const struct names_event *names)
{
    judge->names_ms = judge->now_ms;
    if (names->method == CENSUS_LOAD_LOG)
        judge_flow(judge, names);
    else
        judge_stock(judge, names);
}
