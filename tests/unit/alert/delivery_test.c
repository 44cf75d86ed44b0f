#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/alert/delivery.h"
#include "nmtwatch/alert/queue.h"
#include "tests/unit/folder.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct texts texts; /* of all findings here */

/* The receiver is a socket of this very process, asked between two steps; the loop's clock is the
 * test's, so that minutes of backoff take no time. */

static int listener = -1, connection = -1;
static int status = 200;
static const char *more = ""; /* header lines of the answer */
static char bodies[64][4096];
static int body_count;
static char authorization[128]; /* of the last request */
static const char *user_file = "", *token_file = "";
static int64_t now_ms;
static char said[4096];

static void on_word(void *context, const char *sentence)
{
    (void)context;
    strncat(said, sentence, sizeof said - strlen(said) - 2);
    strcat(said, "\n");
}

static int open_listener(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    return ntohs(address.sin_port);
}

/* Answers one request if there is one. */
static void receive(void)
{
    static char text[65536];
    char answer[256];
    size_t length = 0;
    if (connection < 0 && (connection = accept(listener, NULL, NULL)) < 0)
        return;
    struct pollfd ready = {.fd = connection, .events = POLLIN};
    if (poll(&ready, 1, 0) != 1)
        return;
    for (char *body = NULL; body == NULL;) {
        ssize_t got = recv(connection, text + length, sizeof text - length - 1, 0);
        if (got <= 0) {
            close(connection);
            connection = -1;
            return;
        }
        length += (size_t)got;
        text[length] = '\0';
        const char *head = strstr(text, "Content-Length:");
        body = strstr(text, "\r\n\r\n");
        if (body == NULL || length < (size_t)(body + 4 - text) + strtoul(head + 15, NULL, 10)) {
            body = NULL;
            continue;
        }
        const char *known = strstr(text, "Authorization: ");
        snprintf(authorization, sizeof authorization, "%.*s",
                 known != NULL ? (int)strcspn(known, "\r") : 0, known != NULL ? known : "");
        snprintf(bodies[body_count++ % 64], sizeof bodies[0], "%s", body + 4);
    }
    snprintf(answer, sizeof answer, "HTTP/1.1 %d X\r\n%sContent-Length: 0\r\n\r\n", status, more);
    assert_true(send(connection, answer, strlen(answer), MSG_NOSIGNAL) > 0);
}

/* Until nothing more happens at this time. */
static int64_t settle(struct delivery *delivery)
{
    int64_t wait_ms = 0;
    for (int quiet = 0; quiet < 20; quiet++) {
        int before = body_count;
        struct pollfd ready = {.fd = delivery_fd(delivery), .events = POLLIN};
        wait_ms = delivery_step(delivery, now_ms);
        receive();
        if (poll(&ready, 1, 1) > 0 || body_count != before)
            quiet = 0;
    }
    return wait_ms;
}

static struct delivery *create(int kind, int64_t queue_max, int port)
{
    char error[256] = "";
    struct receiver_options receiver;
    assert_true(receiver_init(&receiver, "test", error, sizeof error));
    receiver.kind = (enum receiver_kind)kind;
    snprintf(receiver.url, sizeof receiver.url, "http://127.0.0.1:%d/", port);
    snprintf(receiver.user_file, sizeof receiver.user_file, "%s", user_file);
    snprintf(receiver.token_file, sizeof receiver.token_file, "%s", token_file);
    receiver.plain_credentials = true; /* the receiver has no TLS */
    const struct delivery_options options = {.receiver_count = 1,
                                             .receivers = &receiver,
                                             .queue_dir = folder,
                                             .queue_max = queue_max,
                                             .resend_ms = 60000,
                                             .runbook_base = "",
                                             .external_url = ""};
    struct delivery *delivery = delivery_create(&options, on_word, NULL, error, sizeof error);
    if (delivery == NULL)
        print_error("%s\n", error);
    assert_non_null(delivery);
    return delivery;
}

static struct alert alert_of(enum finding_kind kind, enum alert_state state)
{
    struct alert alert = {.state = state, .ms = 5000, .started_ms = 1000};
    alert.finding = finding_begin(&texts, kind);
    return alert;
}

