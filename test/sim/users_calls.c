/* SPDX-License-Identifier: Apache-2.0 */
/* users_calls.c - those who use no recipe: what they are told of a write is what happened.
 *
 * Every write carries a number of its own, and the log shows how often it was done: once if it was
 * DONE, never if it was REFUSED or NOT_SENT, and never twice, unless the caller said that twice is
 * as good as once. A protected create that failed leaves no node behind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pawl/error.h"
#include "sim/recipe_sim.h"
#include "store/tree.h"

enum { MAX_WRITES = 20000, MOST_TIMES = 8, MOST_NODES = 60 };
enum what { SET, SET_TWICE, SET_VERSION, CREATE, PROTECTED, OR_SET, WITH_PARENTS, MULTI, N_WHATS };
enum told { NOT_YET, DONE, NEVER, PERHAPS };

struct write {
    enum what what;
    enum told told;
    struct user *user;
    int n_times;
    int64_t zxids[MOST_TIMES]; /* of the transactions that did it */
};

struct writes {
    struct write all[MAX_WRITES];
    int n;
    uint64_t n_restarts;
};

struct caller {
    struct pawl_client *view;
    int n_asked;
    int64_t n_views; /* before this one: the next may lie where it lay */
};

/* ---- what the log shows ---- */

static struct write *write_of(struct sim *s, struct bytes data)
{
    struct writes *w = s->own;
    char text[16];
    int n;

    if (w == NULL || bytes_is_null(data) || data.len == 0 || data.len >= sizeof(text)) {
        return NULL;
    }
    memcpy(text, data.data, data.len);
    text[data.len] = '\0';
    n = atoi(text);
    return n > 0 && n <= w->n ? &w->all[n - 1] : NULL;
}

/* What was not on disk at a crash has never been. */
static void forget_lost(struct sim *s)
{
    struct writes *w = s->own;

    if (w->n_restarts == s->w->n_restarts) {
        return;
    }
    w->n_restarts = s->w->n_restarts;
    for (int i = 0; i < w->n; i++) {
        struct write *x = &w->all[i];

        while (x->n_times > 0 && x->zxids[x->n_times - 1] > s->w->restart_zxid) {
            x->n_times--;
        }
    }
}

/* Twice is as good as once; or the first was of a session that is dying. */
static bool may_be_repeated(enum what what)
{
    return what == SET_TWICE || what == PROTECTED;
}

static void was_done(struct sim *s, const struct txn_op *op, int64_t zxid)
{
    bool has_data = op->type == TXN_CREATE || op->type == TXN_CREATE2 || op->type == TXN_SET_DATA;
    struct write *x = has_data ? write_of(s, op->data) : NULL;

    if (x == NULL) {
        return;
    }
    if (x->told == NEVER) {
        world_violated("write %d of user %d was done, which was told that it was not",
                       (int)(x - ((struct writes *)s->own)->all) + 1, x->user->id);
    }
    if (x->n_times > 0 && !may_be_repeated(x->what)) {
        world_violated("write %d of user %d (%d) was done twice",
                       (int)(x - ((struct writes *)s->own)->all) + 1, x->user->id, (int)x->what);
    }
    if (x->n_times < MOST_TIMES) {
        x->zxids[x->n_times++] = zxid;
    }
}

static bool has_failed(const struct txn *txn)
{
    struct jute_reader r = jute_reader_of(txn->op.multi);
    struct txn_op op;

    for (int32_t i = 0; i < txn->op.n_multi; i++) {
        if (txn_multi_next(&r, &op) != TXN_OK || op.type == TXN_ERROR) {
            return true;
        }
    }
    return false;
}

static void calls_wrote(struct sim *s, const struct txn *txn)
{
    struct jute_reader r = jute_reader_of(txn->op.multi);
    struct txn_op op;

    if (s->own == NULL) {
        return;
    }
    forget_lost(s);
    if (txn->header.type != TXN_MULTI) {
        was_done(s, &txn->op, txn->header.zxid);
    } else if (!has_failed(txn) && txn_multi_next(&r, &op) == TXN_OK) {
        was_done(s, &op, txn->header.zxid); /* the first carries the number */
    }
}

/* ---- what the caller is told ---- */

static int64_t zxid_told(enum what what, const struct pawl_reply *reply)
{
    const struct pawl_stat *stat =
        what == MULTI && reply->n_results > 0 ? &reply->results[0]->stat : &reply->stat;

    return stat->mzxid;
}

