#define JSON_FIELD_ROWS
#include "nmtwatch/serve/saved_state.h"

#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/syscall_filter.h"
#include "nmtwatch/process/files.h"
#include "reports/json/event_json.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX         ".json"
#define FILE_MAX_BYTES (1 << 20)
#define BESIDE         "new" SUFFIX ".tmp"
#define SIBLINGS       "killed" /* the boot; a line of syscall_filter.h for each kind of JVM */

/* Of the last process, not found again yet: enough to find it; the file has the rest. */
struct waiting {
    int64_t pid, start_time_ticks;
    char label[TARGET_LABEL_MAX];
};

struct saved_state {
    int folder_fd;
    char boot[64];
    int waiting_count;
    size_t waiting_capacity;
    struct waiting *waiting;
    struct json_out line;
    int siblings; /* that are in their file */
    int64_t errors;
    char last_error[256];
};

static void file_name(char *out, size_t size, int64_t pid, int64_t start_time_ticks)
{
    snprintf(out, size, "%lld-%lld" SUFFIX, (long long)pid, (long long)start_time_ticks);
}

void saved_target_free(struct saved_target *target)
{
    if (target != NULL)
        texts_free(&target->texts);
    free(target);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_file(const struct saved_state *state, const char *name,
                      struct saved_target *target)
{
    char why[160];
    size_t length;
    char *text = small_file_read(state->folder_fd, name, FILE_MAX_BYTES, &length);
    bool good = text != NULL && saved_json_read(text, length, state->boot, target, why, sizeof why);
    free(text);
    return good;
}

static bool is_ours(const char *name)
{
    size_t length = strlen(name);
    return isdigit((unsigned char)name[0]) && length > strlen(SUFFIX) &&
           strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
}

static void add_waiting(struct saved_state *state, const struct saved_target *target)
{
    if (!array_room(&state->waiting, &state->waiting_capacity, (size_t)state->waiting_count + 1,
                    sizeof *state->waiting))
        return;
    struct waiting *last = &state->waiting[state->waiting_count++];
    last->pid = target->pid;
    last->start_time_ticks = target->start_time_ticks;
    memcpy(last->label, target->label, sizeof last->label);
}

static void read_all(struct saved_state *state)
{
    struct saved_target *target = calloc(1, sizeof *target);
    int fd = openat(state->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL && fd >= 0)
        close(fd);
    for (struct dirent *entry;
         folder != NULL && target != NULL && (entry = readdir(folder)) != NULL;) {
        if (!is_ours(entry->d_name))
            continue;
        if (read_file(state, entry->d_name, target))
            add_waiting(state, target);
        else
            unlinkat(state->folder_fd, entry->d_name, 0); /* damaged, or of an earlier boot */
    }
    if (folder != NULL)
        closedir(folder);
    saved_target_free(target);
}

static void read_boot(struct saved_state *state)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file == NULL || fscanf(file, "%63s", state->boot) != 1)
        snprintf(state->boot, sizeof state->boot, "unknown");
    if (file != NULL)
        fclose(file);
}

static void read_siblings(struct saved_state *state)
{
    size_t length, boot = strlen(state->boot);
    char *text = small_file_read(state->folder_fd, SIBLINGS, FILTER_SIBLINGS_TEXT * 2, &length);
    if (text != NULL && length > boot && memcmp(text, state->boot, boot) == 0)
        filter_siblings_recall(text + boot);
    free(text);
    state->siblings = filter_siblings_keep((char[FILTER_SIBLINGS_TEXT]){0});
}

