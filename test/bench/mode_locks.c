/* SPDX-License-Identifier: Apache-2.0 */
/* mode_locks.c - the lock recipe: --locks locks, --contenders sessions queueing for each.
 *
 *            own is the lowest
 * CREATING -> LISTING ----------> RELEASING -> CREATING ...
 *               ^  |
 *    event, or  |  v somebody is ahead
 *   node is gone  WATCHING
 *
 * Each contender is a connection with its own session. It lets go as soon as it holds the lock, so
 * what is counted is how often per second a lock changes hands; the latency is the time from one
 * holder's delete leaving until the next one knows that it holds. */
#include <stdio.h>

#include "load.h"

enum contender_state { CREATING, LISTING, WATCHING, WAITING, RELEASING };

enum { NAME_BYTES_MAX = 32 };

struct contender {
    enum contender_state state;
    int event_came; /* before the reply to the exists() that asked for it */
    char name[NAME_BYTES_MAX];
};

struct lock {
    char last_holder[NAME_BYTES_MAX];
    uint64_t released_ns; /* 0: never yet */
};

struct locks {
    struct lock *locks;
    struct contender *contenders; /* one per connection */
};

/* Sets this run's nodes apart from those of an earlier one that was killed. */
static uint64_t run_id;

static void root_path(char *path, long i)
{
    snprintf(path, PATH_BYTES_MAX, i == 0 ? "/locks" : "/locks/%llx", (unsigned long long)run_id);
}

static void lock_path(char *path, long i)
{
    snprintf(path, PATH_BYTES_MAX, "/locks/%llx/l%03ld", (unsigned long long)run_id, i);
}

static void setup(struct load *l)
{
    struct locks *s = must_calloc(1, sizeof(*s));

    run_id = clock_ns();
    s->locks = must_calloc((size_t)l->options->locks, sizeof(*s->locks));
    s->contenders = must_calloc((size_t)l->n_conns, sizeof(*s->contenders));
    l->state = s;
    conn_create_nodes(&l->conns[0], root_path, 2, 0);
    conn_create_nodes(&l->conns[0], lock_path, l->options->locks, 0);
}

static int lock_index(const struct load *l, const struct conn *c)
{
    return c->index % l->options->locks;
}

static void contend(struct load *l, struct conn *c)
{
    struct locks *s = l->state;
    char path[PATH_BYTES_MAX + NAME_BYTES_MAX];

    lock_path(path, lock_index(l, c));
    strcat(path, "/c-");
    s->contenders[c->index].state = CREATING;
    conn_commit(c, wire_create(conn_reserve(c, FRAME_OVERHEAD_MAX), c->next_xid++, path, 0,
                               CREATE_EPHEMERAL_SEQUENTIAL));
}

static void list(struct load *l, struct conn *c)
{
    struct locks *s = l->state;
    char path[PATH_BYTES_MAX];

    lock_path(path, lock_index(l, c));
    s->contenders[c->index].state = LISTING;
    conn_commit(
        c, wire_read(conn_reserve(c, FRAME_OVERHEAD_MAX), c->next_xid++, OP_GET_CHILDREN, path, 0));
}

static void watch(struct load *l, struct conn *c, const char *name)
{
    struct locks *s = l->state;
    struct contender *me = &s->contenders[c->index];
    char path[PATH_BYTES_MAX + NAME_BYTES_MAX];

    lock_path(path, lock_index(l, c));
    strcat(path, "/");
    strcat(path, name);
    me->state = WATCHING;
    me->event_came = 0;
    conn_commit(c,
                wire_read(conn_reserve(c, FRAME_OVERHEAD_MAX), c->next_xid++, OP_EXISTS, path, 1));
}

static void hold_and_release(struct load *l, struct conn *c)
{
    struct locks *s = l->state;
    struct lock *lock = &s->locks[lock_index(l, c)];
    struct contender *me = &s->contenders[c->index];
    char path[PATH_BYTES_MAX + NAME_BYTES_MAX];

    if (strcmp(me->name, lock->last_holder) <= 0) {
        die("%s holds the lock after %s: the server broke the order", me->name, lock->last_holder);
    }
    strcpy(lock->last_holder, me->name);
    if (lock->released_ns != 0) {
        load_count(l, lock->released_ns);
    }
    lock->released_ns = l->now_ns;
    lock_path(path, lock_index(l, c));
    strcat(path, "/");
    strcat(path, me->name);
    me->state = RELEASING;
    conn_commit(c, wire_delete(conn_reserve(c, FRAME_OVERHEAD_MAX), c->next_xid++, path));
}

