/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/cas.h"

#include <string.h>

static bool is_same(struct pawl_bytes a, struct pawl_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* For requests with a limit of their own. */
static int left_ms(const struct cas *c)
{
    int64_t left = c->deadline_ms - recipe_now_ms();

    if (c->deadline_ms == 0) {
        return -1;
    }
    return left < 1 ? 1 : left > INT32_MAX ? INT32_MAX : (int)left;
}

static void end(struct cas *c, int err, enum pawl_outcome outcome, const struct pawl_stat *stat)
{
    struct recipe *r = c->r;

    c->ended(c, err, outcome, stat);
    recipe_unref(r);
}

static void wrote(const struct pawl_reply *reply, void *cas);

static int write_node(struct cas *c)
{
    if (c->create) {
        return pawl_create_async(c->r->client,
                                 PAWL_CREATE(.path = c->path, .data = c->data,
                                             .flags = PAWL_CONTAINER_PARENTS,
                                             .timeout_ms = left_ms(c)),
                                 wrote, c);
    }
    return pawl_set_async(c->r->client,
                          PAWL_SET(.path = c->path, .data = c->data, .if_version = 1,
                                   .version = c->version, .timeout_ms = left_ms(c)),
                          wrote, c);
}

/* How many changes the node has seen since we looked; -1: it is not that node any more. */
static int64_t changes(const struct cas *c, const struct pawl_reply *reply)
{
    if (reply->err != 0) {
        return reply->err == PAWL_ERR_NO_NODE && c->create ? 0 : -1;
    }
    if (c->create) {
        return (int64_t)(uint32_t)reply->stat.version + 1;
    }
    if (reply->stat.czxid != c->czxid) {
        return -1;
    }
    return (int64_t)((uint32_t)reply->stat.version - (uint32_t)c->version);
}

static bool is_over(const struct cas *c)
{
    return c->r->freed || (c->deadline_ms != 0 && recipe_now_ms() >= c->deadline_ms);
}

static void read_back(const struct pawl_reply *reply, void *cas)
{
    struct cas *c = cas;
    int64_t n = changes(c, reply);
    int rc;

    if (n == 0) {
        rc = is_over(c) ? PAWL_ERR_OPERATION_TIMEOUT : write_node(c);
        if (rc != 0) {
            end(c, rc, PAWL_OUTCOME_UNKNOWN, NULL);
        }
    } else if (n == 1 && !is_same(reply->data, c->data)) {
        end(c, c->create ? PAWL_ERR_NODE_EXISTS : PAWL_ERR_BAD_VERSION, PAWL_OUTCOME_REFUSED, NULL);
    } else if (n == 1 && c->unique) {
        end(c, 0, PAWL_OUTCOME_DONE, &reply->stat);
    } else {
        end(c, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN, NULL);
    }
}

/* The server that we talk to now may lag behind the one that took our write. */
static void synced(const struct pawl_reply *reply, void *cas)
{
    struct cas *c = cas;
    int rc =
        reply->err != 0 ? reply->err : pawl_get_async(c->r->client, c->path, NULL, read_back, c);

    if (rc != 0) {
        end(c, rc, PAWL_OUTCOME_UNKNOWN, NULL);
    }
}

/* Whether only a look can tell what became of it: behind an attempt without an answer a refusal may
 * be due to that attempt. */
static bool must_look(struct cas *c, const struct pawl_reply *reply)
{
    bool refused = reply->err == PAWL_ERR_BAD_VERSION || reply->err == PAWL_ERR_NODE_EXISTS;
    bool gone = reply->err == PAWL_ERR_CONNECTION_LOSS || reply->err == PAWL_ERR_SESSION_EXPIRED ||
                reply->err == PAWL_ERR_SESSION_MOVED;

    if (reply->outcome != PAWL_OUTCOME_UNKNOWN) {
        return refused && c->unsure;
    }
    c->unsure = true;
    return gone;
}

static void wrote(const struct pawl_reply *reply, void *cas)
{
    struct cas *c = cas;

    if (must_look(c, reply) && pawl_sync_async(c->r->client, c->path, synced, c) == 0) {
        return;
    }
    if (reply->outcome == PAWL_OUTCOME_DONE) { /* the answer may have been too much for memory */
        end(c, 0, PAWL_OUTCOME_DONE, reply->err == 0 ? &reply->stat : NULL);
        return;
    }
    end(c, reply->err, reply->err != 0 && c->unsure ? PAWL_OUTCOME_UNKNOWN : reply->outcome,
        &reply->stat);
}

int cas_start(struct cas *c)
{
    int rc = !c->create && c->version == -1 ? PAWL_ERR_INVALID_STATE : write_node(c);

    if (rc == 0) {
        recipe_ref(c->r);
    }
    return rc;
}
