/* elf_file: this program's own symbols; files that are damaged at random. */
#include "nmtwatch/observe/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MUTATIONS 3000
#define MOST      (UINT64_C(64) << 20)

int elf_file_test_marked_variable = 4711;
__attribute__((noinline, used)) void elf_file_test_marked_function(void);
void elf_file_test_marked_function(void)
{
    __asm__ volatile("");
}

int32_t elf_file_test_begins_as = 524288;
uint8_t elf_file_test_begins_as_zero;
const int32_t elf_file_test_never_written = 7;

/* A piece of a function, as compilers name them, that comes before it. */
__asm__(".pushsection .text.unlikely,\"ax\"\n"
        ".globl elf_file_test_split.cold\n"
        ".type elf_file_test_split.cold,@function\n"
        "elf_file_test_split.cold: nop\n"
        ".size elf_file_test_split.cold, .-elf_file_test_split.cold\n"
        ".popsection\n");

/* A probe as systemtap's header would leave it: two places, arguments. */
__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n"
        ".balign 4\n"
        ".4byte 992f-991f, 994f-993f, 3\n"
        "991: .asciz \"stapsdt\"\n"
        "992: .balign 4\n"
        "993: .8byte 0x1234, 0, 0\n"
        ".asciz \"shop\"\n.asciz \"sold\"\n.asciz \"8@%rdi -4@%esi\"\n"
        "994: .balign 4\n"
        ".4byte 996f-995f, 998f-997f, 3\n"
        "995: .asciz \"stapsdt\"\n"
        "996: .balign 4\n"
        "997: .8byte 0x5678, 0, 0x9abc\n" /* with a semaphore: would have to be written to */
        ".asciz \"shop\"\n.asciz \"sold\"\n.asciz \"\"\n"
        "998: .balign 4\n"
        ".popsection\n");

static struct elf_file *read_own(void)
{
    char error[200] = "";
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct elf_file *file = elf_file_read(fd, MOST, error, sizeof error);
    close(fd);
    assert_string_equal(error, "");
    assert_non_null(file);
    return file;
}

/* What may be written to in another process. */
static void data(void **state)
{
    (void)state;
    struct elf_file *file = read_own();
    uint64_t address, offset;
    int32_t value = 0;
    elf_file_test_begins_as = 1; /* the file has the first value all the same */
    assert_true(elf_file_data(file, "elf_file_test_begins_as", 4, &address));
    assert_true(elf_file_value_offset(file, address, 4, &offset));
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &value, sizeof value, (off_t)offset), sizeof value);
    close(fd);
    assert_int_equal(value, 524288);
    assert_false(elf_file_data(file, "elf_file_test_begins_as", 8, &address));
    assert_true(elf_file_data(file, "elf_file_test_begins_as_zero", 1, &address));
    assert_false(elf_file_value_offset(file, address, 1, &offset));
    assert_true(elf_file_variable(file, "elf_file_test_never_written", &address));
    assert_false(elf_file_data(file, "elf_file_test_never_written", 4, &address));
    assert_false(elf_file_data(file, "elf_file_test_marked_function", 4, &address));
    assert_false(elf_file_symbol(file, "elf_file_test_split", &address));
    elf_file_free(file);
}

static void symbols(void **state)
{
    (void)state;
    struct elf_file *file = read_own();
    uint64_t address = 0, start = 0, offset = 0;
    assert_true(elf_file_symbol(file, "elf_file_test_marked_fu", &address));
    assert_false(elf_file_symbol(file, "no_such_function", &address));
    uint64_t variable;
    assert_true(elf_file_variable(file, "elf_file_test_marked_variable", &variable));
    assert_int_equal(variable - address, (uintptr_t)&elf_file_test_marked_variable -
                                             (uintptr_t)elf_file_test_marked_function);
    assert_false(elf_file_variable(file, "elf_file_test_marked_", &variable));
    assert_string_equal(elf_file_function(file, address, &start), "elf_file_test_marked_function");
    assert_int_equal(start, address);
    assert_true(elf_file_offset(file, address, &offset));
    assert_false(elf_file_offset(file, UINT64_MAX - 5, &offset));
    assert_null(elf_file_function(file, UINT64_MAX, NULL));
    /* What lies in the file there is what runs here. */
    uint8_t bytes[4];
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, bytes, sizeof bytes, (off_t)offset), sizeof bytes);
    close(fd);
    assert_memory_equal(bytes, (const void *)(uintptr_t)elf_file_test_marked_function,
                        sizeof bytes);
    elf_file_free(file);
}

