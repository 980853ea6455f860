/* SPDX-License-Identifier: Apache-2.0 */
/* registration.c - one registration.
 *
 * It has what is wanted (registered or not, with which data) and what is known of its node. One
 * request at a time brings the second closer to the first: drive(). Whatever happens meanwhile,
 * a new session, an update, the user's unregister, only changes the facts that drive() looks at.
 *
 * The node is watched. When somebody deletes it, it is made again; when he has put another in its
 * place, a process with the same id, that one stays until it goes: two would fight for ever. */
#include "recipes/discovery/registration.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "recipes/core/ask.h"
#include "recipes/core/link_trouble.h"
#include "recipes/queue/queue_names.h"

enum { PAUSE_MS = 1000 };

static void drive(struct registration *g);

/* ---- states ---- */

static const uint8_t registration_may_follow[] = {
    [REGISTRATION_ABSENT] = 1 << REGISTRATION_ABSENT | 1 << REGISTRATION_UNSURE |
                            1 << REGISTRATION_LISTING | 1 << REGISTRATION_OURS |
                            1 << REGISTRATION_FREED,
    [REGISTRATION_UNSURE] = 1 << REGISTRATION_ABSENT | 1 << REGISTRATION_OURS |
                            1 << REGISTRATION_FOREIGN | 1 << REGISTRATION_DISPLACED |
                            1 << REGISTRATION_FREED,
    [REGISTRATION_LISTING] = 1 << REGISTRATION_SEARCHING | 1 << REGISTRATION_FREED,
    [REGISTRATION_SEARCHING] =
        1 << REGISTRATION_OURS | 1 << REGISTRATION_ABSENT | 1 << REGISTRATION_FREED,
    [REGISTRATION_OURS] =
        1 << REGISTRATION_ABSENT | 1 << REGISTRATION_UNSURE | 1 << REGISTRATION_FREED,
    [REGISTRATION_FOREIGN] =
        1 << REGISTRATION_ABSENT | 1 << REGISTRATION_UNSURE | 1 << REGISTRATION_FREED,
    [REGISTRATION_DISPLACED] =
        1 << REGISTRATION_ABSENT | 1 << REGISTRATION_UNSURE | 1 << REGISTRATION_FREED,
    [REGISTRATION_FREED] = 0,
};

static bool registration_is_numbered(const struct registration *g)
{
    return g->instance->i.type == PAWL_SERVICE_DYNAMIC_SEQUENTIAL;
}

/* What is true of a registration after any move. */
static void registration_verify(const struct registration *g)
{
    bool searches = g->state == REGISTRATION_LISTING || g->state == REGISTRATION_SEARCHING;

    ASSERT(g->n_left <= g->n_candidates);
    ASSERT(g->n_candidates == 0 || g->state == REGISTRATION_SEARCHING ||
           g->state == REGISTRATION_FREED);
    ASSERT(!searches || registration_is_numbered(g));
    ASSERT(g->state != REGISTRATION_FOREIGN || !g->yields);
    ASSERT(g->state != REGISTRATION_DISPLACED || g->yields);
    ASSERT(g->state != REGISTRATION_FREED || (!g->busy && list_empty(&g->asks)));
}

static void registration_move(struct registration *g, enum registration_state next)
{
    ASSERT((registration_may_follow[g->state] & 1 << next) != 0);
    g->state = next;
    registration_verify(g);
}

/* The node at its place has gone, ours or another's. */
static void registration_node_went(struct registration *g)
{
    if (g->state == REGISTRATION_OURS) {
        g->yields = true;
        registration_move(g, REGISTRATION_ABSENT);
    } else if (g->state == REGISTRATION_DISPLACED) {
        registration_move(g, REGISTRATION_ABSENT);
    }
}

/* ---- life ---- */

static void registration_unref(struct registration *g)
{
    ASSERT(g->refs > 0);
    if (--g->refs > 0) {
        return;
    }
    pawl_instance_free(g->instance == NULL ? NULL : &g->instance->i);
    queue_entries_free(g->candidates, g->n_candidates);
    strbuf_fini(&g->data);
    free(g->path);
    free(g->made);
    free(g->watched);
    free(g);
}

