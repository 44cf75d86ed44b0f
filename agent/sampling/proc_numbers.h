/*
 * proc_numbers: the numbered entries of a folder in /proc: threads, file descriptors.
 *
 * opendir would allocate 32 KB that belong to no component, each second. Not in a signal handler.
 */
#pragma once

#include <stdbool.h>

struct proc_numbers {
    int fd;
    int at, length;
    _Alignas(8) char buffer[4096];
};

/* False: cannot be opened; nothing to close then. */
bool proc_numbers_open(struct proc_numbers *numbers, const char *folder);
/* The next number, -1 at the end. Entries that are no numbers are left out. */
int proc_numbers_next(struct proc_numbers *numbers);
void proc_numbers_close(struct proc_numbers *numbers);
