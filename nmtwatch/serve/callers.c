#include "nmtwatch/serve/web.h"

#include "nmtwatch/jvm/privileged.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* --- users ------------------------------------------------------------------------------------ */

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

struct address {
    unsigned char bytes[8];
};

struct caller {
    enum { FREE, HERE, ENDING } state;
    struct address address;
    int fd;
    uint64_t number; /* in the order of coming */
};

struct callers {
    pthread_mutex_t lock;
    int in_all, of_address, places;
    uint64_t numbers;
    int64_t displaced;
    struct caller *list; /* places */
};

struct callers *callers_create(int in_all, int of_address)
{
    struct callers *callers = calloc(1, sizeof *callers);
    if (callers == NULL)
        return NULL;
    pthread_mutex_init(&callers->lock, NULL);
    callers->in_all = in_all;
    callers->of_address = of_address;
    callers->places = in_all + CALLERS_ENDING;
    callers->list = calloc((size_t)callers->places, sizeof *callers->list);
    if (callers->list != NULL)
        return callers;
    callers_destroy(callers);
    return NULL;
}

static struct address version4(const void *bytes)
{
    struct address address = {{0, 0, 0, 4}};
    memcpy(address.bytes + 4, bytes, 4);
    if (address.bytes[4] == 127) /* one host */
        memset(address.bytes + 5, 0, 3);
    return address;
}

static struct address address_of(const struct sockaddr *from)
{
    static const unsigned char local[4] = {127};
    struct address address = {{0}};
    if (from == NULL)
        return address;
    if (from->sa_family == AF_INET)
        return version4(&((const struct sockaddr_in *)(const void *)from)->sin_addr);
    if (from->sa_family != AF_INET6)
        return address;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(six))
        return version4(six->s6_addr + 12);
    if (IN6_IS_ADDR_LOOPBACK(six))
        return version4(local);
    memcpy(address.bytes, six->s6_addr, sizeof address.bytes);
    return address;
}

static bool same(const struct address *a, const struct address *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static int count_of(const struct callers *callers, const struct address *address)
{
    int count = 0;
    for (int i = 0; i < callers->places; i++)
        count += callers->list[i].state == HERE && same(&callers->list[i].address, address);
    return count;
}

/* The oldest of an address. */
static struct caller *oldest(struct callers *callers, const struct address *address)
{
    struct caller *found = NULL;
    for (int i = 0; i < callers->places; i++) {
        struct caller *caller = &callers->list[i];
        if (caller->state == HERE && same(&caller->address, address) &&
            (found == NULL || caller->number < found->number))
            found = caller;
    }
    return found;
}

/* The address with the most connections. */
static struct address largest(const struct callers *callers)
{
    struct address found = {{0}};
    int most = 0;
    for (int i = 0; i < callers->places && most * 2 <= callers->in_all; i++) {
        if (callers->list[i].state != HERE)
            continue;
        int count = count_of(callers, &callers->list[i].address);
        if (count > most) {
            most = count;
            found = callers->list[i].address;
        }
    }
    return found;
}

static void give_way(struct callers *callers, struct caller *caller)
{
    if (caller == NULL)
        return;
    shutdown(caller->fd, SHUT_RDWR);
    caller->state = ENDING;
    callers->displaced++;
}

static int free_place(const struct callers *callers, int *here)
{
    int place = -1;
    *here = 0;
    for (int i = 0; i < callers->places; i++) {
        *here += callers->list[i].state == HERE;
        if (callers->list[i].state == FREE)
            place = i;
    }
    return place;
}

int callers_come(struct callers *callers, const struct sockaddr *from, int fd)
{
    struct address address = address_of(from);
    int here;
    pthread_mutex_lock(&callers->lock);
    int place = free_place(callers, &here);
    if (place < 0) {
        shutdown(fd, SHUT_RDWR);
    } else {
        if (count_of(callers, &address) >= callers->of_address) {
            give_way(callers, oldest(callers, &address));
        } else if (here >= callers->in_all) {
            struct address most = largest(callers);
            give_way(callers, oldest(callers, &most));
        }
        callers->list[place] = (struct caller){
            .state = HERE, .address = address, .fd = fd, .number = callers->numbers++};
    }
    pthread_mutex_unlock(&callers->lock);
    return place;
}

void callers_go(struct callers *callers, int place)
{
    if (place < 0)
        return;
    pthread_mutex_lock(&callers->lock);
    callers->list[place].state = FREE;
    pthread_mutex_unlock(&callers->lock);
}

int64_t callers_displaced(struct callers *callers)
{
    pthread_mutex_lock(&callers->lock);
    int64_t count = callers->displaced;
    pthread_mutex_unlock(&callers->lock);
    return count;
}

void callers_destroy(struct callers *callers)
{
    if (callers == NULL)
        return;
    pthread_mutex_destroy(&callers->lock);
    free(callers->list);
    free(callers);
}
