/* jdk_files: which VM a process maps, native images, release files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/target.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/jdk_files_test.XXXXXX";

/* A child that maps files of these names and waits; NULL ends them. */
static pid_t child_with(const char *const *names)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        for (; *names != NULL; names++) {
            char path[128];
            snprintf(path, sizeof path, "%s/%s", folder, *names);
            int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
            if (ftruncate(fd, 4096) != 0 ||
                mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
                _exit(1);
            unlink(path);
        }
        (void)!write(ready[1], "x", 1);
        while (1)
            pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void mapped_vm(void **state)
{
    (void)state;
    static const struct {
        const char *names[4];
        enum mapped_vm vm;
    } cases[] = {
        {{"libjvm.so"}, VM_HOTSPOT},
        {{"libj9vm29.so"}, VM_OPENJ9},
        {{"libjvm.so", "libj9vm29.so"}, VM_OPENJ9},
        {{"libj9vm29.so", "libjvm.so"}, VM_OPENJ9},
        {{"notlibjvm.so", "libjvm.so.bak"}, VM_NONE},
        {{"with space libjvm.so"}, VM_NONE},
        {{NULL}, VM_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[128];
        pid_t child = child_with(cases[i].names);
        assert_int_equal(jdk_files_mapped_vm(child, path, sizeof path), cases[i].vm);
        assert_true((path[0] != '\0') == (cases[i].vm != VM_NONE));
        if (cases[i].vm == VM_OPENJ9) {
            struct target target;
            struct failure failure;
            assert_int_equal(target_open(&target, child, &failure), FAILURE_NOT_HOTSPOT);
            assert_non_null(strstr(failure.sentence, "OpenJ9"));
        }
        end(child);
    }
}

static void native_image(void **state)
{
    (void)state;
    assert_int_equal(access("/usr/bin/objcopy", X_OK), 0); /* binutils: make setup */
    char command[512], path[128];
    snprintf(path, sizeof path, "%s/image", folder);
    snprintf(command, sizeof command,
             "objcopy --add-section .svm_heap=/etc/hostname /bin/sleep %s 2>&1", path);
    assert_int_equal(system(command), 0);
    pid_t child = fork();
    if (child == 0) {
        execl(path, path, "60", (char *)NULL);
        _exit(1);
    }
    for (int i = 0; i < 200 && !jdk_files_is_native_image(child); i++)
        usleep(10 * 1000); /* until it has become the other program */
    struct target target;
    struct failure failure;
    assert_int_equal(target_open(&target, child, &failure), FAILURE_NOT_HOTSPOT);
    assert_non_null(strstr(failure.sentence, "native image"));
    end(child);
    unlink(path);
    assert_false(jdk_files_is_native_image(getpid()));
}

static void write_release(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/release", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void release(void **state)
{
    (void)state;
    char version[32] = "";
    struct target in = {.uid = geteuid(), .gid = getegid()};
    snprintf(in.root, sizeof in.root, "%s", folder);
    write_release("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"21.0.4\"\nJAVA_VERSION_DATE=\"2024\"\n");
    assert_true(jdk_files_release(&in, "/lib/server/libjvm.so", version, sizeof version));
    assert_string_equal(version, "21.0.4");
    assert_true(jdk_files_release(&in, "/jre/lib/amd64/server/libjvm.so", version, sizeof version));
    write_release("JAVA_VERSION=\"21");
    assert_false(jdk_files_release(&in, "/lib/server/libjvm.so", version, sizeof version));
    write_release("");
    assert_false(jdk_files_release(&in, "/lib/server/libjvm.so", version, sizeof version));
    assert_false(jdk_files_release(&in, "", version, sizeof version));

    char endless[8192];
    memset(endless, 'a', sizeof endless - 1);
    endless[0] = '/';
    endless[sizeof endless - 1] = '\0';
    assert_false(jdk_files_release(&in, endless, version, sizeof version));
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/release", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mapped_vm),
        cmocka_unit_test(native_image),
        cmocka_unit_test(release),
    };
    return cmocka_run_group_tests_name("jdk_files", tests, set_up, tear_down);
}
