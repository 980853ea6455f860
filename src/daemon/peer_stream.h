/* SPDX-License-Identifier: Apache-2.0 */
/* peer_stream.h - the bytes between two members: a socket, in the clear or with TLS.
 *
 *   accepted, both are taken   UNDECIDED --- first byte ---> PLAIN
 *                                  |
 *                                  v           done
 *   accepted or dialled, TLS   SHAKING ----------------> SECURE
 *   without TLS                PLAIN
 *
 * Reading makes the handshake go on, too. What is written before it is over is not taken, so that
 * the owner has nothing to know of it but when to wait for UV_WRITABLE. What strangers can cost is
 * the owner's to bound in number and time; here it is bounded how many steps of handshakes with
 * those who have come a turn of the loop may make, as each may be a signature. */
#ifndef PAWL_DAEMON_PEER_STREAM_H
#define PAWL_DAEMON_PEER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct quorum_config;
struct secure;
struct tls;

/* How members talk with each other; one for all links of a server. */
struct peer_tls {
    uv_loop_t *loop;
    const struct secure *secure; /* its certificates; NULL: there is no TLS */
    bool is_dialled;             /* others are dialled with TLS (sslQuorum) */
    bool takes_plain;            /* and accepted without (portUnification) */
    bool checks_names;           /* of who has come (clientHostnameVerification) */
    const struct quorum_config *(*members)(void *arg); /* who belongs to it now */
    void *arg;
    uint64_t turn_ms; /* of n_steps */
    int n_steps;
};

enum peer_stream_state { PEER_UNDECIDED, PEER_SHAKING, PEER_PLAIN, PEER_SECURE };

struct peer_stream {
    int fd;
    enum peer_stream_state state;
    struct tls *tls; /* SHAKING, SECURE */
    struct peer_tls *rules;
    bool is_accepted;
    bool is_new;    /* PLAIN, dialled: nothing has come yet */
    char ip[48];    /* of the other side */
    char why[1100]; /* what was wrong; "": nothing, or nothing that is known here */
};

/* `rules` NULL: no TLS. `host` is the name that was dialled, and is to be in the certificate, or
 * its address. False: no memory, and the socket is still the caller's. */
void peer_stream_accepted(struct peer_stream *s, int fd, struct peer_tls *rules);
bool peer_stream_dialled(struct peer_stream *s, int fd, struct peer_tls *rules, const char *host);

/* Says goodbye, as far as that is possible at once, and closes the socket. Twice is allowed. */
void peer_stream_close(struct peer_stream *s);

/* No handshake is under way. */
bool peer_stream_is_open(const struct peer_stream *s);

/* As socket_read() and socket_write(); -1: peer_stream_why() may tell. `size` is at least
 * PEER_STREAM_BYTES: all that has come is given at once. */
enum { PEER_STREAM_BYTES = 64 << 10 };
long peer_stream_read(struct peer_stream *s, void *out, size_t size);
long peer_stream_write(struct peer_stream *s, const void *data, size_t len);

/* Something that was taken waits for the socket to be writable; then it is flushed. False: the link
 * is gone. */
bool peer_stream_has_output(const struct peer_stream *s);
bool peer_stream_flush(struct peer_stream *s);

/* "TLS: the certificate of ..."; `otherwise` if nothing is known. */
const char *peer_stream_why(const struct peer_stream *s, const char *otherwise);

/* Whether who has come may be server `sid`: its certificate names one of that server's hosts, or
 * the address it comes from. Who is in no list has to show the latter. */
bool peer_stream_may_be(struct peer_stream *s, int64_t sid);

#endif
