/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/peers.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "daemon/election_net.h"
#include "os/socket.h"
#include "pawl/error.h"

enum {
    RECENT_BYTES = 16 << 20,  /* of committed transactions, for learners that come back soon */
    OUTPUT_BYTES = 64 << 20,  /* that wait for a learner: it is dropped beyond that */
    BACKLOG_BYTES = 32 << 20, /* that came from a leader and are not on disk: it has to wait */
};

struct peers {
    struct peers_options options;
    struct election_net *election;
    struct carrier *carrier;
};

/* ---- the election port ---- */

static const struct quorum_member *peers_myself(const struct config *c)
{
    int index = quorum_config_find(&c->ensemble.quorum, c->ensemble.my_id);

    ASSERT(index >= 0); /* config_finish() has seen to it */
    return &c->ensemble.quorum.member[index];
}

int election_ports_take(const struct config *config, struct election_ports *out)
{
    const struct quorum_member *me = peers_myself(config);
    bool all = config->ensemble.listen_on_all;
    int rc = PAWL_OK, port;

    *out = (struct election_ports){0};
    for (size_t i = 0; rc == PAWL_OK && i < me->n_addresses && i < ELECTION_PORTS_MAX; i++) {
        const struct quorum_address *a = &me->address[i];

        if (all && i > 0 && a->election_port == me->address[i - 1].election_port) {
            continue; /* all addresses of the machine have been taken with it */
        }
        rc = socket_listen_tcp(all ? NULL : a->host, a->election_port, 0, &out->fds[out->n], &port);
        out->n += rc == PAWL_OK;
    }
    if (rc != PAWL_OK) {
        election_ports_give_up(out);
    }
    return rc;
}

void election_ports_give_up(struct election_ports *ports)
{
    for (size_t i = 0; i < ports->n; i++) {
        close(ports->fds[i]);
    }
    ports->n = 0;
}

/* ---- between the election's transport and the quorum ---- */

static void on_election_heard(void *arg, int64_t id, struct bytes payload)
{
    struct peers *p = arg;

    carrier_do(p->carrier,
               &(struct quorum_input){.kind = QUORUM_IN_NOTIFICATION, .sid = id, .bytes = payload});
}

static void on_election_refused(void *arg, int64_t id)
{
    struct peers *p = arg;

    carrier_do(p->carrier, &(struct quorum_input){.kind = QUORUM_IN_REFUSED, .sid = id});
}

static void on_election_notify(void *arg, int64_t sid, struct bytes frame)
{
    struct peers *p = arg;

    election_net_send(p->election, sid, frame);
}

/* ---- life ---- */

static struct election_net *peers_start_election(struct peers *p, struct election_ports *ports)
{
    const struct config *c = p->options.config;
    struct election_net_options options = {.loop = p->options.loop,
                                           .id = c->ensemble.my_id,
                                           .config = &c->ensemble.quorum,
                                           .listeners = ports->fds,
                                           .n_listeners = ports->n,
                                           .connect_ms = (int)c->ensemble.election_connect_ms,
                                           .hello_ms =
                                               (int)(c->ensemble.sync_limit * c->server.tick_ms),
                                           .keepalive = c->ensemble.tcp_keepalive,
                                           .heard = on_election_heard,
                                           .refused = on_election_refused,
                                           .arg = p};

    ports->n = 0;
    return election_net_new(&options);
}

static struct carrier *peers_start_carrier(struct peers *p)
{
    const struct config *c = p->options.config;
    struct carrier_options options = {
        .loop = p->options.loop,
        .jobs = p->options.jobs,
        .quorum = {.sid = c->ensemble.my_id,
                   .observer = c->ensemble.observer,
                   .config = &c->ensemble.quorum,
                   .tick_ms = c->server.tick_ms,
                   .init_limit = c->ensemble.init_limit,
                   .sync_limit = c->ensemble.sync_limit,
                   .connect_limit = c->ensemble.connect_limit,
                   .min_notification_ms = c->ensemble.min_notification_ms,
                   .max_notification_ms = c->ensemble.max_notification_ms,
                   .recent_bytes = RECENT_BYTES,
                   .always_snapshot = c->ensemble.always_snapshot,
                   .observer_pause_ms = c->ensemble.observer_pause_ms,
                   .seed = p->options.seed,
                   .touches = p->options.touches,
                   .host = p->options.member},
        .packet_bytes =
            (size_t)c->server.max_packet_bytes + (size_t)c->server.max_packet_extra_bytes,
        .output_bytes = OUTPUT_BYTES,
        .backlog_bytes = BACKLOG_BYTES,
        .keepalive = c->ensemble.tcp_keepalive,
        .listen_on_all = c->ensemble.listen_on_all,
        .host = p->options.host,
        .notify = on_election_notify,
        .notify_arg = p};

    return carrier_new(&options);
}

struct peers *peers_new(const struct peers_options *options, struct election_ports *ports)
{
    struct peers *p = must_zalloc(sizeof(*p));

    ASSERT(options->config->ensemble.init_limit > 0 && options->config->ensemble.sync_limit > 0);
    p->options = *options;
    p->election = peers_start_election(p, ports);
    p->carrier = peers_start_carrier(p);
    return p;
}

struct carrier *peers_carrier(struct peers *p)
{
    return p->carrier;
}

void peers_close(struct peers *p)
{
    if (p != NULL) {
        carrier_close(p->carrier);
        election_net_free(p->election);
        p->election = NULL;
    }
}

void peers_free(struct peers *p)
{
    if (p != NULL) {
        carrier_free(p->carrier);
        free(p);
    }
}
