/* SPDX-License-Identifier: Apache-2.0 */
/* sim_profile.c - what older servers do otherwise. Requests on their way to ours are looked at and
 * changed, and so is what it sends: ours keeps all watches, and of its events those arrive that the
 * older server would have sent.
 *
 * Before 3.6 some operations are unknown: the server says UNIMPLEMENTED and hangs up. Before 3.9
 * events do not tell their zxid, and watches are kept so (each line seen on 3.8.0):
 *
 *  - There are two tables, of data and of children, and in each a connection has one mode per path:
 *    once, persistent or recursive. Whatever is set last replaces what was there.
 *  - exists and getData set the one of data, getChildren the one of children, addWatch both; also
 *    when it is recursive. setWatches2 sets its lists in their order: what stays wins over
 *    one-shots, recursive over persistent.
 *  - The table of data tells created, changed and deleted, that of children children-changed and
 *    deleted. A recursive one tells it of nodes below too, but never children-changed: without its
 *    half in the table of data it hears of deletions only, without the other half it misses
 *    nothing.
 *  - So getData beside addWatch leaves half of the persistent watch: after its one event the table
 *    of data tells nothing more, that of children goes on.
 *  - removeWatches takes the entry of one table, or of both, away, whatever its mode is; types of
 *    persistent watches are MARSHALLING_ERROR. checkWatches finds anybody's. */
#include <stdlib.h>

#include "base/memory.h"
#include "pawl/error.h"
#include "server/server.h"
#include "sim/sim_world.h"

enum { NO_OPERATION = 10, NO_WATCH_TYPE = 99 };
enum mode { MODE_NONE, MODE_ONCE, MODE_PERSISTENT, MODE_RECURSIVE };
enum table { TABLE_CHILD, TABLE_DATA, N_TABLES };
enum { CHILD_BIT = 1 << TABLE_CHILD, DATA_BIT = 1 << TABLE_DATA };

struct old_watch {
    struct list link;
    enum mode modes[N_TABLES];
    size_t len;
    uint8_t path[];
};

/* One whose answer changes the tables. */
struct old_request {
    struct list link;
    int32_t xid, op, option; /* of watch, mode or type */
    size_t len;
    uint8_t path[];
};

void profile_init(struct old_tables *t)
{
    *t = (struct old_tables){0};
    list_init(&t->watches);
    list_init(&t->requests);
}

void profile_fini(struct old_tables *t)
{
    struct list *item;

    while ((item = list_pop_front(&t->watches)) != NULL) {
        free(container_of(item, struct old_watch, link));
    }
    while ((item = list_pop_front(&t->requests)) != NULL) {
        free(container_of(item, struct old_request, link));
    }
}

/* ---- tables ---- */

static struct old_watch *find_old(struct old_tables *t, struct bytes path)
{
    struct list *item;

    list_for_each (item, &t->watches) {
        struct old_watch *w = container_of(item, struct old_watch, link);

        if (bytes_equal(bytes_of(w->path, w->len), path)) {
            return w;
        }
    }
    return NULL;
}

static void set_old(struct old_tables *t, struct bytes path, unsigned tables, enum mode mode)
{
    struct old_watch *w = find_old(t, path);

    if (w == NULL) {
        w = must_zalloc(sizeof(*w) + path.len);
        w->len = path.len;
        memcpy(w->path, path.data, path.len);
        list_push_back(&t->watches, &w->link);
    }
    for (int i = 0; i < N_TABLES; i++) {
        if ((tables & 1u << i) != 0) {
            if (w->modes[i] > MODE_ONCE && mode <= MODE_ONCE) {
                world_note(-1, "half of a persistent watch gone", i);
            }
            w->modes[i] = mode;
        }
    }
}

static bool has_old(struct old_tables *t, struct bytes path, unsigned tables)
{
    const struct old_watch *w = find_old(t, path);

    return w != NULL && (((tables & DATA_BIT) != 0 && w->modes[TABLE_DATA] != MODE_NONE) ||
                         ((tables & CHILD_BIT) != 0 && w->modes[TABLE_CHILD] != MODE_NONE));
}

