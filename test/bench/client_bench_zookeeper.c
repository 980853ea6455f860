/* SPDX-License-Identifier: Apache-2.0 */
/* client_bench_zookeeper.c - the client benchmark on libzookeeper_mt, Apache's C client. */
#include <pthread.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "client_bench.h"
#include "util.h"

struct client {
    zhandle_t *handle;
    pthread_mutex_t lock; /* guards connected */
    pthread_cond_t changed;
    bool connected;
};

struct async_call {
    answered_fn answered;
    void *arg;
};

const char *const client_name = "zookeeper";

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *arg)
{
    struct client *c = arg;

    (void)handle;
    (void)path;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) {
        pthread_mutex_lock(&c->lock);
        c->connected = true;
        pthread_cond_signal(&c->changed);
        pthread_mutex_unlock(&c->lock);
    }
}

static void check(int rc, const char *what)
{
    if (rc != ZOK) {
        die("%s: %s", what, zerror(rc));
    }
}

struct client *client_open(const char *servers)
{
    struct client *c = must_calloc(1, sizeof(*c));
    struct timespec limit;

    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->handle = zookeeper_init(servers, on_session, CLIENT_TIMEOUT_MS, NULL, c, 0);
    if (c->handle == NULL) {
        die("zookeeper_init failed");
    }
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += CLIENT_TIMEOUT_MS / 1000;
    pthread_mutex_lock(&c->lock);
    while (!c->connected) {
        if (pthread_cond_timedwait(&c->changed, &c->lock, &limit) != 0) {
            die("no session (maxClientCnxns?)");
        }
    }
    pthread_mutex_unlock(&c->lock);
    return c;
}

void client_close(struct client *c)
{
    zookeeper_close(c->handle);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void client_create(struct client *c, const char *path)
{
    int rc = zoo_create(c->handle, path, client_data, DATA_BYTES, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);

    if (rc != ZNODEEXISTS) {
        check(rc, "create");
    }
}

void client_get(struct client *c, const char *path)
{
    char data[DATA_BYTES + 1];
    int len = sizeof(data);
    struct Stat stat;

    check(zoo_get(c->handle, path, 0, data, &len, &stat), "get");
    if (len != DATA_BYTES) {
        die("get %s: %d bytes", path, len);
    }
}

void client_set(struct client *c, const char *path)
{
    check(zoo_set(c->handle, path, client_data, DATA_BYTES, -1), "set");
}

static void finish(const void *data)
{
    struct async_call call;

    memcpy(&call, data, sizeof(call));
    free((void *)data);
    call.answered(call.arg);
}

static void got(int rc, const char *value, int len, const struct Stat *stat, const void *data)
{
    (void)value;
    (void)stat;
    check(rc, "get");
    if (len != DATA_BYTES) {
        die("get: %d bytes", len);
    }
    finish(data);
}

static void was_set(int rc, const struct Stat *stat, const void *data)
{
    (void)stat;
    check(rc, "set");
    finish(data);
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
    check(zoo_aget(c->handle, path, 0, got, call_of(answered, arg)), "aget");
}

void client_set_async(struct client *c, const char *path, answered_fn answered, void *arg)
{
    check(zoo_aset(c->handle, path, client_data, DATA_BYTES, -1, was_set, call_of(answered, arg)),
          "aset");
}

bool client_turn(struct client *c)
{
    (void)c;
    return false;
}
