/* Any file through the reader of the agent's recordings, to the pictures, and through the repair */
#include "nmtwatch/jfr/jfr_live.h"
#include "nmtwatch/jfr/jfr_profile.h"
#include "nmtwatch/jfr/jfr_read.h"
#include "reports/profile/call_tree.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_event(const struct jfr_event *event)
{
    promise((int)event->kind >= 0 && event->kind < JFR_EVENT_KINDS);
    if (event->kind > JFR_EVENT_WALL_SAMPLE)
        return;
    const struct jfr_trace *trace = event->sample.trace;
    for (int i = 0; trace != NULL && i < trace->depth; i++)
        promise(trace->frames[i].name != NULL);
    promise(event->sample.tag_count >= 0 && event->sample.tag_count <= JFR_TAGS_MAX);
}

static void read_events(int fd)
{
    char error[700] = "";
    struct jfr_event event;
    struct jfr_reader *reader = jfr_reader_open(fd, "fuzz", error, sizeof error);
    promise(reader != NULL || (error[0] != '\0' && strchr(error, '\n') == NULL));
    if (reader == NULL)
        return;
    while (jfr_reader_next(reader, &event))
        check_event(&event);
    promise(!jfr_reader_next(reader, &event));
    jfr_reader_close(reader);
}

static void show(int fd)
{
    static FILE *nowhere;
    char error[700];
    struct jfr_profile profile;
    struct class_makers classes;
    struct jfr_live live;
    if (nowhere == NULL && (nowhere = fopen("/dev/null", "w")) == NULL)
        abort();
    if (jfr_classes_read(&classes, fd, "fuzz", error, sizeof error)) {
        class_makers_print(&classes, SIZE_MAX, nowhere);
        promise(class_makers_json(&classes, nowhere));
        promise(collapsed_write(classes.tree, nowhere));
        class_makers_free(&classes);
    }
    if (jfr_live_read(&live, fd, "fuzz", error, sizeof error)) {
        jfr_live_print(&live, SIZE_MAX, nowhere);
        promise(jfr_live_json(&live, nowhere));
        promise(collapsed_write(live.tree, nowhere));
        jfr_live_free(&live);
    }
    if (!jfr_profile_read(&profile, fd, "fuzz", true, error, sizeof error))
        return;
    promise(jfr_profile_write(&profile, PROFILE_HTML, 0, "fuzz", nowhere));
    promise(jfr_profile_top_json(&profile, nowhere));
    promise(collapsed_write(profile.cpu, nowhere));
    jfr_profile_free(&profile);
}

static void repair(int fd, size_t size)
{
    char path[64], error[700] = "";
    struct stat info;
    int64_t cut, again;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    bool good = jfr_repair(path, &cut, error, sizeof error);
    promise(fstat(fd, &info) == 0 && info.st_size + cut == (off_t)size);
    promise(good || (cut == 0 && error[0] != '\0'));
    promise(!good || (jfr_repair(path, &again, error, sizeof error) && again == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("recording", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    read_events(fd);
    show(fd);
    repair(fd, size);
    close(fd);
    return 0;
}
