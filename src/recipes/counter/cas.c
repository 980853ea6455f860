/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/counter/cas.h"

#include <stdlib.h>
#include <string.h>

static bool cas_is_same(struct pawl_bytes a, struct pawl_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static void cas_end(struct cas *c, int err, enum pawl_outcome outcome, const struct pawl_stat *stat)
{
    struct recipe *r = c->r;

    free(c->ancestor);
    c->ancestor = NULL;
    c->ended(c, err, outcome, stat);
    recipe_unref(r);
}

static void cas_wrote(const struct pawl_reply *reply, void *cas);

static int write_node(struct cas *c)
{
    if (c->create) {
        return pawl_create_async(c->r->client,
                                 PAWL_CREATE(.path = c->path, .data = c->data,
                                             .flags = PAWL_OP_CONTAINER_PARENTS,
                                             .timeout_ms = recipe_left_ms(c->deadline_ms)),
                                 cas_wrote, c);
    }
    return pawl_set_async(c->r->client,
                          PAWL_SET(.path = c->path, .data = c->data,
                                   .only_if = pawl_version(c->version),
                                   .timeout_ms = recipe_left_ms(c->deadline_ms)),
                          cas_wrote, c);
}

static bool cas_is_over(const struct cas *c)
{
    return c->r->freed || (c->deadline_ms != 0 && machine_now_ms() >= c->deadline_ms);
}

/* It cannot have happened. */
static void write_again(struct cas *c)
{
    int rc = cas_is_over(c) ? PAWL_ERR_OPERATION_TIMEOUT : write_node(c);

    if (rc != 0) {
        cas_end(c, rc, PAWL_OUTCOME_UNKNOWN, NULL);
    }
}

static void end_unknown(struct cas *c)
{
    cas_end(c, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN, NULL);
}

/* ---- a create ---- */

static void look_above(struct cas *c);

/* A folder in which nothing has come or gone since has not had our node. */
static void above_seen(const struct pawl_reply *reply, void *cas)
{
    struct cas *c = cas;

    if (reply->err == PAWL_ERR_NO_NODE) {
        look_above(c);
    } else if (reply->err == 0 &&
               (reply->stat.pzxid <= c->since_zxid || reply->stat.pzxid == reply->stat.czxid)) {
        write_again(c);
    } else {
        end_unknown(c);
    }
}

/* The node is not there: has it been made, and deleted by others? The next folder above that there
 * is knows. */
static void look_above(struct cas *c)
{
    char *slash = strrchr(c->ancestor, '/');
    int rc;

    if (c->ancestor[1] == '\0') {
        end_unknown(c);
        return;
    }
    slash[slash == c->ancestor] = '\0';
    rc = pawl_exists_async(c->r->client, c->ancestor, NULL, above_seen, c);
    if (rc != 0) {
        cas_end(c, rc, PAWL_OUTCOME_UNKNOWN, NULL);
    }
}

static void created_or_not(struct cas *c, const struct pawl_reply *reply)
{
    if (reply->err == PAWL_ERR_NO_NODE) {
        free(c->ancestor);
        c->ancestor = recipe_copy(c->path);
        if (c->ancestor == NULL) {
            cas_end(c, PAWL_ERR_NO_MEMORY, PAWL_OUTCOME_UNKNOWN, NULL);
        } else {
            look_above(c);
        }
    } else if (reply->err == 0 && reply->stat.version == 0 && c->unique &&
               cas_is_same(reply->data, c->data)) {
        cas_end(c, 0, PAWL_OUTCOME_DONE, &reply->stat);
    } else {
        end_unknown(c);
    }
}

/* ---- a set ---- */

/* How many changes the node has seen since we looked; -1: it is not that node any more. */
static int64_t changes(const struct cas *c, const struct pawl_reply *reply)
{
    if (reply->err != 0 || reply->stat.czxid != c->czxid) {
        return -1;
    }
    return (int64_t)((uint32_t)reply->stat.version - (uint32_t)c->version);
}

static void set_or_not(struct cas *c, const struct pawl_reply *reply)
{
    int64_t n = changes(c, reply);

    if (n == 0) {
        write_again(c);
    } else if (n == 1 && !cas_is_same(reply->data, c->data)) {
        cas_end(c, PAWL_ERR_BAD_VERSION, PAWL_OUTCOME_REFUSED, NULL);
    } else if (n == 1 && c->unique) {
        cas_end(c, 0, PAWL_OUTCOME_DONE, &reply->stat);
    } else {
        end_unknown(c);
    }
}

/* ---- looking ---- */

static void read_back(const struct pawl_reply *reply, void *cas)
{
    struct cas *c = cas;

    if (c->create) {
        created_or_not(c, reply);
    } else {
        set_or_not(c, reply);
    }
}

/* The server that we talk to now may lag behind the one that took our write. */
static void synced(const struct pawl_reply *reply, void *cas)
{
    struct cas *c = cas;
    int rc =
        reply->err != 0 ? reply->err : pawl_get_async(c->r->client, c->path, NULL, read_back, c);

    if (rc != 0) {
        cas_end(c, rc, PAWL_OUTCOME_UNKNOWN, NULL);
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

static void cas_wrote(const struct pawl_reply *reply, void *cas)
{
    struct cas *c = cas;

    if (must_look(c, reply) && pawl_sync_async(c->r->client, c->path, synced, c) == 0) {
        return;
    }
    if (reply->outcome == PAWL_OUTCOME_DONE) { /* the answer may have been too much for memory */
        cas_end(c, 0, PAWL_OUTCOME_DONE, reply->err == 0 ? &reply->stat : NULL);
        return;
    }
    cas_end(c, reply->err, reply->err != 0 && c->unsure ? PAWL_OUTCOME_UNKNOWN : reply->outcome,
            &reply->stat);
}

int cas_start(struct cas *c)
{
    int rc = !c->create && c->version == -1 ? PAWL_ERR_INVALID_STATE : write_node(c);

    if (rc == 0) {
        c->since_zxid = c->r->e->core->last_zxid;
        recipe_ref(c->r);
    }
    return rc;
}
