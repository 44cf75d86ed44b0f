#include "nmtwatch/top/top.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/messages.h"
#include "nmtwatch/serve/fleet.h"
#include "nmtwatch/top/screen.h"
#include "reports/text/units.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define DRAW_MS     1000
#define MESSAGE_MS  6000
#define DISCOVER_MS 2000
#define FILTER_MAX  64

enum view { VIEW_LIST, VIEW_DETAIL, VIEW_JOB, VIEW_HELP, VIEW_COLUMNS };

/* A text that is scrolled: of one JVM, of a job, of the help. */
struct pager {
    char *text; /* lines end with NUL */
    int line_count;
    const char **lines;
    int first, skip; /* the line and the character at the upper left */
};

struct top {
    const struct top_options *options;
    struct serve_options serve;
    struct fleet *fleet;
    struct top_rows rows;
    struct top_order order;
    char filter[FILTER_MAX];
    unsigned columns, columns_saved;
    int widths[TOP_COLUMNS];

    enum view view, before_help;
    int64_t wanted_pid; /* opened when it is found; 0: none */
    int64_t chosen_pid; /* the row of the cursor; 0: whichever is at `at` */
    int at, first;      /* it, and the uppermost row */
    bool typing;        /* a filter */
    bool asking;        /* what to observe */
    int column_at;      /* of VIEW_COLUMNS */
    struct pager pager;
    struct job job;
    int64_t job_pid;

    char message[256];
    int64_t message_ms; /* until then */
    int64_t next_draw_ms, end_ms;
    int64_t cpu_us, cpu_ms; /* at the refresh before, and when that was */
    double cpu_percent;
    bool quit, dirty, failed;
};

static void say(struct top *top, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct top *top, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(top->message, sizeof top->message, format, arguments);
    va_end(arguments);
    top->message_ms = clock_ms(CLOCK_BOOTTIME) + MESSAGE_MS;
    top->dirty = true;
}

/* --- the fleet's hooks ------------------------------------------------------------------------ */

static void on_alert(void *context, const struct member *member, const struct alert *alert)
{
    const struct finding *finding = &alert->finding;
    say(context, "%s %s, pid %d: %s",
        alert->state == ALERT_RAISED ? severity_name(finding->severity) : "cleared",
        finding_row(finding->kind)->id, (int)watcher_target(member->watcher)->pid, finding->title);
}

static void on_ended(void *context, const struct member *member, const struct alert *alerts,
                     int count)
{
    (void)context;
    (void)member;
    (void)alerts;
    (void)count;
}

/* JVMs that come and go are seen in the list. */
static void on_word(void *context, const char *sentence)
{
    if (strncmp(sentence, "watching ", 9) != 0 && strncmp(sentence, "no longer ", 10) != 0)
        say(context, "%s", sentence);
}

/* --- pager ------------------------------------------------------------------------------------ */

/* Takes the text over. */
static void pager_set(struct pager *pager, char *text)
{
    int count = 0;
    free(pager->text);
    free(pager->lines);
    pager->text = text;
    pager->lines = NULL;
    pager->line_count = 0;
    for (const char *at = text; at != NULL && *at != '\0'; at++)
        count += *at == '\n' || at[1] == '\0';
    pager->lines = calloc((size_t)count + 1, sizeof *pager->lines);
    if (text == NULL || pager->lines == NULL)
        return;
    for (char *at = text; *at != '\0' && pager->line_count < count;) {
        pager->lines[pager->line_count++] = at;
        at += strcspn(at, "\n");
        if (*at != '\0')
            *at++ = '\0';
    }
}

