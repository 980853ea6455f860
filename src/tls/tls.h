/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h - TLS as a filter of bytes: no socket, no clock of ours, no waiting. Server's connections
 * and the client's link use the same one.
 *
 *      the network         the filter              who talks through it
 *        bytes -----> tls_put()      tls_read() -----> plain bytes
 *        bytes <----- tls_output()   tls_write() <---- plain bytes
 *                     tls_sent()
 *
 * Until tls_handshake() says that it is done there are no plain bytes. Whatever is called may leave
 * output behind (an alert, an answer to the peer's new keys), which is to be sent in any case. What
 * is held is bounded: one record of each direction, and what was put or written and not yet taken.
 *
 * A context is certificates and rules, read from files once; links keep the one they began with.
 * Nothing aborts when memory runs out. One thread at a time per filter. */
#ifndef PAWL_TLS_TLS_H
#define PAWL_TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct strbuf;
struct tls;
struct tls_context;

/* ---- contexts ---- */

/* A file of keys or certificates: PEM or PKCS#12, told apart by its content. */
struct tls_store {
    const char *path;
    const char *password;      /* NULL: none */
    const char *password_path; /* a file whose content wins over `password`; NULL: none */
    const char *type;          /* what the file is said to be; NULL: nothing is said */
};

enum tls_client_certificate { TLS_CLIENT_NEEDED, TLS_CLIENT_WANTED, TLS_CLIENT_NONE };

struct tls_settings {
    bool is_server;
    struct tls_store key;   /* our certificate, its chain and its key; no path: we show none */
    const char *key_path;   /* the key, if it is in a file of its own (PEM); NULL: it is not */
    struct tls_store trust; /* whose certificates count; no path: a client takes the system's */
    const char *crl_path;   /* lists of what was revoked, PEM or DER; NULL: nobody asks for it */
    enum tls_client_certificate client_certificate; /* of a server */
    const char *protocols;                          /* "TLSv1.2,TLSv1.3"; NULL: both */
    const char *ciphers; /* IANA's names between commas; NULL: the library's choice */
    bool any_name;       /* of a client: whoever has a trusted certificate is the server */
    bool among_equals;   /* for messages: the other side is no client or server, but one of us */
};

/* Which of the settings is at fault, for those who know it by another name. */
enum tls_part {
    TLS_PART_OTHER,
    TLS_PART_KEY,
    TLS_PART_KEY_PASSWORD,
    TLS_PART_KEY_TYPE,
    TLS_PART_TRUST,
    TLS_PART_TRUST_PASSWORD,
    TLS_PART_TRUST_TYPE,
    TLS_PART_PROTOCOLS,
    TLS_PART_CIPHERS,
    TLS_PART_CRL,
};

enum { TLS_FAULT_BYTES = 1024 };

struct tls_fault {
    enum tls_part part;
    char text[TLS_FAULT_BYTES];
};

/* PAWL_OK, PAWL_ERR_NO_MEMORY, or PAWL_ERR_BAD_ARGUMENTS with the reason in `fault`. */
int tls_context_new(const struct tls_settings *settings, struct tls_context **out,
                    struct tls_fault *fault);
void tls_context_ref(struct tls_context *c); /* any thread */
void tls_context_unref(struct tls_context *c);

/* "CN=a,O=b, issued by CN=c, valid until 2027-03-01 12:00:00 UTC"; "" without a certificate. */
void tls_context_describe(const struct tls_context *c, char *out, size_t size);
/* Until our certificate is no longer valid, rounded down: negative when it is over already;
 * INT_MAX without one. */
int tls_context_days_left(const struct tls_context *c);
/* The revocation list that is out of date first: since when, and whose; with it nobody can be let
 * in whom its issuer has signed. False: none is. */
bool tls_context_crl_is_old(const struct tls_context *c, char *out, size_t size);

/* From now on only what FIPS 140 allows, in the whole process. False: the system cannot, and `why`
 * tells. Before anything else is asked of this module. */
bool tls_fips(char *why, size_t size);

/* ---- filters ---- */

/* `name`: of a client, the server's name or address, which its certificate must have; only with
 * `any_name` it may be missing or empty. NULL: no memory, or no name. */
struct tls *tls_new(struct tls_context *c, const char *name);
void tls_free(struct tls *t); /* NULL is allowed */

/* Before the handshake, of one that was made with a name: a certificate for this address will do
 * as well. */
void tls_expect_also(struct tls *t, const char *ip);

/* From the network. False: no memory, or the peer has sent too much that nobody took. */
bool tls_put(struct tls *t, const void *data, size_t len);

/* 1: it is done; 0: it waits for bytes; -1: it has failed, tls_error() tells. */
int tls_handshake(struct tls *t);

/* How many bytes; 0: it waits for more from the network; -1: the peer has ended it (tls_error() is
 * ""), or it has failed. What was there before the end is read first. */
long tls_read(struct tls *t, void *out, size_t size);

/* Takes all of it. False: it has failed. */
bool tls_write(struct tls *t, const void *data, size_t len);

/* Says goodbye; nothing is written any more. */
void tls_finish(struct tls *t);

/* For the network: lent until the next call of the filter, and how much of it has been sent. */
struct bytes tls_output(const struct tls *t);
void tls_sent(struct tls *t, size_t len);

/* Why it has failed, in words: which certificate, which name, which date. "" if it has not. */
const char *tls_error(const struct tls *t);

/* The peer's certificate: its subject as Java prints one (RFC 2253), to be freed; NULL: it has
 * shown none. */
char *tls_peer_subject(const struct tls *t);
/* Whether the peer's certificate names this address, this host (or address). */
bool tls_peer_has_address(const struct tls *t, const char *ip);
bool tls_peer_has_name(const struct tls *t, const char *host);
/* Hosts and addresses that it names, for messages: "zk1, 10.0.0.1"; "" without one. */
void tls_peer_names(const struct tls *t, char *out, size_t size);

/* ---- a question, by one who can wait ---- */

/* Over the connected socket `fd`: shakes hands, sends `question`, and gathers the answer until the
 * peer ends it, or `answer` has `enough` bytes, or the time is up. False: nothing came, and `why`
 * tells. */
bool tls_ask(struct tls_context *c, const char *name, int fd, struct bytes question, size_t enough,
             int timeout_ms, struct strbuf *answer, char *why, size_t why_size);

#endif
