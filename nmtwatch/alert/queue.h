/* queue: what one receiver has to get, and which alerts it has as active: a folder with one file
 * for each.
 *
 *   queue_open (reads what an earlier process left) -> queue_add -> queue_delivered -> ... ->
 * queue_close
 *
 *   0000000000000041.due   has to be sent: an alert that went up, or that is over
 *   0000000000000017.up    was sent, is up: for repeating it, and to know what can be over
 *
 * A file is written beside its place and renamed, so that kill -9 at any moment leaves all of it or
 * nothing. queue_delivered of an alert renames .due to .up; of a resolution it removes first the alert's
 * file, then its own: killed in between, it is sent again. No fsync: a power cut takes the JVMs
 * along.
 *
 * When a file cannot be written (a full disk) its text stays in memory and is sent all the same;
 * it is counted. An entry takes 160 bytes of memory. Event loop, one thread. */
#pragma once

#include "nmtwatch/alert/message.h"

#define QUEUE_BODY_MAX (64 << 20) /* bytes of a profile */

struct queue;

struct queue_entry {
    uint64_t number; /* ascending: the order of what happened */
    uint64_t identity;
    enum alert_state state;
    bool up; /* delivered already */
    int attempts;
    int64_t seen_ms; /* loop clock: when the alert was last known to be up; -1 not yet */
    char target[TARGET_LABEL_MAX];
    char *unsaved; /* its bytes, where it is in no file */
    size_t unsaved_length;
};

/* name: in that folder. NULL with one sentence in error: also where it is not this user's alone
 * (private_folder_open). */
struct queue *queue_open(int folder_fd, const char *name, int64_t max, char *error,
                         size_t error_size);

/* Entries in the order of their numbers; pointers hold until the queue is changed. */
int queue_count(const struct queue *queue);
struct queue_entry *queue_at(struct queue *queue, int index);
struct queue_entry *queue_numbered(struct queue *queue, uint64_t number); /* NULL: gone */
/* The last that is known of an alert; NULL: nothing, it is not up. */
struct queue_entry *queue_last(struct queue *queue, uint64_t identity);

bool queue_has_room(const struct queue *queue);
/* False: no room, nothing is kept. */
bool queue_add(struct queue *queue, const struct message *message, int64_t now_ms);
/* The next one to send: those that failed least often first, then in their order, but never one
 * whose alert has an earlier one waiting. NULL: nothing waits. */
struct queue_entry *queue_next(struct queue *queue);
/* False: its file is gone or damaged. */
bool queue_read(struct queue *queue, const struct queue_entry *entry, struct texts *texts,
                struct message *message);
/* The receiver has it. */
void queue_delivered(struct queue *queue, uint64_t number);
void queue_remove(struct queue *queue, uint64_t number);

struct queue_counts {
    int64_t waiting; /* to be sent */
    int64_t up;
    int64_t damaged; /* files that could not be read, removed */
    int64_t unsaved; /* that could not be written */
};
struct queue_counts queue_counts(const struct queue *queue);
/* Leaves the files. */
void queue_close(struct queue *queue);
