/*
 * reply_budget: how many bytes of replies may be held at once, of all JVMs together and of those of
 * one user.
 *
 *   reply_budget_create -> reply_budget_take (a buffer grows) / reply_budget_give (it goes) ...
 *                       -> reply_budget_destroy
 *
 * The problem: each reply is bounded, but a user can start many JVMs that answer at the same time
 * and hold their replies open. What a summary needs (REPLY_BUDGET_SMALL) is always granted, so a
 * user who uses his share up takes class lists from others at most, never their samples.
 *
 * Event loop, one thread.
 */
#ifndef NMTWATCH_JVM_REPLY_BUDGET_H
#define NMTWATCH_JVM_REPLY_BUDGET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define REPLY_BUDGET_SMALL ((size_t)64 << 10) /* an NMT summary is 4-8 KB */

struct reply_budget;

/* NULL when out of memory. */
struct reply_budget *reply_budget_create(void);
/* What is held already stays held. */
void reply_budget_limit(struct reply_budget *budget, int64_t all_bytes, int64_t user_bytes);

/* A buffer of `have` bytes is to become one of `wanted`: the size it may get, which is smaller than
 * wanted when less is left, and `have` when nothing is. */
size_t reply_budget_take(struct reply_budget *budget, uid_t user, size_t have, size_t wanted);
void reply_budget_give(struct reply_budget *budget, uid_t user, size_t bytes);

struct reply_budget_counts {
    int64_t held_bytes;
    int64_t refused; /* times that nothing was left */
};
struct reply_budget_counts reply_budget_counts(const struct reply_budget *budget);
void reply_budget_destroy(struct reply_budget *budget);

#endif