static void probes(void **state)
{
    (void)state;
    struct elf_file *file = read_own();
    struct elf_probe probe[4];
    assert_int_equal(elf_file_probes(file, "shop", "sold", probe, 4), 1);
    assert_string_equal(probe[0].arguments, "8@%rdi -4@%esi");
    assert_int_equal(elf_file_probes(file, "shop", "bought", probe, 4), 0);
    elf_file_free(file);
}

static void damaged(void **state)
{
    (void)state;
    struct stat status;
    int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fstat(own, &status), 0);
    size_t size = (size_t)status.st_size;
    uint8_t *whole = malloc(size), *copy = malloc(size);
    assert_int_equal(pread(own, whole, size, 0), size);
    close(own);
    /* Where it tells sizes and places: the head, and the section headers at the end. */
    uint64_t sections;
    memcpy(&sections, whole + 40, sizeof sections);
    uint64_t random = 1;
    for (int i = 0; i < MUTATIONS; i++) {
        memcpy(copy, whole, size);
        for (int j = 0; j < 3; j++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t at = random >> 33 & 1 ? random >> 40 & 511
                                           : sections + (random >> 40) % (size - sections);
            copy[at] = (uint8_t)(random >> 20);
        }
        int fd = memfd_create("elf", MFD_CLOEXEC);
        size_t kept = i % 7 == 0 ? size / 2 : size;
        assert_int_equal(write(fd, copy, kept), kept);
        char error[200];
        struct elf_probe probe[4];
        uint64_t address = 0;
        struct elf_file *file = elf_file_read(fd, MOST, error, sizeof error);
        if (file != NULL) {
            elf_file_function(file, 0x1234, NULL);
            elf_file_function(file, random, NULL);
            elf_file_symbol(file, "elf_file", &address);
            elf_file_offset(file, address, &address);
            elf_file_probes(file, "shop", "sold", probe, 4);
        }
        elf_file_free(file);
        close(fd);
    }
    free(whole);
    free(copy);
}

static void no_elf(void **state)
{
    (void)state;
    char error[200] = "";
    int fd = memfd_create("text", MFD_CLOEXEC);
    assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
    assert_null(elf_file_read(fd, MOST, error, sizeof error));
    assert_string_equal(error, "it is no ELF file");
    close(fd);
}

/* A stranger's library decides how much memory its symbols would take. */
static void too_large(void **state)
{
    (void)state;
    char error[200] = "";
    struct elf_file *file = read_own();
    uint64_t bytes = elf_file_bytes(file);
    elf_file_free(file);
    assert_in_range(bytes, 1000, 16 << 20);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_null(elf_file_read(fd, bytes / 2, error, sizeof error));
    assert_int_equal(errno, EFBIG);
    assert_string_equal(error, "its symbols take more memory than is left for them");
    close(fd);
}

static void hole(void **state)
{
    (void)state;
    char error[200] = "", head[4096];
    int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("hole", MFD_CLOEXEC);
    assert_int_equal(read(own, head, sizeof head), sizeof head);
    assert_int_equal(write(fd, head, sizeof head), sizeof head);
    assert_int_equal(ftruncate(fd, 64 << 20), 0);
    assert_null(elf_file_read(fd, MOST, error, sizeof error));
    assert_int_equal(errno, EFBIG);
    assert_string_equal(error, "its file is a hole for the most part");
    close(own);
    close(fd);
}

static void entries(void **state)
{
    (void)state;
    static const struct {
        uint64_t low, high;
    } table[] = {{10, 20}, {20, 30}, {20, 40}, {50, 60}};
    static const struct {
        uint64_t address;
        size_t entries;
    } rows[] = {{0, 0}, {9, 0}, {10, 1}, {19, 1}, {20, 3}, {49, 3}, {50, 4}, {UINT64_MAX, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(entries_up_to(table, 4, sizeof table[0], rows[i].address),
                         rows[i].entries);
    assert_int_equal(entries_up_to(NULL, 0, sizeof table[0], 7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data),      cmocka_unit_test(symbols), cmocka_unit_test(probes),
        cmocka_unit_test(damaged),   cmocka_unit_test(no_elf),  cmocka_unit_test(entries),
        cmocka_unit_test(too_large), cmocka_unit_test(hole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
