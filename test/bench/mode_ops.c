/* SPDX-License-Identifier: Apache-2.0 */
/* mode_ops.c - plain reads and writes: a closed loop of `connections` times `outstanding` requests.
 *
 * Every reply is answered with the next request on the same connection. The requests are copied
 * from frames made beforehand, one for each node, so that the load generator does less than the
 * server. */
#include <stdio.h>

#include "load.h"

struct slot {
    uint64_t sent_ns;
    int is_write;
};

struct ops {
    uint32_t random;
    uint32_t write_below; /* a random number below this makes a write */
    size_t read_len, write_len;
    uint8_t *reads, *writes; /* one frame per node, all of the same size */
    struct slot *slots;      /* [connection][xid % outstanding] */
};

static void node_path(char *path, long i)
{
    snprintf(path, PATH_BYTES_MAX, "/bench/n%05ld", i);
}

static void root_path(char *path, long i)
{
    (void)i;
    snprintf(path, PATH_BYTES_MAX, "/bench");
}

static void make_frames(struct ops *ops, const struct options *o)
{
    size_t room = FRAME_OVERHEAD_MAX + (size_t)o->data_bytes;
    uint8_t *frame = must_calloc(1, room);
    char path[PATH_BYTES_MAX];
    int i;

    ops->reads = must_calloc((size_t)o->nodes, room);
    ops->writes = must_calloc((size_t)o->nodes, room);
    for (i = 0; i < o->nodes; i++) {
        node_path(path, i);
        ops->read_len = wire_read(frame, 0, OP_GET_DATA, path, 0);
        memcpy(ops->reads + (size_t)i * ops->read_len, frame, ops->read_len);
        ops->write_len = wire_set_data(frame, 0, path, (size_t)o->data_bytes);
        memcpy(ops->writes + (size_t)i * ops->write_len, frame, ops->write_len);
    }
    free(frame);
}

static void setup(struct load *l, int write_percent)
{
    const struct options *o = l->options;
    struct ops *ops = must_calloc(1, sizeof(*ops));

    ops->random = 2463534242U;
    ops->write_below = (uint32_t)((uint64_t)write_percent * UINT32_MAX / 100);
    ops->slots = must_calloc((size_t)l->n_conns * (size_t)o->outstanding, sizeof(*ops->slots));
    make_frames(ops, o);
    l->state = ops;
    conn_create_nodes(&l->conns[0], root_path, 1, 0);
    conn_create_nodes(&l->conns[0], node_path, o->nodes, (size_t)o->data_bytes);
}

static void setup_reads(struct load *l)
{
    setup(l, 0);
}

static void setup_writes(struct load *l)
{
    setup(l, 100);
}

static void setup_mix(struct load *l)
{
    setup(l, l->options->write_percent);
}

static uint32_t next_random(struct ops *ops)
{
    ops->random ^= ops->random << 13;
    ops->random ^= ops->random >> 17;
    ops->random ^= ops->random << 5;
    return ops->random;
}

static struct slot *slot_of(struct load *l, const struct conn *c, int32_t xid)
{
    struct ops *ops = l->state;
    uint32_t outstanding = (uint32_t)l->options->outstanding;

    return &ops->slots[(uint32_t)c->index * outstanding + (uint32_t)xid % outstanding];
}

static void send_next(struct load *l, struct conn *c)
{
    struct ops *ops = l->state;
    struct slot *slot = slot_of(l, c, c->next_xid);
    size_t node = next_random(ops) % (uint32_t)l->options->nodes;
    const uint8_t *frame;
    uint8_t *out;
    size_t len;

    slot->is_write = ops->write_below > 0 && next_random(ops) <= ops->write_below;
    slot->sent_ns = l->now_ns;
    len = slot->is_write ? ops->write_len : ops->read_len;
    frame = (slot->is_write ? ops->writes : ops->reads) + node * len;
    out = conn_reserve(c, len);
    memcpy(out, frame, len);
    put32(out + 4, c->next_xid++);
    conn_commit(c, len);
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

/* A server that answers something cheaper than what was asked must not look fast. */
static void check_reply(const struct load *l, const struct slot *slot, const struct reply *r)
{
    size_t data_len = (size_t)l->options->data_bytes;

    if (r->err != ERR_OK) {
        die("error %d in reply to a %s", r->err, slot->is_write ? "write" : "read");
    }
    if (slot->is_write) {
        if (r->body_len != STAT_BYTES) {
            die("setData reply with %zu bytes", r->body_len);
        }
    } else if (r->body_len != 4 + data_len + STAT_BYTES || get32(r->body) != (int32_t)data_len) {
        die("getData reply with %zu bytes", r->body_len);
    }
}

static void on_reply(struct load *l, struct conn *c, const struct reply *r)
{
    struct slot *slot = slot_of(l, c, r->xid);

    check_reply(l, slot, r);
    load_count(l, slot->sent_ns);
    send_next(l, c);
}

const struct mode mode_reads = {
    .name = "reads",
    .does = "getData of random nodes",
    .setup = setup_reads,
    .start = start,
    .reply = on_reply,
};

const struct mode mode_writes = {
    .name = "writes",
    .does = "setData of random nodes",
    .setup = setup_writes,
    .start = start,
    .reply = on_reply,
};

const struct mode mode_mix = {
    .name = "mix",
    .does = "both, --write-percent of them setData",
    .setup = setup_mix,
    .start = start,
    .reply = on_reply,
};