static void call_ended(const struct pawl_reply *reply, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct caller *x = u->own;
    struct writes *w = u->sim->own;
    bool lives = asked_told(asked, reply->err);
    struct write *write;

    if (w == NULL) {
        return; /* at the end of the world */
    }
    forget_lost(u->sim);
    write = &w->all[asked->detail - 1];
    x->n_asked -= lives && asked->before == x->n_views;
    write->told = reply->outcome == PAWL_OUTCOME_DONE      ? DONE
                  : reply->outcome == PAWL_OUTCOME_UNKNOWN ? PERHAPS
                                                           : NEVER;
    if ((write->told == DONE) != (reply->err == 0)) {
        world_violated("user %d: outcome %d with %s", u->id, (int)reply->outcome,
                       pawl_error_name(reply->err));
    }
    if (write->told == NEVER && write->n_times > 0) {
        world_violated("write %lld of user %d (%d): %s, outcome %d, but it was done",
                       (long long)asked->detail, u->id, (int)write->what,
                       pawl_error_name(reply->err), (int)reply->outcome);
    }
    if (write->told == DONE &&
        (write->n_times == 0 ||
         (write->what != SET_TWICE && write->what != OR_SET &&
          zxid_told(write->what, reply) != write->zxids[write->n_times - 1]))) {
        world_violated(
            "write %lld of user %d (%d): done at %llx, they say, but %d times, last %llx",
            (long long)asked->detail, u->id, (int)write->what,
            (unsigned long long)zxid_told(write->what, reply), write->n_times,
            (unsigned long long)(write->n_times == 0 ? 0 : write->zxids[write->n_times - 1]));
    }
    u->sim->n_done += reply->err == 0;
}

/* ---- what it does ---- */

static void call_make_view(struct user *u)
{
    static const enum pawl_retry_kind retries[] = {PAWL_RETRY_NONE, PAWL_RETRY_N_TIMES,
                                                   PAWL_RETRY_FOREVER};
    static const int timeouts_ms[] = {300, 3000, 15000};
    struct caller *x = u->own;
    struct pawl_retry retry = {.kind = retries[sim_below(u->sim, 3)], .n = 3, .pause_ms = 100};
    struct pawl_view_options o = {
        .size = sizeof(o), .timeout_ms = timeouts_ms[sim_below(u->sim, 3)], .retry = &retry};

    *x = (struct caller){.n_views = x->n_views};
    if (pawl_client_view(user_client(u), &o, &x->view) != 0) {
        world_violated("user %d could not make a view", u->id);
    }
}

static int call_multi(struct caller *x, const char *value_path, const char *made_path,
                      struct pawl_bytes data, struct asked *asked)
{
    struct pawl_multi *m = pawl_multi_new(x->view);
    int rc;

    pawl_multi_set(m, PAWL_SET(.path = value_path, .data = data));
    pawl_multi_create(m, PAWL_CREATE(.path = made_path, .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL));
    rc = pawl_multi_run_async(x->view, m, call_ended, asked);
    pawl_multi_free(m);
    return rc;
}

static int call_send(struct user *u, enum what what, struct pawl_bytes data, struct asked *asked)
{
    const char *folder = u->sim->things[u->thing].path;
    struct pawl_client *c = ((struct caller *)u->own)->view;
    struct tree *t = world_tree(u->sim->w);
    char value[64], made[64], deep[64];
    struct stat_record stat = {0};

    snprintf(value, sizeof(value), "%s/value", folder);
    snprintf(made, sizeof(made), "%s/made-", folder);
    snprintf(deep, sizeof(deep), "%s/%c/x", folder, (int)('a' + sim_below(u->sim, 8)));
    tree_stat(t, tree_find(t, bytes_str(value)), &stat);
    switch (what) {
    case SET:
        return pawl_set_async(c, PAWL_SET(.path = value, .data = data), call_ended, asked);
    case SET_TWICE:
        return pawl_set_async(c, PAWL_SET(.path = value, .data = data, .flags = PAWL_OP_IDEMPOTENT),
                              call_ended, asked);
    case SET_VERSION:
        return pawl_set_async(c,
                              PAWL_SET(.path = value, .data = data,
                                       .only_if = pawl_version(stat.version),
                                       .flags = sim_chance(u->sim, 2) ? PAWL_OP_IDEMPOTENT : 0),
                              call_ended, asked);
    case CREATE:
        return pawl_create_async(
            c, PAWL_CREATE(.path = made, .data = data, .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL),
            call_ended, asked);
    case PROTECTED:
        return pawl_create_async(c,
                                 PAWL_CREATE(.path = made, .data = data,
                                             .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                             .flags = PAWL_OP_PROTECTED),
                                 call_ended, asked);
    case OR_SET:
        return pawl_create_async(c,
                                 PAWL_CREATE(.path = value, .data = data, .flags = PAWL_OP_OR_SET),
                                 call_ended, asked);
    case WITH_PARENTS:
        return pawl_create_async(c,
                                 PAWL_CREATE(.path = deep, .data = data, .flags = PAWL_OP_PARENTS),
                                 call_ended, asked);
    case MULTI:
    default:
        return call_multi(u->own, value, made, data, asked);
    }
}