static bool anybody_has(struct world *w, struct bytes path, unsigned tables)
{
    struct list *item;

    list_for_each (item, &w->links) {
        struct sim_link *l = container_of(item, struct sim_link, link);

        if (l->server_side != NULL && has_old(&l->old, path, tables)) {
            return true;
        }
    }
    return false;
}

static bool is_below(struct bytes path, const struct old_watch *w)
{
    return path.len > w->len && memcmp(path.data, w->path, w->len) == 0 &&
           (w->len == 1 || ((const uint8_t *)path.data)[w->len] == '/');
}

/* Whether this one tells the event; one that does it once is used up. */
static bool tells(struct old_watch *w, enum table table, int32_t type, struct bytes path)
{
    enum mode mode = w->modes[table];
    bool here = bytes_equal(bytes_of(w->path, w->len), path);

    if (mode == MODE_RECURSIVE) {
        return type != EVENT_CHILDREN_CHANGED && (here || is_below(path, w));
    }
    if (here && mode == MODE_ONCE) {
        w->modes[table] = MODE_NONE;
    }
    return here && mode != MODE_NONE;
}

static bool is_told(struct old_tables *t, int32_t type, struct bytes path)
{
    bool told = t->n_setting > 0; /* perhaps what was missed */
    struct list *item;

    list_for_each (item, &t->watches) {
        struct old_watch *w = container_of(item, struct old_watch, link);

        if (type != EVENT_CHILDREN_CHANGED) {
            told = tells(w, TABLE_DATA, type, path) || told;
        }
        if (type == EVENT_CHILDREN_CHANGED || type == EVENT_DELETED) {
            told = tells(w, TABLE_CHILD, type, path) || told;
        }
    }
    return told;
}

/* ---- requests ---- */

static void store_int(uint8_t *at, int32_t n)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)((uint32_t)n >> (24 - 8 * i));
    }
}

static bool is_unknown(int profile, int32_t op)
{
    return (profile < 36 &&
            (op == OP_MULTI_READ || op == OP_GET_EPHEMERALS || op == OP_GET_ALL_CHILDREN_NUMBER ||
             op == OP_SET_WATCHES2 || op == OP_ADD_WATCH)) ||
           (profile < 37 && op == OP_WHO_AM_I);
}

/* What the server finds newer it tells before it answers. */
static void set_lists(struct old_tables *t, struct jute_reader *r, int n_lists)
{
    static const unsigned tables[] = {DATA_BIT, DATA_BIT, CHILD_BIT, DATA_BIT | CHILD_BIT,
                                      DATA_BIT | CHILD_BIT};
    static const enum mode modes[] = {MODE_ONCE, MODE_ONCE, MODE_ONCE, MODE_PERSISTENT,
                                      MODE_RECURSIVE};

    t->n_setting++;
    (void)jute_read_long(r);
    for (int i = 0; i < n_lists; i++) {
        for (int32_t n = jute_read_count(r); n > 0; n--) {
            set_old(t, jute_read_buffer(r), tables[i], modes[i]);
        }
    }
}

static void keep_request(struct old_tables *t, int32_t xid, int32_t op, struct bytes path,
                         int32_t option)
{
    struct old_request *q = must_zalloc(sizeof(*q) + path.len);

    q->xid = xid;
    q->op = op;
    q->option = option;
    q->len = path.len;
    memcpy(q->path, path.data, path.len);
    list_push_back(&t->requests, &q->link);
}