static void registration_unwatch(struct registration *g)
{
    recipe_unwatch(&g->d->r, &g->watch, g->watched, PAWL_WATCHES_DATA);
}

/* The event of its watch may be still to come: it goes then. */
void registration_free(struct registration *g)
{
    timer_clear(g->d->r.e, &g->again);
    list_remove(&g->link);
    registration_move(g, REGISTRATION_FREED);
    registration_unwatch(g);
    registration_unref(g);
}

static bool registration_is_ephemeral(const struct registration *g)
{
    enum pawl_service_type type = g->instance->i.type;

    return type == PAWL_SERVICE_DYNAMIC || type == PAWL_SERVICE_DYNAMIC_SEQUENTIAL;
}

static const char *node_path(const struct registration *g)
{
    return g->made != NULL ? g->made : g->path;
}

/* ---- requests ---- */

static void stop(struct registration *g, int err)
{
    ask_end_all(&g->asks, err);
    registration_free(g);
}

/* One that never stood goes; one that did is tried again. */
static void registration_failed(struct registration *g, int err)
{
    if (err == PAWL_ERR_CLOSING || !g->wanted) {
        stop(g, err);
        return;
    }
    log_warn("service %s: %s", node_path(g), pawl_strerror(err));
    ask_end_all(&g->asks, err);
    if (g->confirmed) {
        timer_set(g->d->r.e, &g->again, machine_now_ms() + PAUSE_MS);
    } else {
        g->wanted = false;
        drive(g);
    }
}

static void sent(struct registration *g, int rc)
{
    if (rc == 0) {
        g->busy = true;
        recipe_ref(&g->d->r);
    } else {
        registration_failed(g, rc);
    }
}

/* Without memory for its name a numbered one has to be looked for. */
static void registration_made(struct registration *g, const struct pawl_reply *reply)
{
    bool ours = reply->err == 0 && (!registration_is_ephemeral(g) ||
                                    reply->stat.ephemeral_owner == g->d->r.e->core->session_id);

    g->made = reply->path == NULL ? NULL : recipe_copy(reply->path);
    g->written = g->sent;
    if (registration_is_numbered(g) && g->made == NULL) {
        registration_move(g, REGISTRATION_LISTING);
    } else {
        registration_move(g, ours ? REGISTRATION_OURS : REGISTRATION_UNSURE);
    }
}

static void registration_created(const struct pawl_reply *reply, void *registration)
{
    struct registration *g = registration;
    struct recipe *r = &g->d->r;
    int err = recipe_was_done(reply) ? 0 : reply->err;

    g->busy = false;
    if (err == 0) {
        registration_made(g, reply);
    } else if (is_link_trouble(err) && registration_is_numbered(g)) {
        registration_move(g, REGISTRATION_LISTING);
    } else if (err == PAWL_ERR_NODE_EXISTS || is_link_trouble(err)) {
        registration_move(g, REGISTRATION_UNSURE);
    }
    if (err == 0 || err == PAWL_ERR_NODE_EXISTS || err == PAWL_ERR_NO_NODE ||
        is_link_trouble(err)) {
        drive(g);
    } else {
        registration_failed(g, err);
    }
    recipe_unref(r);
}

static enum pawl_mode mode_of(const struct registration *g)
{
    static const enum pawl_mode modes[] = {
        [PAWL_SERVICE_DYNAMIC] = PAWL_MODE_EPHEMERAL,
        [PAWL_SERVICE_STATIC] = PAWL_MODE_PERSISTENT,
        [PAWL_SERVICE_PERMANENT] = PAWL_MODE_PERSISTENT,
        [PAWL_SERVICE_DYNAMIC_SEQUENTIAL] = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
    };

    return modes[g->instance->i.type];
}

static void registration_send_create(struct registration *g)
{
    free(g->made);
    g->made = NULL;
    g->sent = g->revision;
    sent(g, pawl_create_async(g->d->r.client,
                              PAWL_CREATE(.path = g->path, .mode = mode_of(g),
                                          .data = {g->data.data, g->data.len},
                                          .flags = PAWL_OP_CONTAINER_PARENTS),
                              registration_created, g));
}

