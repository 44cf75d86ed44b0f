/* fake_replies: what a fake_jvm says when it is asked, in the forms of JDK 17 and 25. */
#include "tests/sim/fake_jvm.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- numbers that evolve ---------------------------------------------------------------------- */

static double started_s;

static double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void replies_begin(void)
{
    started_s = clock_s();
}

double running_s(void)
{
    return clock_s() - started_s;
}

static double virtual_s(void)
{
    return running_s() * (double)opt.speed;
}

int64_t classes_loaded(void)
{
    return 5000 + (int64_t)(virtual_s() * (double)opt.rate);
}

/* --- replies ---------------------------------------------------------------------------------- */

struct scale {
    int64_t unit;
    const char *suffix;
};

static struct scale scale_of(const char *command)
{
    const char *at = strstr(command, "scale=");
    if (at != NULL && (at[6] == 'B' || at[6] == '1'))
        return (struct scale){1, ""};
    if (at != NULL && at[6] == 'M')
        return (struct scale){1 << 20, "MB"};
    return (struct scale){1 << 10, "KB"};
}

static void category(FILE *out, struct scale scale, const char *name, int64_t bytes)
{
    const char *tag_open = opt.jdk >= 25 ? " tag=" : "", *end = opt.jdk >= 25 ? "" : " ";
    int64_t amount = bytes / scale.unit;
    fprintf(out, "-%26s (reserved=%" PRId64 "%s, committed=%" PRId64 "%s)\n", name, amount,
            scale.suffix, amount, scale.suffix);
    if (strcmp(name, "Class") == 0)
        fprintf(out, "%28s(classes #%" PRId64 ")\n", "", classes_loaded());
    fprintf(out, "%28s(malloc=%" PRId64 "%s%s%s #%" PRId64 ") (at peak)%s\n%s\n", "", amount,
            scale.suffix, tag_open, opt.jdk >= 25 ? name : "", bytes / 64, end, end);
}

static void nmt_summary(FILE *out, const char *command)
{
    struct scale scale = scale_of(command);
    int64_t classes = classes_loaded();
    const struct {
        const char *name;
        int64_t bytes;
    } rows[] = {
        {"Java Heap", 256 << 20},
        {"Class", classes * 512},
        {"Thread", 2 << 20},
        {"Code", 8 << 20},
        {"Internal", (2 << 20) + (int64_t)(virtual_s() * (double)opt.internal)},
        {"Other", 64 << 10},
        {"Symbol", 2 << 20},
        {"Metaspace", classes * 6144},
    };
    int64_t total = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        total += rows[i].bytes / scale.unit;
    fprintf(out, "\nNative Memory Tracking:\n\n%s",
            scale.unit > 1 ? "(Omitting categories weighting less than 1KB)\n\n" : "");
    fprintf(out, "Total: reserved=%" PRId64 "%s, committed=%" PRId64 "%s\n", total, scale.suffix,
            total, scale.suffix);
    fprintf(out, "       malloc: %" PRId64 "%s #%" PRId64 "%s\n", total, scale.suffix, total,
            opt.jdk >= 25 ? ", at peak" : "");
    fprintf(out, "       mmap:   reserved=0%s, committed=0%s\n\n", scale.suffix, scale.suffix);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        category(out, scale, rows[i].name, rows[i].bytes);
}

static void metaspace_basic(FILE *out)
{
    int64_t used = classes_loaded() * 6000, committed = classes_loaded() * 6144;
    fprintf(out, "\nUsage:\n  Non-class:  %" PRId64 " bytes used.\n", used);
    fprintf(out, "      Class:  %d bytes used.\n       Both:  %" PRId64 " bytes used.\n\n", 4096,
            used + 4096);
    fprintf(out,
            "Virtual space:\n  Non-class space:  1073741824 bytes reserved,  %" PRId64
            " bytes ( <1%%) committed,  1 nodes.\n",
            committed);
    fprintf(out, "      Class space:  1073741824 bytes reserved,  65536 bytes ( <1%%) committed,"
                 "  1 nodes.\n");
    fprintf(out,
            "             Both:  2147483648 bytes reserved,  %" PRId64
            " bytes ( <1%%) committed. \n\n",
            committed + 65536);
    fprintf(out, "MaxMetaspaceSize: unlimited\nCompressedClassSpaceSize: 1073741824 bytes\n"
                 "Initial GC threshold: 22020096 bytes\nCurrent GC threshold: 22020096 bytes\n");
}

static void classloader_stats(FILE *out)
{
    int64_t classes = classes_loaded();
    fprintf(out, "ClassLoader         Parent              CLD*               Classes   ChunkSz   "
                 "BlockSz  Type\n");
    fprintf(out,
            "0x0000000000000000  0x0000000000000000  0x00007fe48c0e58e0  %6" PRId64 "  %8" PRId64
            "  %8" PRId64 "  <boot class loader>\n",
            classes, classes * 6144, classes * 6000);
    fprintf(out,
            "Total = 1                                                  %6" PRId64 "  %8" PRId64
            "  %8" PRId64 "  \n",
            classes, classes * 6144, classes * 6000);
    fprintf(out, "ChunkSz: Total size of all allocated metaspace chunks\n"
                 "BlockSz: Total size of all allocated metaspace blocks (each chunk has several "
                 "blocks)\n");
}

