/*
 * folder: a folder of the test's own, for group_setup and group_teardown of cmocka. Whatever the
 * test leaves in it goes with it.
 */
#ifndef TESTS_UNIT_FOLDER_H
#define TESTS_UNIT_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[64];

static inline int folder_make(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/nmtwatch-unit.XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static inline int folder_remove_one(const char *path, const struct stat *about, int kind,
                                    struct FTW *at)
{
    (void)about, (void)kind, (void)at;
    return remove(path);
}

static inline int folder_remove(void **state)
{
    (void)state;
    return nftw(folder, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

#endif