static bool registration_has_data(const struct registration *g, struct pawl_bytes data)
{
    return data.len == g->data.len && memcmp(data.data, g->data.data, data.len) == 0;
}

static void found(struct registration *g, const struct pawl_reply *reply)
{
    int64_t owner = reply->stat.ephemeral_owner;
    bool ours = owner == (registration_is_ephemeral(g) ? g->d->r.e->core->session_id : 0);

    g->written = registration_has_data(g, reply->data) ? g->revision : 0;
    registration_move(g, ours        ? REGISTRATION_OURS
                         : g->yields ? REGISTRATION_DISPLACED
                                     : REGISTRATION_FOREIGN);
}

/* ---- watching it ---- */

static void watch_event(const struct pawl_event *event, void *registration)
{
    struct registration *g = registration;

    if (g->state == REGISTRATION_FREED ||
        event->type == PAWL_EVENT_SESSION) { /* the next link is waited for */
        return;
    }
    if (event->type == PAWL_EVENT_DELETED) {
        registration_node_went(g);
    }
    drive(g);
}

static void watch_ref(void *registration)
{
    struct registration *g = registration;

    g->refs++;
    recipe_ref(&g->d->r);
}

static void watch_unref(void *registration)
{
    struct registration *g = registration;
    struct recipe *r = &g->d->r;

    registration_unref(g);
    recipe_unref(r);
}

/* Not there any more, and we were not told: it went before the watch was set. */
static void watch_set(const struct pawl_reply *reply, void *registration)
{
    struct registration *g = registration;
    struct recipe *r = &g->d->r;

    g->busy = false;
    if (recipe_was_done(reply) || reply->err == PAWL_ERR_NO_NODE) {
        if (reply->err == PAWL_ERR_NO_NODE) {
            registration_node_went(g);
        }
        drive(g);
    } else {
        registration_failed(g, reply->err);
    }
    recipe_unref(r);
}

static void send_watch(struct registration *g)
{
    free(g->watched);
    g->watched = recipe_copy(node_path(g));
    sent(g, g->watched == NULL
                ? PAWL_ERR_NO_MEMORY
                : pawl_exists_async(g->d->r.client, g->watched, &g->watch.ask, watch_set, g));
}

/* ---- looking ---- */

static void looked(const struct pawl_reply *reply, void *registration)
{
    struct registration *g = registration;
    struct recipe *r = &g->d->r;

    g->busy = false;
    if (reply->err == 0) {
        found(g, reply);
    } else if (reply->err == PAWL_ERR_NO_NODE) {
        registration_move(g, REGISTRATION_ABSENT);
    }
    if (reply->err == 0 || reply->err == PAWL_ERR_NO_NODE) {
        drive(g);
    } else {
        registration_failed(g, reply->err);
    }
    recipe_unref(r);
}

/* ---- looking for a node whose number we do not know ---- */

static void stop_search(struct registration *g, enum registration_state next)
{
    queue_entries_free(g->candidates, g->n_candidates);
    g->candidates = NULL;
    g->n_candidates = g->n_left = 0;
    registration_move(g, next);
}

static void candidate_read(const struct pawl_reply *reply, void *registration)
{
    struct registration *g = registration;
    struct recipe *r = &g->d->r;

    g->busy = false;
    if (reply->err == 0 && reply->stat.ephemeral_owner == r->e->core->session_id &&
        registration_has_data(g, reply->data)) {
        g->written = g->revision;
        stop_search(g, REGISTRATION_OURS);
    }
    if (reply->err == 0 || reply->err == PAWL_ERR_NO_NODE) {
        drive(g);
    } else {
        registration_failed(g, reply->err);
    }
    recipe_unref(r);
}

