#include "nmtwatch/jvm/reply_budget.h"

#include <stdlib.h>

struct share {
    uid_t user;
    int64_t bytes;
};

struct reply_budget {
    int64_t all_bytes, user_bytes; /* limits */
    int64_t held_bytes, refused;
    int count; /* users who hold something */
    struct share *shares;
};

struct reply_budget *reply_budget_create(void)
{
    struct reply_budget *budget = calloc(1, sizeof *budget);
    if (budget != NULL)
        reply_budget_limit(budget, INT64_MAX, INT64_MAX);
    return budget;
}

void reply_budget_limit(struct reply_budget *budget, int64_t all_bytes, int64_t user_bytes)
{
    budget->all_bytes = all_bytes;
    budget->user_bytes = user_bytes;
}

static struct share *share_of(struct reply_budget *budget, uid_t user)
{
    for (int i = 0; i < budget->count; i++) {
        if (budget->shares[i].user == user)
            return &budget->shares[i];
    }
    struct share *more = reallocarray(budget->shares, (size_t)budget->count + 1, sizeof *more);
    if (more == NULL)
        return NULL;
    budget->shares = more;
    more[budget->count] = (struct share){.user = user};
    return &more[budget->count++];
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

size_t reply_budget_take(struct reply_budget *budget, uid_t user, size_t have, size_t wanted)
{
    struct share *share = share_of(budget, user);
    if (share == NULL)
        return have;
    int64_t left =
        smaller(budget->all_bytes - budget->held_bytes, budget->user_bytes - share->bytes);
    if (wanted <= REPLY_BUDGET_SMALL)
        left = (int64_t)(wanted - have);
    int64_t more = smaller(left, (int64_t)(wanted - have));
    if (more <= 0) {
        budget->refused++;
        return have;
    }
    share->bytes += more;
    budget->held_bytes += more;
    return have + (size_t)more;
}

void reply_budget_give(struct reply_budget *budget, uid_t user, size_t bytes)
{
    struct share *share = bytes > 0 ? share_of(budget, user) : NULL;
    if (share == NULL)
        return;
    share->bytes -= (int64_t)bytes;
    budget->held_bytes -= (int64_t)bytes;
    if (share->bytes <= 0)
        *share = budget->shares[--budget->count];
}

struct reply_budget_counts reply_budget_counts(const struct reply_budget *budget)
{
    return (struct reply_budget_counts){budget->held_bytes, budget->refused};
}

void reply_budget_destroy(struct reply_budget *budget)
{
    if (budget == NULL)
        return;
    free(budget->shares);
    free(budget);
}
