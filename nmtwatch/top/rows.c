#include "nmtwatch/top/rows.h"

#include "nmtwatch/process/files.h"
#include "reports/text/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- columns ---------------------------------------------------------------------------------- */

static const struct top_column_row COLUMNS[TOP_COLUMNS] = {
#define TOP_COLUMN(id, key, head, width, number, kept, help) {key, head, width, number, kept, help},
#include "nmtwatch/top/columns.def"
#undef TOP_COLUMN
};

const struct top_column_row *top_column_row(enum top_column column)
{
    return &COLUMNS[column];
}

enum top_column top_column_from_key(const char *key, size_t length)
{
    int i = 0;
    while (i < TOP_COLUMNS &&
           (strncmp(COLUMNS[i].key, key, length) != 0 || COLUMNS[i].key[length] != '\0'))
        i++;
    return (enum top_column)i;
}

bool top_columns_parse(const char *text, unsigned *columns, char *error, size_t size)
{
    *columns = 0;
    for (const char *at = text; *at != '\0'; at += *at == ',') {
        size_t length = strcspn(at, ",");
        enum top_column column = top_column_from_key(at, length);
        if (column == TOP_COLUMNS) {
            int used = snprintf(error, size, "there is no column '%.*s'; columns are",
                                (int)(length < 32 ? length : 32), at);
            for (int i = 0; i < TOP_COLUMNS && used >= 0 && (size_t)used < size; i++)
                used += snprintf(error + used, size - (size_t)used, "%s%s", i > 0 ? "," : " ",
                                 COLUMNS[i].key);
            return false;
        }
        *columns |= 1u << column;
        at += length;
    }
    if (*columns == 0)
        snprintf(error, size, "no column is named");
    return *columns != 0;
}

#define STATE_MAX 1000 /* bytes of the file */

/* The folder, which is made when it is not there: open, and this user's; -1 with errno. An environment that is
 * another user's (su, sudo without -H) leads to a folder that is not ours. */