static void pager_move(struct pager *pager, int key, int room)
{
    int last = pager->line_count > room ? pager->line_count - room : 0;
    switch (key) {
    case SCREEN_UP:
    case 'k':
        pager->first--;
        break;
    case SCREEN_DOWN:
    case 'j':
        pager->first++;
        break;
    case SCREEN_PAGE_UP:
        pager->first -= room;
        break;
    case SCREEN_PAGE_DOWN:
    case ' ':
        pager->first += room;
        break;
    case SCREEN_HOME:
    case 'g':
        pager->first = 0;
        break;
    case SCREEN_END:
    case 'G':
        pager->first = last;
        break;
    case SCREEN_LEFT:
        pager->skip = pager->skip > 8 ? pager->skip - 8 : 0;
        break;
    case SCREEN_RIGHT:
        pager->skip += 8;
        break;
    default:
        break;
    }
    pager->first = pager->first > last ? last : pager->first;
    pager->first = pager->first < 0 ? 0 : pager->first;
}

/* --- which JVM -------------------------------------------------------------------------------- */

static struct member *member_of(const struct top *top, int64_t pid)
{
    const struct watching *watching = fleet_watching(top->fleet);
    for (int i = 0; i < watching->count; i++)
        if (!watching->jvms[i]->ended && watcher_target(watching->jvms[i]->watcher)->pid == pid)
            return watching->jvms[i]->owner;
    return NULL;
}

static int list_room(void)
{
    int room = screen_rows() - 4;
    return room > 1 ? room : 1;
}

static int pager_room(void)
{
    int room = screen_rows() - 2;
    return room > 1 ? room : 1;
}

/* The cursor stays on its JVM wherever that is sorted to; a head of a container by its number. */
static void keep_cursor(struct top *top)
{
    int found = top->chosen_pid > 0 ? rows_find(&top->rows, top->chosen_pid) : -1;
    int room = list_room();
    top->at = found >= 0 ? found : top->at;
    top->at = top->at >= top->rows.count ? top->rows.count - 1 : top->at;
    top->at = top->at < 0 ? 0 : top->at;
    top->first = top->at < top->first ? top->at : top->first;
    top->first = top->at >= top->first + room ? top->at - room + 1 : top->first;
    if (top->first > top->rows.count - room)
        top->first = top->rows.count > room ? top->rows.count - room : 0;
}

