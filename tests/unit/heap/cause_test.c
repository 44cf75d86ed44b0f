/* holders.def: each example fits its own row first, as a text and as the path of a made dump. */
#include "tests/unit/heap/hprof_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

/* Of a path as a text, "ROOT > STEP > STEP". */
static struct holder_fit fit_of(const char *path)
{
    static char text[2000];
    const char *steps[40];
    int count = 0;
    snprintf(text, sizeof text, "%s", path);
    for (char *at = text; (at = strstr(at, " > ")) != NULL;) {
        *at = '\0';
        steps[count++] = at += 3;
    }
    return holder_cause_of(text, steps, count, count);
}

static void examples_fit_their_rows(void **state)
{
    (void)state;
    for (int i = 0; i < holder_cause_count; i++) {
        const struct holder_cause *cause = &holder_causes[i];
        int row = fit_of(cause->example).row;
        if (row != i)
            fail_msg("%s: its example fits %s", cause->id,
                     row < 0 ? "no row" : holder_causes[row].id);
        assert_true(strlen(cause->title) > 0 && strlen(cause->cause) > 0 && strlen(cause->fix) > 0);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(cause->id, holder_causes[k].id);
    }
}

static void own_paths_fit_no_row(void **state)
{
    static const char *const own[] = {
        "class of the boot loader > sun.launcher.LauncherHelper.appClass"
        " > Plug.REG > java.util.ArrayList.elementData > <class>",
        "static field > srv.Server.REGISTRY > java.util.ArrayList.elementData > java.lang.Object[*]"
        " > java.lang.reflect.Proxy.h",
        "static field > srv.Server.THREADS > java.util.ArrayList.elementData > java.lang.Object[*]"
        " > java.lang.Thread.contextClassLoader",
        "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        assert_int_equal(fit_of(own[i]).row, -1);
}

/* Wherever the rows stand: what is special is found. */
static void special_rows_come_first(void **state)
{
    static const struct {
        const char *path, *id;
        int step;
        bool of_root;
    } rows[] = {
        {"class of the boot loader > java.lang.ApplicationShutdownHooks.hooks"
         " > java.util.IdentityHashMap.table > java.lang.Object[*] > "
         "java.lang.Thread.contextClassLoader",
         "shutdown-hook", 0, false},
        {"class of the boot loader > java.util.logging.Logger$ConfigurationData.handlers"
         " > java.lang.Object[*] > java.util.logging.Handler.filter",
         "logging-filter", 2, false},
        {"local variable of thread \"pool-N-thread-N\" that runs"
         " java.util.concurrent.ThreadPoolExecutor$Worker, of the application > <class>",
         "executor", -1, true},
        {"local variable of thread \"http-N\" that runs "
         "java.util.concurrent.ThreadPoolExecutor$Worker"
         " > <class>",
         "pooled-task", -1, true},
        {"JNI global reference > java.lang.ThreadGroup.groups > java.lang.ThreadGroup[*]",
         "thread-group", 0, false},
        {"thread \"main\" > java.lang.Thread.contextClassLoader", "context-class-loader", 0, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct holder_fit fit = fit_of(rows[i].path);
        assert_string_equal(fit.row < 0 ? "no row" : holder_causes[fit.row].id, rows[i].id);
        assert_int_equal(fit.step, rows[i].step);
        assert_int_equal(fit.of_root, rows[i].of_root);
    }
}

/* --- a dump that has the path of an example ----------------------------------------------------- */

#define CLASSES_MAX 40
#define OBJECTS_MAX 40
#define STEPS_MAX   16

struct made_class {
    char name[160];
    uint64_t id, loader;
    struct made_class *super; /* NULL: java.lang.Object */
    const char *field;        /* a reference of instances; NULL: none */
    const char *static_field;
    uint64_t static_value;
};

struct made_object {
    uint64_t id;
    const struct made_class *class;
    bool is_array;
    uint64_t to;   /* value of the field that the path takes */
    uint64_t name; /* of a thread: its String */
};

struct made {
    struct made_class classes[CLASSES_MAX], *object, *thread, *string;
    struct made_object objects[OBJECTS_MAX];
    int class_count, object_count;
    uint64_t last_id;
};

static uint64_t new_id(struct made *made)
{
    return made->last_id += 64;
}

static struct made_class *class_of(struct made *made, const char *name, struct made_class *super)
{
    for (int i = 0; i < made->class_count; i++) {
        if (strcmp(made->classes[i].name, name) == 0)
            return &made->classes[i];
    }
    assert_true(made->class_count < CLASSES_MAX);
    struct made_class *class = &made->classes[made->class_count++];
    snprintf(class->name, sizeof class->name, "%s", name);
    class->super = super;
    class->id = new_id(made);
    return class;
}

static struct made_object *object_of(struct made *made, const struct made_class *class)
{
    assert_true(made->object_count < OBJECTS_MAX);
    struct made_object *object = &made->objects[made->object_count++];
    *object = (struct made_object){.id = new_id(made), .class = class};
    return object;
}

static void put_classes(struct hprof *out, struct made *made)
{
    uint64_t names[CLASSES_MAX], static_names[CLASSES_MAX], name = hprof_name(out, "name");
    for (int i = 0; i < made->class_count; i++) {
        char raw[200];
        size_t length = strlen(made->classes[i].name);
        bool array = length > 2 && made->classes[i].name[length - 1] == ']';
        snprintf(raw, sizeof raw, array ? "[L%.*s;" : "%.*s", (int)(length - (array ? 2 : 0)),
                 made->classes[i].name);
        for (char *at = raw; *at != '\0'; at++)
            *at = *at == '.' ? '/' : *at;
        hprof_load_class(out, made->classes[i].id, raw);
        const char *field = made->classes[i].field, *of_class = made->classes[i].static_field;
        names[i] = field != NULL ? hprof_name(out, field) : 0;
        static_names[i] = of_class != NULL ? hprof_name(out, of_class) : 0;
    }
    for (int i = 0; i < made->class_count; i++) {
        const struct made_class *class = &made->classes[i];
        struct hprof_field own[2], statics = {static_names[i], class->static_value, TYPE_OBJECT};
        int count = 0;
        if (class->field != NULL)
            own[count++] = (struct hprof_field){names[i], 0, TYPE_OBJECT};
        if (class == made->thread)
            own[count++] = (struct hprof_field){name, 0, TYPE_OBJECT};
        uint64_t super = class == made->object  ? 0
                         : class->super != NULL ? class->super->id
                                                : made->object->id;
        hprof_class(out, class->id, super, class->loader, &statics, class->static_field != NULL,
                    own, count);
    }
}

static void put_objects(struct hprof *out, struct made *made)
{
    for (int i = 0; i < made->object_count; i++) {
        const struct made_object *object = &made->objects[i];
        uint64_t values[8];
        uint32_t count = 0;
        for (const struct made_class *c = object->class; c != NULL && !object->is_array;
             c = c->super) {
            if (c->field != NULL)
                values[count++] = object->to;
            if (c == made->thread)
                values[count++] = object->name;
        }
        if (object->is_array) {
            hprof_object_array(out, object->id, object->class->id, 2);
            hprof_id(out, 0);
            values[count++] = object->to;
        } else {
            hprof_instance(out, object->id, object->class->id, count * 8);
        }
        for (uint32_t k = 0; k < count; k++)
            hprof_id(out, values[k]);
    }
}

static void put_root(struct hprof *out, uint8_t tag, uint64_t id)
{
    hprof_root(out, tag, id);
    if (tag == 0x08 || tag == 0x02 || tag == 0x03) {
        hprof_number(out, 7, 4); /* serial of the thread */
        hprof_number(out, 0, 4);
    }
}

static uint64_t put_text(struct hprof *out, struct made *made, const char *text)
{
    uint64_t array = new_id(made);
    hprof_primitive_array(out, array, TYPE_BYTE, (uint32_t)strlen(text));
    hprof_raw(out, text, strlen(text));
    return array;
}

/* What stands between quotation marks, N for a number; "": nothing. */
static void thread_name(const char *root, char *name, size_t size)
{
    const char *from = strchr(root, '"');
    snprintf(name, size, "%.*s", from == NULL ? 0 : (int)strcspn(from + 1, "\""),
             from == NULL ? "" : from + 1);
    for (char *at = name; *at != '\0'; at++)
        *at = *at == 'N' && at > name && at[-1] == '-' ? '1' : *at;
}

static uint8_t tag_of(const char *root)
{
    static const struct {
        const char *words;
        uint8_t tag;
    } tags[] = {{"thread \"", 0x08},
                {"local variable of thread", 0x03},
                {"JNI global reference", 0x01},
                {"JNI local reference", 0x02},
                {"monitor in use", 0x07}};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        if (strncmp(root, tags[i].words, strlen(tags[i].words)) == 0)
            return tags[i].tag;
    }
    return 0;
}

/* The dump: the example's path, then an instance of a class of a loader of its own. */
static void make_path(struct hprof *out, char *example)
{
    static struct made made;
    char *steps[STEPS_MAX], name[80];
    int count = 0;
    memset(&made, 0, sizeof made);
    made.last_id = 0x10000;
    for (char *at = example, *next; at != NULL; at = next) {
        next = strstr(at, " > ");
        if (next != NULL) {
            *next = '\0';
            next += 3;
        }
        assert_true(count < STEPS_MAX);
        if (at[0] != '<') /* those come by themselves */
            steps[count++] = at;
    }
    const char *root = steps[0];
    char *runs = strstr(example, " that runs ");
    uint8_t tag = tag_of(root);
    thread_name(root, name, sizeof name);
    made.object = class_of(&made, "java.lang.Object", NULL);
    made.thread = class_of(&made, "java.lang.Thread", NULL);
    made.string = class_of(&made, "java.lang.String", NULL);
    made.string->field = "value";
    struct made_class *loaders = class_of(&made, "java.lang.ClassLoader", NULL);
    struct made_object *loader =
        object_of(&made, class_of(&made, "java.net.URLClassLoader", loaders));
    struct made_class *leaked =
        class_of(&made, count == 1 && runs != NULL ? runs + strlen(" that runs ") : "app.Leak",
                 count == 1 && tag == 0x08 ? made.thread : NULL);
    leaked->loader = loader->id;
    struct made_object *last = object_of(&made, leaked), *first = last;
    uint64_t to = last->id;
    for (int i = count - 1; i >= 1; i--) {
        size_t length = strlen(steps[i]);
        if (strcmp(steps[i] + length - 3, "[*]") == 0) {
            strcpy(steps[i] + length - 2, "]");
            first = object_of(&made, class_of(&made, steps[i], NULL));
            first->is_array = true;
        } else {
            char *dot = strrchr(steps[i], '.');
            *dot = '\0';
            struct made_class *class = class_of(
                &made, steps[i],
                i == 1 && tag == 0x08 && strcmp(steps[i], "java.lang.Thread") != 0 ? made.thread
                                                                                   : NULL);
            if (i == 1 &&
                (strncmp(root, "class of", 8) == 0 || strncmp(root, "static field", 12) == 0)) {
                class->static_field = dot + 1;
                class->static_value = to;
                if (strncmp(root, "static field", 12) == 0) {
                    struct made_object *app = object_of(
                        &made, class_of(&made, "jdk.internal.loader.ClassLoaders$AppClassLoader",
                                        loaders));
                    struct made_class *all =
                        class_of(&made, "jdk.internal.loader.ClassLoaders", NULL);
                    all->static_field = "APP_LOADER";
                    all->static_value = app->id;
                    class->loader = app->id;
                }
                continue;
            }
            assert_true(class->field == NULL || strcmp(class->field, dot + 1) == 0);
            class->field = dot + 1;
            if (i == 1 && strncmp(root, "classValueMap", 13) == 0)
                class = class_of(&made, "java.lang.ClassValue$ClassValueMap", class);
            first = object_of(&made, class);
        }
        first->to = to;
        to = first->id;
    }
    struct made_object *thread = tag == 0x08     ? first
                                 : *name != '\0' ? object_of(&made, made.thread)
                                                 : NULL;
    struct made_object *text = object_of(&made, made.string);
    if (thread != NULL)
        thread->name = text->id;
    hprof_begin(out, 2, 8);
    put_classes(out, &made);
    text->to = put_text(out, &made, name);
    put_objects(out, &made);
    if (thread != NULL)
        put_root(out, 0x08, thread->id);
    if (tag != 0 && tag != 0x08)
        put_root(out, tag, first->id);
    hprof_end(out);
}

static void examples_are_paths(void **state)
{
    (void)state;
    for (int i = 0; i < holder_cause_count; i++) {
        const struct holder_cause *cause = &holder_causes[i];
        struct hprof dump;
        struct heap heap;
        struct hprof_asked all;
        char *example = strdup(cause->example);
        make_path(&dump, example);
        assert_true(hprof_read(&heap, dump.bytes, dump.length, 4096));
        hprof_ask(&heap, dump.bytes, dump.length, 4096, &all);
        const struct holder_path *path = NULL;
        for (int k = 0; k < all.holders.path_count; k++) {
            if (strcmp(heap.classes[all.holders.loaders[0].class].name,
                       "java.net.URLClassLoader") == 0)
                path = &all.holders.paths[k];
        }
        if (path == NULL)
            fail_msg("%s: the loader of its example has no path", cause->id);
        if (strncmp(path->signature, cause->example, strlen(cause->example)) != 0)
            fail_msg("%s: the path is %s", cause->id, path->signature);
        assert_string_equal(path->cause < 0 ? "no row" : holder_causes[path->cause].id, cause->id);
        hprof_forget(&all);
        heap_destroy(&heap);
        free(dump.bytes);
        free(example);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_fit_their_rows),
        cmocka_unit_test(own_paths_fit_no_row),
        cmocka_unit_test(special_rows_come_first),
        cmocka_unit_test(examples_are_paths),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("heap/cause", tests, NULL, NULL);
}
