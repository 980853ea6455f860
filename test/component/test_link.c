/* SPDX-License-Identifier: Apache-2.0 */
/* When answers leave: what the server reads and writes is seen here (see CMakeLists.txt), and its
 * loop is held until everything that one turn is to find has been sent. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/server_fixture.h"
#include "lib/test.h"
#include "os/socket.h"
#include "pawl/client.h"
#include "pawl/server.h"

enum { LONG_ANSWER = 16384, SHORT_ANSWER = 100, EVENTS_MAX = 64 };

long __real_socket_read(int fd, void *data, size_t len);
long __real_socket_write(int fd, const void *data, size_t len);
long __wrap_socket_read(int fd, void *data, size_t len);
long __wrap_socket_write(int fd, const void *data, size_t len);

static atomic_bool hold_next;
static sem_t is_held, may_go_on;
static bool is_noting;              /* the server's thread's while it runs, like the next two */
static char events[EVENTS_MAX + 1]; /* r and w */
static int n_events;

static void note(char event)
{
    if (is_noting && n_events < EVENTS_MAX) {
        events[n_events++] = event;
    }
}

long __wrap_socket_read(int fd, void *data, size_t len)
{
    long n = __real_socket_read(fd, data, len);

    if (n > 0) {
        note('r');
    }
    if (n > 0 && atomic_exchange(&hold_next, false)) {
        sem_post(&is_held);
        sem_wait(&may_go_on);
        is_noting = true;
    }
    return n;
}

long __wrap_socket_write(int fd, const void *data, size_t len)
{
    long n = __real_socket_write(fd, data, len);

    if (n > 0) {
        note('w');
    }
    return n;
}

static void send_all(int fd, struct strbuf *frame)
{
    assert_int_equal(send(fd, frame->data, frame->len, 0), (ssize_t)frame->len);
    strbuf_fini(frame);
}

/* A frame, and how long it is. */
static uint32_t take_frame(int fd)
{
    static uint8_t body[LONG_ANSWER * 2];
    uint8_t len[4];

    assert_int_equal(recv(fd, len, 4, MSG_WAITALL), 4);
    assert_in_range(load_u32(len), 1, sizeof(body));
    assert_int_equal(recv(fd, body, load_u32(len), MSG_WAITALL), (ssize_t)load_u32(len));
    return load_u32(len);
}

static int raw_client(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct connect_request hello = {.timeout_ms = 30000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct strbuf frame;

    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_connect_frame(&frame, &hello);
    send_all(fd, &frame);
    take_frame(fd);
    return fd;
}

static void ask_for(int fd, int32_t type, const char *path)
{
    struct request q = fixture_path_request(type, path);
    struct strbuf frame;

    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_frame(&frame, 1, &q);
    send_all(fd, &frame);
}

static struct pawl_server *start_with(size_t data_len)
{
    static const uint8_t data[LONG_ANSWER];
    struct pawl_client_options client_options;
    struct pawl_server_options options;
    struct pawl_server *server;
    struct pawl_client *client;
    char address[64];

    pawl_server_options_init(&options);
    options.in_memory = 1;
    assert_int_equal(pawl_server_start(&options, &server, NULL, 0), PAWL_OK);
    snprintf(address, sizeof(address), "127.0.0.1:%d", pawl_server_port(server));
    pawl_client_options_init(&client_options);
    client_options.servers = address;
    assert_int_equal(pawl_client_open(&client_options, &client), PAWL_OK);
    assert_int_equal(pawl_create(client, PAWL_CREATE(.path = "/a", .data = {data, data_len}), NULL),
                     PAWL_OK);
    pawl_client_close(client);
    return server;
}

/* Two clients ask for a node of `data_len` bytes, and one turn of the loop finds both. */
static const char *events_of_a_turn(size_t data_len)
{
    struct pawl_server *server = start_with(data_len);
    int port = pawl_server_port(server);
    int first = raw_client(port), second = raw_client(port), third = raw_client(port);

    atomic_store(&hold_next, true);
    ask_for(third, OP_EXISTS, "/");
    sem_wait(&is_held);
    ask_for(first, OP_GET_DATA, "/a");
    ask_for(second, OP_GET_DATA, "/a");
    sem_post(&may_go_on);
    take_frame(third);
    assert_in_range(take_frame(first), data_len, data_len + 200);
    assert_in_range(take_frame(second), data_len, data_len + 200);
    close(first);
    close(second);
    close(third);
    pawl_server_stop(server);
    return events;
}

static int begin(void **state)
{
    (void)state;
    is_noting = false;
    n_events = 0;
    memset(events, 0, sizeof(events));
    return sem_init(&is_held, 0, 0) + sem_init(&may_go_on, 0, 0);
}

static int end(void **state)
{
    (void)state;
    return sem_destroy(&is_held) + sem_destroy(&may_go_on);
}

static void a_long_answer_leaves_before_the_next_client_is_heard(void **state)
{
    (void)state;
    assert_string_equal(events_of_a_turn(LONG_ANSWER), "w" /* of the turn before */
                                                       "rw"
                                                       "rw");
}

static void short_answers_leave_when_all_have_been_heard(void **state)
{
    (void)state;
    assert_string_equal(events_of_a_turn(SHORT_ANSWER), "w"
                                                        "rr"
                                                        "ww");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_answer_leaves_before_the_next_client_is_heard, begin,
                                        end),
        cmocka_unit_test_setup_teardown(short_answers_leave_when_all_have_been_heard, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
