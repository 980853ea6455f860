/* SPDX-License-Identifier: Apache-2.0 */
/* mode_watch.c - one change seen by many: every connection but the last watches one node, the last
 * one changes it.
 *
 * A round is: all watch (getData with the flag), one setData, all are told and the change is
 * acknowledged. The rate counts only the time from sending the change until the last watcher has
 * been told; rate_window is notifications over the whole time, setting the watches anew included,
 * and so is the server's CPU. */
#include <stdio.h>

#include "load.h"

struct fan_out {
    int n_watchers;
    int n_armed, n_told;
    int change_done;
    uint64_t changed_ns;
    int *told; /* per watcher, in this round */
};

static void node_path(char *path, long i)
{
    (void)i;
    snprintf(path, PATH_BYTES_MAX, "/watched");
}

static void setup(struct load *l)
{
    struct fan_out *f = must_calloc(1, sizeof(*f));

    f->n_watchers = l->n_conns - 1;
    f->told = must_calloc((size_t)f->n_watchers, sizeof(*f->told));
    l->state = f;
    conn_create_nodes(&l->conns[0], node_path, 1, (size_t)l->options->data_bytes);
}

static void arm_all(struct load *l)
{
    struct fan_out *f = l->state;
    char path[PATH_BYTES_MAX];
    int i;

    node_path(path, 0);
    f->n_armed = 0;
    for (i = 0; i < f->n_watchers; i++) {
        struct conn *c = &l->conns[i];

        f->told[i] = 0;
        conn_commit(
            c, wire_read(conn_reserve(c, FRAME_OVERHEAD_MAX), c->next_xid++, OP_GET_DATA, path, 1));
        conn_flush(c, l->epoll_fd);
    }
}

static void change(struct load *l)
{
    struct fan_out *f = l->state;
    struct conn *c = &l->conns[f->n_watchers];
    size_t data_len = (size_t)l->options->data_bytes;
    char path[PATH_BYTES_MAX];

    node_path(path, 0);
    f->n_told = 0;
    f->change_done = 0;
    f->changed_ns = clock_ns();
    conn_commit(c, wire_set_data(conn_reserve(c, FRAME_OVERHEAD_MAX + data_len), c->next_xid++,
                                 path, data_len));
    conn_flush(c, l->epoll_fd);
}

static void end_round_if_complete(struct load *l)
{
    const struct fan_out *f = l->state;

    if (f->change_done && f->n_told == f->n_watchers) {
        arm_all(l);
    }
}

static void on_reply(struct load *l, struct conn *c, const struct reply *r)
{
    struct fan_out *f = l->state;

    if (r->err != ERR_OK) {
        die("error %d in reply to a %s", r->err, c->index < f->n_watchers ? "watch" : "change");
    }
    if (c->index == f->n_watchers) {
        f->change_done = 1;
        end_round_if_complete(l);
        return;
    }
    f->n_armed++;
    if (f->n_armed == f->n_watchers) {
        change(l);
    }
}

static void on_event(struct load *l, struct conn *c)
{
    struct fan_out *f = l->state;

    if (c->index >= f->n_watchers || f->told[c->index]) {
        die("a watch event too many on connection %d", c->index);
    }
    f->told[c->index] = 1;
    f->n_told++;
    load_count(l, f->changed_ns);
    if (f->n_told == f->n_watchers) {
        if (l->phase == PHASE_MEASURE && f->changed_ns >= l->window_ns) {
            l->busy_ns += l->now_ns - f->changed_ns;
        }
        end_round_if_complete(l);
    }
}

const struct mode mode_watch = {
    .name = "watch",
    .does = "one change seen by --connections watchers",
    .setup = setup,
    .start = arm_all,
    .reply = on_reply,
    .event = on_event,
};
