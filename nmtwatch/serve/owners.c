#include "nmtwatch/serve/owners.h"

#include "nmtwatch/process/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME    "owners"
#define BESIDE       "owners.tmp"
#define SEEN_STEP_MS 3600000 /* a label that is only seen again is written once an hour */

struct claim {
    char label[TARGET_LABEL_MAX];
    struct owner owner;
    int64_t seen_ms; /* since the epoch */
};

struct tally {
    uid_t user;
    int claims;
};

struct owners {
    int folder_fd; /* -1: none */
    bool changed;
    int count, users;
    struct claim *claims;  /* OWNERS_MAX */
    struct tally *tallies; /* the same: a user with claims each */
};

static struct claim *find(const struct owners *owners, const char *label)
{
    for (int i = 0; i < owners->count; i++)
        if (strcmp(owners->claims[i].label, label) == 0)
            return &owners->claims[i];
    return NULL;
}

/* The user's tally, one of 0 claims at the end when there is none yet. */
static struct tally *tally_of(struct owners *owners, uid_t user)
{
    int i = 0;
    while (i < owners->users && owners->tallies[i].user != user)
        i++;
    if (i == owners->users)
        owners->tallies[i] = (struct tally){.user = user};
    return &owners->tallies[i];
}

static int count_of(struct owners *owners, uid_t user)
{
    return tally_of(owners, user)->claims;
}

static void drop_oldest_of(struct owners *owners, uid_t user)
{
    int oldest = -1;
    for (int i = 0; i < owners->count; i++)
        if (owners->claims[i].owner.user == user &&
            (oldest < 0 || owners->claims[i].seen_ms < owners->claims[oldest].seen_ms))
            oldest = i;
    if (oldest < 0)
        return;
    owners->claims[oldest] = owners->claims[--owners->count];
    struct tally *tally = tally_of(owners, user);
    if (--tally->claims == 0)
        *tally = owners->tallies[--owners->users];
}

/* Who has most of them. */
static uid_t largest(const struct owners *owners)
{
    const struct tally *most = &owners->tallies[0];
    for (int i = 1; i < owners->users; i++)
        most = owners->tallies[i].claims > most->claims ? &owners->tallies[i] : most;
    return most->user;
}

bool owners_is_foreign(const struct owners *owners, const char *label, struct owner owner,
                       struct owner *was)
{
    const struct claim *claim = find(owners, label);
    if (claim == NULL ||
        (claim->owner.user == owner.user && claim->owner.contained == owner.contained))
        return false;
    if (was != NULL)
        *was = claim->owner;
    return true;
}

void owners_claim(struct owners *owners, const char *label, struct owner owner, int64_t wall_ms)
{
    struct claim *claim = find(owners, label);
    if (claim == NULL) {
        if (count_of(owners, owner.user) >= OWNERS_OF_USER)
            drop_oldest_of(owners, owner.user);
        else if (owners->count == OWNERS_MAX)
            drop_oldest_of(owners, largest(owners));
        claim = &owners->claims[owners->count++];
        *claim = (struct claim){.owner = owner};
        struct tally *tally = tally_of(owners, owner.user);
        if (tally->claims++ == 0)
            owners->users++;
        snprintf(claim->label, sizeof claim->label, "%s", label);
    }
    owners->changed |= wall_ms - claim->seen_ms >= SEEN_STEP_MS;
    claim->seen_ms = wall_ms;
}

int owners_count(const struct owners *owners)
{
    return owners->count;
}

/* --- the file: a line for each label: user, contained, seen, label in hexadecimal ------------- */

static bool read_label(const char *hex, char label[static TARGET_LABEL_MAX])
{
    size_t length = strlen(hex) / 2;
    unsigned byte;
    if (length == 0 || length >= TARGET_LABEL_MAX || strlen(hex) % 2 != 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1 || byte == 0)
            return false;
        label[i] = (char)byte;
    }
    label[length] = '\0';
    return true;
}

static void read_file(struct owners *owners, int64_t wall_ms)
{
    struct stat status;
    int fd = openat(owners->folder_fd, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *file =
        fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(fd, "r") : NULL;
    unsigned user;
    int contained;
    int64_t seen_ms;
    char line[512], hex[2 * TARGET_LABEL_MAX], label[TARGET_LABEL_MAX];
    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (owners->count < OWNERS_MAX && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%u %d %" SCNd64 " %191[0-9a-f]", &user, &contained, &seen_ms, hex) == 4 &&
            seen_ms <= wall_ms && wall_ms - seen_ms < OWNER_KEEP_MS && read_label(hex, label))
            owners_claim(owners, label, (struct owner){(uid_t)user, contained != 0}, seen_ms);
    fclose(file);
    owners->changed = false;
}

struct owners *owners_open(const char *folder, int64_t wall_ms)
{
    struct owners *owners = calloc(1, sizeof *owners);
    if (owners == NULL)
        return NULL;
    owners->folder_fd = -1;
    owners->claims = calloc(OWNERS_MAX, sizeof *owners->claims);
    owners->tallies = calloc(OWNERS_MAX + 1, sizeof *owners->tallies);
    if (owners->claims == NULL || owners->tallies == NULL) {
        owners_close(owners);
        return NULL;
    }
    if (folder[0] != '\0')
        owners->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (owners->folder_fd >= 0)
        read_file(owners, wall_ms);
    return owners;
}

static bool write_claim(FILE *out, const struct claim *claim)
{
    fprintf(out, "%u %d %" PRId64 " ", (unsigned)claim->owner.user, claim->owner.contained,
            claim->seen_ms);
    for (const char *at = claim->label; *at != '\0'; at++)
        fprintf(out, "%02x", (unsigned char)*at);
    return putc('\n', out) != EOF;
}

bool owners_keep(struct owners *owners)
{
    if (!owners->changed || owners->folder_fd < 0)
        return true;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool good = out != NULL;
    for (int i = 0; good && i < owners->count; i++)
        good = write_claim(out, &owners->claims[i]);
    good = out != NULL && fclose(out) == 0 && good;
    int fd = good ? openat(owners->folder_fd, BESIDE,
                           O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)
                  : -1;
    good = fd >= 0 && write_all(fd, text, length);
    if (fd >= 0)
        good = close(fd) == 0 && good;
    free(text);
    good = good && renameat(owners->folder_fd, BESIDE, owners->folder_fd, FILE_NAME) == 0;
    owners->changed = !good;
    return good;
}

void owners_close(struct owners *owners)
{
    if (owners == NULL)
        return;
    if (owners->claims != NULL && owners->tallies != NULL)
        owners_keep(owners);
    if (owners->folder_fd >= 0)
        close(owners->folder_fd);
    free(owners->claims);
    free(owners->tallies);
    free(owners);
}
