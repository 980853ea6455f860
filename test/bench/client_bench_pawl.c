/* SPDX-License-Identifier: Apache-2.0 */
/* client_bench_pawl.c - the client benchmark on libpawl, by its public header alone. */
#include <pawl/client.h>

#include "client_bench.h"
#include "util.h"

struct client {
    struct pawl_client *pawl;
};

struct async_call {
    answered_fn answered;
    void *arg;
};

const char *const client_name = "pawl";

static void check(int rc, const char *what)
{
    if (rc != PAWL_OK) {
        die("%s: %s", what, pawl_strerror(rc));
    }
}

struct client *client_open(const char *servers)
{
    struct client *c = must_calloc(1, sizeof(*c));
    struct pawl_client_options options;

    pawl_client_options_init(&options);
    options.servers = servers;
    options.session_timeout_ms = CLIENT_TIMEOUT_MS;
    check(pawl_client_open(&options, &c->pawl), "open");
    check(pawl_client_wait_connected(c->pawl, CLIENT_TIMEOUT_MS), "connect");
    return c;
}

void client_close(struct client *c)
{
    pawl_client_close(c->pawl);
    free(c);
}

void client_create(struct client *c, const char *path)
{
    int rc =
        pawl_create(c->pawl, PAWL_CREATE(.path = path, .data = {client_data, DATA_BYTES}), NULL);

    if (rc != PAWL_ERR_NODE_EXISTS) {
        check(rc, "create");
    }
}

static void check_get(const struct pawl_reply *reply)
{
    check(reply->err, "get");
    if (reply->data.len != DATA_BYTES) {
        die("get: %zu bytes", reply->data.len);
    }
}

void client_get(struct client *c, const char *path)
{
    struct pawl_reply *reply = NULL;

    check(pawl_get(c->pawl, path, NULL, &reply), "get");
    check_get(reply);
    pawl_reply_free(reply);
}

void client_set(struct client *c, const char *path)
{
    check(pawl_set(c->pawl, PAWL_SET(.path = path, .data = {client_data, DATA_BYTES}), NULL),
          "set");
}

static void finish(void *arg)
{
    struct async_call call = *(struct async_call *)arg;

    free(arg);
    call.answered(call.arg);
}

static void got(const struct pawl_reply *reply, void *arg)
{
    check_get(reply);
    finish(arg);
}

static void was_set(const struct pawl_reply *reply, void *arg)
{
    check(reply->err, "set");
    finish(arg);
}

static struct async_call *call_of(answered_fn answered, void *arg)
{
    struct async_call *call = must_calloc(1, sizeof(*call));

    call->answered = answered;
    call->arg = arg;
    return call;
}

void client_get_async(struct client *c, const char *path, answered_fn answered, void *arg)
{
    check(pawl_get_async(c->pawl, path, NULL, got, call_of(answered, arg)), "get_async");
}

void client_set_async(struct client *c, const char *path, answered_fn answered, void *arg)
{
    check(pawl_set_async(c->pawl, PAWL_SET(.path = path, .data = {client_data, DATA_BYTES}),
                         was_set, call_of(answered, arg)),
          "set_async");
}

bool client_turn(struct client *c)
{
    (void)c;
    return false;
}
