#include "nmtwatch/alert/queue.h"

#include "nmtwatch/process/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((1 << 18) + QUEUE_BODY_MAX)
#define BESIDE         "new.tmp"
#define DIGITS         16

struct queue {
    int folder_fd;
    int64_t max;
    uint64_t next_number;
    int count;
    size_t room;
    struct queue_entry *entries; /* by number */
    struct queue_counts counts;
    struct json_out line;
};

static void file_name(char out[static 32], uint64_t number, bool up)
{
    snprintf(out, 32, "%0*" PRIu64 "%s", DIGITS, number, up ? ".up" : ".due");
}

static bool number_of(const char *name, uint64_t *number, bool *up)
{
    *up = strcmp(name + strspn(name, "0123456789"), ".up") == 0;
    if (strspn(name, "0123456789") != DIGITS || (!*up && strcmp(name + DIGITS, ".due") != 0))
        return false;
    *number = strtoull(name, NULL, 10);
    return true;
}

/* --- entries ---------------------------------------------------------------------------------- */

static struct queue_entry *append(struct queue *queue, const struct message *message)
{
    if (!array_room(&queue->entries, &queue->room, (size_t)queue->count + 1,
                    sizeof *queue->entries))
        return NULL;
    struct queue_entry *entry = &queue->entries[queue->count++];
    memset(entry, 0, sizeof *entry);
    entry->identity = message_identity_of(message);
    entry->state = message->state;
    entry->seen_ms = -1;
    memcpy(entry->target, message->target, sizeof entry->target);
    return entry;
}

static void count(struct queue *queue, const struct queue_entry *entry, int by)
{
    *(entry->up ? &queue->counts.up : &queue->counts.waiting) += by;
}

int queue_count(const struct queue *queue)
{
    return queue->count;
}

struct queue_entry *queue_at(struct queue *queue, int index)
{
    return &queue->entries[index];
}

