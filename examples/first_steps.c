/* SPDX-License-Identifier: Apache-2.0 */
/* first_steps.c - a node written and read on a server.
 *
 *   first_steps SERVERS
 *
 * "localhost:2181" is pawld or any ZooKeeper server, "local:/tmp/first" needs none. */
#include <stdio.h>

#include <pawl/pawl.h>

#include "usage.h"

static int failed(const char *what, int rc)
{
    fprintf(stderr, "%s: %s\n", what, pawl_strerror(rc));
    return 1;
}

static int write_and_read(struct pawl_client *client)
{
    struct pawl_reply *reply;
    int rc = pawl_create(client, PAWL_CREATE(.path = "/hello", .data = pawl_str("world")), NULL);

    if (rc != PAWL_OK && rc != PAWL_ERR_NODE_EXISTS) {
        return failed("create /hello", rc);
    }
    printf("create /hello: %s\n", rc == PAWL_OK ? "done" : "is there already");
    rc = pawl_get(client, "/hello", NULL, &reply);
    if (rc != PAWL_OK) {
        pawl_reply_free(reply);
        return failed("get /hello", rc);
    }
    printf("get /hello: \"%.*s\"\n", (int)reply->data.len, (const char *)reply->data.data);
    pawl_reply_free(reply);
    return 0;
}

int main(int argc, char **argv)
{
    struct pawl_client *client;
    int rc;

    check_arguments(argc, argv, 1, "first_steps SERVERS, for instance localhost:2181");
    if (argc != 2) {
        fprintf(stderr, "usage: first_steps SERVERS, for instance localhost:2181\n");
        return 2;
    }
    if (pawl_open(argv[1], &client) != PAWL_OK) {
        fprintf(stderr, "%s\n", pawl_open_error());
        return 1;
    }
    rc = write_and_read(client);
    pawl_client_close(client);
    return rc;
}