static void candidates_listed(const struct pawl_reply *reply, void *registration)
{
    struct registration *g = registration;
    struct recipe *r = &g->d->r;
    int rc = reply->err;

    g->busy = false;
    if (rc == 0) {
        rc = queue_entries_new(g->instance->i.id, PAWL_QUEUE_PLAIN, &reply->children,
                               &g->candidates, &g->n_candidates);
        g->n_left = g->n_candidates;
    }
    if (rc == 0 || rc == PAWL_ERR_NO_NODE) {
        registration_move(g, REGISTRATION_SEARCHING);
        drive(g);
    } else {
        registration_failed(g, rc);
    }
    recipe_unref(r);
}

/* The last ones first. */
static void read_candidate(struct registration *g)
{
    const char *id = g->instance->i.id, *name = NULL;
    char *folder = recipe_copy(g->path);

    while (g->n_left > 0 && name == NULL) {
        name = g->candidates[--g->n_left].name;
        name = queue_name_stem(id, name) == strlen(id) ? name : NULL;
    }
    free(g->made);
    g->made = NULL;
    if (name == NULL) {
        free(folder);
        stop_search(g, REGISTRATION_ABSENT);
        drive(g);
        return;
    }
    if (folder != NULL) {
        *strrchr(folder, '/') = '\0';
        g->made = recipe_join(folder, name);
        free(folder);
    }
    sent(g, g->made == NULL ? PAWL_ERR_NO_MEMORY
                            : pawl_get_async(g->d->r.client, g->made, NULL, candidate_read, g));
}

static void list_candidates(struct registration *g)
{
    char *folder = recipe_copy(g->path);

    if (folder != NULL) {
        *strrchr(folder, '/') = '\0';
    }
    sent(g, folder == NULL
                ? PAWL_ERR_NO_MEMORY
                : pawl_children_async(g->d->r.client, folder, NULL, candidates_listed, g));
    free(folder);
}

/* ---- changing it ---- */

static void registration_deleted(const struct pawl_reply *reply, void *registration)
{
    struct registration *g = registration;
    struct recipe *r = &g->d->r;

    g->busy = false;
    if (recipe_was_done(reply)) {
        registration_move(g, REGISTRATION_ABSENT);
        drive(g);
    } else {
        registration_failed(g, reply->err);
    }
    recipe_unref(r);
}

static void written(const struct pawl_reply *reply, void *registration)
{
    struct registration *g = registration;
    struct recipe *r = &g->d->r;

    g->busy = false;
    if (recipe_was_done(reply)) {
        g->written = g->sent;
    } else if (reply->err == PAWL_ERR_NO_NODE && g->state == REGISTRATION_OURS) {
        registration_move(g, REGISTRATION_ABSENT);
    }
    if (recipe_was_done(reply) || reply->err == PAWL_ERR_NO_NODE) {
        drive(g);
    } else {
        registration_failed(g, reply->err);
    }
    recipe_unref(r);
}

static void send_delete(struct registration *g)
{
    sent(g, pawl_delete_async(g->d->r.client,
                              PAWL_DELETE(.path = node_path(g), .flags = PAWL_OP_IDEMPOTENT),
                              registration_deleted, g));
}

static void replaced(const struct pawl_reply *reply, void *registration)
{
    struct registration *g = registration;
    struct recipe *r = &g->d->r;

    g->busy = false;
    if (recipe_was_done(reply) || reply->err == PAWL_ERR_NO_NODE || is_link_trouble(reply->err)) {
        registration_move(g, REGISTRATION_UNSURE);
        drive(g);
    } else {
        registration_move(g, REGISTRATION_ABSENT);
        registration_failed(g, reply->err);
    }
    recipe_unref(r);
}

/* Somebody else's goes and ours comes in one piece: he sees it gone, and ours there. */
static void registration_replace(struct registration *g)
{
    struct pawl_multi *m = pawl_multi_new(g->d->r.client);
    int rc = PAWL_ERR_NO_MEMORY;

    if (m != NULL) {
        pawl_multi_delete(m, PAWL_DELETE(.path = g->path));
        pawl_multi_create(m, PAWL_CREATE(.path = g->path, .mode = mode_of(g),
                                         .data = {g->data.data, g->data.len}));
        rc = pawl_multi_run_async(g->d->r.client, m, replaced, g);
    }
    pawl_multi_free(m);
    sent(g, rc);
}

