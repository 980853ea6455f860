/* SPDX-License-Identifier: Apache-2.0 */
/* packet.h - what leader and learner say to each other on the quorum port.
 *
 *   int type | long zxid | buffer data | vector<Id> authinfo
 *
 * Packets follow each other without an outer length, so reading one may find it incomplete. What
 * `data` holds depends on the type; below there is a reader and a writer for each. Proposals carry
 * the payload of a log record (txn.h). Decoding gives views into the input. */
#ifndef PAWL_WIRE_PACKET_H
#define PAWL_WIRE_PACKET_H

#include "wire/records.h"

enum packet_type {
    PACKET_REQUEST = 1,
    PACKET_PROPOSAL = 2,
    PACKET_ACK = 3,
    PACKET_COMMIT = 4,
    PACKET_PING = 5,
    PACKET_REVALIDATE = 6,
    PACKET_SYNC = 7,
    PACKET_INFORM = 8,
    PACKET_COMMIT_AND_ACTIVATE = 9,
    PACKET_NEW_LEADER = 10,
    PACKET_FOLLOWER_INFO = 11,
    PACKET_UP_TO_DATE = 12,
    PACKET_DIFF = 13,
    PACKET_TRUNC = 14,
    PACKET_SNAP = 15, /* the snapshot's stream follows it, unframed */
    PACKET_OBSERVER_INFO = 16,
    PACKET_LEADER_INFO = 17,
    PACKET_ACK_EPOCH = 18,
    PACKET_INFORM_AND_ACTIVATE = 19,
};

/* "PROPOSAL": for logs and traces; "UNKNOWN" for others, which both sides ignore. */
const char *packet_type_name(int32_t type);

/* The data of SYNC, when the sync was of SIGN_OF_LIFE (request.h): the leader that sends it counts
 * every request as a sign of life of its session. Apache's learners do not look at it. */
#define SYNC_MARK "pawl"

/* Behind the epoch in the data of ACKEPOCH: the learner can go on in a later epoch without another
 * election (quorum/zab_turn.c). Apache's leaders do not look at it. */
#define TURN_MARK "turn"

struct packet {
    int32_t type;
    int64_t zxid;
    struct bytes data;
    struct id_list auth;
};

/* The packet at the beginning of `input`, and how long it is. Bad: a length that is negative or
 * above `limit`. */
enum stream_read packet_read(struct bytes input, size_t limit, struct packet *out, size_t *used);
void packet_write(struct strbuf *b, const struct packet *p);

/* A packet whose data is written in place: begin, the data, end with what begin returned. */
size_t packet_begin(struct strbuf *b, int32_t type, int64_t zxid);
void packet_end(struct strbuf *b, size_t start, const struct id_list *auth);

/* FOLLOWER_INFO and OBSERVER_INFO. Old learners end after the id or the protocol version, and may
 * send nothing at all: the leader then gives them an id. */
struct learner_info {
    bool has_server_id;
    int64_t server_id;
    int32_t protocol_version; /* 0 where it is absent */
    int64_t config_version;   /* 0 where it is absent */
};
enum { QUORUM_PROTOCOL_VERSION = 0x10000 };
bool learner_info_read(struct bytes data, struct learner_info *out);
void learner_info_write(struct strbuf *b, const struct learner_info *i);

/* LEADER_INFO's protocol version; ACK_EPOCH's current epoch, -1 when it is not to be counted. */
bool packet_int_read(struct bytes data, int32_t *out);

/* COMMIT_AND_ACTIVATE: the designated leader. INFORM_AND_ACTIVATE: the same, then the txn. */
struct activation {
    int64_t leader;
    struct bytes txn;
};
enum { ACTIVATION_LEADER_BYTES = 8 };
bool activation_read(struct bytes data, struct activation *out);
void activation_write(struct strbuf *b, const struct activation *a);

/* REQUEST: a client's request on its way to the leader; `body` is what followed its header. */
struct forwarded_request {
    int64_t session_id;
    int32_t cxid;
    int32_t op;
    struct bytes body;
};
bool forwarded_request_read(struct bytes data, struct forwarded_request *out);
void forwarded_request_write(struct strbuf *b, const struct forwarded_request *q);

/* One session with its timeout: all of REVALIDATE towards the leader, and each element of a
 * learner's PING, which tells the sessions it heard from since the last one. */
struct session_touch {
    int64_t session_id;
    int32_t timeout_ms;
};
enum { SESSION_TOUCH_BYTES = 12 };
struct session_touch session_touch_read(struct jute_reader *r);
void session_touch_write(struct strbuf *b, const struct session_touch *t);

/* REVALIDATE back from the leader. */
struct revalidation {
    int64_t session_id;
    bool valid;
};
bool revalidation_read(struct bytes data, struct revalidation *out);
void revalidation_write(struct strbuf *b, const struct revalidation *v);

/* SASL between servers: before the first packet on the quorum port, behind the hello on the
 * election port. Unframed as well. */
#define QUORUM_AUTH_MAGIC INT64_C(0x5f2435013501edcc)
enum quorum_auth_status {
    QUORUM_AUTH_ERROR = -1,
    QUORUM_AUTH_IN_PROGRESS = 0,
    QUORUM_AUTH_SUCCESS = 1,
};
struct quorum_auth {
    int32_t status;
    struct bytes token;
};
enum stream_read quorum_auth_read(struct bytes input, size_t limit, struct quorum_auth *out,
                                  size_t *used);
void quorum_auth_write(struct strbuf *b, const struct quorum_auth *a);

#endif