struct queue_entry *queue_numbered(struct queue *queue, uint64_t number)
{
    int low = 0, high = queue->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (queue->entries[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < queue->count && queue->entries[low].number == number ? &queue->entries[low] : NULL;
}

struct queue_entry *queue_last(struct queue *queue, uint64_t identity)
{
    for (int i = queue->count - 1; i >= 0; i--)
        if (queue->entries[i].identity == identity)
            return &queue->entries[i];
    return NULL;
}

/* An earlier one of the same alert waits: it goes first. */
static bool is_behind(const struct queue *queue, int index)
{
    for (int i = 0; i < index; i++)
        if (!queue->entries[i].up && queue->entries[i].identity == queue->entries[index].identity)
            return true;
    return false;
}

struct queue_entry *queue_next(struct queue *queue)
{
    struct queue_entry *best = NULL;
    for (int i = 0; i < queue->count && (best == NULL || best->attempts > 0); i++) {
        struct queue_entry *entry = &queue->entries[i];
        if (!entry->up && (best == NULL || entry->attempts < best->attempts) &&
            !is_behind(queue, i))
            best = entry;
    }
    return best;
}

/* --- files ------------------------------------------------------------------------------------ */

static bool read_file(const struct queue *queue, const char *name, struct texts *texts,
                      struct message *message)
{
    size_t length;
    char *text = small_file_read(queue->folder_fd, name, FILE_MAX_BYTES, &length);
    bool good = text != NULL && message_read(text, length, texts, message);
    free(text);
    return good;
}

static bool write_file(struct queue *queue, const char *name, const char *text, size_t length,
                       const struct message *message)
{
    int fd = openat(queue->folder_fd, BESIDE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    if (fd < 0)
        return false;
    bool good = write_all(fd, text, length) && write_all(fd, message->body, message->body_length);
    good = close(fd) == 0 && good;
    return good && renameat(queue->folder_fd, BESIDE, queue->folder_fd, name) == 0;
}

bool queue_read(struct queue *queue, const struct queue_entry *entry, struct texts *texts,
                struct message *message)
{
    char name[32];
    if (entry->unsaved != NULL)
        return message_read(entry->unsaved, entry->unsaved_length, texts, message);
    file_name(name, entry->number, entry->up);
    return read_file(queue, name, texts, message);
}

bool queue_has_room(const struct queue *queue)
{
    return queue->counts.waiting < queue->max;
}

bool queue_add(struct queue *queue, const struct message *message, int64_t now_ms)
{
    char name[32];
    size_t length;
    const char *text = queue_has_room(queue) && message->body_length <= QUEUE_BODY_MAX
                           ? message_write(&queue->line, message, &length)
                           : NULL;
    struct queue_entry *entry = text != NULL ? append(queue, message) : NULL;
    if (entry == NULL)
        return false;
    entry->number = queue->next_number++;
    entry->seen_ms = now_ms;
    file_name(name, entry->number, false);
    count(queue, entry, 1);
    if (write_file(queue, name, text, length, message))
        return true;
    queue->counts.unsaved++;
    entry->unsaved_length = length + message->body_length;
    entry->unsaved = malloc(entry->unsaved_length + 1);
    if (entry->unsaved != NULL) {
        memcpy(entry->unsaved, text, length);
        if (message->body_length > 0)
            memcpy(entry->unsaved + length, message->body, message->body_length);
        return true;
    }
    queue_remove(queue, entry->number);
    return false;
}

void queue_remove(struct queue *queue, uint64_t number)
{
    char name[32];
    struct queue_entry *entry = queue_numbered(queue, number);
    if (entry == NULL)
        return;
    file_name(name, number, entry->up);
    if (entry->unsaved == NULL)
        unlinkat(queue->folder_fd, name, 0);
    count(queue, entry, -1);
    free(entry->unsaved);
    int after = queue->count - (int)(entry - queue->entries) - 1;
    memmove(entry, entry + 1, (size_t)after * sizeof *entry);
    queue->count--;
}

static void keep_as_up(struct queue *queue, struct queue_entry *entry)
{
    char due[32], up[32];
    file_name(due, entry->number, false);
    file_name(up, entry->number, true);
    if (entry->unsaved == NULL)
        renameat(queue->folder_fd, due, queue->folder_fd, up);
    count(queue, entry, -1);
    entry->up = true;
    count(queue, entry, 1);
}

void queue_delivered(struct queue *queue, uint64_t number)
{
    struct queue_entry *entry = queue_numbered(queue, number);
    if (entry == NULL)
        return;
    uint64_t identity = entry->identity;
    bool raised = entry->state == ALERT_RAISED;
    for (int i = queue->count - 1; i >= 0; i--) {
        const struct queue_entry *earlier = &queue->entries[i];
        if (earlier->identity == identity && earlier->up && earlier->number < number)
            queue_remove(queue, earlier->number);
    }
    if (raised)
        keep_as_up(queue, queue_numbered(queue, number));
    else
        queue_remove(queue, number);
}

/* --- life ------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint64_t one = ((const struct queue_entry *)a)->number;
    uint64_t other = ((const struct queue_entry *)b)->number;
    return (one > other) - (one < other);
}

/* The folder was open to others once, perhaps. */
static bool is_ours(const struct queue *queue, const char *name)
{
    struct stat status;
    return fstatat(queue->folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

static void take_file(struct queue *queue, const char *name)
{
    struct message message;
    struct texts texts = {0};
    uint64_t number;
    bool up;
    if (!number_of(name, &number, &up))
        return;
    struct queue_entry *entry = is_ours(queue, name) && read_file(queue, name, &texts, &message)
                                    ? append(queue, &message)
                                    : NULL;
    texts_free(&texts);
    if (entry == NULL) {
        queue->counts.damaged++;
        unlinkat(queue->folder_fd, name, 0);
        return;
    }
    entry->number = number;
    entry->up = up;
    count(queue, entry, 1);
    if (number >= queue->next_number)
        queue->next_number = number + 1;
}

static bool read_all(struct queue *queue)
{
    int fd = openat(queue->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    unlinkat(queue->folder_fd, BESIDE, 0);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        take_file(queue, entry->d_name);
    closedir(folder);
    if (queue->count > 0)
        qsort(queue->entries, (size_t)queue->count, sizeof *queue->entries, by_number);
    return true;
}

struct queue *queue_open(int folder_fd, const char *name, int64_t max, char *error,
                         size_t error_size)
{
    char why[400];
    struct queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        snprintf(error, error_size, "queue: out of memory");
        return NULL;
    }
    queue->max = max;
    queue->next_number = 1;
    queue->folder_fd = private_folder_open(folder_fd, name, why, sizeof why);
    if (queue->folder_fd >= 0 && faccessat(queue->folder_fd, ".", W_OK | X_OK, AT_EACCESS) == 0 &&
        read_all(queue))
        return queue;
    if (queue->folder_fd >= 0)
        snprintf(why, sizeof why, "%.300s: %s", name, strerror(errno));
    snprintf(error, error_size, "queue: %s", why);
    queue_close(queue);
    return NULL;
}

struct queue_counts queue_counts(const struct queue *queue)
{
    return queue->counts;
}

void queue_close(struct queue *queue)
{
    if (queue == NULL)
        return;
    for (int i = 0; i < queue->count; i++)
        free(queue->entries[i].unsaved);
    if (queue->folder_fd >= 0)
        close(queue->folder_fd);
    json_out_free(&queue->line);
    free(queue->entries);
    free(queue);
}