static void class_list(FILE *out)
{
    for (int64_t i = 5000; i < classes_loaded(); i++) {
        fprintf(out, "|--%s%" PRId64 "/0x00007fe48c0e58e0\n", opt.class_stem, i);
    }
}

/* The tap: VM.log output=file=PATH what=class+load=info... writes what "is loaded" from then on. */
static pthread_mutex_t tap_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *tap;
static char tap_path[4096];
static int64_t tap_next;

static void tap_command(FILE *out, const char *command)
{
    pthread_mutex_lock(&tap_lock);
    if (strstr(command, "list") != NULL) {
        fprintf(out, "Log output configuration:\n #0: stdout all=warning uptime,level,tags\n"
                     " #1: stderr all=off uptime,level,tags\n");
        if (tap != NULL)
            fprintf(out,
                    " #2: file=%s all=off,class+load=info,class+unload=info uptime "
                    "filecount=0,filesize=0,async=false\n",
                    tap_path);
    } else if (strstr(command, "=off") != NULL) {
        if (tap != NULL)
            fclose(tap);
        tap = NULL;
    } else if (tap == NULL && sscanf(command, "VM.log output=file=%4095s", tap_path) == 1) {
        char *quote = strchr(tap_path, '"');
        if (quote != NULL)
            *quote = '\0';
        tap = fopen(tap_path, "ae");
        tap_next = classes_loaded();
    }
    pthread_mutex_unlock(&tap_lock);
}

void tap_tick(void)
{
    pthread_mutex_lock(&tap_lock);
    for (; tap != NULL && tap_next < classes_loaded(); tap_next++) {
        fprintf(tap, "[%.3fs] %s%" PRId64 " source: __JVM_DefineClass__\n", virtual_s(),
                opt.class_stem, tap_next);
    }
    if (tap != NULL)
        fflush(tap);
    pthread_mutex_unlock(&tap_lock);
}

/* One diagnostic command; false: unknown to this JVM. */
static bool run_command(FILE *out, const char *command)
{
    if (strncmp(command, "VM.native_memory", 16) == 0) {
        if (strcmp(opt.answer, "nmt-off") == 0)
            fprintf(out, "Native memory tracking is not enabled\n");
        else
            nmt_summary(out, command);
    } else if (strncmp(command, "VM.metaspace", 12) == 0) {
        metaspace_basic(out);
    } else if (strncmp(command, "VM.classloader_stats", 20) == 0) {
        classloader_stats(out);
    } else if (strncmp(command, "VM.class_hierarchy", 18) == 0) {
        class_list(out);
    } else if (strncmp(command, "VM.log", 6) == 0) {
        tap_command(out, command);
    } else if (strncmp(command, "VM.version", 10) == 0) {
        fprintf(out, "OpenJDK 64-Bit Server VM version %ld.0.0-fake\nJDK %ld.0.0\n", opt.jdk,
                opt.jdk);
    } else {
        return false;
    }
    return true;
}

static int run_commands(FILE *out, char *commands)
{
    char *rest = commands;
    for (char *command; (command = strsep(&rest, "\n")) != NULL;)
        if (strcmp(opt.answer, "unknown") == 0 || !run_command(out, command)) {
            fprintf(out, "java.lang.IllegalArgumentException: Unknown diagnostic command\n");
            return -1;
        }
    return 0;
}

static void copy_file(FILE *out, const char *path)
{
    FILE *in = fopen(path, "re");
    for (int c; in != NULL && (c = getc(in)) != EOF;)
        putc(c, out);
    if (in == NULL)
        die(path);
    fclose(in);
}

static void garbage(FILE *out)
{
    unsigned state = (unsigned)opt.seed;
    for (int i = 0; i < 4096; i++)
        putc(rand_r(&state) & 0xff, out);
}

/* The whole reply, result code's line included. */
void compose(FILE *out, char *operation, char *argument)
{
    char *options = strchr(operation, ' ');
    if (options != NULL)
        *options = '\0';
    if (strcmp(opt.answer, "garbage") == 0) {
        garbage(out);
    } else if (strcmp(operation, "getversion") == 0 && opt.jdk >= 24) {
        fprintf(out, "0\n2 streaming");
    } else if (strcmp(operation, "jcmd") != 0 || (options != NULL && opt.jdk < 24)) {
        fprintf(out, "-1\nOperation %s%s not recognized!", operation, options ? " " : "");
    } else if (strcmp(opt.answer, "file") == 0) {
        fprintf(out, "0\n");
        copy_file(out, opt.file);
    } else if (strcmp(opt.answer, "code") == 0) {
        fprintf(out, "%ld\n", opt.code);
    } else {
        char *text = NULL;
        size_t len = 0;
        FILE *body = open_memstream(&text, &len);
        int code = run_commands(body, argument);
        fclose(body);
        fprintf(out, "%d\n", code);
        fwrite(text, 1, len, out);
        free(text);
    }
}
