/* symbol_name: names as people call them, and no guesses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/methods/elf_symbols.h"

#include <string.h>

static void names(void **state)
{
    static const struct {
        const char *symbol, *name;
    } CASES[] = {
        {"malloc", "malloc"},
        {"", ""},
        {"_ZN10JavaThread3runEv", "JavaThread::run"},
        {"_ZNK5Klass4nameEv", "Klass::name"},
        {"_Z3foov", "foo"},
        {"_ZL9do_mallocm", "do_malloc"},
        {"_ZSt9terminatev", "std::terminate"},
        {"_ZNSt6localeC1Ev", "std::locale::locale"},
        {"_ZN7CompileD2Ev", "Compile::~Compile"},
        {"_ZN12_GLOBAL__N_13fooEv", "(anonymous)::foo"},
        {"_ZN6AccessI3FooE4loadEv", "Access::load"},
        {"_ZN9G1ScannerI10G1EvacTypeLi3EE2doEP6oopDescILb1EE", "G1Scanner::do"},
        {"_ZN3BoxINSt6vectorIiEEE3getEv", "Box::get"},
        {"_ZN3BoxIL8MEMFLAGS7ELb0EE3getEv", "Box::get"},
        {"_ZN3BoxILN3One3TwoE7EE3getEv", "Box::get"},
        {"_ZN3BoxIPFvPKcN3One3TwoEEE3getEv", "Box::get"},
        /* not understood: operators, local names, damage */
        {"_ZN3FooplERKS_", "_ZN3FooplERKS_"},
        {"_ZZ4mainE1x", "_ZZ4mainE1x"},
        {"_ZN99foo", "_ZN99foo"},
        {"_ZN99999999999999999999999foo", "_ZN99999999999999999999999foo"},
        {"_ZN3fooI", "_ZN3fooI"},
        {"_ZN3fooIL", "_ZN3fooIL"},
        {"_ZN3fooIL3bar", "_ZN3fooIL3bar"},
        {"_ZN3fooIXaaLi1ELi2EEE", "_ZN3fooIXaaLi1ELi2EEE"},
        {"_ZN3fooIS", "_ZN3fooIS"},
        {"_ZNE", "_ZNE"},
        {"_ZNSt", "_ZNSt"},
        {"_Z", "_Z"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char out[128];
        symbol_name(CASES[i].symbol, out, sizeof out);
        assert_string_equal(out, CASES[i].name);
    }
}

static void a_long_name_is_cut(void **state)
{
    char out[8];
    (void)state;
    symbol_name("_ZN10JavaThread3runEv", out, sizeof out); /* as it is, and cut */
    assert_string_equal(out, "_ZN10Ja");
    symbol_name("abcdefghijkl", out, 1);
    assert_string_equal(out, "");
    symbol_name("abc", out, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(a_long_name_is_cut),
    };
    return cmocka_run_group_tests_name("floor_hotspot/symbol_name", tests, NULL, NULL);
}
