/*
 * fake_receiver: takes what is POSTed to it, in the mood of the moment.
 *
 *   fake_receiver PORT_FILE LOG MOOD_FILE [PORT]
 *
 * Listens on 127.0.0.1 and writes the port to PORT_FILE. For each request the file MOOD_FILE is
 * read:
 *
 *   200, 400, 500 ...   that status          429 3      with Retry-After: 3
 *   slow MS             200 after so long    hang       no answer
 *   close               reads, and closes    partial    200, and half of the body it promised
 *   flaky               one of 200, 200, 200, 500, close, slow 20, partial
 *
 * A line of LOG is written before the answer is sent: STATUS PATH BODY, status 0 for none. Where the environment
 * has KEEP=FOLDER a body that is no text is kept there as 1, 2, ... and the line has its number.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX (16 << 20)

static const char *mood_path;
static int log_fd;

struct mood {
    char word[32];
    int number; /* -1: none */
};

static struct mood mood_now(void)
{
    static const char *const flaky[] = {"200", "200", "200", "500", "close", "slow", "partial"};
    struct mood mood = {.word = "200", .number = -1};
    FILE *file = fopen(mood_path, "re");
    if (file != NULL) {
        if (fscanf(file, "%31s %d", mood.word, &mood.number) < 1)
            strcpy(mood.word, "200");
        fclose(file);
    }
    if (strcmp(mood.word, "flaky") == 0) {
        strcpy(mood.word, flaky[(size_t)random() % (sizeof flaky / sizeof *flaky)]);
        mood.number = strcmp(mood.word, "slow") == 0 ? 20 : -1;
    }
    return mood;
}

static int status_of(const struct mood *mood)
{
    if (strcmp(mood->word, "slow") == 0 || strcmp(mood->word, "partial") == 0)
        return 200;
    return atoi(mood->word); /* 0: close, hang */
}

static void note(int status, const char *path, const char *body)
{
    char *line;
    int length = asprintf(&line, "%d %s %s\n", status, path, body);
    if (length < 0)
        abort();
    for (char *at = line; at < line + length - 1; at++) {
        if (*at == '\n')
            *at = ' ';
    }
    if (write(log_fd, line, (size_t)length) != length) /* O_APPEND: lines do not mix */
        abort();
    free(line);
}

/* A body of bytes as a file; its number is the text then. */
static void keep(const char *body, size_t length, char number[16])
{
    static atomic_int count;
    const char *folder = getenv("KEEP");
    char path[512];
    snprintf(number, 16, "%d", atomic_fetch_add(&count, 1) + 1);
    snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "/nowhere", number);
    FILE *file = fopen(path, "we");
    if (file != NULL && (fwrite(body, 1, length, file) != length || fclose(file) != 0))
        abort();
}

static void put(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
        /* it has left */
    }
}

/* False: the connection is over. */
static bool answer(int fd, const struct mood *mood)
{
    char text[256], more[64] = "";
    int status = status_of(mood);
    if (strcmp(mood->word, "hang") == 0)
        sleep(3600);
    if (status == 0)
        return false;
    if (strcmp(mood->word, "slow") == 0)
        usleep((useconds_t)mood->number * 1000);
    else if (mood->number >= 0)
        snprintf(more, sizeof more, "Retry-After: %d\r\n", mood->number);
    bool partial = strcmp(mood->word, "partial") == 0;
    snprintf(text, sizeof text, "HTTP/1.1 %d Whatever\r\n%sContent-Length: %d\r\n\r\n{}\n", status,
             more, partial ? 6 : 3);
    put(fd, text);
    return !partial;
}

/* One request, read whole. False: the connection is over. */
static bool request(int fd, char *text)
{
    size_t length = 0, wanted = 0;
    char *body = NULL;
    while (body == NULL || length < wanted) {
        ssize_t got = length < REQUEST_MAX ? recv(fd, text + length, REQUEST_MAX - length, 0) : 0;
        if (got <= 0)
            return false;
        length += (size_t)got;
        text[length] = '\0';
        if (body != NULL || (body = strstr(text, "\r\n\r\n")) == NULL)
            continue;
        body += 4;
        const char *header = strcasestr(text, "\r\nContent-Length:");
        wanted = (size_t)(body - text) + (header != NULL ? strtoul(header + 17, NULL, 10) : 0);
    }
    char path[512] = "?";
    sscanf(text, "%*s %511s", path);
    struct mood mood = mood_now();
    char number[16];
    bool bytes = strcasestr(text, "\r\nContent-Type: application/octet-stream") != NULL;
    if (bytes)
        keep(body, wanted - (size_t)(body - text), number);
    note(status_of(&mood), path, bytes ? number : body);
    return answer(fd, &mood);
}

static void *serve(void *context)
{
    int fd = (int)(intptr_t)context;
    char *text = malloc(REQUEST_MAX + 1);
    if (text == NULL)
        abort();
    while (request(fd, text))
        ;
    close(fd);
    free(text);
    return NULL;
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)(argc > 4 ? atoi(argv[4]) : 0))};
    socklen_t length = sizeof address;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (argc < 4)
        return 64;
    mood_path = argv[3];
    log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    FILE *port = fopen(argv[1], "we");
    if (log_fd < 0 || port == NULL || bind(listener, (struct sockaddr *)&address, length) != 0 ||
        listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        perror("fake_receiver");
        return 74;
    }
    fprintf(port, "%d\n", ntohs(address.sin_port));
    fclose(port);
    for (;;) {
        pthread_t thread;
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) == 0)
            pthread_detach(thread);
    }
}
