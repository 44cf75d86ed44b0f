#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "agent/hotspot/faults.h"
#include "floor/hotspot/load.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- the handler that was there before us ----------------------------------------------------- */

static volatile sig_atomic_t theirs, masked;
static sigjmp_buf back;
static struct sigaction over; /* what a library's handler passes on to */

static void their_handler(int number, siginfo_t *info, void *context)
{
    sigset_t now;
    (void)context;
    sigprocmask(SIG_BLOCK, NULL, &now);
    masked = sigismember(&now, SIGUSR1) == 1;
    assert_int_equal(info->si_signo, number);
    theirs++;
    siglongjmp(back, 1);
}

static void library_handler(int number, siginfo_t *info, void *context)
{
    over.sa_sigaction(number, info, context);
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), struct sigaction *old)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = handler;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    assert_int_equal(sigaction(number, &action, old), 0);
}

static void touch(volatile char *at)
{
    *at = 1;
}

/* Loads that fail, and faults that are not ours. */
static void all_works(void *nowhere)
{
    int64_t before = faults_caught();
    uint64_t word = 0x1122334455667788;
    uint8_t bytes[16];
    uintptr_t at = (uintptr_t)nowhere;
    assert_true(load_u64(at, 77) == 77);
    assert_int_equal(load_u32(at, 76), 76);
    assert_int_equal(load_u16(at, 75), 75);
    assert_int_equal(load_u8(at, 74), 74);
    assert_int_equal(load_u8(8, 1), 1);
    assert_true(load_u64(UINT64_MAX - 100, 5) == 5);
    assert_int_equal(faults_caught() - before, 6);
    assert_true(load_u64((uintptr_t)&word, 0) == word);
    assert_int_equal(load_u32((uintptr_t)&word, 0), 0x55667788);
    assert_int_equal(load_u16((uintptr_t)&word + 1, 0), 0x6677);
    assert_int_equal(load_u8((uintptr_t)&word + 7, 0), 0x11);
    assert_false(load_bytes(at, bytes, sizeof bytes));
    sig_atomic_t seen = theirs;
    if (sigsetjmp(back, 1) == 0)
        touch(nowhere);
    assert_int_equal(theirs, seen + 1);
    assert_true(masked);
}

static void *nowhere(void)
{
    char *pages = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    return pages;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void faults_of_others_go_to_who_was_there(void **state)
{
    char error[100];
    struct sigaction now;
    void *at = nowhere();
    (void)state;
    handle(SIGSEGV, their_handler, NULL);
    assert_true(faults_install(error, sizeof error));
    assert_true(faults_install(error, sizeof error)); /* it is in already */
    all_works(at);
    faults_remove();
    assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
    assert_ptr_equal(now.sa_sigaction, their_handler);
    assert_true(faults_install(error, sizeof error)); /* again */
    all_works(at);
    faults_remove();
    munmap(at, 8192);
}

static void a_library_over_us_is_no_circle(void **state)
{
    char error[100];
    struct sigaction now;
    void *at = nowhere();
    (void)state;
    handle(SIGSEGV, their_handler, NULL);
    assert_true(faults_install(error, sizeof error));
    handle(SIGSEGV, library_handler, &over);
    all_works(at); /* through the library */
    assert_true(faults_install(error, sizeof error));
    all_works(at); /* before it */
    faults_remove();
    assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
    assert_ptr_equal(now.sa_sigaction, library_handler);
    all_works(at); /* what the library knows of us passes on, still */
    assert_int_equal(sigaction(SIGSEGV, &over, NULL), 0);
    faults_remove();
    assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
    assert_ptr_equal(now.sa_sigaction, their_handler);
    munmap(at, 8192);
}

static void a_page_behind_the_end_of_a_file_is_a_bus_error(void **state)
{
    char error[100], name[] = "/tmp/nmtwatch-faults-XXXXXX";
    uint8_t bytes[24];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int file = mkstemp(name);
    (void)state;
    assert_true(file >= 0 && ftruncate(file, (off_t)page) == 0);
    char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_true(map != MAP_FAILED);
    handle(SIGBUS, their_handler, NULL);
    assert_true(faults_install(error, sizeof error));
    map[page - 1] = 9, map[page - 13] = 8;
    assert_true(load_u64((uintptr_t)map + page, 3) == 3);
    /* The last bytes that can be read, then zeros. */
    memset(bytes, 0xff, sizeof bytes);
    assert_false(load_bytes((uintptr_t)map + page - 13, bytes, sizeof bytes));
    assert_int_equal(bytes[0], 8);
    assert_int_equal(bytes[12], 9);
    assert_int_equal(bytes[13], 0);
    assert_int_equal(bytes[23], 0);
    assert_true(load_bytes((uintptr_t)map + page - 13, bytes, 13));
    sig_atomic_t seen = theirs;
    if (sigsetjmp(back, 1) == 0)
        touch(map + page + 1000);
    assert_int_equal(theirs, seen + 1);
    faults_remove();
    munmap(map, 2 * page);
    close(file);
    unlink(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_others_go_to_who_was_there),
        cmocka_unit_test(a_library_over_us_is_no_circle),
        cmocka_unit_test(a_page_behind_the_end_of_a_file_is_a_bus_error),
    };
    return cmocka_run_group_tests_name("agent/hotspot/faults", tests, NULL, NULL);
}