static void registration_send_set(struct registration *g)
{
    g->sent = g->revision;
    sent(g, pawl_set_async(g->d->r.client,
                           PAWL_SET(.path = node_path(g), .data = {g->data.data, g->data.len},
                                    .flags = PAWL_OP_IDEMPOTENT),
                           written, g));
}

static void stands(struct registration *g)
{
    if (g->state == REGISTRATION_OURS) {
        g->confirmed = true;
        g->yields = false;
        ask_end_all(&g->asks, 0);
    }
    if (!step_watch_is_set(&g->watch)) {
        send_watch(g);
    } else if (strcmp(g->watched, node_path(g)) != 0) {
        registration_unwatch(g); /* its event brings us back here */
    }
}

/* One that is searched for is found first. */
static void drive_away(struct registration *g)
{
    if (g->state == REGISTRATION_OURS || g->state == REGISTRATION_UNSURE) {
        send_delete(g);
    } else {
        stop(g, 0);
    }
}

static void drive_there(struct registration *g)
{
    switch (g->state) {
    case REGISTRATION_FOREIGN:
        if (g->made != NULL && strcmp(g->made, g->path) != 0) {
            send_delete(g); /* numbered, of an older session: ours will have another name */
        } else {
            registration_replace(g);
        }
        break;
    case REGISTRATION_UNSURE:
        sent(g, pawl_get_async(g->d->r.client, node_path(g), NULL, looked, g));
        break;
    case REGISTRATION_ABSENT:
        registration_send_create(g);
        break;
    default:
        if (g->state == REGISTRATION_OURS && g->written != g->revision) {
            registration_send_set(g);
        } else {
            stands(g);
        }
        break;
    }
}

static void drive(struct registration *g)
{
    ASSERT(g->state != REGISTRATION_FREED);
    if (g->busy) {
        return;
    }
    if (g->state == REGISTRATION_LISTING) {
        list_candidates(g);
    } else if (g->state == REGISTRATION_SEARCHING) {
        read_candidate(g);
    } else if (g->wanted) {
        drive_there(g);
    } else {
        drive_away(g);
    }
}

static void try_again(void *registration)
{
    drive(registration);
}

/* ---- what is wanted ---- */

struct registration *registration_new(struct pawl_discovery *d, const char *path)
{
    struct registration *g = calloc(1, sizeof(*g));

    if (g == NULL) {
        return NULL;
    }
    g->d = d;
    g->refs = 1;
    g->path = recipe_copy(path);
    if (g->path == NULL) {
        free(g);
        return NULL;
    }
    strbuf_init(&g->data, STRBUF_NO_LIMIT);
    list_init(&g->asks);
    timer_init(&g->again, try_again, g);
    step_watch_init(&g->watch, watch_event, g, watch_ref, watch_unref, g);
    list_push_back(&d->registrations, &g->link);
    return g;
}

int registration_want(struct registration *g, struct shared_instance **instance)
{
    struct strbuf data;
    int rc;

    strbuf_init(&data, STRBUF_NO_LIMIT);
    rc = instance_write(&data, &(*instance)->i);
    if (rc != 0) {
        strbuf_fini(&data);
        return rc;
    }
    strbuf_fini(&g->data);
    g->data = data;
    g->revision++;
    g->wanted = true;
    if (g->state == REGISTRATION_DISPLACED) {
        registration_move(g, REGISTRATION_ABSENT);
    }
    g->yields = false; /* whoever has its place now */
    if (g->instance == NULL) {
        g->instance = *instance;
        *instance = NULL;
    }
    return 0;
}

void registration_start(struct registration *g)
{
    drive(g);
}

/* Those who waited for it to be registered are not going to see that. */
void registration_end(struct registration *g)
{
    ask_end_all(&g->asks, PAWL_ERR_CANCELLED);
    g->wanted = false;
    timer_clear(g->d->r.e, &g->again);
}

void registration_check(struct registration *g)
{
    if (g->state == REGISTRATION_OURS || g->state == REGISTRATION_DISPLACED) {
        registration_move(g, REGISTRATION_UNSURE);
        drive(g);
    }
}
