/* elf_symbols: many addresses in one pass, and nothing of files that are not what was loaded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/mem/mem.h"
#include "agent/methods/elf_symbols.h"
#include "tests/unit/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN_FILE "/proc/self/exe"

extern const char __ehdr_start[]; /* by the linker: the file's first byte */

#define FUNCTION(name)                                                                             \
    static __attribute__((noinline, used)) void name(void)                                         \
    {                                                                                              \
        __asm__ volatile("nop; nop; nop; nop");                                                    \
    }
FUNCTION(first_of_three)
FUNCTION(second_of_three)
FUNCTION(third_of_three)

/* In a file of a position-independent program addresses count from 0. With a sanitizer it is none. */
static uint64_t in_file(void (*function)(void))
{
#ifdef __PIE__
    return (uintptr_t)function - (uintptr_t)__ehdr_start;
#else
    return (uintptr_t)function;
#endif
}

static int by_address(const void *a, const void *b)
{
    const struct elf_function *one = a, *other = b;
    return one->address < other->address ? -1 : one->address > other->address;
}

static int64_t reads_allocated(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.component[COMPONENT_NATIVE_SYMBOLS].allocations;
}

static void many_in_one_pass(void **state)
{
    static const struct {
        void (*function)(void);
        const char *name;
    } THREE[] = {{first_of_three, "first_of_three"},
                 {second_of_three, "second_of_three"},
                 {third_of_three, "third_of_three"}};
    struct elf_function functions[8] = {{.address = 0}, {.address = UINT64_MAX}};
    size_t count = 2;
    struct elf_table table;
    char name[ELF_SYMBOL_MAX];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        functions[count++].address = in_file(THREE[i].function);
        functions[count++].address = in_file(THREE[i].function) + 1; /* within */
    }
    qsort(functions, count, sizeof *functions, by_address);
    elf_symbols_open(OWN_FILE, __ehdr_start, &table);
    assert_true(table.count > 100 && table.end > in_file(third_of_three));
    int fd = elf_symbols_file(OWN_FILE, &table);
    assert_true(fd >= 0);
    int64_t before = reads_allocated();
    elf_symbols_find(fd, &table, functions, count);
    assert_int_equal(reads_allocated(), before + 1);
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        if (functions[i].size == 0) {
            assert_true(functions[i].address == 0 || functions[i].address == UINT64_MAX);
            continue;
        }
        assert_true(elf_symbols_name(fd, functions[i].name_offset, name));
        for (size_t j = 0; j < 3; j++) {
            if (functions[i].start != in_file(THREE[j].function))
                continue;
            assert_string_equal(name, THREE[j].name);
            assert_in_range(functions[i].address - functions[i].start, 0, 1);
            found++;
        }
        /* Alone it is the same. */
        struct elf_function alone = {.address = functions[i].address};
        elf_symbols_find(fd, &table, &alone, 1);
        assert_int_equal(alone.start, functions[i].start);
        assert_int_equal(alone.name_offset, functions[i].name_offset);
    }
    assert_int_equal(found, 6);
    close(fd);
}

/* --- files ------------------------------------------------------------------------------------ */

static char path[64], other_path[64];

static int make_folder(void **state)
{
    if (folder_make(state) != 0)
        return 1;
    snprintf(path, sizeof path, "%s/library", folder);
    snprintf(other_path, sizeof other_path, "%s/other", folder);
    return 0;
}

/* The test's own file, the byte at `changed` another one. */
static void copy_to(const char *to, long changed)
{
    char block[65536];
    size_t bytes;
    FILE *in = fopen(OWN_FILE, "rb"), *out = fopen(to, "wb");
    assert_true(in != NULL && out != NULL);
    while ((bytes = fread(block, 1, sizeof block, in)) > 0)
        assert_int_equal(fwrite(block, 1, bytes, out), bytes);
    fclose(in);
    if (changed >= 0) {
        fseek(out, changed, SEEK_SET);
        fputc('?', out);
    }
    assert_int_equal(fclose(out), 0);
}

static void only_what_was_loaded(void **state)
{
    struct elf_table table;
    (void)state;
    copy_to(path, -1);
    elf_symbols_open(path, __ehdr_start, &table);
    assert_true(table.count > 100);
    copy_to(path, 1000); /* within the first page, behind the headers */
    elf_symbols_open(path, __ehdr_start, &table);
    assert_true(table.count == 0 && table.end == 0);
    FILE *text = fopen(path, "w");
    fputs("no library", text);
    fclose(text);
    elf_symbols_open(path, __ehdr_start, &table);
    assert_true(table.count == 0 && table.end == 0);
    elf_symbols_open("/nowhere/at/all", __ehdr_start, &table);
    assert_true(table.count == 0 && table.end == 0);
}

/* As an upgrade does it: another file under the old name. */
static void replaced_since(void **state)
{
    struct elf_table table;
    (void)state;
    copy_to(path, -1);
    elf_symbols_open(path, __ehdr_start, &table);
    int fd = elf_symbols_file(path, &table);
    assert_true(fd >= 0);
    close(fd);
    copy_to(other_path, -1);
    assert_int_equal(rename(other_path, path), 0);
    assert_int_equal(elf_symbols_file(path, &table), -1);
}

static void cut_short_since(void **state)
{
    struct elf_table table;
    struct elf_function function = {.address = in_file(first_of_three)};
    char name[ELF_SYMBOL_MAX];
    (void)state;
    copy_to(path, -1);
    elf_symbols_open(path, __ehdr_start, &table);
    assert_int_equal(truncate(path, (off_t)table.offset + 100), 0);
    int fd = elf_symbols_file(path, &table);
    assert_true(fd >= 0);
    elf_symbols_find(fd, &table, &function, 1);
    assert_int_equal(function.size, 0);
    assert_false(elf_symbols_name(fd, table.text_offset + 10, name));
    assert_string_equal(name, "");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_in_one_pass),
        cmocka_unit_test(only_what_was_loaded),
        cmocka_unit_test(replaced_since),
        cmocka_unit_test(cut_short_since),
    };
    return cmocka_run_group_tests_name("agent_methods/elf_symbols", tests, make_folder,
                                       folder_remove);
}
