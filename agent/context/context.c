#include "agent/context/context.h"

#include "agent/context/context_record.h"
#include "agent/context/context_slab.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define VALUES_MAX 65536 /* different values of tags; a field that needs more is no tag */

_Thread_local struct context_record *context_own
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Tags and the dictionary live as long as the process: applications keep the numbers they got. So
 * tags are added, never moved; count is published after its name (release, read with acquire). */
static pthread_mutex_t setup_lock = PTHREAD_MUTEX_INITIALIZER;
static char *tag_names[NMTAGENT_CONTEXT_TAGS];
static _Atomic int tag_count;
static struct dictionary *_Atomic values;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end_key; /* for threads whose end JVMTI does not tell */
static bool have_key;

/* --- tags and values -------------------------------------------------------------------------- */

static struct dictionary *values_made(void)
{
    struct dictionary *made = atomic_load_explicit(&values, memory_order_acquire);
    if (made != NULL)
        return made;
    pthread_mutex_lock(&setup_lock);
    made = atomic_load_explicit(&values, memory_order_relaxed);
    if (made == NULL) {
        made = dictionary_create(COMPONENT_DICTIONARY_CONTEXT, VALUES_MAX);
        atomic_store_explicit(&values, made, memory_order_release);
    }
    pthread_mutex_unlock(&setup_lock);
    return made;
}

static int find_tag(const char *name, size_t length)
{
    int count = atomic_load_explicit(&tag_count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        if (strlen(tag_names[i]) == length && memcmp(tag_names[i], name, length) == 0)
            return i;
    return -1;
}

static bool add_tag(const char *name, size_t length)
{
    int count = atomic_load_explicit(&tag_count, memory_order_relaxed);
    if (length == 0 || count == NMTAGENT_CONTEXT_TAGS)
        return false;
    tag_names[count] = mem_copy_text(COMPONENT_CONTROL, name, length);
    if (tag_names[count] == NULL)
        return false;
    atomic_store_explicit(&tag_count, count + 1, memory_order_release);
    return true;
}

bool context_setup(const char *names)
{
    bool good = values_made() != NULL;
    pthread_mutex_lock(&setup_lock);
    while (good && names != NULL && names[0] != '\0') {
        size_t length = strcspn(names, ";");
        good = find_tag(names, length) >= 0 || add_tag(names, length);
        names += length + (names[length] == ';');
    }
    pthread_mutex_unlock(&setup_lock);
    return good;
}

struct dictionary *context_values(void)
{
    return atomic_load_explicit(&values, memory_order_acquire);
}

int context_tag_count(void)
{
    return atomic_load_explicit(&tag_count, memory_order_acquire);
}

const char *context_tag_name(int tag)
{
    return tag >= 0 && tag < context_tag_count() ? tag_names[tag] : NULL;
}

uint32_t nmtagent_context_value(const char *text)
{
    struct dictionary *dictionary = text != NULL ? values_made() : NULL;
    return dictionary != NULL ? dictionary_put(dictionary, text, strlen(text)) : 0;
}

int nmtagent_context_tag(const char *name)
{
    return name != NULL ? find_tag(name, strlen(name)) : -1;
}

/* --- the thread's record ---------------------------------------------------------------------- */

static void give_back(void)
{
    struct context_record *record = context_own;
    if (record == NULL)
        return;
    context_own = NULL;
    /* Pairs with context_read on this thread: a handler that comes later must not find a record
     * that another thread owns by then. */
    atomic_signal_fence(memory_order_seq_cst);
    context_slab_give_back(record);
}

static void thread_ended(void *unused)
{
    (void)unused;
    give_back();
}

static void make_key(void)
{
    have_key = pthread_key_create(&thread_end_key, thread_ended) == 0;
}

void context_thread_ended(void)
{
    give_back(); /* the key's destructor then finds nothing to do */
}

static void begin_write(struct context_record *record)
{
    /* From here on a handler on this thread takes the record for torn; the fence keeps the compiler
     * from writing a field before. */
    __atomic_store_n(&record->checksum, 0, __ATOMIC_RELAXED);
    atomic_signal_fence(memory_order_seq_cst);
}

static void publish(struct context_record *record)
{
    /* Pairs with the acquire load in context_read: the fields come before their checksum. */
    __atomic_store_n(&record->checksum, context_checksum(record), __ATOMIC_RELEASE);
}

static struct context_record *own_record(void)
{
    struct context_record *record = context_own;
    if (record != NULL)
        return record;
    /* Without a key a record of a thread that JVMTI does not know would never come back. */
    pthread_once(&key_once, make_key);
    record = have_key ? context_slab_take() : NULL;
    if (record == NULL)
        return NULL;
    if (pthread_setspecific(thread_end_key, record) != 0) {
        context_slab_give_back(record);
        return NULL;
    }
    publish(record);
    atomic_signal_fence(memory_order_seq_cst); /* whole before a handler can find it */
    context_own = record;
    return record;
}

void nmtagent_context_set(uint64_t span_id, uint64_t root_span_id)
{
    struct context_record *record = own_record();
    if (record == NULL)
        return;
    begin_write(record);
    record->span_id = span_id;
    record->root_span_id = root_span_id;
    publish(record);
}

void nmtagent_context_set_tag(int tag, uint32_t value)
{
    if (tag < 0 || tag >= NMTAGENT_CONTEXT_TAGS)
        return;
    struct context_record *record = own_record();
    if (record == NULL)
        return;
    begin_write(record);
    record->tags[tag] = value;
    publish(record);
}

void nmtagent_context_clear(void)
{
    struct context_record *record = context_own; /* a thread without one has nothing to clear */
    if (record == NULL)
        return;
    begin_write(record);
    record->span_id = 0;
    record->root_span_id = 0;
    memset(record->tags, 0, sizeof record->tags);
    publish(record);
}
