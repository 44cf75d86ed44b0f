/* Who gives way when too many are connected. */
#include "nmtwatch/serve/web.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct end {
    int mine, theirs, place;
};

static struct end come(struct callers *callers, const char *address)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in6 from6 = {.sin6_family = AF_INET6};
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct end end = {.mine = fds[0], .theirs = fds[1]};
    if (inet_pton(AF_INET, address, &from.sin_addr) == 1) {
        end.place = callers_come(callers, (const struct sockaddr *)(const void *)&from, fds[0]);
    } else {
        assert_int_equal(inet_pton(AF_INET6, address, &from6.sin6_addr), 1);
        end.place = callers_come(callers, (const struct sockaddr *)(const void *)&from6, fds[0]);
    }
    return end;
}

static bool ended(const struct end *end)
{
    char byte;
    return recv(end->theirs, &byte, 1, MSG_DONTWAIT) == 0;
}

static void go(struct callers *callers, const struct end *end)
{
    callers_go(callers, end->place);
    close(end->mine);
    close(end->theirs);
}

static void the_oldest_of_the_largest_gives_way(void **state)
{
    (void)state;
    struct callers *callers = callers_create(5, 3);
    struct end few = come(callers, "10.0.0.1"), many[3];
    for (int i = 0; i < 3; i++)
        many[i] = come(callers, "10.0.0.2");
    struct end another = come(callers, "10.0.0.3");
    struct end newcomer = come(callers, "10.0.0.4");
    assert_true(ended(&many[0]));
    assert_false(ended(&many[1]) || ended(&few) || ended(&another) || ended(&newcomer));
    assert_int_equal(callers_displaced(callers), 1);
    go(callers, &many[0]);
    struct end again = come(callers, "10.0.0.5");
    assert_true(ended(&many[1]));
    assert_false(ended(&few) || ended(&another) || ended(&newcomer));
    const struct end rest[] = {few, many[1], many[2], another, newcomer, again};
    for (int i = 0; i < 6; i++)
        go(callers, &rest[i]);
    callers_destroy(callers);
}

static void an_address_keeps_to_its_own(void **state)
{
    static const char *const same[][2] = {
        {"127.0.0.2", "127.3.3.3"},
        {"127.0.0.1", "::1"},
        {"10.1.1.1", "::ffff:10.1.1.1"},
        {"2001:db8::1", "2001:db8::ffff:2"},
    };
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct callers *callers = callers_create(100, 2);
        struct end first = come(callers, same[i][0]), second = come(callers, same[i][1]);
        struct end other = come(callers, "10.9.9.9"), third = come(callers, same[i][0]);
        assert_true(ended(&first));
        assert_false(ended(&second) || ended(&third) || ended(&other));
        const struct end all[] = {first, second, third, other};
        for (int j = 0; j < 4; j++)
            go(callers, &all[j]);
        callers_destroy(callers);
    }
}

static void no_place_while_they_end(void **state)
{
    (void)state;
    struct callers *callers = callers_create(1, 1);
    struct end ends[CALLERS_ENDING + 2];
    for (int i = 0; i < CALLERS_ENDING + 2; i++)
        ends[i] = come(callers, "10.0.0.1");
    assert_int_equal(ends[CALLERS_ENDING + 1].place, -1);
    assert_true(ended(&ends[CALLERS_ENDING + 1]));
    assert_false(ended(&ends[CALLERS_ENDING]));
    for (int i = 0; i < CALLERS_ENDING + 2; i++)
        go(callers, &ends[i]);
    callers_destroy(callers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_of_the_largest_gives_way),
        cmocka_unit_test(an_address_keeps_to_its_own),
        cmocka_unit_test(no_place_while_they_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
