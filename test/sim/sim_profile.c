/* SPDX-License-Identifier: Apache-2.0 */
/* sim_profile.c - what older servers do otherwise: a frame on its way to ours is looked at, and
 * changed, or the watches behind it are.
 *
 * Before 3.6 some operations are unknown: the server says UNIMPLEMENTED and hangs up. From 3.6 to
 * 3.8 a connection has one watch per path and table: a one-shot that is set replaces a persistent
 * one, and its removal takes the persistent one along. (There the half
 * in the other table stays; here all of it goes, which is harder to bear.) */
#include "server/server.h"
#include "sim/sim_world.h"

enum { NO_OPERATION = 10, NO_WATCH_TYPE = 99 };

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

/* Of one that is in both tables; a recursive one lives from the table of data alone. */
static unsigned stays_in(bool of_children)
{
    return of_children ? WATCH_PERSISTENT : WATCH_PERSISTENT | WATCH_RECURSIVE;
}

static void forget(struct world *w, struct connection *c, struct bytes path, unsigned kinds)
{
    struct watch_table *t = &member_server(w->server.member)->watches;

    if ((watch_kinds(t, c, path) & kinds) != 0) {
        world_note(-1, "persistent watch gone", (int64_t)kinds);
        watch_remove(t, c, path, kinds);
    }
}

/* The server is to find what it removes, and says so in its turn. */
static void remove_as_one(struct world *w, struct connection *c, struct bytes path, int32_t type)
{
    struct watch_table *t = &member_server(w->server.member)->watches;
    bool of_children = type == 1; /* 2: of data */

    if ((type == 1 || type == 2) && (watch_kinds(t, c, path) & stays_in(of_children)) != 0) {
        watch_add(t, c, path, of_children ? WATCH_CHILD : WATCH_DATA);
        forget(w, c, path, stays_in(of_children));
    }
}

/* `frame` without its length. */
void profile_frame(struct world *w, struct connection *c, uint8_t *frame, size_t len)
{
    struct jute_reader r = jute_reader_of(bytes_of(frame, len));
    int32_t xid = jute_read_int(&r), op = jute_read_int(&r);
    struct bytes path;
    int32_t type;

    if (is_unknown(w->profile, op)) {
        store_int(frame + 4, NO_OPERATION);
        return;
    }
    if (xid <= 0 || w->profile < 36) {
        return;
    }
    switch (op) {
    case OP_GET_DATA:
    case OP_EXISTS:
    case OP_GET_CHILDREN:
    case OP_GET_CHILDREN2:
        path = jute_read_buffer(&r);
        if (jute_read_bool(&r)) {
            forget(w, c, path, stays_in(op == OP_GET_CHILDREN || op == OP_GET_CHILDREN2));
        }
        break;
    case OP_REMOVE_WATCHES:
        path = jute_read_buffer(&r);
        type = jute_read_int(&r);
        if (type > 3) {
            store_int(frame + len - 4, NO_WATCH_TYPE);
        }
        remove_as_one(w, c, path, type);
        break;
    default:
        break;
    }
}
