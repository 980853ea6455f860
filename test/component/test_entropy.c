/* SPDX-License-Identifier: Apache-2.0 */
/* Every process that opens a server or a client has hash tables under a key of its own. */
#include "os/entropy.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "lib/test.h"
#include "pawl/client.h"
#include "pawl/server.h"

static void open_server(void)
{
    struct pawl_server_options options;
    struct pawl_server *server;

    pawl_server_options_init(&options);
    options.in_memory = 1;
    if (pawl_server_start(&options, &server, NULL, 0) == 0) {
        pawl_server_stop(server);
    }
}

static void open_client(void)
{
    struct pawl_client_options options;
    struct pawl_client *client;

    pawl_client_options_init(&options);
    options.servers = "unix:/nowhere/at/all";
    if (pawl_client_open(&options, &client) == 0) {
        pawl_client_close(client);
    }
}

/* What 1 hashes to in a process that has done `what`. */
static uint64_t hash_after(void (*what)(void))
{
    uint64_t hash = 0;
    int ends[2], status;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        what();
        hash = hash_u64(1);
        _exit(write(ends[1], &hash, sizeof(hash)) == (ssize_t)sizeof(hash) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &hash, sizeof(hash)), sizeof(hash));
    close(ends[0]);
    close(ends[1]);
    return hash;
}

static void check(void (*open)(void))
{
    uint64_t fixed = hash_u64(1);
    uint64_t one = hash_after(open), another = hash_after(open);

    assert_true(one != fixed);
    assert_true(another != fixed);
    assert_true(one != another);
}

static void a_server_has_a_key_of_its_own(void **state)
{
    (void)state;
    check(open_server);
}

static void a_client_has_a_key_of_its_own(void **state)
{
    (void)state;
    check(open_client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_has_a_key_of_its_own),
        cmocka_unit_test(a_client_has_a_key_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
