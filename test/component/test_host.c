/* SPDX-License-Identifier: Apache-2.0 */
/* The server bound to a real machine: its timers and descriptors. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "lib/test.h"
#include "pawl/client.h"
#include "pawl/server.h"

static char address[128];

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
        pawl_create(client, PAWL_CREATE(.path = "/t", .mode = PAWL_TTL, .ttl_ms = 10), NULL),
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_interval_reaps_between_two_ticks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
