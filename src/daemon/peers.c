/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/peers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "daemon/election_net.h"
#include "os/socket.h"
#include "pawl/error.h"

enum {
    ELECTION_PORT_MS = 1000,
    RECENT_BYTES = 16 << 20,  /* of committed transactions, for learners that come back soon */
    OUTPUT_BYTES = 64 << 20,  /* that wait for a learner: it is dropped beyond that */
    BACKLOG_BYTES = 32 << 20, /* that came from a leader and are not on disk: it has to wait */
};

struct peers {
    struct peers_options options;
    struct election_net *election;
    struct carrier *carrier;
    struct quorum_member own; /* where we listen for elections, or are to */
    uv_timer_t take_again;    /* the election port, as long as it cannot be had */
};

/* ---- the election port ---- */

static const struct quorum_member *peers_myself(const struct config *c)
{
    int index = quorum_config_find(&c->ensemble.quorum, c->ensemble.my_id);

    ASSERT(index >= 0); /* config_finish() has seen to it */
    return &c->ensemble.quorum.member[index];
}

static int take_election_ports(const struct quorum_member *me, bool all, struct election_ports *out)
{
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

int election_ports_take(const struct config *config, struct election_ports *out)
{
    return take_election_ports(peers_myself(config), config->ensemble.listen_on_all, out);
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

/* ---- lists of members ---- */

static bool same_election_addresses(const struct quorum_member *a, const struct quorum_member *b)
{
    bool same = a->n_addresses == b->n_addresses;

    for (size_t i = 0; same && i < a->n_addresses; i++) {
        same = a->address[i].election_port == b->address[i].election_port &&
               strcmp(a->address[i].host, b->address[i].host) == 0;
    }
    return same;
}

/* We are elsewhere from now on. The port before is given up when the new one is ours: until then
 * who knows us by the old list finds us there. */
static void take_election_port(struct peers *p)
{
    struct election_ports ports;

    if (take_election_ports(&p->own, p->options.config->ensemble.listen_on_all, &ports) ==
        PAWL_OK) {
        log_info("the election port is %d now", p->own.address[0].election_port);
        election_net_listen(p->election, ports.fds, ports.n);
        uv_timer_stop(&p->take_again);
        return;
    }
    log_limited(LOG_ERROR,
                "the election port that the list of members names: %s; again in a second",
                socket_last_error());
}

static void on_take_again(uv_timer_t *timer)
{
    take_election_port(timer->data);
}

static void follow_election_port(struct peers *p, const struct quorum_config *active)
{
    int index = quorum_config_find(active, p->options.config->ensemble.my_id);

    if (index < 0 || same_election_addresses(&p->own, &active->member[index])) {
        return;
    }
    quorum_member_fini(&p->own);
    quorum_member_copy(&p->own, &active->member[index]);
    uv_timer_start(&p->take_again, on_take_again, ELECTION_PORT_MS, ELECTION_PORT_MS);
    take_election_port(p);
}

static void on_lists_changed(void *arg, bool is_active)
{
    struct peers *p = arg;
    const struct quorum *quorum = carrier_quorum(p->carrier);

    election_net_follow(p->election, quorum_active_config(quorum), quorum_next_config(quorum));
    if (is_active) {
        follow_election_port(p, quorum_active_config(quorum));
        p->options.members_changed(p->options.host.arg);
    }
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
                                           .tls = p->options.tls,
                                           .sasl = p->options.sasl,
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
                   .config_of = p->options.config_of,
                   .touches = p->options.touches,
                   .host = p->options.member},
        .packet_bytes =
            (size_t)c->server.max_packet_bytes + (size_t)c->server.max_packet_extra_bytes,
        .output_bytes = OUTPUT_BYTES,
        .backlog_bytes = BACKLOG_BYTES,
        .keepalive = c->ensemble.tcp_keepalive,
        .tls = p->options.tls,
        .sasl = p->options.sasl,
        .listen_on_all = c->ensemble.listen_on_all,
        .host = p->options.host,
        .notify = on_election_notify,
        .lists_changed = on_lists_changed,
        .notify_arg = p};

    return carrier_new(&options);
}

struct peers *peers_new(const struct peers_options *options, struct election_ports *ports)
{
    struct peers *p = must_zalloc(sizeof(*p));

    ASSERT(options->config->ensemble.init_limit > 0 && options->config->ensemble.sync_limit > 0);
    p->options = *options;
    quorum_member_copy(&p->own, peers_myself(options->config));
    uv_timer_init(options->loop, &p->take_again);
    p->take_again.data = p;
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
        uv_timer_stop(&p->take_again);
        election_net_free(p->election);
        p->election = NULL;
    }
}

static void on_peers_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void peers_free(struct peers *p)
{
    if (p != NULL) {
        carrier_free(p->carrier);
        quorum_member_fini(&p->own);
        uv_close((uv_handle_t *)&p->take_again, on_peers_closed);
    }
}
