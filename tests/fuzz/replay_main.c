/*
 * replay_main: runs a fuzz target over files, without a fuzzer.
 *
 *   PARSER_replay FILE|DIRECTORY...
 *
 * Every file and, of files below 8 KiB, every prefix, each from a buffer of exactly its size, so
 * that a sanitizer sees the first byte read too far. Prints how many inputs that were; exit code 0,
 * or 1 when a file cannot be read. A broken parser ends it with the sanitizer's report.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PREFIXES_BELOW_BYTES 8192

static long inputs;

static void run(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        abort();
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(size ? exact : exact + 1, size); /* not even one byte may be read */
    free(exact);
    inputs++;
}

static int fail(const char *path)
{
    fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
    return 1;
}

static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(size + 1);
    if (!file || !bytes) {
        int result = fail(path);
        if (file)
            fclose(file);
        free(bytes);
        return result;
    }
    size = fread(bytes, 1, size, file);
    fclose(file);
    if (size < PREFIXES_BELOW_BYTES)
        for (size_t len = 0; len < size; len++)
            run(bytes, len);
    run(bytes, size);
    free(bytes);
    return 0;
}

static int replay(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return fail(path);
    if (!S_ISDIR(info.st_mode))
        return replay_file(path, (size_t)info.st_size);

    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort);
    if (count < 0)
        return fail(path);
    int failures = 0;
    for (int i = 0; i < count; i++) {
        char child[4096];
        if (names[i]->d_name[0] != '.') {
            snprintf(child, sizeof child, "%s/%s", path, names[i]->d_name);
            failures |= replay(child);
        }
        free(names[i]);
    }
    free(names);
    return failures;
}

int main(int argc, char **argv)
{
    int failures = 0;
    for (int i = 1; i < argc; i++)
        failures |= replay(argv[i]);
    printf("%ld inputs\n", inputs);
    return failures;
}
