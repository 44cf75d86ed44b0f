#include "nmtwatch/process/messages.h"

#include "reports/text/escape.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>

__attribute__((format(printf, 2, 0))) static void write_line(FILE *out, const char *format,
                                                             va_list arguments)
{
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    if (length < 0)
        return;
    bool ends = length > 0 && text[length - 1] == '\n';
    if (ends)
        text[length - 1] = '\0';
    size_t size = (size_t)length * ESCAPE_GROWTH + 1;
    char *safe = malloc(size);
    if (safe != NULL) {
        escape(ESCAPE_TERMINAL, text, safe, size);
        fprintf(out, ends ? "%s\n" : "%s", safe);
        fflush(out);
    }
    free(safe);
    free(text);
}

void vprint_error(const char *format, va_list arguments)
{
    write_line(stderr, format, arguments);
}

void print_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(stderr, format, arguments);
    va_end(arguments);
}

int print_failure(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(stderr, format, arguments);
    va_end(arguments);
    return code;
}

void print_log(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(stdout, format, arguments);
    va_end(arguments);
}

const char *print_priority(int fd, int priority)
{
    static const char *const in_front[] = {"<0>", "<1>", "<2>", "<3>", "<4>", "<5>", "<6>", "<7>"};
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat status;
    bool journal = stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
                   fstat(fd, &status) == 0 && status.st_dev == device && status.st_ino == inode;
    return journal && priority >= LOG_EMERG && priority <= LOG_DEBUG ? in_front[priority] : "";
}
