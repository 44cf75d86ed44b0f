#include "nmtwatch/serve/users.h"

#include "nmtwatch/jvm/privileged.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define USERS_MAX  64
#define LINE_BYTES 256

struct users {
    int count;
    char line[USERS_MAX][LINE_BYTES]; /* user:password, filled up with zeros */
};

/* NULL: well. */
static const char *take_line(struct users *users, const char *text)
{
    size_t length = strcspn(text, "\r\n");
    if (length == 0 || text[0] == '#')
        return NULL;
    if (users->count == USERS_MAX)
        return "more than 64 users";
    if (length >= LINE_BYTES)
        return "a line longer than 255 bytes";
    if (memchr(text, ':', length) == NULL || text[0] == ':' || text[length - 1] == ':')
        return "a line that is not user:password";
    memcpy(users->line[users->count++], text, length);
    return NULL;
}

struct users *users_read(const char *path, char *error, size_t error_size)
{
    struct users *users = calloc(1, sizeof *users);
    if (users == NULL) {
        snprintf(error, error_size, "user_file %s: out of memory", path);
        return NULL;
    }
    FILE *file = privileged_fopen(path);
    struct stat status;
    const char *wrong = NULL;
    char text[LINE_BYTES + 2];
    if (file == NULL || fstat(fileno(file), &status) != 0)
        wrong = strerror(errno);
    else if ((status.st_mode & 077) != 0)
        wrong = "others may read it: chmod 600";
    while (wrong == NULL && fgets(text, sizeof text, file) != NULL)
        wrong = take_line(users, text);
    if (wrong == NULL && users->count == 0)
        wrong = "no user in it";
    if (file != NULL)
        fclose(file);
    if (wrong == NULL)
        return users;
    snprintf(error, error_size, "user_file %s: %s", path, wrong);
    free(users);
    return NULL;
}

bool users_know(const struct users *users, const char *user, const char *password)
{
    char wanted[LINE_BYTES] = {0};
    bool known = false;
    int length = snprintf(wanted, sizeof wanted, "%s:%s", user, password);
    if (length < 0 || (size_t)length >= sizeof wanted || strchr(user, ':') != NULL)
        return false;
    for (int i = 0; i < users->count; i++) {
        unsigned char different = 0;
        for (size_t at = 0; at < LINE_BYTES; at++)
            different |= (unsigned char)(wanted[at] ^ users->line[i][at]);
        known |= different == 0;
    }
    return known;
}

void users_free(struct users *users)
{
    if (users != NULL)
        explicit_bzero(users, sizeof *users);
    free(users);
}
