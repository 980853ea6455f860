/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - the client's side of a session, without I/O.
 *
 * Fed with bytes, time and news of its link, it yields bytes to send, wishes (connect there, drop
 * the link) and items to tell the application. Inside there is no clock, socket, thread or rand():
 * the I/O half and the simulator are two ways to drive it.
 *
 *            ask for a link         link is up            answer to the handshake
 *   LINK_NONE -----------> LINK_OPENING ------> LINK_HELLO ---------------------> LINK_READY
 *       ^                       |                 |   |                             ^   |
 *       |                       |                 |   +------> LINK_SASL -----------+   |
 *       |                       |                 |                |   both know who    |
 *       |                       |                 |                |   the other is     |
 *       +-- after a pause ------+-----------------+----------------+-- link is down ----+
 *
 * With SASL nothing else is said before both have authenticated. The tokens are made and read
 * elsewhere (sasl/exchange.h), which may take its time: the core wishes for a step and is told.
 *
 * The link comes and goes; the session (id, password, timeout) stays until the server or our clock
 * says that it is over. Then a new one is begun, unless only one was wanted. What the application
 * sees of both:
 *
 *                 handshake                     link is down
 *   CONNECTING ----------------> connected (*) --------------> SUSPENDED
 *       |                          ^    ^                       |    |
 *       |                          |    +------ handshake ------+    |
 *       |                          | handshake of a new session      |
 *       +-- the session is over -> LOST <--- the session is over ----+       any: CLOSED
 *
 * (*) READ_ONLY if the server is; else CONNECTED the first time and RECONNECTED from then on. It is
 *     one of these while the link is LINK_READY, and at no other time. */
#ifndef PAWL_CLIENT_CORE_H
#define PAWL_CLIENT_CORE_H

#include "base/prng.h"
#include "client/certain.h"
#include "client/hosts.h"
#include "client/requests.h"
#include "client/watches.h"

enum link_state { LINK_NONE, LINK_OPENING, LINK_HELLO, LINK_SASL, LINK_READY };

enum { CORE_TROUBLE_BYTES = 1024 };

struct core_options {
    int session_timeout_ms;
    int connect_timeout_ms; /* 0: the session's / number of hosts, at least three */
    int lost_percent;
    bool read_only;
    bool one_session;
    bool sasl; /* authenticates so, on every link, before anything else */
    size_t max_request_bytes, max_reply_bytes;
    uint64_t seed;
};

struct auth_entry {
    struct list link;
    size_t scheme_len, len;
    uint8_t bytes[]; /* scheme, then auth */
};

struct core {
    struct core_options options;
    struct prng random;
    struct hosts hosts;
    char *chroot;
    struct watches watches;
    struct list auths; /* struct auth_entry */

    enum link_state link;
    size_t host; /* of the link */
    bool link_read_only;
    int64_t connect_at_ms; /* LINK_NONE: when to ask for a link */
    int64_t link_limit_ms; /* OPENING, HELLO: give up then */
    int64_t hello_sent_ms;
    int64_t heard_ms, spoke_ms, ping_sent_ms; /* the last 0 when no ping is out */
    unsigned n_failures; /* links that did not become a session, since the last that did */

    /* What a server has granted that we have not authenticated to yet; session_id 0: nothing. If
     * the link fails there, the same session is asked for again. */
    struct connect_response granted;
    struct strbuf sasl_token; /* of the server */
    int32_t sasl_xid;         /* of the answer that is waited for */
    bool sasl_begun;          /* the server has answered once */
    bool sasl_done;           /* we are done, it is not */

    char trouble[CORE_TROUBLE_BYTES]; /* why there is no link; "" while there is one */

    enum pawl_state state, announced;
    struct state_item *last_news; /* that we have closed: there is no later one to tell it with */
    bool ever_connected, closed;
    int64_t session_id;
    uint8_t password[PASSWORD_BYTES];
    int timeout_ms;       /* negotiated */
    bool session_is_real; /* given by a server that was not read-only */
    int64_t last_zxid;    /* of the answers: what the session has seen */
    int64_t newest_zxid;  /* that we have heard of at all, in pings, too */
    int64_t told_zxid;    /* all that our watches tell of up to here has been told */
    int64_t answered_ms;  /* when the last answered request was sent */
    struct certain certain;
    unsigned n_keepers;        /* they want the session to stay certain */
    int64_t keep_until_ms;     /* 0; or somebody else has asked, and wants it until then */
    struct call *heartbeat;    /* on its way */
    int64_t heartbeat_from_ms; /* none sooner: the last one was refused */
    bool certain_again;        /* to be told to those who keep it; reset by the engine */
    int64_t jump_at_ms,
        jump_ms; /* time that our clock has not counted, and when that was noticed */
    bool jumped; /* ... which core_tick() has not looked at yet */
    int64_t suspended_ms;