static int state_folder(bool make)
{
    static const char *const BELOW[] = {".local", "state", "nmtwatch"};
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool xdg = state != NULL && state[0] == '/';
    const char *top = xdg ? state : home;
    if (make && xdg)
        mkdir(state, 0700);
    errno = ENOENT;
    int folder = top != NULL && top[0] == '/' ? open(top, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    for (size_t i = xdg ? 2 : 0; i < 3 && folder >= 0; i++) {
        struct stat status;
        bool own = fstat(folder, &status) == 0 && status.st_uid == geteuid();
        if (make && own)
            mkdirat(folder, BELOW[i], 0700);
        int next =
            own ? openat(folder, BELOW[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        int error = own ? errno : EACCES;
        close(folder);
        errno = error;
        folder = next;
    }
    return folder;
}

bool top_columns_load(unsigned *columns)
{
    char text[STATE_MAX + 1], error[300];
    struct stat status;
    unsigned chosen;
    int folder = state_folder(false);
    int fd = folder >= 0 ? openat(folder, "top.ini",
                                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                         : -1;
    bool good = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                status.st_uid == geteuid() && (status.st_mode & 022) == 0;
    ssize_t length = good ? read(fd, text, STATE_MAX) : -1;
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    /* A column that a newer version has is not there: all are shown. */
    if (strncmp(text, "columns = ", 10) != 0 ||
        !top_columns_parse(text + 10, &chosen, error, sizeof error))
        return false;
    *columns = chosen;
    return true;
}

bool top_columns_save(unsigned columns)
{
    char text[STATE_MAX] = "columns = ", name[40];
    for (int i = 0; i < TOP_COLUMNS; i++) {
        size_t length = strlen(text);
        if ((columns & 1u << i) != 0)
            snprintf(text + length, sizeof text - length, "%s%s",
                     text[length - 1] == ' ' ? "" : ",", COLUMNS[i].key);
    }
    size_t end = strlen(text);
    snprintf(text + end, sizeof text - end, "\n");
    snprintf(name, sizeof name, ".top.ini.%d", (int)getpid());
    int folder = state_folder(true);
    if (folder < 0)
        return false;
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write_all(fd, text, strlen(text));
    int error = errno;
    if (fd >= 0)
        good = close(fd) == 0 && good;
    good = good && renameat(folder, name, folder, "top.ini") == 0;
    if (!good && fd >= 0) {
        error = errno != 0 ? errno : error;
        unlinkat(folder, name, 0);
    }
    close(folder);
    errno = error;
    return good;
}

void rows_layout(unsigned columns, enum top_column sort, int width, int widths[static TOP_COLUMNS])
{
    static const enum top_column WIDER[] = {TOP_MAIN, TOP_FINDING, TOP_MAIN, TOP_TREND};
    static const int AT_MOST[] = {28, 34, 60, 32};
    int used = -1;
    columns |= 1u << TOP_PID;
    for (int i = 0; i < TOP_COLUMNS; i++) {
        widths[i] = (columns & 1u << i) != 0 ? COLUMNS[i].width : 0;
        used += widths[i] > 0 ? widths[i] + 1 : 0;
    }
    while (used > width) {
        int least = -1;
        for (int i = 0; i < TOP_COLUMNS; i++)
            if (widths[i] > 0 && COLUMNS[i].kept > 0 && i != (int)sort &&
                (least < 0 || COLUMNS[i].kept < COLUMNS[least].kept))
                least = i;
        if (least < 0)
            break;
        used -= widths[least] + 1;
        widths[least] = 0;
    }
    if (used > width && widths[TOP_MAIN] > 0) {
        widths[TOP_MAIN] = width - widths[TOP_PID] - 1 > 0 ? width - widths[TOP_PID] - 1 : 0;
        return;
    }
    int room = width - used;
    for (size_t i = 0; i < sizeof WIDER / sizeof *WIDER && room > 0; i++) {
        int *at = &widths[WIDER[i]], more = AT_MOST[i] - *at;
        if (*at == 0 || more <= 0)
            continue;
        *at += more < room ? more : room;
        room -= more < room ? more : room;
    }
    /* The remaining width belongs to the one text that may be long. */
    if (room > 0 && widths[TOP_FINDING] > 0)
        widths[TOP_FINDING] += room;
}

/* --- a row ------------------------------------------------------------------------------------ */

void top_jdk(const char *jdk, char *out, size_t size)
{
    size_t length = strcspn(jdk, "+-_ ");
    int dots = 0;
    for (size_t i = 0; i < length; i++) { /* vendors have parts of their own behind the third */
        dots += jdk[i] == '.';
        length = dots == 3 ? i : length;
    }
    snprintf(out, size, "%.*s", (int)length, jdk);
    /* JDK 8 is identified by its update. */
    if (strncmp(jdk, "1.8", 3) == 0 || strncmp(jdk, "8.0_", 4) == 0) {
        const char *update = strchr(jdk, '_');
        snprintf(out, size, "8u%.*s", update != NULL ? (int)strcspn(update + 1, "+-_ ") : 0,
                 update != NULL ? update + 1 : "");
    }
}

void top_container(const char *cgroup, char *out, size_t size)
{
    const char *slash = strrchr(cgroup, '/');
    const char *name = slash != NULL ? slash + 1 : cgroup;
    size_t length = strlen(name);
    if (length > 6 && strcmp(name + length - 6, ".scope") == 0)
        length -= 6;
    /* Engines name it by 64 digits: their own tools show 12. */
    if (length >= 64 && strspn(name + length - 64, "0123456789abcdef") >= 64) {
        name += length - 64;
        length = 12;
    }
    snprintf(out, size, "%.*s", (int)length, name);
}

void top_group(const struct member *member, char *out, size_t size)
{
    char name[80];
    out[0] = '\0';
    if (!watcher_target(member->watcher)->contained)
        return;
    top_container(member->cgroup, name, sizeof name);
    if (name[0] != '\0')
        snprintf(out, size, "container %s", name);
    else
        snprintf(out, size, "container of pid %" PRId64,
                 watcher_target(member->watcher)->identity.pid);
}

static double field(const struct sample *sample, enum sample_field which)
{
    int64_t value;
    return sample_get(sample, which, &value) ? (double)value : NAN;
}

static void take_finding(struct top_row *row, const struct member *member, int active)
{
    struct alert alerts[JUDGE_MEMORY_EPISODES];
    int count = active > 0 ? judge_active_alerts(watcher_judge(member->watcher), alerts,
                                                 JUDGE_MEMORY_EPISODES)
                           : 0;
    const struct finding *worst = NULL;
    for (int i = 0; i < count; i++)
        if (worst == NULL || alerts[i].finding.severity > worst->severity)
            worst = &alerts[i].finding;
    if (worst == NULL)
        return;
    int used =
        snprintf(row->finding, sizeof row->finding, "%s%s%.96s", finding_row(worst->kind)->id,
                 worst->family[0] != '\0' ? " " : "", worst->family);
    if (count > 1)
        snprintf(row->finding + used, sizeof row->finding - (size_t)used, " +%d", count - 1);
}

/* One word for the state of a JVM. */
static const char *word_of(const struct judge_view *view, const struct watcher_counts *counts,
                           bool nmt)
{
    if (view->active_alerts > 0)
        return severity_name(view->worst_active);
    if (counts->failing != FAILURE_NONE)
        return "no reply";
    if (counts->polls == 0)
        return "-";
    if (!view->warm)
        return "warm-up";
    if (view->internal_verdict.answer == VERDICT_GROWING ||
        view->class_metaspace_verdict.answer == VERDICT_GROWING)
        return "growing";
    return nmt ? "ok" : "NMT off";
}

static void fill(struct top_row *row, const struct member *member)
{
    const struct target_identity *identity = &watcher_target(member->watcher)->identity;
    const struct sample *latest = watcher_latest(member->watcher);
    struct watcher_counts counts = watcher_counts(member->watcher);
    struct judge_view view;
    judge_view(watcher_judge(member->watcher), &view);
    memset(row, 0, sizeof *row);
    row->member = member;
    row->pid = identity->pid;
    row->recorded = member->watched->recorder != NULL;
    target_main_name(identity->main, row->main, sizeof row->main);
    snprintf(row->unit, sizeof row->unit, "%s", target_place_name(&member->place));
    top_jdk(identity->jdk, row->jdk, sizeof row->jdk);
    top_group(member, row->group, sizeof row->group);
    snprintf(row->verdict, sizeof row->verdict, "%s", word_of(&view, &counts, counts.nmt_seen));
    row->grave = view.active_alerts > 0 ? (int)view.worst_active + 1 : 0;
    take_finding(row, member, view.active_alerts);
    for (int i = 0; i < TOP_COLUMNS; i++)
        row->value[i] = NAN;
    row->value[TOP_PID] = (double)identity->pid;
    row->value[TOP_RSS] = field(latest, SAMPLE_RSS_BYTES);
    row->value[TOP_HEAP] = field(latest, SAMPLE_HEAP_USED_BYTES);
    row->heap_committed_bytes = field(latest, SAMPLE_HEAP_COMMITTED_BYTES);
    struct nmt_amount heap;
    if (isnan(row->heap_committed_bytes) && sample_get_nmt(latest, NMT_JAVA_HEAP, &heap))
        row->heap_committed_bytes = (double)heap.committed_bytes; /* without hsperfdata */
    row->value[TOP_NMT] = field(latest, SAMPLE_NMT_COMMITTED_BYTES);
    if (view.have_class_metaspace)
        row->value[TOP_CLASS] = (double)view.class_metaspace_bytes;
    if (view.have_internal)
        row->value[TOP_INTERNAL] = (double)view.internal_bytes;
    row->value[TOP_CLASSES] =
        field(latest, SAMPLE_CLASSES_LOADED) - field(latest, SAMPLE_CLASSES_UNLOADED);
    if (view.have_rates) {
        row->value[TOP_LOADS] = view.load_per_s;
        row->value[TOP_UNLOADS] = view.unload_per_s;
    }
    row->value[TOP_VERDICT] = row->value[TOP_FINDING] =
        row->grave * 1000 + view.active_alerts + (strcmp(row->verdict, "growing") == 0 ? 0.5 : 0);
}

static bool fits(const struct top_row *row, const char *filter)
{
    char pid[24];
    if (filter[0] == '\0')
        return true;
    snprintf(pid, sizeof pid, "%" PRId64, row->pid);
    const char *const texts[] = {pid,          row->main,          row->unit,
                                 row->jdk,     row->group,         row->verdict,
                                 row->finding, row->member->label, row->member->user};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcasestr(texts[i], filter) != NULL)
            return true;
    return false;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Numbers downwards, texts upwards, what is not known last. */
static int compare_by(const struct top_row *a, const struct top_row *b, enum top_column column,
                      bool reversed)
{
    int order = 0;
    if (column == TOP_MAIN)
        order = strcasecmp(a->main, b->main);
    else if (column == TOP_USER && a->member != NULL && b->member != NULL)
        order = strcmp(a->member->user, b->member->user);
    else if (column == TOP_UNIT) /* those that have none last */
        order = a->unit[0] == '\0' || b->unit[0] == '\0'
                    ? (a->unit[0] == '\0') - (b->unit[0] == '\0')
                    : strcasecmp(a->unit, b->unit);
    else if (column == TOP_JDK)
        order = strverscmp(a->jdk, b->jdk);
    else if (column == TOP_PID)
        order = (a->pid > b->pid) - (a->pid < b->pid);
    else if (isnan(a->value[column]) || isnan(b->value[column]))
        return isnan(a->value[column]) - isnan(b->value[column]);
    else
        order = (a->value[column] < b->value[column]) - (a->value[column] > b->value[column]);
    return reversed ? -order : order;
}

static int compare(const void *one, const void *other, void *context)
{
    const struct top_row *a = one, *b = other;
    const struct top_order *order = context;
    int found = order->tree ? strcmp(a->group, b->group) : 0;
    if (found == 0 && order->tree)
        found = (b->member == NULL) - (a->member == NULL);
    if (found == 0)
        found = compare_by(a, b, order->sort == TOP_TREND ? TOP_RSS : order->sort, order->reversed);
    if (found == 0) /* of equals the largest first */
        found = compare_by(a, b, TOP_RSS, false);
    return found != 0 ? found : (a->pid > b->pid) - (a->pid < b->pid);
}

static struct top_row *add(struct top_rows *rows)
{
    return array_room(&rows->row, &rows->capacity, (size_t)rows->count + 1, sizeof *rows->row)
               ? &rows->row[rows->count++]
               : NULL;
}

static void add_up(double *sum, double value)
{
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

/* A head for each container; rows are sorted by container. */
static bool add_groups(struct top_rows *rows)
{
    int jvms = rows->count, head = -1;
    for (int i = 0; i < jvms; i++) {
        if (i == 0 || strcmp(rows->row[i].group, rows->row[i - 1].group) != 0) {
            struct top_row *added = add(rows);
            if (added == NULL)
                return false;
            head = rows->count - 1;
            memset(added, 0, sizeof *added);
            memcpy(added->group, rows->row[i].group, sizeof added->group);
            snprintf(added->main, sizeof added->main, "%s",
                     added->group[0] != '\0' ? added->group : "this host");
            for (int c = 0; c < TOP_COLUMNS; c++)
                added->value[c] = NAN;
            added->heap_committed_bytes = NAN;
        }
        struct top_row *group = &rows->row[head];
        for (int c = TOP_RSS; c <= TOP_UNLOADS; c++)
            add_up(&group->value[c], rows->row[i].value[c]);
        add_up(&group->heap_committed_bytes, rows->row[i].heap_committed_bytes);
        group->jvms++;
        if (rows->row[i].grave > group->grave) {
            group->grave = rows->row[i].grave;
            memcpy(group->verdict, rows->row[i].verdict, sizeof group->verdict);
        }
    }
    return true;
}

bool rows_make(struct top_rows *rows, const struct watching *watching,
               const struct top_order *order)
{
    rows->count = rows->jvms = rows->alerts = rows->placed = 0;
    rows->rss_bytes = rows->nmt_bytes = 0;
    for (int i = 0; i < watching->count; i++) {
        struct top_row *row = watching->jvms[i]->ended ? NULL : add(rows);
        if (row == NULL && !watching->jvms[i]->ended)
            return false;
        if (row == NULL)
            continue;
        fill(row, watching->jvms[i]->owner);
        rows->jvms++;
        rows->alerts += row->grave > 0;
        rows->placed += row->unit[0] != '\0';
        add_up(&rows->rss_bytes, row->value[TOP_RSS]);
        add_up(&rows->nmt_bytes, row->value[TOP_NMT]);
        if (!fits(row, order->filter))
            rows->count--;
    }
    struct top_order by = *order;
    if (rows->count > 1)
        qsort_r(rows->row, (size_t)rows->count, sizeof *rows->row, compare, &by);
    if (!order->tree)
        return true;
    bool good = add_groups(rows);
    if (rows->count > 1)
        qsort_r(rows->row, (size_t)rows->count, sizeof *rows->row, compare, &by);
    return good;
}

int rows_find(const struct top_rows *rows, int64_t pid)
{
    for (int i = 0; i < rows->count; i++)
        if (rows->row[i].member != NULL && rows->row[i].pid == pid)
            return i;
    return -1;
}

void rows_free(struct top_rows *rows)
{
    free(rows->row);
    *rows = (struct top_rows){0};
}

/* A class that is too long for its column without the packages in front that do not fit. */
static const char *short_class(const char *name, int width)
{
    while (strlen(name) > (size_t)width) {
        const char *dot = strpbrk(name, "./");
        if (dot == NULL || !((dot[1] | 32) >= 'a' && (dot[1] | 32) <= 'z'))
            break;
        name = dot + 1;
    }
    return name;
}

/* --- cells ------------------------------------------------------------------------------------ */

void top_spark(const struct sparkline *spark, enum spark_series series, int width, bool utf8,
               char *out, size_t size)
{
    static const char *const BLOCKS[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const SIGNS[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
    const float *value = spark->value[series];
    int first = spark->count > width ? spark->count - width : 0;
    float low = INFINITY, high = -INFINITY;
    size_t used = 0;
    out[0] = '\0';
    for (int i = first; i < spark->count; i++) {
        if (value[i] >= 0) {
            low = fminf(low, value[i]);
            high = fmaxf(high, value[i]);
        }
    }
    /* A change below a hundredth is flat: noise is not drawn as a mountain. */
    float span = fmaxf(high - low, high / 100);
    for (int i = first; i < spark->count; i++) {
        int level = span > 0 ? (int)((value[i] - low) / span * 7.99F) : 0;
        const char *sign = value[i] < 0 ? " " : (utf8 ? BLOCKS : SIGNS)[level > 7 ? 7 : level];
        if (used + strlen(sign) + 1 > size)
            return;
        used += (size_t)snprintf(out + used, size - used, "%s", sign);
    }
}

static enum spark_series series_of(enum top_column sort)
{
    return sort == TOP_INTERNAL                                              ? SPARK_INTERNAL
           : sort == TOP_CLASS                                               ? SPARK_CLASS_METASPACE
           : sort == TOP_CLASSES || sort == TOP_LOADS || sort == TOP_UNLOADS ? SPARK_CLASSES
                                                                             : SPARK_RSS;
}

static struct units_text short_bytes(double value)
{
    const struct units_text unknown = {"-"};
    return isnan(value) ? unknown : units_short_bytes((int64_t)value);
}

static void rate(double per_s, char *out, size_t size)
{
    if (isnan(per_s))
        snprintf(out, size, "-");
    else
        snprintf(out, size,
                 per_s >= 99.95 || per_s == 0 ? "%.0f"
                 : per_s >= 0.095             ? "%.1f"
                                              : "%.2f",
                 per_s);
}

void rows_cell(const struct top_row *row, enum top_column column, enum top_column sort, int width,
               bool utf8, char *out, size_t size)
{
    out[0] = '\0';
    switch (column) {
    case TOP_PID:
        if (row->member != NULL)
            snprintf(out, size, "%" PRId64, row->pid);
        break;
    case TOP_MAIN:
        if (row->member == NULL)
            snprintf(out, size, "%s: %d JVM%s", row->main, row->jvms, row->jvms == 1 ? "" : "s");
        else
            snprintf(out, size, "%s%s", row->recorded ? "[rec] " : "",
                     row->main[0] == '\0'
                         ? "?"
                         : short_class(row->main, width - (row->recorded ? 6 : 0)));
        break;
    case TOP_USER:
        snprintf(out, size, "%s", row->member != NULL ? row->member->user : "");
        break;
    case TOP_UNIT:
        snprintf(out, size, "%s", row->unit);
        break;
    case TOP_JDK:
        snprintf(out, size, "%s", row->jdk);
        break;
    case TOP_HEAP:
        if (isnan(row->value[TOP_HEAP]) && isnan(row->heap_committed_bytes))
            snprintf(out, size, "-");
        else
            snprintf(out, size, "%s/%s", short_bytes(row->value[TOP_HEAP]).text,
                     short_bytes(row->heap_committed_bytes).text);
        break;
    case TOP_RSS:
    case TOP_NMT:
    case TOP_CLASS:
    case TOP_INTERNAL:
        snprintf(out, size, "%s", short_bytes(row->value[column]).text);
        break;
    case TOP_CLASSES:
        if (isnan(row->value[column]))
            snprintf(out, size, "-");
        else
            snprintf(out, size, "%.0f", row->value[column]);
        break;
    case TOP_LOADS:
    case TOP_UNLOADS:
        rate(row->value[column], out, size);
        break;
    case TOP_VERDICT:
        snprintf(out, size, "%s", row->verdict);
        break;
    case TOP_FINDING:
        snprintf(out, size, "%s", row->finding);
        break;
    case TOP_TREND:
        if (row->member != NULL)
            top_spark(&row->member->spark, series_of(sort), width, utf8, out, size);
        break;
    case TOP_COLUMNS:
        break;
    }
}