static void move_to(struct top *top, int at)
{
    top->at = at < 0 ? 0 : at >= top->rows.count ? top->rows.count - 1 : at;
    top->chosen_pid = top->at >= 0 && top->at < top->rows.count ? top->rows.row[top->at].pid : 0;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static enum screen_style style_of(int grave)
{
    return grave == SEVERITY_CRITICAL + 1  ? SCREEN_RED
           : grave == SEVERITY_WARNING + 1 ? SCREEN_YELLOW
                                           : SCREEN_PLAIN;
}

static void draw_keys(const struct top *top, const char *keys)
{
    int row = screen_rows() - 1, width = screen_columns();
    bool message = top->message[0] != '\0' && top->view != VIEW_LIST; /* that has a line for it */
    if (top->typing) {
        char line[FILTER_MAX + 16];
        snprintf(line, sizeof line, "filter: %s", top->filter);
        screen_put(row, 0, width, false, SCREEN_BAR, line);
        screen_cursor(row, (int)strlen(line) < width ? (int)strlen(line) : width - 1);
    } else if (top->asking) {
        screen_put(row, 0, width, false, SCREEN_BAR,
                   "for 10 s: c CPU  l classes  a allocations  r RSS  m methods now  p profile by "
                   "agent  Esc");
    } else {
        screen_put(row, 0, width, false, message ? SCREEN_BOLD : SCREEN_BAR,
                   message ? top->message : keys);
    }
}

static void draw_summary(const struct top *top)
{
    char line[512], at[16];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(at, sizeof at, "%H:%M:%S", &local);
    int width = screen_columns();
    snprintf(line, sizeof line, "nmtwatch top: %d JVM%s, RSS %s, NMT %s, %d with findings",
             top->rows.jvms, top->rows.jvms == 1 ? "" : "s",
             units_short_bytes((int64_t)top->rows.rss_bytes).text,
             units_short_bytes((int64_t)top->rows.nmt_bytes).text, top->rows.alerts);
    screen_put(0, 0, width, false, SCREEN_BOLD, line);
    if (width >= 72)
        screen_put(0, width - 8, 8, true, SCREEN_PLAIN, at);
    snprintf(line, sizeof line, "sorted by %s%s%s; watching takes %.1f %% of a core",
             top_column_row(top->order.sort)->key,
             top->order.reversed ? ", the other way round" : "",
             top->order.tree ? ", by container" : "", top->cpu_percent);
    if (top->filter[0] != '\0')
        text_add(line, sizeof line, "; filter '%s'", top->filter);
    if (job_runs(&top->job))
        text_add(line, sizeof line, "; %s is under way (v)", top->job.title);
    bool message = top->message[0] != '\0';
    screen_put(1, 0, width, false, message ? SCREEN_BOLD : SCREEN_DIM,
               message ? top->message : line);
}

/* Two spaces in the tree: below its container. */
static void draw_row(const struct top *top, int line, const struct top_row *row, bool chosen)
{
    int at = 0;
    enum screen_style plain = chosen                ? SCREEN_SELECTED
                              : row->member == NULL ? SCREEN_BOLD
                                                    : SCREEN_PLAIN;
    screen_put(line, 0, screen_columns(), false, plain, "");
    for (int i = 0; i < TOP_COLUMNS; i++) {
        char text[512];
        enum screen_style style = plain;
        int width = top->widths[i], from = at;
        if (width == 0)
            continue;
        rows_cell(row, (enum top_column)i, top->order.sort, width, screen_is_utf8(), text,
                  sizeof text);
        if (!chosen && (i == TOP_VERDICT || i == TOP_FINDING))
            style = style_of(row->grave);
        if (!chosen && i == TOP_VERDICT && strcmp(row->verdict, "ok") == 0)
            style = SCREEN_GREEN;
        at += width + 1;
        /* The name of a container has the columns of PID and JDK, too. */
        if (row->member == NULL && i == TOP_MAIN) {
            from = 0;
            width += top->widths[TOP_PID] + 1;
            if (top->widths[TOP_JDK] > 0)
                width += top->widths[TOP_JDK] + 1;
        } else if (row->member == NULL && (i == TOP_PID || i == TOP_JDK)) {
            continue;
        }
        screen_put(line, from, width, top_column_row((enum top_column)i)->number, style, text);
    }
}

static void draw_heads(const struct top *top)
{
    int at = 0;
    screen_put(2, 0, screen_columns(), false, SCREEN_BAR, "");
    for (int i = 0; i < TOP_COLUMNS; i++) {
        const struct top_column_row *column = top_column_row((enum top_column)i);
        if (top->widths[i] == 0)
            continue;
        screen_put(2, at, top->widths[i], column->number,
                   i == (int)top->order.sort ? SCREEN_SORTED : SCREEN_BAR, column->head);
        at += top->widths[i] + 1;
    }
}

static void draw_list(struct top *top)
{
    int room = list_room();
    unsigned hidden = top->rows.placed > 0 ? 0 : 1u << TOP_UNIT;
    rows_layout(top->columns & ~hidden, top->order.sort, screen_columns(), top->widths);
    keep_cursor(top);
    draw_summary(top);
    draw_heads(top);
    for (int i = 0; i < room && top->first + i < top->rows.count; i++)
        draw_row(top, 3 + i, &top->rows.row[top->first + i], top->first + i == top->at);
    if (top->rows.count == 0)
        screen_put(4, 2, screen_columns() - 2, false, SCREEN_PLAIN,
                   top->filter[0] != '\0' ? "no JVM fits the filter (Esc takes it off)"
                                          : "no JVM is found; one that starts appears here");
    struct scan_counts scan = fleet_scan(top->fleet);
    if (top->rows.jvms == 0 && scan.unreadable > 0) {
        char line[160];
        snprintf(line, sizeof line, "%d processes of other users cannot be read: root can",
                 scan.unreadable);
        screen_put(5, 2, screen_columns() - 2, false, SCREEN_PLAIN, line);
    }
    draw_keys(top,
              screen_columns() >= 116
                  ? "Enter open  / filter  < > sort  R reverse  c columns  T tree  t triage  "
                    "o observe  r record  b baseline  ? help  q quit"
                  : "Enter open  / filter  < > sort  T tree  t triage  o observe  ? help  q quit");
}

static void draw_pager(struct top *top, const char *title, const char *keys)
{
    int room = pager_room();
    char place[48];
    pager_move(&top->pager, SCREEN_NONE, room);
    screen_put(0, 0, screen_columns(), false, SCREEN_BAR, title);
    if (top->pager.line_count > room && screen_columns() >= 60) {
        snprintf(place, sizeof place, "lines %d-%d of %d", top->pager.first + 1,
                 top->pager.first + room, top->pager.line_count);
        screen_put(0, screen_columns() - 24, 24, true, SCREEN_BAR, place);
    }
    for (int i = 0; i < room && top->pager.first + i < top->pager.line_count; i++)
        screen_put_painted(1 + i, screen_columns(), top->pager.skip,
                           top->pager.lines[top->pager.first + i]);
    draw_keys(top, keys);
}

static void draw_detail(struct top *top)
{
    char *text = NULL, title[320], main_name[EVENT_NAME_MAX];
    size_t size = 0;
    const struct member *member = member_of(top, top->chosen_pid);
    if (member == NULL) {
        say(top, "pid %" PRId64 " has ended", top->chosen_pid);
        top->view = VIEW_LIST;
        draw_list(top);
        return;
    }
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    const struct terminal terminal = {
        .out = out, .colour = true, .width = screen_columns() < 40 ? 40 : screen_columns()};
    bool good = detail_write(member, &terminal, screen_is_utf8());
    if (fclose(out) != 0 || !good) {
        free(text);
        return;
    }
    pager_set(&top->pager, text);
    target_main_name(watcher_target(member->watcher)->identity.main, main_name, sizeof main_name);
    snprintf(title, sizeof title, "pid %" PRId64 " %s%s", top->chosen_pid, main_name,
             member->watched->recorder != NULL ? " [rec]" : "");
    draw_pager(
        top, title,
        screen_columns() >= 90
            ? "Esc back  arrows scroll  t triage  o observe  r record  b baseline  ? help  q quit"
            : "Esc back  t triage  o observe  r record  b baseline  ? help");
}

static void draw_job(struct top *top)
{
    char title[256];
    bool at_end = top->pager.first + pager_room() >= top->pager.line_count;
    const char *text = top->job.text != NULL ? top->job.text
                       : job_runs(&top->job) ? "under way ..."
                                             : "it said nothing";
    pager_set(&top->pager, strdup(text));
    if (job_runs(&top->job) && at_end)
        top->pager.first = top->pager.line_count;
    snprintf(title, sizeof title, "%s%s", top->job.title,
             job_runs(&top->job) ? ": under way" : ": done");
    draw_pager(top, title,
               job_runs(&top->job) ? "Esc back, job continues  x end it early  arrows scroll"
                                   : "Esc back  arrows scroll");
}

static void draw_help(struct top *top)
{
    static const char HELP[] =
        "Up Down PgUp PgDn Home End   move; the wheel does, too\n"
        "Enter, two clicks            open one JVM; Esc goes back\n"
        "< >                          sort by the column before, behind; or click on it\n"
        "R                            sort the other way round\n"
        "/                            filter: any part of name, pid, user, unit, JDK,\n"
        "                             container, finding; Enter keeps it, Esc takes it\n"
        "                             off\n"
        "c                            choose columns\n"
        "T                            tree: JVMs below their container, with sums\n"
        "t                            triage: 30 s, evidence in ./nmtwatch-triage-PID\n"
        "o                            observe for 10 s from outside (root), or profile\n"
        "                             by the agent; the table is shown\n"
        "v                            show the text of the last of them\n"
        "r                            begin or end a recording,\n"
        "                             ./nmtwatch-PID-TIME.nmt.gz\n"
        "b                            new baseline: growth is counted from now on\n"
        "q                            back; in the list: quit\n"
        "\n"
        "RSS, heap and rates are read each second from /proc and hsperfdata, which\n"
        "costs a JVM nothing; NMT each 5 s (--nmt-interval). A JVM without NMT shows\n"
        "'-' there. Heap used is as of the last GC with most collectors.\n"
        "VERDICT: the severity of the worst finding; growing: Internal or Class +\n"
        "Metaspace do not converge; warm-up: no baseline yet.\n"
        "TREND shows RSS, or Internal, Class + Metaspace or classes when sorted by\n"
        "them.\n";
    pager_set(&top->pager, strdup(HELP));
    draw_pager(top, "nmtwatch top: keys", "Esc back");
}

static void draw_columns(struct top *top)
{
    screen_put(0, 0, screen_columns(), false, SCREEN_BAR, "columns");
    for (int i = 0; i < TOP_COLUMNS; i++) {
        const struct top_column_row *column = top_column_row((enum top_column)i);
        char line[200];
        snprintf(line, sizeof line, "[%c] %-9s %s", (top->columns & 1u << i) != 0 ? 'x' : ' ',
                 column->key, column->help);
        screen_put(1 + i, 1, screen_columns() - 1, false,
                   i == top->column_at ? SCREEN_SELECTED : SCREEN_PLAIN, line);
    }
    draw_keys(top, "Space shows or hides  Esc back; a narrow terminal hides some");
}

static void take_cost(struct top *top, int64_t now_ms)
{
    int64_t cpu_us = watch_cost_cpu_us();
    if (now_ms - top->cpu_ms < DRAW_MS)
        return;
    if (top->cpu_ms != 0)
        top->cpu_percent =
            (double)(cpu_us - top->cpu_us) / (double)(now_ms - top->cpu_ms) / 1000 * 100;
    top->cpu_us = cpu_us;
    top->cpu_ms = now_ms;
}

static void draw(struct top *top, int64_t now_ms)
{
    take_cost(top, now_ms);
    if (now_ms >= top->message_ms)
        top->message[0] = '\0';
    top->order.filter = top->filter;
    if (!rows_make(&top->rows, fleet_watching(top->fleet), &top->order))
        top->failed = top->quit = true;
    screen_begin();
    switch (top->view) {
    case VIEW_LIST:
        draw_list(top);
        break;
    case VIEW_DETAIL:
        draw_detail(top);
        break;
    case VIEW_JOB:
        draw_job(top);
        break;
    case VIEW_HELP:
        draw_help(top);
        break;
    case VIEW_COLUMNS:
        draw_columns(top);
        break;
    }
    screen_end();
    top->dirty = false;
    top->next_draw_ms = now_ms + DRAW_MS;
}

/* --- what keys do ----------------------------------------------------------------------------- */

static void show(struct top *top, enum view view)
{
    top->view = view;
    top->pager.first = top->pager.skip = 0;
}

static void begin_job(struct top *top, const char *title, const char *const *words)
{
    char error[200];
    if (job_runs(&top->job)) {
        say(top, "%s is under way: v shows it", top->job.title);
    } else if (!job_begin(&top->job, title, words, error, sizeof error)) {
        say(top, "%s", error);
    } else {
        top->job_pid = top->chosen_pid;
        show(top, VIEW_JOB);
    }
}

static void begin_triage(struct top *top)
{
    char pid[24], title[64], folder[64];
    snprintf(pid, sizeof pid, "%" PRId64, top->chosen_pid);
    snprintf(title, sizeof title, "triage of pid %s", pid);
    snprintf(folder, sizeof folder, "nmtwatch-triage-%s", pid);
    const char *const words[] = {"triage", pid, "--for", "30s", "-o", folder, NULL};
    begin_job(top, title, words);
}

static void begin_observation(struct top *top, int key)
{
    static const struct {
        int key;
        const char *what;
    } KINDS[] = {{'c', "cpu"}, {'l', "classes"}, {'a', "alloc"}, {'r', "rss"}, {'m', "methods"}};
    char pid[24], title[96];
    snprintf(pid, sizeof pid, "%" PRId64, top->chosen_pid);
    if (key == 'p') {
        const char *const words[] = {"profile", "--for", "10s", pid, "-o", "%r", NULL};
        snprintf(title, sizeof title, "profile of pid %s, 10 s", pid);
        begin_job(top, title, words);
    }
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        if (KINDS[i].key != key)
            continue;
        const char *const words[] = {"observe", pid, KINDS[i].what, "--for", "10s", NULL};
        snprintf(title, sizeof title, "observe %s %s", pid, KINDS[i].what);
        begin_job(top, title, words);
    }
}