    struct strbuf pre; /* handshake, credentials, watches: ahead of everything else */
    size_t pre_at;
    unsigned n_pre_auths;     /* answers to credentials in `pre` still to come ... */
    unsigned n_sent_auths;    /* ... of so many, the first of `auths` */
    struct watches_sent sets; /* answers to those in `pre` still to come; n_asked: of all of them */
    unsigned n_sets_told;     /* that said that all was told */
    struct strbuf out;
    size_t out_at;
    uint64_t out_base;        /* position in the stream of out.data[0] */
    struct list queued, sent; /* struct call, in order */
    size_t n_calls;
    int32_t next_xid;
    int64_t next_deadline_ms; /* no call ends before; 0: none has one */

    struct chunk *in;
    size_t in_len, in_at;
    size_t skip; /* bytes of an answer that was too large */

    struct list items;                   /* struct item: for the application, in order */
    int64_t probe_at_ms, probe_pause_ms; /* search for a server that writes */
    size_t probe_next;

    /* Wishes: carried out and reset by the driver. */
    bool want_link;    /* to hosts.items[host]; tell core_link_up() or core_link_down() */
    bool want_drop;    /* of the link; core_link_down() is not told */
    bool want_sasl;    /* a step of the exchange with sasl_token, of a new one if that is null; tell
                        * core_sasl() */
    bool want_probe;   /* ask hosts.items[probe_host] `isro`; tell core_probed() */
    size_t probe_host; /* SIZE_MAX: of a list that is no more */
};

/* `servers` as for hosts_parse(). */
int core_new(const struct core_options *options, const char *servers, int64_t now_ms,
             struct core **out);
void core_free(struct core *c);

/* ---- the link ---- */

void core_link_up(struct core *c, int64_t now_ms);
void core_link_down(struct core *c, int64_t now_ms);

/* Why the link has ended, or could not be made; before core_link_down(). */
void core_trouble(struct core *c, const char *why);

/* A step of the exchange has been made: 1: it is done; 0: it goes on; -1: it has failed, and `why`
 * tells. `token` is for the server. */
void core_sasl(struct core *c, int64_t now_ms, int rc, struct bytes token, const char *why);

void core_probed(struct core *c, int64_t now_ms, bool writes);

/* Where to put received bytes: at least one byte of room; 0 without memory. */
size_t core_room(struct core *c, uint8_t **at);
void core_received(struct core *c, int64_t now_ms, size_t n);

/* ---- time ---- */

/* When core_tick() has something to do; INT64_MAX: never. */
int64_t core_next_ms(const struct core *c);
void core_tick(struct core *c, int64_t now_ms);

/* ---- the session ---- */

/* Calls are sent and answered, be it by a read-only server. */
bool core_is_connected(const struct core *c);

/* How much longer the session is certain to live; 0: not certain. */
int64_t core_certain_ms(const struct core *c, int64_t now_ms);

/* So much time has passed, unnoticed by our clock, before now. */
void core_jumped(struct core *c, int64_t now_ms, int64_t jump_ms);

/* From here on it is kept certain: by requests that the leader has to answer, in place of pings; or
 * not any more, by one of those who wanted it. */
void core_keep_certain(struct core *c, bool keep);

/* A request that was sent then has been answered: what that shows, and where in the stream it was.
 */
void core_answered(struct core *c, int64_t now_ms, enum certain_proof proof, int64_t sent_ms,
                   uint64_t position);

/* The next attempt to connect happens now; for when somebody knows that a server has appeared. */
void core_hurry(struct core *c, int64_t now_ms);

/* BAD_ARGUMENTS, NO_MEMORY. */
int core_set_servers(struct core *c, const char *servers, int64_t now_ms);

/* Ends everything here: calls fail with `err`, watches are told, the link is dropped. */
void core_shut(struct core *c, int err);

/* The first thing to tell, or NULL. */
struct item *core_next_item(struct core *c);

#endif
