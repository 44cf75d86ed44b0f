/* Whose a name is, and for how long. */
#include "nmtwatch/serve/owners.h"
#include "tests/unit/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define NOW INT64_C(1790000000000)

static const struct owner bank = {1001, false}, evil = {1002, false}, boxed = {1001, true};

static void a_name_stays_its_owners(void **state)
{
    (void)state;
    struct owner was;
    struct owners *owners = owners_open(folder, NOW);
    assert_false(owners_is_foreign(owners, "com.bank.App\n\xff", bank, NULL));
    owners_claim(owners, "com.bank.App\n\xff", bank, NOW);
    owners_close(owners);

    owners = owners_open(folder, NOW + 1000);
    assert_int_equal(owners_count(owners), 1);
    assert_false(owners_is_foreign(owners, "com.bank.App\n\xff", bank, NULL));
    assert_true(owners_is_foreign(owners, "com.bank.App\n\xff", evil, &was));
    assert_int_equal(was.user, bank.user);
    assert_true(owners_is_foreign(owners, "com.bank.App\n\xff", boxed, NULL));
    assert_false(owners_is_foreign(owners, "com.bank.App", evil, NULL));
    owners_close(owners);

    owners = owners_open(folder, NOW + OWNER_KEEP_MS);
    assert_int_equal(owners_count(owners), 0);
    owners_close(owners);
}

static void who_invents_names_pushes_out_his_own(void **state)
{
    (void)state;
    struct owners *owners = owners_open("", NOW);
    char label[32];
    owners_claim(owners, "com.bank.App", bank, NOW);
    for (int user = 0; user < 6; user++) {
        for (int i = 0; i < 3000; i++) {
            snprintf(label, sizeof label, "invented %d %d", user, i);
            owners_claim(owners, label, (struct owner){(uid_t)(2000 + user), false}, NOW + 1 + i);
        }
    }
    assert_int_equal(owners_count(owners), OWNERS_MAX);
    assert_true(owners_is_foreign(owners, "com.bank.App", evil, NULL));
    owners_close(owners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_stays_its_owners),
        cmocka_unit_test(who_invents_names_pushes_out_his_own),
    };
    return cmocka_run_group_tests_name("owners", tests, folder_make, folder_remove);
}