static void toggle_recording(struct top *top)
{
    char path[96], at[32], error[512];
    struct member *member = member_of(top, top->chosen_pid);
    time_t now = time(NULL);
    struct tm local;
    if (member == NULL)
        return;
    if (member->watched->recorder != NULL) {
        watched_end_recording(member->watched);
        say(top, "the recording of pid %" PRId64 " has ended", top->chosen_pid);
        return;
    }
    localtime_r(&now, &local);
    strftime(at, sizeof at, "%Y%m%d-%H%M%S", &local);
    snprintf(path, sizeof path, "nmtwatch-%" PRId64 "-%s.nmt.gz", top->chosen_pid, at);
    if (watched_record(member->watched, path, false, error, sizeof error))
        say(top, "recording pid %" PRId64 " to %s; r ends it", top->chosen_pid, path);
    else
        say(top, "%s", error);
}

static void new_baseline(struct top *top)
{
    struct member *member = member_of(top, top->chosen_pid);
    if (member == NULL)
        return;
    member_begin_anew(member);
    say(top, "growth of pid %" PRId64 " is counted from now on", top->chosen_pid);
}

/* Keys of one JVM, in the list and in its page. False: it is another key. */
static bool on_jvm_key(struct top *top, int key)
{
    if (strchr("torb", key > 0 && key < 128 ? key : '?') == NULL)
        return false;
    if (top->view == VIEW_LIST)
        move_to(top, top->at);
    if (member_of(top, top->chosen_pid) == NULL)
        say(top, "no JVM is chosen");
    else if (key == 't')
        begin_triage(top);
    else if (key == 'o')
        top->asking = true;
    else if (key == 'r')
        toggle_recording(top);
    else
        new_baseline(top);
    return true;
}

