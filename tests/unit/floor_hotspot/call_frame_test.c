/* call_frame over tables of a stranger's library, which end where their memory does. */
#include "floor/hotspot/call_frame.h"
#include "tests/unit/floor_hotspot/fake_memory.h" /* of what else the floor reads */

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct dl_find_object image;

static int find_object(void *pc, struct dl_find_object *found)
{
    (void)pc;
    *found = image;
    return 0;
}

static const uint8_t HEADER[] = {1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 0, 0, 0, 0};

/* A page that only the first bytes of the header are in. Behind it nothing can be read. */
static void header_is_cut(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *low = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct frame_table table;
    struct call_frame frame;
    (void)state;
    assert_int_equal(mprotect(low + page, page, PROT_NONE), 0);
    frame_tables.find_object = find_object;
    for (size_t bytes = 0; bytes <= sizeof HEADER; bytes++) {
        uint8_t *header = low + page - bytes;
        memcpy(header, HEADER, bytes);
        image = (struct dl_find_object){
            .dlfo_map_start = low, .dlfo_map_end = low + page, .dlfo_eh_frame = header};
        assert_int_equal(frame_table_find((uintptr_t)low, &table), bytes == sizeof HEADER);
        assert_false(call_frame_describe((uintptr_t)low, &frame));
    }
    image.dlfo_eh_frame = low + page + 1;
    assert_false(frame_table_find((uintptr_t)low, &table));
    munmap(low, 2 * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_cut),
    };
    return cmocka_run_group_tests_name("floor_hotspot/call_frame", tests, NULL, NULL);
}
