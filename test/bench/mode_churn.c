/* SPDX-License-Identifier: Apache-2.0 */
/* mode_churn.c - nodes that come and go: every connection creates its own and deletes it again. */
#include <stdio.h>

#include "load.h"

/* Sets this run's nodes apart from what an earlier one left. */
static uint64_t run_id;

struct churn {
    uint64_t *sent_ns; /* [connection][xid % outstanding] */
};

static void root_path(char *path, long i)
{
    (void)i;
    snprintf(path, PATH_BYTES_MAX, "/churn");
}

static void setup(struct load *l)
{
    struct churn *s = must_calloc(1, sizeof(*s));

    run_id = clock_ns();
    s->sent_ns =
        must_calloc((size_t)l->n_conns * (size_t)l->options->outstanding, sizeof(*s->sent_ns));
    l->state = s;
    conn_create_nodes(&l->conns[0], root_path, 1, 0);
}

static uint64_t *sent_slot(struct load *l, const struct conn *c, int32_t xid)
{
    struct churn *s = l->state;
    uint32_t outstanding = (uint32_t)l->options->outstanding;

    return &s->sent_ns[(uint32_t)c->index * outstanding + (uint32_t)xid % outstanding];
}

/* Creates and deletes take turns; a session's requests are carried out in order. */
static int is_create(const struct conn *c, int32_t xid)
{
    return ((xid - c->first_xid) & 1) == 0;
}

static void send_next(struct load *l, struct conn *c)
{
    size_t data_len = (size_t)l->options->data_bytes;
    uint8_t *out = conn_reserve(c, FRAME_OVERHEAD_MAX + data_len);
    int32_t xid = c->next_xid++;
    char path[PATH_BYTES_MAX];

    snprintf(path, sizeof(path), "/churn/%llx-%d", (unsigned long long)run_id, c->index);
    *sent_slot(l, c, xid) = l->now_ns;
    conn_commit(c, is_create(c, xid) ? wire_create(out, xid, path, data_len, CREATE_PERSISTENT)
                                     : wire_delete(out, xid, path));
}

static void start(struct load *l)
{
    int i, j;

    for (i = 0; i < l->n_conns; i++) {
        l->conns[i].first_xid = l->conns[i].next_xid;
        for (j = 0; j < l->options->outstanding; j++) {
            send_next(l, &l->conns[i]);
        }
        conn_flush(&l->conns[i], l->epoll_fd);
    }
}

static void on_reply(struct load *l, struct conn *c, const struct reply *r)
{
    if (r->err != ERR_OK || (r->body_len > 0) != is_create(c, r->xid)) {
        die("error %d in reply to a %s", r->err, is_create(c, r->xid) ? "create" : "delete");
    }
    load_count(l, *sent_slot(l, c, r->xid));
    send_next(l, c);
}

const struct mode mode_churn = {
    .name = "churn",
    .does = "create and delete of a node per connection, in turns",
    .setup = setup,
    .start = start,
    .reply = on_reply,
};