/* To the next column that is shown. */
static void sort_aside(struct top *top, int step)
{
    int at = (int)top->order.sort;
    for (int i = 0; i < TOP_COLUMNS; i++) {
        at = (at + step + TOP_COLUMNS) % TOP_COLUMNS;
        if (top->widths[at] > 0 && at != TOP_TREND)
            break;
    }
    top->order.sort = (enum top_column)at;
}

static void on_click(struct top *top, const struct screen_input *input)
{
    int at = 0;
    if (top->view == VIEW_LIST && input->row >= 3 && input->row < 3 + list_room() &&
        top->first + input->row - 3 < top->rows.count) {
        move_to(top, top->first + input->row - 3);
        if (input->key == SCREEN_CLICK_TWICE && top->chosen_pid > 0)
            show(top, VIEW_DETAIL);
    }
    for (int i = 0; top->view == VIEW_LIST && input->row == 2 && i < TOP_COLUMNS; i++) {
        if (top->widths[i] == 0)
            continue;
        if (input->column >= at && input->column <= at + top->widths[i]) {
            top->order.reversed = (int)top->order.sort == i && !top->order.reversed;
            top->order.sort = (enum top_column)i;
            return;
        }
        at += top->widths[i] + 1;
    }
}

static void on_list_key(struct top *top, const struct screen_input *input)
{
    switch (input->key) {
    case SCREEN_UP:
    case 'k':
        move_to(top, top->at - 1);
        break;
    case SCREEN_DOWN:
    case 'j':
        move_to(top, top->at + 1);
        break;
    case SCREEN_PAGE_UP:
        move_to(top, top->at - list_room());
        break;
    case SCREEN_PAGE_DOWN:
    case ' ':
        move_to(top, top->at + list_room());
        break;
    case SCREEN_HOME:
    case 'g':
        move_to(top, 0);
        break;
    case SCREEN_END:
    case 'G':
        move_to(top, top->rows.count - 1);
        break;
    case SCREEN_ENTER:
        move_to(top, top->at);
        if (member_of(top, top->chosen_pid) != NULL)
            show(top, VIEW_DETAIL);
        break;
    case '/':
        top->typing = true;
        break;
    case SCREEN_ESCAPE:
        top->filter[0] = '\0';
        break;
    case '<':
    case ',':
    case SCREEN_LEFT:
        sort_aside(top, -1);
        break;
    case '>':
    case '.':
    case SCREEN_RIGHT:
        sort_aside(top, 1);
        break;
    case 'R':
        top->order.reversed = !top->order.reversed;
        break;
    case 'T':
        top->order.tree = !top->order.tree;
        break;
    case 'c':
        top->view = VIEW_COLUMNS;
        break;
    default:
        on_jvm_key(top, input->key);
        break;
    }
}