static void remember_name(struct contender *me, const struct reply *r)
{
    const char *path = (const char *)r->body + 4;
    int32_t len = r->body_len >= 4 ? get32(r->body) : -1;
    int32_t i = len;

    if (len <= 0 || (size_t)len != r->body_len - 4) {
        die("create reply without a path");
    }
    while (i > 0 && path[i - 1] != '/') {
        i--;
    }
    if (len - i >= NAME_BYTES_MAX) {
        die("create reply with an odd name");
    }
    memcpy(me->name, path + i, (size_t)(len - i));
    me->name[len - i] = '\0';
}

/* Finds the largest name below `own`; "" if there is none. All names are c-%010d: as text they
 * order like the numbers. Dies if `own` is not among them. */
static void find_ahead(const struct reply *r, const char *own, char ahead[NAME_BYTES_MAX])
{
    const uint8_t *p = r->body + 4;
    const uint8_t *end = r->body + r->body_len;
    int32_t left = r->body_len >= 4 ? get32(r->body) : 0;
    int own_seen = 0;
    char name[NAME_BYTES_MAX];

    ahead[0] = '\0';
    for (; left > 0 && end - p >= 4; left--) {
        int32_t len = get32(p);

        if (len <= 0 || len >= NAME_BYTES_MAX || end - p - 4 < len) {
            die("bad list of children");
        }
        memcpy(name, p + 4, (size_t)len);
        name[len] = '\0';
        p += 4 + len;
        if (strcmp(name, own) == 0) {
            own_seen = 1;
        } else if (strcmp(name, own) < 0 && strcmp(name, ahead) > 0) {
            strcpy(ahead, name);
        }
    }
    if (!own_seen) {
        die("%s is missing among the children of its lock", own);
    }
}

static void on_listed(struct load *l, struct conn *c, const struct reply *r)
{
    struct locks *s = l->state;
    char ahead[NAME_BYTES_MAX];

    find_ahead(r, s->contenders[c->index].name, ahead);
    if (ahead[0] == '\0') {
        hold_and_release(l, c);
    } else {
        watch(l, c, ahead);
    }
}

static void on_reply(struct load *l, struct conn *c, const struct reply *r)
{
    struct locks *s = l->state;
    struct contender *me = &s->contenders[c->index];

    if (r->err != ERR_OK && !(me->state == WATCHING && r->err == ERR_NO_NODE)) {
        die("error %d in the lock recipe, state %d", r->err, (int)me->state);
    }
    switch (me->state) {
    case CREATING:
        remember_name(me, r);
        list(l, c);
        break;
    case LISTING:
        on_listed(l, c, r);
        break;
    case WATCHING:
        if (r->err == ERR_NO_NODE || me->event_came) {
            list(l, c);
        } else {
            me->state = WAITING;
        }
        break;
    case RELEASING:
        contend(l, c);
        break;
    case WAITING:
        die("a reply while waiting for an event");
    }
}

static void on_event(struct load *l, struct conn *c)
{
    struct locks *s = l->state;
    struct contender *me = &s->contenders[c->index];

    if (me->state == WAITING) {
        list(l, c);
    } else if (me->state == WATCHING) {
        me->event_came = 1;
    }
    /* Otherwise it is a leftover of an exists() that found no node: its name is never used again.
     */
}

static void start(struct load *l)
{
    int i;

    for (i = 0; i < l->n_conns; i++) {
        contend(l, &l->conns[i]);
        conn_flush(&l->conns[i], l->epoll_fd);
    }
}

const struct mode mode_locks = {
    .name = "locks",
    .does = "the lock recipe: ephemeral sequential nodes, watch on the one ahead",
    .setup = setup,
    .start = start,
    .reply = on_reply,
    .event = on_event,
};
