/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - who belongs to an ensemble, and which of them together are a quorum.
 *
 * A configuration is a list of members in ascending order of their ids; elsewhere a member is
 * known by its index in that list, and a set of members is a few bits. It does not change while
 * somebody uses it. */
#ifndef PAWL_QUORUM_CONFIG_H
#define PAWL_QUORUM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/strbuf.h"

enum { QUORUM_MEMBERS_MAX = 256 };

/* One of the addresses under which a member is reached by the others. */
struct quorum_address {
    char *host; /* IPv6 without brackets */
    int quorum_port;
    int election_port;
};

/* One server.N line, with what group.N and weight.N lines say of it. */
struct quorum_member {
    int64_t id;
    bool observer;
    struct quorum_address *address;
    size_t n_addresses;
    char *client_host; /* NULL: no client part in the line */
    int client_port;   /* -1: none */
    char *secure_client_host;
    int secure_client_port;
    int64_t group;  /* -1: in none */
    int64_t weight; /* 1, unless given */
};

/* Members by their index. */
struct quorum_set {
    uint64_t bits[QUORUM_MEMBERS_MAX / 64];
};

#define QUORUM_SET_EMPTY ((struct quorum_set){{0}})

static inline void quorum_set_add(struct quorum_set *s, int index)
{
    s->bits[index / 64] |= (uint64_t)1 << index % 64;
}

static inline void quorum_set_remove(struct quorum_set *s, int index)
{
    s->bits[index / 64] &= ~((uint64_t)1 << index % 64);
}

static inline bool quorum_set_has(const struct quorum_set *s, int index)
{
    return (s->bits[index / 64] >> index % 64 & 1) != 0;
}

struct quorum_config {
    struct quorum_member *member; /* ascending ids */
    size_t n_members;
    struct quorum_set voters;
    size_t n_voters;
    bool hierarchical; /* there are groups or weights */
    int64_t version;   /* zxid of the change that made it; 0: the one of the files */
};

void quorum_config_init(struct quorum_config *c);
void quorum_config_fini(struct quorum_config *c);
void quorum_member_fini(struct quorum_member *m);
void quorum_member_copy(struct quorum_member *to, const struct quorum_member *from);
bool quorum_member_same_addresses(const struct quorum_member *a, const struct quorum_member *b);
void quorum_config_copy(struct quorum_config *to, const struct quorum_config *from);

/* Takes `m` over: there is no member with its id, and there is room. */
void quorum_config_insert(struct quorum_config *c, const struct quorum_member *m);
void quorum_config_remove(struct quorum_config *c, int64_t id); /* nobody: nothing happens */

/* --- asking --- */

/* The member's index, or -1. */
int quorum_config_find(const struct quorum_config *c, int64_t id);
bool quorum_config_is_voter(const struct quorum_config *c, int64_t id);

/* 0 also for who is no voter. Who has no weight is never proposed as a leader. */
int64_t quorum_config_weight(const struct quorum_config *c, int64_t id);

/* Whether the voters among `set` are a quorum: more than half of all voters, or, with groups, more
 * than half of the weight of more than half of the groups that have any. */
bool quorum_config_contains(const struct quorum_config *c, const struct quorum_set *set);

/* The same version, or the same members: id, role, addresses. */
bool quorum_config_equal(const struct quorum_config *a, const struct quorum_config *b);

/* Whether that server is a voter of both and has the same address in both. */
bool quorum_config_same_voter(const struct quorum_config *a, const struct quorum_config *b,
                              int64_t id);

/* The same ids in the same roles, wherever they are reached. */
bool quorum_config_same_members(const struct quorum_config *a, const struct quorum_config *b);

/* "1 2 3 4(observer)" */
void quorum_config_list(const struct quorum_config *c, struct strbuf *out);

/* --- reading and writing --- */

/* Each adds what one line of a configuration says, `text` being what stands behind "=". False, and
 * a sentence in `why`, when it says nothing or contradicts what is there. Servers come first:
 * groups and weights of ids without a server are passed over. `several`: more than one address
 * per server is allowed. */
bool quorum_config_add_server(struct quorum_config *c, int64_t id, const char *text, bool several,
                              struct strbuf *why);
bool quorum_config_add_group(struct quorum_config *c, int64_t group, const char *text,
                             struct strbuf *why);
bool quorum_config_add_weight(struct quorum_config *c, int64_t id, const char *text,
                              struct strbuf *why);

/* After the last line: with groups, every voter has to be in one. */
bool quorum_config_check(const struct quorum_config *c, struct strbuf *why);

/* The text in which members tell each other their configuration:
 *
 *   server.1=127.0.0.1:2888:3888:participant;0.0.0.0:2181
 *   group.1=1:2:3                                             only with groups or weights
 *   weight.1=1
 *   version=100000003                                         hexadecimal, nothing behind it
 *
 * Read in the syntax of java.util.Properties. It comes from the network: everything but
 * server.N, group.N, weight.N and version is refused. `c` is initialised by this call; on false it
 * is empty, and `why` has a sentence. */
bool quorum_config_read(struct quorum_config *c, struct bytes text, struct strbuf *why);
/* The same for what a client asks for: there may be no voters. PAWL_OK, PAWL_ERR_BAD_ARGUMENTS, or
 * PAWL_ERR_MARSHALLING where a number is no number. */
int quorum_config_read_any(struct quorum_config *c, struct bytes text, struct strbuf *why);
bool quorum_config_read_id(const char *text, int64_t *out); /* as Long.parseLong() */
void quorum_config_write(const struct quorum_config *c, struct strbuf *out);

#endif
