#include "agent/context/context.h"

#include "agent/context/nmtagent_context.h"
#include "agent/mem/mem.h"

#include <jni.h>
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
static pthread_key_t thread_end_key; /* for threads whose end JVMTI does not report */
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

/* --- slabs ------------------------------------------------------------------------------------ */

/* Records of 64 bytes, given to threads and taken back when they end. A slab is one page of 64
 * records (never two threads in a cache line) and a word that says which of them are taken. A page
 * goes back to the kernel when its last record does, but for one. */
#define SLAB_RECORDS 64
#define SLAB_BYTES   (SLAB_RECORDS * sizeof(struct context_record))
_Static_assert(SLAB_BYTES == 4096, "4 KB");

struct slab {
    struct slab *next;
    struct context_record *records;
    uint64_t taken; /* bit per record */
};

static pthread_mutex_t slab_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slab *slabs;

static struct slab *with_room(void)
{
    struct slab *slab = slabs;
    while (slab != NULL && slab->taken == UINT64_MAX)
        slab = slab->next;
    if (slab != NULL)
        return slab;
    slab = mem_alloc(COMPONENT_CONTROL, sizeof *slab);
    if (slab == NULL)
        return NULL;
    slab->records = mem_map(COMPONENT_THREAD_CONTEXTS, SLAB_BYTES);
    if (slab->records == NULL) {
        mem_free(slab);
        return NULL;
    }
    slab->next = slabs;
    slabs = slab;
    return slab;
}

/* Zeroed; NULL when there is no memory. */
static struct context_record *take_record(void)
{
    struct context_record *record = NULL;
    pthread_mutex_lock(&slab_lock);
    struct slab *slab = with_room();
    if (slab != NULL) {
        int free_bit = __builtin_ctzll(~slab->taken);
        slab->taken |= UINT64_C(1) << free_bit;
        record = &slab->records[free_bit];
        memset(record, 0, sizeof *record); /* of the thread that had it before */
    }
    pthread_mutex_unlock(&slab_lock);
    return record;
}

static void give_back_record(struct context_record *record)
{
    pthread_mutex_lock(&slab_lock);
    struct slab **link = &slabs;
    while (*link != NULL &&
           (record < (*link)->records || record >= (*link)->records + SLAB_RECORDS))
        link = &(*link)->next;
    struct slab *slab = *link;
    if (slab != NULL) {
        slab->taken &= ~(UINT64_C(1) << (record - slab->records));
        bool only_one = slabs == slab && slab->next == NULL;
        if (slab->taken == 0 && !only_one) {
            *link = slab->next;
            mem_unmap(COMPONENT_THREAD_CONTEXTS, slab->records, SLAB_BYTES);
            mem_free(slab);
        }
    }
    pthread_mutex_unlock(&slab_lock);
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
    give_back_record(record);
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
    record = have_key ? take_record() : NULL;
    if (record == NULL)
        return NULL;
    if (pthread_setspecific(thread_end_key, record) != 0) {
        give_back_record(record);
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

/*
 * The native methods of nmtagent.Context (agent/context/java). HotSpot looks for native methods in
 * the libraries of agents too, for every class loader: so they are exported by their JNI names and
 * nothing has to be registered, whichever loader has the class and whenever the agent came.
 */
/* JNI's names do not follow our prototypes. */
#define NATIVE(type, name) JNIEXPORT type JNICALL Java_nmtagent_Context_##name

NATIVE(jboolean, present0)(JNIEnv *env, jclass class);
NATIVE(jint, tag0)(JNIEnv *env, jclass class, jstring name);
NATIVE(jint, value0)(JNIEnv *env, jclass class, jstring text);
NATIVE(void, set0)(JNIEnv *env, jclass class, jlong span_id, jlong root_span_id);
NATIVE(void, setTag0)(JNIEnv *env, jclass class, jint tag, jint value);
NATIVE(void, clear0)(JNIEnv *env, jclass class);

NATIVE(jboolean, present0)(JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    return JNI_TRUE;
}

NATIVE(jint, tag0)(JNIEnv *env, jclass class, jstring name)
{
    (void)class;
    const char *text = name != NULL ? (*env)->GetStringUTFChars(env, name, NULL) : NULL;
    if (text == NULL)
        return -1;
    jint tag = nmtagent_context_tag(text);
    (*env)->ReleaseStringUTFChars(env, name, text);
    return tag;
}

NATIVE(jint, value0)(JNIEnv *env, jclass class, jstring value)
{
    (void)class;
    const char *text = value != NULL ? (*env)->GetStringUTFChars(env, value, NULL) : NULL;
    if (text == NULL)
        return 0;
    jint number = (jint)nmtagent_context_value(text);
    (*env)->ReleaseStringUTFChars(env, value, text);
    return number;
}

NATIVE(void, set0)(JNIEnv *env, jclass class, jlong span_id, jlong root_span_id)
{
    (void)env, (void)class;
    nmtagent_context_set((uint64_t)span_id, (uint64_t)root_span_id);
}

NATIVE(void, setTag0)(JNIEnv *env, jclass class, jint tag, jint value)
{
    (void)env, (void)class;
    nmtagent_context_set_tag(tag, (uint32_t)value);
}

NATIVE(void, clear0)(JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    nmtagent_context_clear();
}
