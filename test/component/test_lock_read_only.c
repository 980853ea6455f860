/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of a client whose link leads to a read-only server: one that answers, but writes nothing
 * and does not know whether the session lives. It is made of the usual server, and of a relay that
 * says so and refuses what writes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/test.h"

#include "lib/recipe_helpers.h"

enum { FRAME_BYTES = 1 << 16, REFUSED = -119 };

struct relay {
    int listener, port;
    pthread_t thread;
    _Atomic int link;       /* its socket, or -1 */
    _Atomic bool read_only; /* links made from now on */
    _Atomic bool stop;
    _Atomic int n_refused;
};

static uint32_t load(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

static void store(uint8_t *b, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        b[i] = (uint8_t)(v >> (24 - 8 * i));
    }
}

static bool read_all(int fd, uint8_t *b, size_t n)
{
    return recv(fd, b, n, MSG_WAITALL) == (ssize_t)n;
}

static bool write_all(int fd, const uint8_t *b, size_t n)
{
    return send(fd, b, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* With its length; 0: there is none. */
static size_t read_frame(int fd, uint8_t *b)
{
    if (!read_all(fd, b, 4) || load(b) > FRAME_BYTES - 4 || !read_all(fd, b + 4, load(b))) {
        return 0;
    }
    return 4 + load(b);
}

static int connect_to_server(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)client_fixture_port()),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* create, delete, set, multi, create2, createContainer */
static bool is_write(uint32_t op)
{
    return op == 1 || op == 2 || op == 5 || op == 14 || op == 15 || op == 19;
}

static bool refuse(struct relay *r, int client, const uint8_t *request)
{
    uint8_t reply[20] = {0};

    store(reply, 16);
    memcpy(reply + 4, request + 4, 4);
    store(reply + 16, (uint32_t)REFUSED);
    r->n_refused++;
    return write_all(client, reply, sizeof(reply));
}

/* Everything up to the answer to `xid`. */
static bool pass_answers(int client, int server, uint32_t xid)
{
    static uint8_t b[FRAME_BYTES];
    size_t n;

    do {
        n = read_frame(server, b);
        if (n == 0 || !write_all(client, b, n)) {
            return false;
        }
    } while (load(b + 4) != xid);
    return true;
}

/* One request at a time, so that answers stay in order. */
static bool pass_request(struct relay *r, int client, int server, bool read_only)
{
    static uint8_t b[FRAME_BYTES];
    size_t n = read_frame(client, b);

    if (n == 0) {
        return false;
    }
    if (read_only && is_write(load(b + 8))) {
        return refuse(r, client, b);
    }
    return write_all(server, b, n) && pass_answers(client, server, load(b + 4));
}

static void serve_link(struct relay *r, int client)
{
    static uint8_t b[FRAME_BYTES];
    int server = connect_to_server();
    struct pollfd p[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    bool read_only = r->read_only;
    size_t n = read_frame(client, b);
    bool good = n > 0 && write_all(server, b, n) && (n = read_frame(server, b)) > 0;

    if (good && read_only) {
        b[n - 1] = 1;
    }
    good = good && write_all(client, b, n);
    while (good && poll(p, 2, -1) > 0) {
        if (p[1].revents != 0) { /* an event */
            n = read_frame(server, b);
            good = n > 0 && write_all(client, b, n);
        } else {
            good = pass_request(r, client, server, read_only);
        }
    }
    close(server);
}

static void *run_relay(void *arg)
{
    struct relay *r = arg;

    while (!r->stop) {
        int client = accept(r->listener, NULL, NULL);
        char first[4];

        if (client >= 0 && recv(client, first, 4, MSG_PEEK | MSG_WAITALL) == 4 &&
            memcmp(first, "isro", 4) != 0) {
            r->link = client;
            serve_link(r, client);
            r->link = -1;
        }
        close(client);
    }
    return NULL;
}

static void relay_start(struct relay *r)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);

    memset(r, 0, sizeof(*r));
    r->link = -1;
    r->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(r->listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(r->listener, 16), 0);
    assert_int_equal(getsockname(r->listener, (struct sockaddr *)&at, &size), 0);
    r->port = ntohs(at.sin_port);
    pthread_create(&r->thread, NULL, run_relay, r);
}

