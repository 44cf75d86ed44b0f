/* redact: what is secret goes, what is not stays as it is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/parse/redact.h"

#include <stdlib.h>
#include <string.h>

static void expect(const char *text, const char *wanted, int wanted_count)
{
    char got[1024];
    int count = 0;
    strcpy(got, text);
    got[redact(got, strlen(got), &count)] = '\0';
    assert_string_equal(got, wanted);
    assert_int_equal(count, wanted_count);
}

static void named_values(void **state)
{
    (void)state;
    expect("-Dpassword=hunter2", "-Dpassword=***", 1);
    expect("-Ddb.passwd=a,b;c&d -Xmx1g", "-Ddb.passwd=*** -Xmx1g", 1);
    expect("--token=abc --other=abc", "--token=*** --other=abc", 1);
    expect("--api-key abc Main", "--api-key *** Main", 1);
    expect("-DAPI_KEY='abc' x", "-DAPI_KEY='***' x", 1);
    expect("--password\nnext: line", "--password\nnext: line", 0);
    expect("-Dx=jdbc:mysql://h/d?user=a&password=hunter2&ssl=true",
           "-Dx=jdbc:mysql://h/d?user=a&password=***&ssl=true", 1);
    expect("-javaagent:/a/x.jar=token=abc,port=8", "-javaagent:/a/x.jar=token=***,port=8", 1);
    expect("-DAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "-DAWS_SECRET_ACCESS_KEY=***", 1);
    expect("pass:abc dbpass=x", "pass:*** dbpass=*", 2);
    expect("{\"clientSecret\":\"abc\",\"a\":1}", "{\"clientSecret\":\"abc\",\"a\":1}", 0);
}

static void users(void **state)
{
    (void)state;
    expect("-Du=https://bob:hunter2@host/x", "-Du=https://bob:***@host/x", 1);
    expect("bob:hunter2@host:22", "bob:***@host:22", 1);
    expect("http://bob:p@ss@host/a@b", "http://bob:***@host/a@b", 1);
    expect("https://abcdef@host", "https://***@host", 1);
    expect("jdbc:oracle:thin:scott/tiger@//db:1521/x", "jdbc:oracle:thin:scott/***@//db:1521/x", 1);
    expect("-Dmail=me@example.com /a@b/c x@1", "-Dmail=me@example.com /a@b/c x@1", 0);
}

static void forms(void **state)
{
    (void)state;
    expect("run AKIAIOSFODNN7EXAMPLE now", "run *** now", 1);
    expect("x=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "x=***", 1);
    expect("-H Authorization: Bearer abc.def", "-H Authorization: Bearer ***", 1);
    expect("Authorization: Basic Ym9iOng= x", "Authorization: Basic *** x", 1);
    expect("a=ghp_0123456789abcdefghij0123456789abcdef b", "a=*** b", 1);
    expect("AKIAX eyJx", "AKIAX eyJx", 0);
}

static void ordinary_command_lines_stay(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "jvm_args: -Xmx2g -XX:+UseG1GC -XX:NativeMemoryTracking=summary -Dfile.encoding=UTF-8",
        "java_class_path (initial): /opt/auth:/opt/jwt:/opt/a.jar:/opt/b@1/c.jar",
        "-agentlib:jdwp=transport=dt_socket,server=y,address=*:5005",
        "-Dcom.sun.management.jmxremote.authenticate=false --add-opens java.base/java.lang=ALL",
        "java_command: com.acme.Main --port 8080 --host 10.0.0.1 -v",
        "Launcher Type: SUN_STANDARD\n",
        "",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        expect(lines[i], lines[i], 0);
}

/* Long and hostile: linear, and never longer than it was. */
static void any_bytes(void **state)
{
    (void)state;
    static const char *const parts[] = {"/x@", "a=b,", "password=x&", ":",
                                        "@",   "\"'",  "token ",      "--token "};
    size_t size = 256 << 10;
    char *text = malloc(size);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int count = 0;
        for (size_t at = 0; at < size; at++)
            text[at] = parts[i][at % strlen(parts[i])];
        assert_true(redact(text, size, &count) <= size);
    }
    srand(1);
    for (int round = 0; round < 20; round++) {
        int count = 0;
        for (size_t at = 0; at < 100000; at++)
            text[at] = round % 2 ? (char)rand() : "password=:@/ \n\"'&,;eyJ-D"[rand() % 25];
        assert_true(redact(text, 100000, &count) <= 100000);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_values), cmocka_unit_test(users),
        cmocka_unit_test(forms),        cmocka_unit_test(ordinary_command_lines_stay),
        cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
