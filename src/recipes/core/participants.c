/* SPDX-License-Identifier: Apache-2.0 */
/* participants.c - who is in a queue: one listing, then all nodes at once. */
#include "recipes/core/participants.h"

#include <stdlib.h>
#include <string.h>

#include "client/handle.h"
#include "client/prepare.h"
#include "recipes/core/ask.h"
#include "recipes/core/contender.h"

struct roll;

/* One name of the listing. */
struct entry {
    struct roll *roll;
    char *path;
    struct pawl_participant *found; /* with its strings behind it; NULL: not there (any more) */
};

/* Lives until the last answer has come, also if nobody waits for it any more. */
struct roll {
    struct recipe r;
    char *base;
    struct entry *entries;
    size_t n;
    size_t n_open;   /* answers to come */
    int err;         /* the first there was */
    struct ask *ask; /* a reference */
};

/* ---- the order ---- */

/* Of every queue there is: Curator's locks, latches, read/write locks and leases, kazoo's locks. */
static const char *any_key(const struct contender *c, const char *name)
{
    static const char *const markers[] = {"lock-",    "latch-",   "lease-",
                                          "__READ__", "__WRIT__", "__lock__"};
    const char *last = name;

    (void)c;
    for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
        const char *key = contender_key(name, markers[i], NULL);

        last = key > last ? key : last;
    }
    return last;
}

static const struct contender_rule any_rule = {.order_key = any_key};
static const struct contender any_queue = {.o = {.rule = &any_rule}};

static bool is_before(const struct pawl_participant *a, const struct pawl_participant *b)
{
    const char *x = strrchr(a->path, '/') + 1, *y = strrchr(b->path, '/') + 1;

    if (contender_before(&any_queue, x, y) || contender_before(&any_queue, y, x)) {
        return contender_before(&any_queue, x, y);
    }
    return a->token < b->token;
}

/* ---- asking ---- */

static void roll_answered(struct roll *l, int err)
{
    l->err = l->err != 0 ? l->err : err;
    if (--l->n_open == 0) {
        ask_end(l->ask, l->err);
        ask_unref(l->ask);
    }
    recipe_unref(&l->r);
}

static struct pawl_participant *new_participant(const char *path, const struct pawl_reply *reply)
{
    size_t path_size = strlen(path) + 1, len = reply->data.len;
    struct pawl_participant *p = malloc(sizeof(*p) + path_size + len);
    char *text = (char *)(p + 1);

    if (p == NULL) {
        return NULL;
    }
    memcpy(text, path, path_size);
    if (len > 0) {
        memcpy(text + path_size, reply->data.data, len);
    }
    *p = (struct pawl_participant){
        .path = text,
        .data = {text + path_size, len},
        .session_id = reply->stat.ephemeral_owner,
        .since_ms = reply->stat.ctime,
        .token = (uint64_t)reply->stat.czxid,
    };
    return p;
}

static void got(const struct pawl_reply *reply, void *entry)
{
    struct entry *en = entry;
    bool as_they_are = reply->err == PAWL_ERR_DATA_INCONSISTENCY && recipe_was_done(reply);
    int err = reply->err == PAWL_ERR_NO_NODE ? 0 : reply->err;

    if (reply->err == 0 || as_they_are) { /* others need not compress, although we do */
        en->found = new_participant(en->path, reply);
        err = en->found == NULL ? PAWL_ERR_NO_MEMORY : 0;
    }
    roll_answered(en->roll, err);
}

static int roll_ask_one(struct roll *l, struct entry *en, const char *name)
{
    int rc;

    en->roll = l;
    en->path = recipe_join(l->base, name);
    rc = en->path == NULL ? PAWL_ERR_NO_MEMORY
                          : pawl_get_async(l->r.client, en->path, NULL, got, en);
    if (rc == 0) {
        l->n_open++;
        recipe_ref(&l->r);
    }
    return rc;
}

