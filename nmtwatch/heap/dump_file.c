#include "nmtwatch/heap/holders_run.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define WINDOW_BYTES ((size_t)1 << 20)
#define THREADS_MAX  8

bool dump_is(const char *path)
{
    char front[sizeof "JAVA PROFILE 1.0." - 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    gzFile stream = gzdopen(fd, "rb"); /* reads what is not gzipped as it is */
    if (stream == NULL) {
        close(fd);
        return false;
    }
    bool is = gzread(stream, front, sizeof front) == (int)sizeof front &&
              memcmp(front, "JAVA PROFILE 1.0.", sizeof front) == 0;
    gzclose(stream);
    return is;
}

bool dump_open(struct dump_file *file, int fd)
{
    struct stat status;
    uint8_t magic[2];
    memset(file, 0, sizeof *file);
    file->fd = fd;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    file->threads = cores > 1 ? 2 : 1;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return text_error(file->error, sizeof file->error, "not a regular file");
    file->bytes = file->bytes_on_disk = (uint64_t)status.st_size;
    file->gzipped = pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return true;
}

void dump_close(struct dump_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* --- a window that moves over a part of the dump ---------------------------------------------- */

struct window {
    struct dump_file *file;
    gzFile stream; /* NULL: plain */
    uint8_t *bytes;
    size_t capacity, length;
    uint64_t from; /* offset of bytes[0] */
    bool ended, failed;
    bool keeps; /* buffer kept for the next range */
};

static bool window_open(struct window *window, struct dump_file *file)
{
    *window =
        (struct window){.file = file, .capacity = WINDOW_BYTES, .bytes = malloc(WINDOW_BYTES)};
    if (window->bytes != NULL && file->gzipped) {
        int fd = dup(file->fd);
        if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
            window->stream = gzdopen(fd, "rb");
        if (window->stream == NULL && fd >= 0)
            close(fd);
        if (window->stream == NULL)
            return false;
        gzbuffer(window->stream, 1 << 18);
    }
    return window->bytes != NULL;
}

static void window_close(struct window *window)
{
    if (window->stream != NULL)
        gzclose(window->stream);
    free(window->bytes);
}

static ssize_t window_read(struct window *window, uint8_t *into, size_t size, uint64_t at)
{
    if (window->stream == NULL) {
        ssize_t got;
        do
            got = pread(window->file->fd, into, size, (off_t)at);
        while (got < 0 && errno == EINTR);
        return got;
    }
    int got = gzread(window->stream, into, (unsigned)size);
    int code = Z_OK;
    gzerror(window->stream, &code);
    if (got < 0 || code == Z_BUF_ERROR) {
        window->file->cut = true; /* what was there counts */
        return got < 0 ? 0 : got;
    }
    return got;
}

/* Moves on to offset `next` and fills the window up to `to`. False: nothing more can be had. */
static bool window_fill(struct window *window, uint64_t next, uint64_t to)
{
    if (next >= window->from && next <= window->from + window->length) {
        size_t gone = (size_t)(next - window->from);
        if (gone == 0 && window->length == window->capacity) {
            window->failed =
                !array_room(&window->bytes, &window->capacity, window->capacity + 1, 1);
            if (window->failed)
                return false;
        }
        memmove(window->bytes, window->bytes + gone, window->length - gone);
        window->length -= gone;
    } else if (window->stream != NULL) {
        uint64_t at = window->from + window->length;
        while (at < next) {
            size_t step = next - at < window->capacity ? (size_t)(next - at) : window->capacity;
            ssize_t got = window_read(window, window->bytes, step, at);
            if (got <= 0) {
                window->from = at;
                window->length = 0;
                window->ended = true;
                return false;
            }
            at += (uint64_t)got;
        }
        window->length = 0;
    } else {
        window->length = 0;
    }
    window->from = next;
    size_t before = window->length;
    while (window->length < window->capacity && window->from + window->length < to) {
        uint64_t at = window->from + window->length, left = to - at;
        size_t room = window->capacity - window->length;
        ssize_t got = window_read(window, window->bytes + window->length,
                                  left < room ? (size_t)left : room, at);
        if (got < 0) {
            window->failed = true;
            return false;
        }
        if (got == 0) {
            window->ended = true;
            break;
        }
        window->length += (size_t)got;
    }
    return window->length > before;
}

/* --- a pass ----------------------------------------------------------------------------------- */

struct range {
    uint64_t from, to, segment_end; /* segment_end 0: records between segments */
};

struct pass {
    struct dump_file *file;
    struct heap *heap;
    enum heap_pass pass;
    const char *what;
    struct range *ranges;
    uint32_t count, capacity;
    _Atomic uint32_t next;
    _Atomic uint64_t done;
    uint64_t whole;
    _Atomic bool failed;
    pthread_mutex_t ending;
    const struct dump_fetch *fetch; /* of HEAP_FETCH */
};

static bool given_up(const struct dump_file *file)
{
    return file->give_up != NULL && *file->give_up;
}

/* Where the scan went to. */
static uint64_t scan_range(struct pass *pass, struct window *window, struct heap_scan *scan,
                           const struct range *range, bool shown)
{
    uint64_t at = range->from;
    window->length = window->stream != NULL ? window->length : 0;
    window->ended = false;
    while (at < range->to && !scan->failed && !scan->stopped && !given_up(pass->file)) {
        if (!window_fill(window, at, range->to) && window->failed) {
            atomic_store(&pass->failed, true);
            break;
        }
        if (window->length == 0) {
            scan->truncated = scan->truncated || range->to != UINT64_MAX;
            break;
        }
        bool last = window->ended || window->from + window->length >= range->to;
        uint64_t next = heap_scan_window(scan, window->bytes, window->from, window->length, last);
        pass->done += next > at && next < range->to ? next - at : 0;
        if (shown && pass->file->progress != NULL)
            pass->file->progress(pass->file->context, pass->what, pass->done, pass->whole);
        at = next;
        if (last && next <= window->from + window->length && !scan->stopped && next != UINT64_MAX)
            break;
    }
    return at;
}

static void scan_ranges(struct pass *pass, bool first)
{
    struct heap_scan scan;
    struct window window;
    heap_scan_begin(&scan, pass->heap, pass->pass);
    scan.objects_seen = true;
    if (pass->fetch != NULL) {
        scan.fetched = pass->fetch->object;
        scan.context = pass->fetch->context;
    }
    if (!window_open(&window, pass->file)) {
        pass->failed = true;
        window_close(&window);
        return;
    }
    for (uint32_t i; !pass->failed && !scan.failed && !given_up(pass->file) &&
                     (i = pass->next++) < pass->count;) {
        heap_scan_enter(&scan, pass->ranges[i].from, pass->ranges[i].segment_end);
        scan_range(pass, &window, &scan, &pass->ranges[i], first);
        heap_scan_leave(&scan);
    }
    pthread_mutex_lock(&pass->ending);
    if (!heap_scan_end(&scan))
        pass->failed = true;
    pthread_mutex_unlock(&pass->ending);
    window_close(&window);
}

static void *thread_main(void *context)
{
    scan_ranges(context, false);
    return NULL;
}

static bool run_ranges(struct pass *pass, int threads)
{
    pthread_t others[THREADS_MAX];
    int started = 0;
    pass->heap->threads_scan = threads > 1;
    pthread_mutex_init(&pass->ending, NULL);
    while (started + 1 < threads && started < THREADS_MAX &&
           pthread_create(&others[started], NULL, thread_main, pass) == 0)
        started++;
    scan_ranges(pass, true);
    for (int i = 0; i < started; i++)
        pthread_join(others[i], NULL);
    pthread_mutex_destroy(&pass->ending);
    pass->heap->threads_scan = false;
    return !pass->failed;
}

static bool add_range(struct pass *pass, uint64_t from, uint64_t to, uint64_t segment_end)
{
    if (!heap_room(&pass->ranges, &pass->capacity, (uint64_t)pass->count + 1, sizeof *pass->ranges))
        return false;
    pass->ranges[pass->count++] = (struct range){from, to, segment_end};
    pass->whole += to - from;
    return true;
}

/* The whole dump from `from` on, in its order. */
static bool run_serial(struct pass *pass, uint64_t from, bool stop_after_classes,
                       uint64_t *stopped_at)
{
    struct heap_scan scan;
    struct window window;
    struct range range = {from, pass->file->gzipped ? UINT64_MAX : pass->file->bytes, 0};
    heap_scan_begin(&scan, pass->heap, pass->pass);
    scan.stop_after_classes = stop_after_classes;
    if (pass->fetch != NULL) {
        scan.fetched = pass->fetch->object;
        scan.context = pass->fetch->context;
    }
    if (!window_open(&window, pass->file)) {
        window_close(&window);
        return false;
    }
    pass->whole = pass->file->gzipped ? pass->file->bytes_on_disk : pass->file->bytes;
    *stopped_at = scan_range(pass, &window, &scan, &range, true);
    if (!scan.stopped)
        *stopped_at = UINT64_MAX;
    if (pass->file->gzipped && pass->pass == HEAP_FIND)
        pass->file->bytes = window.from + window.length;
    bool ok = heap_scan_end(&scan) && !pass->failed;
    window_close(&window);
    return ok;
}

/* The segments behind the classes; what is no segment is read at once. */
static bool find_segments(struct pass *pass, uint64_t at)
{
    struct dump_file *file = pass->file;
    uint8_t head[9];
    while (at + sizeof head <= file->bytes &&
           pread(file->fd, head, sizeof head, (off_t)at) == sizeof head) {
        uint64_t length =
            (uint64_t)head[5] << 24 | (uint64_t)head[6] << 16 | (uint64_t)head[7] << 8 | head[8];
        uint64_t begin = at + sizeof head, end = begin + length;
        if (head[0] == 0x2c && length == 0) {
            at = end;
            continue;
        }
        if (head[0] != 0x1c || length == 0)
            break; /* in its order, by one thread */
        if (end > file->bytes)
            pass->heap->truncated = true;
        if (!add_range(pass, begin, end < file->bytes ? end : file->bytes, end))
            return false;
        at = end;
    }
    if (at < file->bytes && file->bytes - at < sizeof head)
        pass->heap->truncated = true;
    if (!run_ranges(pass, file->threads))
        return false;
    if (at + sizeof head > file->bytes)
        return true;
    uint64_t unused;
    pass->heap->late_classes = true; /* it may hold classes, and nobody has laid them out */
    return run_serial(pass, at, false, &unused);
}

static bool sentence(struct dump_file *file, const struct heap *heap, const char *otherwise)
{
    if (file->error[0] == '\0')
        return text_error(file->error, sizeof file->error, "%s",
                          heap->failed ? heap->error : otherwise);
    return false;
}

static bool find(struct dump_file *file, struct heap *heap)
{
    struct pass pass = {.file = file, .heap = heap, .pass = HEAP_FIND, .what = "objects"};
    uint64_t at;
    bool ok = run_serial(&pass, heap->header_bytes, !file->gzipped && file->threads > 1, &at);
    if (ok && at != UINT64_MAX)
        ok = find_segments(&pass, at);
    free(pass.ranges);
    return ok;
}

/* A pass over what is known to be there: by pieces, or again from the front. */
static bool again(struct dump_file *file, struct heap *heap, struct pass *pass, int threads)
{
    uint64_t at;
    pass->file = file;
    pass->heap = heap;
    if (file->gzipped)
        return run_serial(pass, heap->header_bytes, false, &at);
    bool ok = true;
    for (uint32_t i = 0; ok && i < heap->piece_count; i++) {
        const struct heap_piece *piece = &heap->pieces[i];
        if (pass->fetch == NULL ||
            pass->fetch->among(pass->fetch->context, piece->least_id, piece->most_id))
            ok = add_range(pass, piece->from, piece->to, piece->segment_end);
    }
    ok = ok && run_ranges(pass, threads);
    free(pass->ranges);
    return ok;
}

static bool start(struct dump_file *file, struct heap *heap)
{
    struct window window;
    if (!window_open(&window, file) ||
        (!window_fill(&window, 0, HEAP_HEADER_MAX) && window.failed)) {
        snprintf(file->error, sizeof file->error, "%s",
                 errno != 0 ? strerror(errno) : "out of memory");
        window_close(&window);
        memset(heap, 0, sizeof *heap);
        return false;
    }
    /* The length of a gzipped one is not known yet; dumps shrink to a tenth at most. */
    uint64_t bytes = file->gzipped ? file->bytes_on_disk * 20 : file->bytes;
    bool ok = heap_create(heap, window.bytes, window.length, bytes) || sentence(file, heap, "");
    if (ok && file->gzipped)
        heap->file_bytes = UINT64_MAX;
    window_close(&window);
    return ok;
}

/* Two objects of one identifier are taken in the order of the dump. */
static int threads_for(const struct dump_file *file, const struct heap *heap)
{
    return heap->counts.duplicates > 0 ? 1 : file->threads;
}

bool dump_load(struct dump_file *file, struct heap *heap)
{
    if (!start(file, heap))
        return false;
    bool ok = find(file, heap);
    if (!ok && heap->failed && strcmp(heap->error, HEAP_AGAIN) == 0) {
        /* Identifiers that are no addresses of 8 bytes each. */
        heap_destroy(heap);
        if (!start(file, heap))
            return false;
        heap->ids.shift = 0;
        ok = find(file, heap);
    }
    if (ok && heap_needs_sizes(heap)) {
        struct pass classes = {.pass = HEAP_CLASSES, .what = "classes"},
                    sizes = {.pass = HEAP_SIZES, .what = "sizes"};
        ok = again(file, heap, &classes, 1) && heap_begin_sizes(heap) &&
             again(file, heap, &sizes, 1);
    }
    if (file->gzipped)
        heap->truncated = heap->truncated || file->cut;
    struct pass rows = {.pass = HEAP_ROWS, .what = "references"};
    ok = ok && heap_number(heap) && again(file, heap, &rows, threads_for(file, heap)) &&
         heap_finish(heap);
    return ok || sentence(file, heap, "it cannot be read, or out of memory");
}

bool dump_fetch(struct dump_file *file, struct heap *heap, const struct dump_fetch *fetch)
{
    struct pass pass = {.pass = HEAP_FETCH, .what = "sizes and names", .fetch = fetch};
    return again(file, heap, &pass, threads_for(file, heap)) ||
           sentence(file, heap, "it cannot be read again");
}
