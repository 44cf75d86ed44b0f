#include "analyzers/native/account.h"

#include "analyzers/native/internal.h"
#include "floor/base/span.h"

#include <string.h>

const struct account_row account_rows[ACCOUNT_OWNERS] = {
#define OWNER(id, key, what) [ACCOUNT_##id] = {key, what},
#include "analyzers/native/account.def"
};

static enum account_owner owner_of(enum nmt_category category)
{
    switch (category) {
    case NMT_CLASS:
    case NMT_METASPACE:
        return ACCOUNT_CLASSES;
    case NMT_CODE:
        return ACCOUNT_CODE;
    case NMT_OTHER:
        return ACCOUNT_DIRECT;
    case NMT_THREAD:
    case NMT_THREAD_STACK:
        return ACCOUNT_THREADS;
    case NMT_GC:
    case NMT_GC_CARD_SET:
        return ACCOUNT_GC;
    case NMT_SYMBOL:
        return ACCOUNT_SYMBOLS;
    case NMT_INTERNAL:
        return ACCOUNT_INTERNAL;
    default:
        return ACCOUNT_JVM;
    }
}

/* What NMT says of all but the heap, and the archive of shared classes, which is a mapped file. */
static void take_nmt(const struct sample *sample, bool stacks_touched, struct account *account)
{
    struct nmt_amount amount, heap = {0};
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        enum nmt_category category = (enum nmt_category)i;
        if (category != NMT_JAVA_HEAP && category != NMT_SHARED_CLASS_SPACE &&
            sample_get_nmt(sample, category, &amount))
            account->bytes[owner_of(category)] += amount.committed_bytes;
    }
    if (!stacks_touched)
        account->bytes[ACCOUNT_THREADS] = 0;
    for (int i = 0; i < sample->extra_count; i++)
        account->bytes[ACCOUNT_JVM] += sample->extra[i].amount.committed_bytes;
    if (sample_get_nmt(sample, NMT_JAVA_HEAP, &heap) && heap.committed_bytes > 0) {
        double touched = (double)account->bytes[ACCOUNT_HEAP] / (double)heap.committed_bytes;
        account->bytes[ACCOUNT_GC] =
            (int64_t)((double)account->bytes[ACCOUNT_GC] * MIN(touched, 1.0));
    }
}

bool account_of(const struct sample *sample, int jdk_major, struct account *account)
{
    int64_t anonymous, *bytes = account->bytes;
    memset(account, 0, sizeof *account);
    if (!sample_get(sample, SAMPLE_RSS_ANON_BYTES, &anonymous) ||
        !sample_get(sample, SAMPLE_RSS_FILE_BYTES, &bytes[ACCOUNT_FILES]) ||
        !sample_get(sample, SAMPLE_RSS_SHARED_BYTES, &bytes[ACCOUNT_SHARED]) ||
        !sample_get(sample, SAMPLE_RSS_HEAP_BYTES, &bytes[ACCOUNT_HEAP]))
        return false;
    account->rss_bytes = anonymous + bytes[ACCOUNT_FILES] + bytes[ACCOUNT_SHARED];
    account->nmt = sample_has_nmt(sample);
    if (account->nmt)
        take_nmt(sample, jdk_major > STACKS_RESERVED_LAST_JDK, account);
    else
        sample_get(sample, SAMPLE_METASPACE_COMMITTED_BYTES, &bytes[ACCOUNT_CLASSES]);
    bytes[ACCOUNT_OUTSIDE] = anonymous;
    for (int i = 0; i < ACCOUNT_OUTSIDE; i++)
        bytes[ACCOUNT_OUTSIDE] -= bytes[i];
    return true;
}

void account_settle(struct account *now, struct account *before)
{
    int64_t missing = -now->bytes[ACCOUNT_OUTSIDE], room = now->bytes[ACCOUNT_GC];
    if (before != NULL) {
        missing = MAX(missing, -before->bytes[ACCOUNT_OUTSIDE]);
        room = MIN(room, before->bytes[ACCOUNT_GC]);
    }
    missing = MAX(0, MIN(missing, room));
    for (int i = 0; i < 2 && (i == 0 || before != NULL); i++) {
        struct account *account = i == 0 ? now : before;
        account->bytes[ACCOUNT_GC] -= missing;
        account->bytes[ACCOUNT_OUTSIDE] += missing;
    }
}
