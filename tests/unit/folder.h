/*
 * folder: a folder of the test's own, for setup and teardown of cmocka, and files in it. Whatever the
 * test leaves in it goes with it.
 */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* A file below it, with this text and the folders above it. */
static inline void folder_put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", folder, path);
    for (char *slash = whole + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
}
