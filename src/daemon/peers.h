/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h - the other servers of an ensemble, as a host has to do with them: the election port and
 * its transport, the quorum port and what goes over it. */
#ifndef PAWL_DAEMON_PEERS_H
#define PAWL_DAEMON_PEERS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/carrier.h"

struct config;
struct member_sasl;
struct peer_tls;
struct peers;

/* The election port. It is taken before anything is read on disk: who has it taken is running. */
enum { ELECTION_PORTS_MAX = 8 };
struct election_ports {
    int fds[ELECTION_PORTS_MAX];
    size_t n;
};

/* PAWL_OK, or socket_last_error() tells which one cannot be had. */
int election_ports_take(const struct config *config, struct election_ports *out);
void election_ports_give_up(struct election_ports *ports);

struct peers_options {
    uv_loop_t *loop;
    const struct config *config; /* stays the caller's; members as they were at the start */
    struct log_jobs *jobs;
    struct peer_tls *tls;           /* outlives the peers; NULL: none */
    const struct member_sasl *sasl; /* the same */
    struct carrier_host host;
    void (*touches)(void *member, struct strbuf *out); /* of quorum.h */
    /* Of quorum.h; NULL: the members are for ever those of `config`. */
    bool (*config_of)(struct bytes payload, struct bytes *text);
    /* The active list of members is another one. Not to step anything. */
    void (*members_changed)(void *arg);
    void *member;
    uint64_t seed;
};

/* Takes `ports` over. Nothing happens before carrier_start(). */
struct peers *peers_new(const struct peers_options *options, struct election_ports *ports);

struct carrier *peers_carrier(struct peers *p);

/* As carrier_close() and carrier_free(). NULL is allowed. */
void peers_close(struct peers *p);
void peers_free(struct peers *p);

#endif