/* The next link is of that kind. */
static void relay_turn(struct relay *r, bool read_only)
{
    r->read_only = read_only;
    shutdown(r->link, SHUT_RDWR);
}

static void relay_stop(struct relay *r)
{
    r->stop = true;
    shutdown(r->listener, SHUT_RDWR);
    pthread_join(r->thread, NULL);
    close(r->listener);
}

static struct pawl_client *open_behind(struct relay *r, int timeout_ms)
{
    struct pawl_client_options o = client_fixture_options();
    char servers[32];

    relay_start(r);
    snprintf(servers, sizeof(servers), "127.0.0.1:%d", r->port);
    o.servers = servers;
    o.timeout_ms = timeout_ms;
    o.flags = PAWL_CLIENT_READ_ONLY;
    return client_fixture_open(&o);
}

static void until_state(struct pawl_client *c, enum pawl_state state)
{
    wait_until(pawl_client_state(c) == state);
}

static void until_refused(struct relay *r, int n)
{
    wait_until(r->n_refused >= n);
}

/* ---- tests ---- */

static void a_release_goes_on_until_a_server_takes_it(void **state)
{
    struct pawl_client *witness = client_fixture_open(NULL), *c;
    struct pawl_lock *l;
    struct relay r;

    (void)state;
    c = open_behind(&r, 500);
    assert_int_equal(pawl_lock_new(c, "/ro/release", NULL, &l), 0);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    relay_turn(&r, true);
    until_state(c, PAWL_STATE_READ_ONLY);
    assert_int_equal(pawl_lock_release(l), PAWL_ERR_OPERATION_TIMEOUT);
    until_refused(&r, 1);
    assert_int_equal(n_nodes(witness, "/ro/release"), 1);
    relay_turn(&r, false);
    until_nodes(witness, "/ro/release", 0);
    pawl_lock_free(l);
    pawl_client_close(c);
    relay_stop(&r);
    pawl_client_close(witness);
}

static void who_acquires_waits_for_a_server_that_writes(void **state)
{
    struct pawl_client *c;
    struct pawl_lock *l;
    struct relay r;
    struct told t;

    (void)state;
    told_init(&t);
    c = open_behind(&r, SOON_MS);
    assert_int_equal(pawl_lock_new(c, "/ro/acquire", NULL, &l), 0);
    relay_turn(&r, true);
    until_state(c, PAWL_STATE_READ_ONLY);
    assert_int_equal(pawl_lock_acquire(l, 100), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_lock_acquire_async(l, -1, tell_lock, &t), 0);
    until_refused(&r, 2);
    assert_int_equal(t.err, 1);
    relay_turn(&r, false);
    assert_int_equal(told_wait(&t), 0);
    assert_true(pawl_lock_held(l));
    assert_int_equal(pawl_lock_release(l), 0);
    until_nodes(c, "/ro/acquire", 0);
    pawl_lock_free(l);
    pawl_client_close(c);
    relay_stop(&r);
}

/* Of the whole process, by name. */
static int n_threads_called(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    int n = 0;

    assert_non_null(tasks);
    while ((task = readdir(tasks)) != NULL) {
        char path[300], found[32] = "";
        FILE *comm;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        comm = fopen(path, "r");
        if (comm != NULL) {
            n += fgets(found, sizeof(found), comm) != NULL &&
                 strncmp(found, name, strlen(name)) == 0;
            fclose(comm);
        }
    }
    closedir(tasks);
    return n;
}

/* The relay looks at one link at a time: the client's question for a better server waits. */
static bool somebody_waits_at(const struct relay *r)
{
    struct pollfd p = {.fd = r->listener, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

static void a_client_closes_while_it_looks_for_a_better_server(void **state)
{
    struct pawl_client *c;
    struct relay r;

    (void)state;
    c = open_behind(&r, SOON_MS);
    relay_turn(&r, true);
    until_state(c, PAWL_STATE_READ_ONLY);
    wait_until(somebody_waits_at(&r));
    pawl_client_close(c);
    relay_stop(&r); /* ends the question */
    wait_until(n_threads_called("pawl-lookup") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_goes_on_until_a_server_takes_it),
        cmocka_unit_test(who_acquires_waits_for_a_server_that_writes),
        cmocka_unit_test(a_client_closes_while_it_looks_for_a_better_server),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
