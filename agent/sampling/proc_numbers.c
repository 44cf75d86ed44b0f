#include "agent/sampling/proc_numbers.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What getdents64 writes. */
struct kernel_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

bool proc_numbers_open(struct proc_numbers *numbers, const char *folder)
{
    numbers->at = numbers->length = 0;
    numbers->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return numbers->fd >= 0;
}

int proc_numbers_next(struct proc_numbers *numbers)
{
    for (;;) {
        if (numbers->at >= numbers->length) {
            numbers->at = 0;
            numbers->length =
                (int)syscall(SYS_getdents64, numbers->fd, numbers->buffer, sizeof numbers->buffer);
            if (numbers->length <= 0) {
                numbers->length = 0;
                return -1;
            }
        }
        const struct kernel_entry *entry =
            (const struct kernel_entry *)(numbers->buffer + numbers->at);
        numbers->at += entry->length;
        if (entry->name[0] >= '0' && entry->name[0] <= '9')
            return atoi(entry->name);
    }
}

void proc_numbers_close(struct proc_numbers *numbers)
{
    close(numbers->fd);
}