struct saved_state *saved_state_open(const char *folder, char *error, size_t error_size)
{
    struct saved_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    state->folder_fd = -1;
    if (mkdir(folder, 0700) == 0 || errno == EEXIST)
        state->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (state->folder_fd < 0 || faccessat(state->folder_fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        snprintf(error, error_size, "state: %s: %s", folder, strerror(errno));
        saved_state_close(state);
        return NULL;
    }
    read_boot(state);
    unlinkat(state->folder_fd, BESIDE, 0);
    read_all(state);
    read_siblings(state);
    return state;
}

/* --- finding again ---------------------------------------------------------------------------- */

static struct saved_target *take(struct saved_state *state, int at)
{
    char name[64];
    struct saved_target *target = calloc(1, sizeof *target);
    const struct waiting *found = &state->waiting[at];
    file_name(name, sizeof name, found->pid, found->start_time_ticks);
    if (target != NULL && !read_file(state, name, target)) {
        saved_target_free(target);
        target = NULL;
    }
    state->waiting[at] = state->waiting[--state->waiting_count];
    return target;
}

struct saved_target *saved_state_recall(struct saved_state *state, const struct target *target)
{
    for (int i = 0; i < state->waiting_count; i++)
        if (state->waiting[i].pid == target->pid &&
            state->waiting[i].start_time_ticks == (int64_t)target->start_time_ticks)
            return take(state, i);
    return NULL;
}

bool saved_state_waits_for(const struct saved_state *state, const char *label)
{
    for (int i = 0; i < state->waiting_count; i++)
        if (strcmp(state->waiting[i].label, label) == 0)
            return true;
    return false;
}

struct saved_target *saved_state_take_lost(struct saved_state *state)
{
    struct saved_target *target = NULL;
    for (int at = state->waiting_count - 1; at >= 0 && target == NULL; at--) {
        struct waiting lost = state->waiting[at];
        if (proc_is_alive(lost.pid, (uint64_t)lost.start_time_ticks))
            continue;
        target = take(state, at);
        saved_state_forget(state, lost.pid, lost.start_time_ticks);
    }
    return target;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool failed(struct saved_state *state, const char *what)
{
    state->errors++;
    return text_error(state->last_error, sizeof state->last_error, "state: %s: %s", what,
                      strerror(errno));
}

static bool put_file(struct saved_state *state, const char *name, const char *text, size_t length)
{
    int fd = openat(state->folder_fd, BESIDE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    if (fd < 0)
        return failed(state, BESIDE);
    bool good = write_all(fd, text, length);
    good = close(fd) == 0 && good;
    if (!good || renameat(state->folder_fd, BESIDE, state->folder_fd, name) != 0)
        return failed(state, name);
    return true;
}

static void write_siblings(struct saved_state *state)
{
    char text[sizeof state->boot + FILTER_SIBLINGS_TEXT], lines[FILTER_SIBLINGS_TEXT];
    int siblings = filter_siblings_keep(lines);
    if (siblings == state->siblings)
        return;
    int length = snprintf(text, sizeof text, "%s\n%s", state->boot, lines);
    if (put_file(state, SIBLINGS, text, (size_t)length))
        state->siblings = siblings;
}

bool saved_state_write(struct saved_state *state, const struct saved_target *target)
{
    char name[64];
    write_siblings(state);
    errno = ENOMEM;
    const char *text = saved_json_write(&state->line, state->boot, target);
    if (text == NULL)
        return failed(state, "writing");
    file_name(name, sizeof name, target->pid, target->start_time_ticks);
    return put_file(state, name, text, state->line.length);
}

void saved_state_forget(struct saved_state *state, int64_t pid, int64_t start_time_ticks)
{
    char name[64];
    write_siblings(state);
    file_name(name, sizeof name, pid, start_time_ticks);
    unlinkat(state->folder_fd, name, 0);
}

int64_t saved_state_errors(const struct saved_state *state, const char **last)
{
    *last = state->last_error;
    return state->errors;
}

void saved_state_close(struct saved_state *state)
{
    if (state == NULL)
        return;
    if (state->folder_fd >= 0)
        close(state->folder_fd);
    json_out_free(&state->line);
    free(state->waiting);
    free(state);
}

/* --- saved json ------------------------------------------------------------------------------ */

typedef __typeof__(((struct judge_memory *)0)->loaders[0]) memory_loader;
typedef __typeof__(((struct judge_memory *)0)->episodes[0]) memory_episode;

extern const struct record memory_loader_record, memory_loaders_record, memory_episode_record,
    judge_memory_record, pending_record, saved_record;

/* The list is there when a baseline is, even if it is empty. */
static void write_loaders(struct json_out *out, const char *key, const void *data)
{
    (void)key;
    if (((const struct judge_memory *)data)->loaders_have_baseline)
        fields_write(out, &memory_loaders_record, data, false);
}

static void read_loaders(struct json_reading *reading, const json_t *object, const char *key,
                         void *data)
{
    struct judge_memory *memory = data;
    memory->loaders_have_baseline = json_object_get(object, key) != NULL;
    if (memory->loaders_have_baseline)
        fields_read(reading, &memory_loaders_record, object, data);
}

static void write_raised(struct json_out *out, const char *key, const void *data)
{
    json_out_bool(out, key, ((const struct alert *)data)->state == ALERT_RAISED);
}

static void read_raised(struct json_reading *reading, const json_t *object, const char *key,
                        void *data)
{
    struct alert *alert = data;
    alert->state = reading_bool(reading, object, key) ? ALERT_RAISED : ALERT_CLEARED;
}

/* clang-format off */
#include "nmtwatch/serve/saved.def"
/* clang-format on */

const char *saved_json_write(struct json_out *out, const char *boot,
                             const struct saved_target *target)
{
    size_t length;
    json_out_open(out);
    json_out_int(out, "schema", SAVED_SCHEMA);
    json_out_text(out, "boot", boot);
    fields_write(out, &saved_record, target, false);
    json_out_end(out, '}');
    return json_out_line(out, &length);
}

bool saved_json_read(const char *text, size_t length, const char *boot, struct saved_target *target,
                     char *error, size_t error_size)
{
    struct json_reading reading = {.error = error, .error_size = error_size, .strict = true};
    json_error_t why;
    texts_free(&target->texts);
    reading.texts = &target->texts;
    memset(target, 0, sizeof *target);
    json_t *root = json_loadb(text, length, 0, &why);
    const char *its_boot = json_string_value(json_object_get(root, "boot"));
    if (!json_is_object(root))
        reading_complain(&reading, "it is not JSON of ours");
    else if (reading_int(&reading, root, "schema") != SAVED_SCHEMA)
        reading_complain(&reading, "\"schema\" is another version's");
    else if (its_boot == NULL || strcmp(its_boot, boot) != 0)
        reading_complain(&reading, "\"boot\" is another boot's");
    else
        fields_read(&reading, &saved_record, root, target);
    json_decref(root);
    if (reading.unknown)
        reading_complain(&reading, "a finding's \"id\" is none that is known");
    if (target->judge.worst_ever > SEVERITY_CRITICAL)
        target->judge.worst_ever = SEVERITY_CRITICAL;
    return !reading.failed;
}
