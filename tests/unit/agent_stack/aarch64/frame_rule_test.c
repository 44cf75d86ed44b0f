/* frame_rule on aarch64: functions without a frame, with a small and a large one, signed return addresses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "floor/hotspot/machine.h"
#include "floor/hotspot/frame_rule.h"
#include "agent/stack/native.h"

/* Never run: only its description is read. */
#define SHAPE(name, body)                                                                          \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" body               \
            ".size " #name ", .-" #name "\n");                                                     \
    extern const char name[];

SHAPE(shape_leaf, ".cfi_startproc\nnop\n"
                  ".cfi_def_cfa_offset 64\nnop\n" /* +4: it has made room, and called nobody */
                  ".cfi_endproc\n")
SHAPE(shape_usual, ".cfi_startproc\n"
                   "nop\n" /* +0: as it was called */
                   ".cfi_def_cfa_offset 48\n.cfi_offset x29, -48\n.cfi_offset x30, -40\n"
                   "nop\n" /* +4: both saved, at sp */
                   ".cfi_def_cfa_register x29\n"
                   "nop\n" /* +8: based on x29 */
                   ".cfi_restore x30\n.cfi_restore x29\n.cfi_def_cfa sp, 0\n"
                   "nop\n" /* +12: the way out */
                   ".cfi_endproc\n")
SHAPE(shape_signed, ".cfi_startproc\n.cfi_b_key_frame\n"
                    ".cfi_negate_ra_state\n.cfi_def_cfa_offset 16\n"
                    ".cfi_offset x29, -16\n.cfi_offset x30, -8\nnop\n"
                    ".cfi_endproc\n")
SHAPE(shape_last, ".cfi_startproc\n.cfi_undefined x30\nnop\n.cfi_endproc\n")
SHAPE(shape_other_base, ".cfi_startproc\n.cfi_def_cfa x9, 0\nnop\n.cfi_endproc\n")
SHAPE(shape_large, ".cfi_startproc\n.cfi_def_cfa_offset 4194304\n.cfi_offset x30, -1048576\nnop\n"
                   ".cfi_def_cfa_offset 134217728\nnop\n.cfi_endproc\n") /* +4: does not fit */

static int setup(void **state)
{
    static bool available;
    available = native_setup_rules();
    *state = &available;
    return 0;
}

static struct frame_rule at(const char *shape, int place)
{
    return frame_rule_of((uintptr_t)shape + (uintptr_t)place);
}

/* Of a frame at sp 0x10000 or x29 0x20000: where the caller's begins, and where x29 and x30 are; 0: in
 * their registers. */
static void is_caller(struct frame_rule rule, uintptr_t cfa, uintptr_t bp_at, uintptr_t return_at)
{
    assert_int_equal(rule.kind, FRAME_RULE_CALLER);
    assert_int_equal(frame_rule_cfa(rule, 0x10000, 0x20000), cfa);
    assert_int_equal(rule.bp_is_saved ? frame_rule_bp(rule, cfa) : 0, bp_at);
    assert_int_equal(rule.return_in_link ? 0 : frame_rule_return(rule, cfa), return_at);
}

static void each_place_has_its_rule(void **state)
{
    assert_true(*(bool *)*state);
    for (int turn = 0; turn < 2; turn++) { /* read, remembered */
        is_caller(at(shape_leaf, 0), 0x10000, 0, 0);
        is_caller(at(shape_leaf, 4), 0x10040, 0, 0);
        is_caller(at(shape_usual, 0), 0x10000, 0, 0);
        is_caller(at(shape_usual, 4), 0x10030, 0x10000, 0x10008);
        is_caller(at(shape_usual, 8), 0x20030, 0x20000, 0x20008);
        is_caller(at(shape_usual, 12), 0x10000, 0, 0);
        is_caller(at(shape_signed, 0), 0x10010, 0x10000, 0x10008);
        is_caller(at(shape_large, 0), 0x410000, 0, 0x310000);
        assert_int_equal(at(shape_large, 4).kind, FRAME_RULE_OTHER);
        assert_int_equal(at(shape_last, 0).kind, FRAME_RULE_END);
        assert_int_equal(at(shape_other_base, 0).kind, FRAME_RULE_OTHER);
    }
}

/* Signed with the key of this process, where the processor can. */
static void an_address_loses_its_signature(void **state)
{
    uintptr_t signed_address = (uintptr_t)&each_place_has_its_rule, plain = signed_address;
    (void)state;
    register uintptr_t link __asm__("x17") = signed_address;
    register uintptr_t salt __asm__("x16") = 77;
    __asm__("hint #8" : "+r"(link) : "r"(salt)); /* pacia1716 */
    assert_int_equal(code_address(link), plain);
    assert_int_equal(return_address_at((uintptr_t)&signed_address), plain);
    signed_address = link;
    assert_int_equal(return_address_at((uintptr_t)&signed_address), plain);
    print_message("signed: %#lx, plain %#lx\n", (unsigned long)link, (unsigned long)plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_place_has_its_rule),
        cmocka_unit_test(an_address_loses_its_signature),
    };
    return cmocka_run_group_tests_name("agent_stack/frame_rule", tests, setup, NULL);
}
