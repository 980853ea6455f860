/* SPDX-License-Identifier: Apache-2.0 */
/* mode_znodes.c - fills the tree with --znodes nodes, a thousand to a folder, and ends. */
#include <stdio.h>

#include "load.h"

enum { NODES_PER_FOLDER = 1000 };

struct fill {
    long next, done;
    uint64_t *sent_ns; /* [connection][xid % outstanding] */
};

static void folder_path(char *path, long i)
{
    if (i == 0) {
        snprintf(path, PATH_BYTES_MAX, "/load");
    } else {
        snprintf(path, PATH_BYTES_MAX, "/load/d%04ld", i - 1);
    }
}

static void node_path(char *path, long i)
{
    snprintf(path, PATH_BYTES_MAX, "/load/d%04ld/n%07ld", i / NODES_PER_FOLDER, i);
}

static void setup(struct load *l)
{
    struct fill *f = must_calloc(1, sizeof(*f));
    long n_folders = (l->options->znodes + NODES_PER_FOLDER - 1) / NODES_PER_FOLDER;

    f->sent_ns =
        must_calloc((size_t)l->n_conns * (size_t)l->options->outstanding, sizeof(*f->sent_ns));
    l->state = f;
    conn_create_nodes(&l->conns[0], folder_path, n_folders + 1, 0);
}

static uint64_t *sent_slot(struct load *l, const struct conn *c, int32_t xid)
{
    struct fill *f = l->state;
    uint32_t outstanding = (uint32_t)l->options->outstanding;

    return &f->sent_ns[(uint32_t)c->index * outstanding + (uint32_t)xid % outstanding];
}

static void send_next(struct load *l, struct conn *c)
{
    struct fill *f = l->state;
    size_t data_len = (size_t)l->options->data_bytes;
    char path[PATH_BYTES_MAX];

    if (f->next == l->options->znodes) {
        return;
    }
    node_path(path, f->next++);
    *sent_slot(l, c, c->next_xid) = l->now_ns;
    conn_commit(c, wire_create(conn_reserve(c, FRAME_OVERHEAD_MAX + data_len), c->next_xid++, path,
                               data_len, CREATE_PERSISTENT));
}

static void start(struct load *l)
{
    int i, j;

    for (i = 0; i < l->n_conns; i++) {
        for (j = 0; j < l->options->outstanding; j++) {
            send_next(l, &l->conns[i]);
        }
        conn_flush(&l->conns[i], l->epoll_fd);
    }
}

static void on_reply(struct load *l, struct conn *c, const struct reply *r)
{
    struct fill *f = l->state;

    if (r->err != ERR_OK) {
        die("error %d in reply to a create", r->err);
    }
    load_count(l, *sent_slot(l, c, r->xid));
    f->done++;
    if (f->done == l->options->znodes) {
        l->phase = PHASE_DONE;
    }
    send_next(l, c);
}

const struct mode mode_znodes = {
    .name = "znodes",
    .does = "creates --znodes nodes and ends",
    .setup = setup,
    .start = start,
    .reply = on_reply,
};
