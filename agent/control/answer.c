#include "agent/control/answer.h"

#include "floor/wire/wire_formats.h"
#include "agent/mem/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BYTES 4096 /* `memory` is about 4 KB, `status` 1 KB */

static ssize_t collect(void *cookie, const char *bytes, size_t length)
{
    static const struct mem_array TEXT = {COMPONENT_CONTROL, 1, FIRST_BYTES, 0};
    struct answer *answer = cookie;
    if (!mem_grow(&TEXT, &answer->text, &answer->capacity, answer->length + length)) {
        answer->lost = true;
        return 0;
    }
    memcpy(answer->text + answer->length, bytes, length);
    answer->length += length;
    return (ssize_t)length;
}

bool answer_begin(struct answer *answer)
{
    *answer = (struct answer){0};
    answer->out = fopencookie(answer, "w", (cookie_io_functions_t){.write = collect});
    if (answer->out == NULL) {
        answer->lost = true;
        return false;
    }
    answer->json.out = answer->out;
    setvbuf(answer->out, NULL, _IONBF, 0); /* no second buffer that nobody accounts for */
    return true;
}

void answer_refuse(struct answer *answer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(answer->sentence, sizeof answer->sentence, format, arguments);
    va_end(arguments);
    answer->refused = true;
}

static bool fail(char *error, size_t size, const char *path, const char *why)
{
    snprintf(error, size, "answer=%.200s: %s", path, why);
    return false;
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}

static bool write_file(const char *path, const char *head, const char *text, size_t length,
                       char *error, size_t error_size)
{
    struct stat status;
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return fail(error, error_size, path, strerror(errno));
    bool good = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                status.st_nlink == 1 && status.st_size == 0;
    if (!good)
        fail(error, error_size, path, "not an empty file of this user with one name");
    else if (!write_all(fd, head, strlen(head)) || !write_all(fd, text, length))
        good = fail(error, error_size, path, strerror(errno));
    close(fd);
    return good;
}

bool answer_send(struct answer *answer, const char *path, char *error, size_t error_size)
{
    if (answer->out != NULL)
        fflush(answer->out);
    if (answer->lost && !answer->refused)
        answer_refuse(answer, "out of memory: the answer is not whole");
    const char *text = answer->refused ? answer->sentence : answer->text;
    size_t length = answer->refused ? strlen(answer->sentence) : answer->length;
    if (text == NULL)
        text = "";
    if (path[0] == '\0') {
        fprintf(stderr, "nmtagent: %.*s%s", (int)length, text, answer->refused ? "\n" : "");
        return true;
    }
    char head[ANSWER_HEAD_MAX];
    snprintf(head, sizeof head, "%s%s %zu\n", ANSWER_MAGIC,
             answer->refused ? ANSWER_REFUSED : ANSWER_DONE, length);
    return write_file(path, head, text, length, error, error_size);
}

void answer_end(struct answer *answer)
{
    if (answer->out != NULL)
        fclose(answer->out);
    mem_free(answer->text);
    *answer = (struct answer){0};
}