void profile_request(struct world *w, struct sim_link *l, uint8_t *frame, size_t len)
{
    struct jute_reader r = jute_reader_of(bytes_of(frame, len));
    int32_t xid = jute_read_int(&r), op = jute_read_int(&r), type;
    struct bytes path;

    if (is_unknown(w->profile, op)) {
        store_int(frame + 4, NO_OPERATION);
        return;
    }
    switch (op) {
    case OP_SET_WATCHES:
    case OP_SET_WATCHES2:
        keep_request(&l->old, xid, op, bytes_of("", 0), 0);
        set_lists(&l->old, &r, op == OP_SET_WATCHES ? 3 : 5);
        break;
    case OP_GET_DATA:
    case OP_EXISTS:
    case OP_GET_CHILDREN:
    case OP_GET_CHILDREN2:
        path = jute_read_buffer(&r);
        if (jute_read_bool(&r)) {
            keep_request(&l->old, xid, op, path, 0);
        }
        break;
    case OP_ADD_WATCH:
    case OP_CHECK_WATCHES:
    case OP_REMOVE_WATCHES:
        path = jute_read_buffer(&r);
        type = jute_read_int(&r);
        if (op != OP_ADD_WATCH && type > 3) {
            store_int(frame + len - 4, NO_WATCH_TYPE);
        } else {
            keep_request(&l->old, xid, op, path, type);
        }
        break;
    default:
        break;
    }
}

/* ---- what the server sends ---- */

static struct old_request *find_request(struct old_tables *t, int32_t xid)
{
    struct list *item;

    list_for_each (item, &t->requests) {
        struct old_request *q = container_of(item, struct old_request, link);

        if (q->xid == xid) {
            return q;
        }
    }
    return NULL;
}

/* Returns what the older server says. */
static int32_t answered(struct world *w, struct old_tables *t, const struct old_request *q,
                        int32_t err)
{
    struct bytes path = bytes_of(q->path, q->len);
    unsigned tables = (unsigned)q->option & (CHILD_BIT | DATA_BIT); /* as the types are numbered */

    switch (q->op) {
    case OP_SET_WATCHES:
    case OP_SET_WATCHES2:
        t->n_setting--;
        return err;
    case OP_ADD_WATCH:
        if (err == 0) {
            set_old(t, path, DATA_BIT | CHILD_BIT,
                    q->option == 0 ? MODE_PERSISTENT : MODE_RECURSIVE);
        }
        return err;
    case OP_CHECK_WATCHES:
        return anybody_has(w, path, tables) ? 0 : PAWL_ERR_NO_WATCHER;
    case OP_REMOVE_WATCHES:
        err = has_old(t, path, tables) ? 0 : PAWL_ERR_NO_WATCHER;
        set_old(t, path, tables, MODE_NONE);
        return err;
    default:
        if (err == 0 || (err == PAWL_ERR_NO_NODE && q->op == OP_EXISTS)) {
            bool of_data = q->op == OP_GET_DATA || q->op == OP_EXISTS;

            set_old(t, path, of_data ? DATA_BIT : CHILD_BIT, MODE_ONCE);
        }
        return err;
    }
}

/* Whether it arrives. */
static bool profile_frame(struct world *w, struct old_tables *t, uint8_t *frame, size_t len)
{
    struct jute_reader r = jute_reader_of(bytes_of(frame, len));
    int32_t xid = jute_read_int(&r), err, type;
    struct old_request *q = find_request(t, xid);

    (void)jute_read_long(&r);
    err = jute_read_int(&r);
    if (xid == XID_EVENT) {
        memset(frame + 4, 0xff, 8);
        type = jute_read_int(&r);
        (void)jute_read_int(&r);
        return is_told(t, type, jute_read_buffer(&r));
    }
    if (q != NULL) {
        store_int(frame + 12, answered(w, t, q, err));
        list_remove(&q->link);
        free(q);
    }
    return true;
}

void profile_sent(struct world *w, struct sim_link *l, struct bytes b, struct strbuf *out)
{
    uint8_t *at = (uint8_t *)b.data, *end = at + b.len;
    size_t n;

    for (; at < end; at += n) {
        n = 4 + (size_t)load_u32(at);
        if (!l->old.greeted || profile_frame(w, &l->old, at + 4, n - 4)) {
            strbuf_append(out, at, n);
        }
        l->old.greeted = true;
    }
}