static int roll_ask_all(struct roll *l, const struct pawl_strings *names)
{
    const char **sorted = malloc(2 * names->n * sizeof(*sorted));
    int rc = 0;

    l->entries = calloc(names->n, sizeof(*l->entries));
    if (sorted == NULL || l->entries == NULL) {
        free(sorted);
        return PAWL_ERR_NO_MEMORY;
    }
    memcpy(sorted, names->items, names->n * sizeof(*sorted));
    contender_sort(&any_queue, sorted, sorted + names->n, names->n);
    for (; l->n < names->n && rc == 0; l->n++) {
        rc = roll_ask_one(l, &l->entries[l->n], sorted[l->n]);
    }
    free(sorted);
    return rc;
}

static void roll_listed(const struct pawl_reply *reply, void *roll)
{
    struct roll *l = roll;
    int err = reply->err == PAWL_ERR_NO_NODE ? 0 : reply->err;

    if (reply->err == 0 && reply->children.n > 0 && !l->ask->ended) {
        err = roll_ask_all(l, &reply->children);
    }
    roll_answered(l, err);
}

/* ---- the result ---- */

static int make_result(struct roll *l, struct pawl_participants **out)
{
    struct pawl_participants *all = calloc(1, sizeof(*all));
    const struct pawl_participant **items = calloc(l->n + 1, sizeof(*items));

    if (all == NULL || items == NULL) {
        free(all);
        free(items);
        return PAWL_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < l->n; i++) {
        size_t at = all->n;

        if (l->entries[i].found == NULL) {
            continue;
        }
        for (; at > 0 && is_before(l->entries[i].found, items[at - 1]); at--) {
            items[at] = items[at - 1];
        }
        items[at] = l->entries[i].found;
        l->entries[i].found = NULL;
        all->n++;
    }
    all->items = items;
    *out = all;
    return 0;
}

static void roll_destroy(struct recipe *r)
{
    struct roll *l = container_of(r, struct roll, r);

    for (size_t i = 0; i < l->n; i++) {
        free(l->entries[i].path);
        free(l->entries[i].found);
    }
    free(l->entries);
    free(l->base);
    recipe_fini(r);
    free(l);
}

static int start_roll(struct ask *a)
{
    struct roll *l = container_of(a->r, struct roll, r);
    int rc = pawl_children_async(l->r.client, l->base, NULL, roll_listed, l);

    if (rc == 0) {
        ask_ref(a);
        l->ask = a;
        l->n_open = 1;
        recipe_ref(&l->r);
    }
    return rc;
}

struct roll_result {
    int err;
    struct pawl_participants **out;
};

static void take_roll(struct ask *a, void *result)
{
    struct roll_result *x = result;

    x->err = a->err != 0 ? a->err : make_result(container_of(a->r, struct roll, r), x->out);
}

int participants_read(struct pawl_client *c, const char *path, int timeout_ms,
                      struct pawl_participants **out)
{
    struct roll_result result = {.err = 0, .out = out};
    struct recipe *r;
    struct roll *l;
    int rc = recipe_new(sizeof(*l), c, roll_destroy, &r);

    if (rc != 0) {
        return rc;
    }
    l = container_of(r, struct roll, r);
    l->base = recipe_copy(path);
    rc = l->base == NULL ? PAWL_ERR_NO_MEMORY
                         : ask_block(r, ask_new(sizeof(struct ask), start_roll), timeout_ms,
                                     take_roll, &result);
    recipe_free(r, NULL);
    return rc != 0 ? rc : result.err;
}

int pawl_participants(struct pawl_client *c, const char *path, struct pawl_participants **out)
{
    if (out != NULL) {
        *out = NULL;
    }
    if (c == NULL || out == NULL || !prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return participants_read(c, path, handle_check(c) == 0 ? c->timeout_ms : 0, out);
}

void pawl_participants_free(struct pawl_participants *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < p->n; i++) {
        free((void *)(uintptr_t)p->items[i]);
    }
    free((void *)(uintptr_t)p->items);
    free(p);
}