static void on_columns_key(struct top *top, int key)
{
    if (key == SCREEN_UP || key == 'k')
        top->column_at = (top->column_at + TOP_COLUMNS - 1) % TOP_COLUMNS;
    else if (key == SCREEN_DOWN || key == 'j')
        top->column_at = (top->column_at + 1) % TOP_COLUMNS;
    else if (key == ' ')
        top->columns ^= 1u << top->column_at;
    top->columns |= 1u << TOP_PID;
    if (key != SCREEN_ESCAPE && key != SCREEN_ENTER && key != 'c' && key != 'q')
        return;
    top->view = VIEW_LIST;
    if (top->columns != top->columns_saved && !top_columns_save(top->columns))
        say(top, "the choice of columns is not kept: %s", strerror(errno));
    top->columns_saved = top->columns;
}

static void on_filter_key(struct top *top, int key)
{
    size_t length = strlen(top->filter);
    if (key == SCREEN_ENTER || key == SCREEN_ESCAPE)
        top->typing = false;
    if (key == SCREEN_ESCAPE)
        top->filter[0] = '\0';
    else if (key == SCREEN_BACKSPACE && length > 0)
        top->filter[length - 1] = '\0';
    else if (key >= 32 && key < 127 && length + 1 < sizeof top->filter) {
        top->filter[length] = (char)key;
        top->filter[length + 1] = '\0';
    }
}