static void call_something(struct user *u)
{
    struct writes *w = u->sim->own;
    struct caller *x = u->own;
    enum what what = (enum what)sim_below(u->sim, N_WHATS);
    struct asked *asked;
    char text[16];
    int rc;

    if (w->n == MAX_WRITES ||
        world_n_children(u->sim->w, u->sim->things[u->thing].path) > MOST_NODES) {
        return;
    }
    asked = asked_new(u, "write", x->view, -1);
    w->all[w->n] = (struct write){.what = what, .user = u};
    asked->detail = ++w->n;
    asked->before = x->n_views;
    snprintf(text, sizeof(text), "%d", w->n);
    rc = call_send(u, what, (struct pawl_bytes){text, strlen(text)}, asked);
    if (rc != 0) {
        world_violated("user %d: write said %s", u->id, pawl_error_name(rc));
    }
    x->n_asked++;
}

/* The witness looks at its answer. */
static void sync_ended(const struct pawl_reply *reply, void *arg)
{
    struct asked *asked = arg;
    struct caller *x = asked->user->own;
    bool lives = asked_told(asked, reply->err);

    if (asked->user->sim->own != NULL) {
        x->n_asked -= lives && asked->before == x->n_views;
    }
}

static void call_sync(struct user *u)
{
    struct caller *x = u->own;
    struct asked *asked = asked_new(u, "sync", x->view, -1);
    int rc;

    asked->before = x->n_views;
    rc = pawl_sync_async(x->view, u->sim->things[u->thing].path, sync_ended, asked);
    if (rc != 0) {
        world_violated("user %d: sync said %s", u->id, pawl_error_name(rc));
    }
    x->n_asked++;
}

static void calls_free(struct user *u)
{
    struct caller *x = u->own;
    struct pawl_client *view = x->view;

    *x = (struct caller){.n_views = x->n_views + 1};
    pawl_client_close(view);
}

static void calls_act(struct user *u)
{
    struct caller *x = u->own;

    if (x->view == NULL) {
        call_make_view(u);
    } else if (!u->sim->calm && sim_chance(u->sim, 60)) {
        calls_free(u);
    } else if (!u->sim->calm && x->n_asked < 4) {
        (sim_chance(u->sim, 4) ? call_sync : call_something)(u);
    }
}

/* ---- at rest ---- */

/* A protected create that was given up: its node is found, and goes. */
static bool nothing_is_left_over(const struct user *u)
{
    struct tree *t = world_tree(u->sim->w);
    znode_id folder = tree_find(t, bytes_str(u->sim->things[u->thing].path));

    for (znode_id at = tree_first_child(t, folder); at != 0; at = tree_next_sibling(t, at)) {
        const struct write *x = write_of(u->sim, tree_data(t, at));

        if (x != NULL && x->what == PROTECTED && x->told != DONE && user_lives(x->user) &&
            tree_owner(t, at) == world_session(x->user->process->machine)) {
            return false;
        }
    }
    return true;
}

static bool calls_is_idle(const struct user *u)
{
    return ((const struct caller *)u->own)->n_asked == 0 && nothing_is_left_over(u);
}

static void make_node(struct world *w, const char *path)
{
    while (world_create(w, path) == PAWL_ERR_CONNECTION_LOSS) { /* of an ensemble in trouble */
        servers_pass_until(w, world_now_ms(w) + 1);
    }
}

static void calls_begin(struct sim *s)
{
    char path[64];

    s->own = must_zalloc(sizeof(struct writes));
    make_node(s->w, "/sim");
    for (int i = 0; i < s->n_things; i++) {
        make_node(s->w, s->things[i].path);
        snprintf(path, sizeof(path), "%s/value", s->things[i].path);
        make_node(s->w, path);
    }
}

const struct kind calls_kind = {
    .name = "calls",
    .user_bytes = sizeof(struct caller),
    .begin = calls_begin,
    .act = calls_act,
    .is_idle = calls_is_idle,
    .free = calls_free,
    .wrote = calls_wrote,
    .leaves_nodes = true,
    .no_robbers = true,
    .no_compression = true,
};
