/* SPDX-License-Identifier: Apache-2.0 */
/* The server bound to a real machine: its timers and descriptors. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ftw.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/test.h"
#include "pawl/client.h"
#include "pawl/server.h"

static char address[128];

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *ftw)
{
    (void)stat;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static struct pawl_server *start(const char *const *properties, size_t n)
{
    struct pawl_server_options options;
    struct pawl_server *server;
    char why[256] = "";

    pawl_server_options_init(&options);
    options.in_memory = 1;
    options.properties = properties;
    options.n_properties = n;
    if (pawl_server_start(&options, &server, why, sizeof(why)) != PAWL_OK) {
        fail_msg("%s", why);
    }
    snprintf(address, sizeof(address), "127.0.0.1:%d", pawl_server_port(server));
    return server;
}

static struct pawl_client *connect_client(void)
{
    struct pawl_client_options options;
    struct pawl_client *client;

    pawl_client_options_init(&options);
    options.servers = address;
    assert_int_equal(pawl_client_open(&options, &client), PAWL_OK);
    return client;
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* How long a node that may live for 10 ms is there. */
static int64_t life_ms(struct pawl_client *client)
{
    int64_t began_ms = now_ms();
    int rc;

    assert_int_equal(
        pawl_create(client, PAWL_CREATE(.path = "/t", .mode = PAWL_MODE_TTL, .ttl_ms = 10), NULL),
        PAWL_OK);
    do {
        rc = pawl_exists(client, "/t", NULL, NULL);
    } while (rc == PAWL_OK);
    assert_int_equal(rc, PAWL_ERR_NO_NODE);
    return now_ms() - began_ms;
}

/* The server's own tick is 100 ms. A loaded machine may make any one try late, not all of them. */
static void a_short_interval_reaps_between_two_ticks(void **state)
{
    static const char *const properties[] = {"znode.container.checkIntervalMs=1",
                                             "extendedTypesEnabled=true"};
    struct pawl_server *server = start(properties, 2);
    struct pawl_client *client = connect_client();
    bool in_time = false;

    (void)state;
    life_ms(client); /* from here on a life begins just after one has ended */
    for (int i = 0; i < 200 && !in_time; i++) {
        in_time = life_ms(client) < 60;
    }
    assert_true(in_time);
    pawl_client_close(client);
    pawl_server_stop(server);
}

/* Everything the server answers to a word. */
static void ask(struct pawl_server *server, const char *word, char *out, size_t size)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)pawl_server_port(server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t len = 0;
    ssize_t n;

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(write(fd, word, 4), 4);
    while ((n = read(fd, out + len, size - 1 - len)) > 0) {
        len += (size_t)n;
    }
    out[len] = '\0';
    close(fd);
}

static void what_a_folder_holds_reaches_the_words(void **state)
{
    static const char *const properties[] = {"4lw.commands.whitelist=*", "preAllocSize=64"};
    char folder[] = "test_host.XXXXXX";
    struct pawl_server_options options;
    struct pawl_server *server;
    struct pawl_client *client;
    char answer[256];

    (void)state;
    assert_non_null(mkdtemp(folder));
    pawl_server_options_init(&options);
    options.folder = folder;
    options.properties = properties;
    options.n_properties = 2;
    assert_int_equal(pawl_server_start(&options, &server, NULL, 0), PAWL_OK);
    snprintf(address, sizeof(address), "127.0.0.1:%d", pawl_server_port(server));
    client = connect_client();
    assert_int_equal(pawl_create(client, PAWL_CREATE(.path = "/a"), NULL), PAWL_OK);
    do { /* the log's first file grows by 64 KiB; it is there by the next look */
        ask(server, "dirs", answer, sizeof(answer));
    } while (strtoll(answer + strlen("datadir_size: "), NULL, 10) < 65536);
    pawl_client_close(client);
    pawl_server_stop(server);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_interval_reaps_between_two_ticks),
        cmocka_unit_test(what_a_folder_holds_reaches_the_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