static void on_page_key(struct top *top, int key)
{
    bool back = key == SCREEN_ESCAPE || key == SCREEN_BACKSPACE || key == 'q' ||
                (key == SCREEN_ENTER && top->view != VIEW_DETAIL);
    if (top->view == VIEW_JOB && key == 'x')
        job_stop(&top->job);
    else if (back && top->view == VIEW_HELP)
        show(top, top->before_help);
    else if (back)
        show(top, VIEW_LIST);
    else if (top->view != VIEW_DETAIL || !on_jvm_key(top, key))
        pager_move(&top->pager, key, pager_room());
}

static void on_input(struct top *top, const struct screen_input *input)
{
    int key = input->key;
    bool commanding = !top->typing && !top->asking;
    if (key == SCREEN_GONE || (key == 'q' && commanding && top->view == VIEW_LIST)) {
        top->quit = true;
    } else if (key == SCREEN_RESIZE) {
        top->dirty = true;
    } else if (top->typing) {
        on_filter_key(top, key);
    } else if (top->asking) {
        top->asking = false;
        begin_observation(top, key);
    } else if (key == SCREEN_CLICK || key == SCREEN_CLICK_TWICE) {
        on_click(top, input);
    } else if ((key == '?' || key == SCREEN_HELP || key == 'h') && top->view != VIEW_HELP) {
        top->before_help = top->view;
        show(top, VIEW_HELP);
    } else if (key == 'v' && top->job.title[0] != '\0') {
        show(top, VIEW_JOB);
    } else if (top->view == VIEW_LIST) {
        on_list_key(top, input);
    } else if (top->view == VIEW_COLUMNS) {
        on_columns_key(top, key);
    } else {
        on_page_key(top, key);
    }
    top->dirty = true;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void loop(struct top *top)
{
    while (!top->quit && signals_asked() == 0) {
        int64_t now_ms = clock_ms(CLOCK_BOOTTIME);
        struct screen_input input;
        if (top->end_ms > 0 && now_ms >= top->end_ms)
            break;
        if (top->dirty || now_ms >= top->next_draw_ms)
            draw(top, now_ms);
        struct pollfd others[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                  {.fd = top->job.fd, .events = POLLIN}};
        fleet_turn(top->fleet, top->next_draw_ms - now_ms, others, 2);
        if (top->wanted_pid > 0 && member_of(top, top->wanted_pid) != NULL) {
            top->chosen_pid = top->wanted_pid;
            top->wanted_pid = 0;
            show(top, VIEW_DETAIL);
            top->dirty = true;
        }
        while (screen_read(&input) && !top->quit)
            on_input(top, &input);
        if (job_runs(&top->job) && job_step(&top->job)) {
            top->dirty = true;
            if (!job_runs(&top->job) && top->view == VIEW_JOB)
                top->pager.first = 0; /* what it found stands first */
            if (!job_runs(&top->job))
                say(top, "%s: done, v shows it", top->job.title);
        }
    }
}

int top_run(const struct top_options *options)
{
    struct top top = {.options = options,
                      .order = options->order,
                      .columns = options->columns,
                      .columns_saved = options->columns,
                      .wanted_pid = options->pid,
                      .job = {.fd = -1}};
    const struct fleet_hooks hooks = {
        .context = &top, .alert = on_alert, .ended = on_ended, .say = on_word};
    char why[160];
    snprintf(top.filter, sizeof top.filter, "%s", options->order.filter);
    serve_options_default(&top.serve);
    top.serve.watch = options->watch;
    top.serve.discover_ms = DISCOVER_MS;
    top.serve.min_age_ms = 0; /* who looks wants to see it now */
    raise_fd_limit();
    signals_catch(SIGNALS_END);
    top.fleet = fleet_create(&top.serve, NULL, NULL, &hooks);
    if (top.fleet == NULL)
        return print_failure(EXIT_IO, "nmtwatch top: out of memory\n");
    if (!screen_open(options->colour, why, sizeof why)) {
        print_error("nmtwatch top: %s\n", why);
        fleet_destroy(top.fleet);
        return EXIT_IO;
    }
    if (options->for_ms > 0)
        top.end_ms = clock_ms(CLOCK_BOOTTIME) + options->for_ms;
    loop(&top);
    screen_close();
    job_free(&top.job);
    fleet_stop(top.fleet);
    fleet_destroy(top.fleet);
    rows_free(&top.rows);
    pager_set(&top.pager, NULL);
    free(top.pager.lines);
    if (top.failed)
        print_error("nmtwatch top: out of memory\n");
    return top.failed ? EXIT_IO : 0;
}