static void give(struct delivery *delivery, const char *target, enum finding_kind kind,
                 enum alert_state state)
{
    struct alert alert = alert_of(kind, state);
    delivery_alert(delivery, target, &alert, 1700000000000, now_ms);
}

static int setup(void **state)
{
    assert_int_equal(folder_make(state), 0);
    status = 200;
    more = "";
    body_count = 0;
    now_ms = 1000;
    said[0] = '\0';
    return 0;
}

static int files(const char *suffix)
{
    char path[128];
    int count = 0;
    snprintf(path, sizeof path, "%s/test", folder);
    DIR *open = opendir(path);
    for (struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;)
        count += strlen(entry->d_name) > strlen(suffix) &&
                 strcmp(entry->d_name + strlen(entry->d_name) - strlen(suffix), suffix) == 0;
    if (open != NULL)
        closedir(open);
    return count;
}

static int teardown(void **state)
{
    if (connection >= 0)
        close(connection);
    if (listener >= 0)
        close(listener);
    connection = listener = -1;
    return folder_remove(state);
}

static void test_webhook_gets_both_edges_once(void **state)
{
    (void)state;
    struct delivery *delivery = create(RECEIVER_WEBHOOK, 100, open_listener());
    struct delivery_counts counts;
    give(delivery, "app", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    give(delivery, "app", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    assert_int_equal(files(".due"), 1);
    settle(delivery);
    assert_int_equal(body_count, 1);
    assert_non_null(strstr(bodies[0], "\"state\":\"raised\""));
    assert_non_null(strstr(bodies[0], "\"started_ms\":1699999996000"));
    assert_int_equal(files(".up"), 1);
    give(delivery, "app", FINDING_CLASS_EXPLOSION, ALERT_CLEARED);
    give(delivery, "app", FINDING_CLASS_EXPLOSION, ALERT_CLEARED);
    now_ms += 3600000;
    assert_int_equal(settle(delivery), INT64_MAX); /* nothing left, and no repetition */
    assert_int_equal(body_count, 2);
    assert_non_null(strstr(bodies[1], "\"state\":\"cleared\""));
    assert_int_equal(files(""), 2); /* . and .. */
    delivery_counts(delivery, &counts);
    assert_int_equal(counts.delivered, 2);
    assert_int_equal(counts.queued, 0);
    delivery_destroy(delivery);
}

static void test_backoff_doubles_and_ends(void **state)
{
    static const int64_t waits[] = {1000,  2000,   4000,   8000,   16000, 32000,
                                    64000, 128000, 256000, 300000, 300000};
    (void)state;
    struct delivery *delivery = create(RECEIVER_WEBHOOK, 100, open_listener());
    status = 500;
    give(delivery, "app", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        assert_int_equal(settle(delivery), waits[i]);
        assert_int_equal(body_count, i + 1);
        now_ms += waits[i] - 1;
        settle(delivery);
        assert_int_equal(body_count, i + 1); /* not a millisecond early */
        now_ms += 1;
    }
    status = 200;
    settle(delivery);
    assert_int_equal(files(".up"), 1);
    assert_string_equal(said,
                        "receiver test: it answered 500\nreceiver test: takes alerts again\n");
    delivery_destroy(delivery);
}

static void test_retry_after_is_obeyed(void **state)
{
    (void)state;
    struct delivery *delivery = create(RECEIVER_WEBHOOK, 100, open_listener());
    status = 429;
    more = "Retry-After: 30\r\n";
    give(delivery, "app", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    assert_int_equal(settle(delivery), 30000);
    now_ms += 30000;
    more = "Retry-After: 99999999\r\n"; /* but not for ever */
    assert_int_equal(settle(delivery), 3600000);
    delivery_destroy(delivery);
}

static void test_a_resolution_never_overtakes(void **state)
{
    (void)state;
    struct delivery *delivery = create(RECEIVER_WEBHOOK, 100, open_listener());
    status = 503;
    give(delivery, "a", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    settle(delivery); /* has failed once */
    give(delivery, "a", FINDING_CLASS_EXPLOSION, ALERT_CLEARED);
    give(delivery, "a", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    give(delivery, "b", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    status = 200;
    now_ms += 1000;
    settle(delivery);
    assert_int_equal(body_count, 5);
    assert_non_null(strstr(bodies[1], "\"target\":\"b\"")); /* who never failed goes first */
    assert_non_null(strstr(bodies[2], "\"state\":\"raised\""));
    assert_non_null(strstr(bodies[3], "\"state\":\"cleared\""));
    assert_non_null(strstr(bodies[4], "\"state\":\"raised\""));
    delivery_destroy(delivery);
}

static void test_what_is_refused_is_given_up(void **state)
{
    struct delivery_counts counts;
    (void)state;
    struct delivery *delivery = create(RECEIVER_WEBHOOK, 100, open_listener());
    status = 400;
    give(delivery, "a", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    assert_int_equal(settle(delivery), INT64_MAX);
    delivery_counts(delivery, &counts);
    assert_int_equal(counts.refused, 1);
    assert_int_equal(counts.delivered, 0);
    assert_string_equal(said, "receiver test: it answered 400; this alert is given up\n");
    status = 401; /* a password can be put right */
    give(delivery, "b", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    assert_int_equal(settle(delivery), 1000);
    delivery_destroy(delivery);
}

static void test_a_restart_goes_on(void **state)
{
    (void)state;
    int port = open_listener();
    struct delivery *delivery = create(RECEIVER_ALERTMANAGER, 100, port);
    give(delivery, "up", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    settle(delivery);
    give(delivery, "due", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    delivery_destroy(delivery); /* as a kill would: nothing is written at the end */

    char path[128];
    snprintf(path, sizeof path, "%s/test/0000000000000099.due", folder);
    FILE *damaged = fopen(path, "w");
    fputs("{\"format\":1,\"targ", damaged);
    fclose(damaged);
    body_count = 0;
    delivery = create(RECEIVER_ALERTMANAGER, 100, port);
    struct delivery_counts counts;
    delivery_counts(delivery, &counts);
    assert_int_equal(counts.damaged, 1);
    assert_non_null(strstr(said, "receiver test: 1 files of the queue were damaged"));
    settle(delivery);
    assert_int_equal(body_count, 2); /* what waits, then what is up is repeated */
    assert_non_null(strstr(bodies[0], "\"target\":\"due\""));
    assert_non_null(strstr(bodies[1], "\"target\":\"up\""));
    assert_non_null(strstr(bodies[1], "\"target\":\"due\""));
    give(delivery, "up", FINDING_CLASS_EXPLOSION, ALERT_RAISED); /* handed on once more: known */
    now_ms += 59000;
    settle(delivery);
    assert_int_equal(body_count, 2);
    now_ms += 1000;
    settle(delivery);
    assert_int_equal(body_count, 3);
    delivery_target_ended(delivery, "up", 1700000100000, now_ms);
    settle(delivery);
    assert_int_equal(body_count, 4);
    assert_non_null(strstr(bodies[3], "\"endsAt\":\"2023-11-14T22:15:00.000Z\""));
    assert_int_equal(files(".up"), 1);
    delivery_destroy(delivery);
}

static void test_levels_put_edges_right(void **state)
{
    (void)state;
    struct delivery *delivery = create(RECEIVER_WEBHOOK, 100, open_listener());
    struct finding finding = finding_begin(&texts, FINDING_LOADER_GROWTH);
    for (int second = 0; second < 60; second++, now_ms += 1000) {
        delivery_confirm(delivery, "app", &finding, 1700000000000, now_ms);
        delivery_sweep(delivery, 1700000000000, now_ms);
        settle(delivery);
    }
    assert_int_equal(body_count, 1); /* an edge that was missed */
    finding_add_text(&finding, "loader_type", "WebappClassLoader");
    delivery_confirm(delivery, "app", &finding, 1700000000000, now_ms); /* another one */
    settle(delivery);
    assert_int_equal(body_count, 2);
    now_ms += DELIVERY_UNSEEN_MS - 1;
    delivery_sweep(delivery, 1700000200000, now_ms);
    settle(delivery);
    assert_int_equal(body_count, 3); /* the first, unseen a second longer */
    now_ms += 1;
    delivery_sweep(delivery, 1700000200000, now_ms);
    settle(delivery);
    assert_int_equal(body_count, 4);
    assert_non_null(strstr(bodies[3], "\"state\":\"cleared\""));
    delivery_destroy(delivery);
}

static void test_overflow_is_counted_and_told_once(void **state)
{
    struct delivery_counts counts;
    char target[16];
    (void)state;
    struct delivery *delivery = create(RECEIVER_WEBHOOK, 5, 1); /* nobody listens */
    for (int i = 0; i < 8; i++) {
        snprintf(target, sizeof target, "app%d", i);
        give(delivery, target, FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    }
    delivery_counts(delivery, &counts);
    assert_int_equal(counts.queued, 5);
    assert_int_equal(counts.overflow, 3);
    assert_int_equal(files(".due"), 5);
    assert_non_null(strstr(said, "receiver test: no room for more alerts (5 wait)"));
    delivery_destroy(delivery);
}

static void test_a_folder_that_cannot_be_written(void **state)
{
    struct delivery_counts counts;
    char command[160];
    (void)state;
    struct delivery *delivery = create(RECEIVER_WEBHOOK, 100, open_listener());
    snprintf(command, sizeof command, "rm -rf %s/test && touch %s/test", folder, folder);
    assert_int_equal(system(command), 0);
    give(delivery, "app", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    delivery_counts(delivery, &counts);
    assert_int_equal(counts.unsaved, 1);
    assert_non_null(strstr(said, "receiver test: the queue cannot be written"));
    settle(delivery);
    assert_int_equal(body_count, 1); /* delivered all the same */
    give(delivery, "app", FINDING_CLASS_EXPLOSION, ALERT_CLEARED);
    settle(delivery);
    assert_int_equal(body_count, 2);
    delivery_destroy(delivery);
}

/* option: names the file for as long as a delivery is made. */
static void sends_secret(const char *name, const char *line, const char **option,
                         const char *header, const char *secret)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    fprintf(file, "%s\n", line);
    fclose(file);
    assert_int_equal(chmod(path, 0600), 0);
    *option = path;
    struct delivery *delivery = create(RECEIVER_ALERTMANAGER, 100, open_listener());
    *option = "";
    give(delivery, "app", FINDING_CLASS_EXPLOSION, ALERT_RAISED);
    settle(delivery);
    assert_string_equal(authorization, header);
    assert_null(strstr(said, secret));
    delivery_destroy(delivery);
}

static void test_a_password(void **state)
{
    (void)state;
    sends_secret("users", "me:secret", &user_file, "Authorization: Basic bWU6c2VjcmV0", "secret");
}

static void test_a_token(void **state)
{
    (void)state;
    sends_secret("token", "ey.J_0-~+/=", &token_file, "Authorization: Bearer ey.J_0-~+/=", "ey.J");
}

static void test_configuration_of_a_receiver(void **state)
{
    struct receiver_options receiver;
    char problem[256], line[64];
    (void)state;
    assert_false(receiver_init(&receiver, "../x", problem, sizeof problem));
    assert_false(receiver_init(&receiver, "..", problem, sizeof problem));
    assert_false(receiver_init(&receiver, "", problem, sizeof problem));
    assert_true(receiver_init(&receiver, "ops-1", problem, sizeof problem));
    static const char *const bad[][2] = {
        {"url", "ftp://x/"},    {"url", "http://"},  {"url", "http:///x"},
        {"url", "http://a b/"}, {"kind", "mail"},    {"timeout", "0s"},
        {"timeout", "1h"},      {"timeout", "soon"}, {"no_such", "1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        problem[0] = '\0';
        assert_false(receiver_take(&receiver, bad[i][0], bad[i][1], problem, sizeof problem));
        assert_non_null(strstr(problem, bad[i][0]));
    }
    assert_true(receiver_take(&receiver, "kind", "alertmanager", problem, sizeof problem));
    assert_true(receiver_take(&receiver, "timeout", "2s", problem, sizeof problem));
    assert_int_equal(receiver.timeout_ms, 2000);

    char why[300];
    snprintf(receiver.url, sizeof receiver.url, "http://host/");
    assert_true(receiver_is_private(&receiver, why, sizeof why)); /* nothing secret goes there */
    snprintf(receiver.url, sizeof receiver.url, "http://bob:x@host/");
    assert_false(receiver_is_private(&receiver, why, sizeof why));
    snprintf(receiver.url, sizeof receiver.url, "http://host/a@b");
    assert_true(receiver_is_private(&receiver, why, sizeof why));
    snprintf(receiver.user_file, sizeof receiver.user_file, "users");
    assert_false(receiver_is_private(&receiver, why, sizeof why));
    assert_non_null(strstr(why, "plain_credentials"));
    receiver.plain_credentials = true;
    assert_true(receiver_is_private(&receiver, why, sizeof why));
    receiver.plain_credentials = false;
    snprintf(receiver.url, sizeof receiver.url, "HTTPS://host/");
    assert_true(receiver_is_private(&receiver, why, sizeof why));
    snprintf(receiver.user_file, sizeof receiver.user_file, "%s/users", folder);
    assert_false(receiver_credentials(&receiver, line, sizeof line, problem, sizeof problem));
    FILE *file = fopen(receiver.user_file, "w");
    fputs("me:secret\n", file);
    fclose(file);
    assert_int_equal(chmod(receiver.user_file, 0644), 0);
    assert_false(receiver_credentials(&receiver, line, sizeof line, problem, sizeof problem));
    assert_non_null(strstr(problem, "chmod 600"));
    assert_int_equal(chmod(receiver.user_file, 0600), 0);
    assert_true(receiver_credentials(&receiver, line, sizeof line, problem, sizeof problem));
    assert_string_equal(line, "me:secret");
    memcpy(receiver.token_file, receiver.user_file, sizeof receiver.token_file);
    assert_false(receiver_credentials(&receiver, line, sizeof line, problem, sizeof problem));
    assert_non_null(strstr(problem, "either"));
    receiver.user_file[0] = '\0';
    assert_true(receiver_credentials(&receiver, line, sizeof line, problem, sizeof problem));
    static const char *const no_tokens[] = {"a b\n", "\n", "a\rX-Other: 1\n", "t\xc3\xa4\n"};
    for (size_t i = 0; i < sizeof no_tokens / sizeof *no_tokens; i++) {
        file = fopen(receiver.token_file, "w");
        fputs(no_tokens[i], file);
        fclose(file);
        bool cut_at_return = i == 2; /* which ends the line */
        assert_int_equal(
            receiver_credentials(&receiver, line, sizeof line, problem, sizeof problem),
            cut_at_return);
    }
}

static void refused(const char *why)
{
    char error[500] = "";
    const struct receiver_options receiver = {.name = "test", .url = "http://127.0.0.1:1"};
    const struct delivery_options options = {.receiver_count = 1,
                                             .receivers = &receiver,
                                             .queue_dir = folder,
                                             .queue_max = 1,
                                             .runbook_base = "",
                                             .external_url = ""};
    assert_null(delivery_create(&options, on_word, NULL, error, sizeof error));
    assert_non_null(strstr(error, why));
}

/* Who may write into the folder decides what is delivered, and where files are written. */
static void test_a_folder_of_another(void **state)
{
    char queue[100], elsewhere[100], error[500];
    (void)state;
    snprintf(queue, sizeof queue, "%s/test", folder);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(symlink(elsewhere, queue), 0);
    refused("test: it is a link");
    unlink(queue);
    mkdir(queue, 0700);
    chmod(queue, 0770);
    refused("test: others may write into it");
    chmod(queue, 0700);
    chmod(folder, 01777);
    refused("others may write into it");
    chmod(folder, 0700);
    if (geteuid() == 0) {
        assert_int_equal(chown(queue, 65534, 65534), 0);
        refused("test: it belongs to user 65534");
        assert_int_equal(chown(queue, 0, 0), 0);
    }
    struct queue *open = queue_open(AT_FDCWD, queue, 1, error, sizeof error);
    assert_non_null(open);
    queue_close(open);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_webhook_gets_both_edges_once),
        TEST(test_backoff_doubles_and_ends),
        TEST(test_retry_after_is_obeyed),
        TEST(test_a_resolution_never_overtakes),
        TEST(test_what_is_refused_is_given_up),
        TEST(test_a_restart_goes_on),
        TEST(test_levels_put_edges_right),
        TEST(test_overflow_is_counted_and_told_once),
        TEST(test_a_folder_that_cannot_be_written),
        TEST(test_a_folder_of_another),
        TEST(test_a_password),
        TEST(test_a_token),
        TEST(test_configuration_of_a_receiver),
    };
    return cmocka_run_group_tests_name("delivery", tests, NULL, NULL);
}
