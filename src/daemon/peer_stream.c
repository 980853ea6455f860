/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/peer_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "daemon/secure.h"
#include "os/socket.h"
#include "quorum/config.h"
#include "tls/tls.h"

enum {
    STEPS_PER_TURN = 8,
    TLS_HANDSHAKE_BYTE = 0x16,
    TLS_ALERT_BYTE = 0x15,
    TLS_MAJOR = 3,
    WRITE_BYTES = 64 << 10, /* that are encrypted at a time, when all before has been sent */
};

static long stream_fail(struct peer_stream *s, const char *why)
{
    if (s->why[0] == '\0' && why[0] != '\0') {
        snprintf(s->why, sizeof(s->why), "TLS: %s", why);
    }
    return -1;
}

/* ---- life ---- */

static void stream_init(struct peer_stream *s, int fd, struct peer_tls *rules)
{
    struct socket_peer peer;

    *s = (struct peer_stream){.fd = fd, .state = PEER_PLAIN, .rules = rules};
    socket_peer_of(fd, &peer);
    snprintf(s->ip, sizeof(s->ip), "%s", peer.ip);
}

static bool has_tls(const struct peer_tls *rules)
{
    return rules != NULL && rules->secure != NULL && rules->secure->context != NULL;
}

/* The filter is made with the first bytes: who only connects costs none. */
void peer_stream_accepted(struct peer_stream *s, int fd, struct peer_tls *rules)
{
    stream_init(s, fd, rules);
    s->is_accepted = true;
    if (has_tls(rules)) {
        s->state = rules->takes_plain ? PEER_UNDECIDED : PEER_SHAKING;
    }
}

static bool stream_shake(struct peer_stream *s);

bool peer_stream_dialled(struct peer_stream *s, int fd, struct peer_tls *rules, const char *host)
{
    stream_init(s, fd, rules);
    s->is_new = true;
    if (!has_tls(rules) || !rules->is_dialled) {
        return true;
    }
    s->state = PEER_SHAKING;
    s->tls = tls_new(rules->secure->dialling, host);
    if (s->tls == NULL) {
        return false;
    }
    if (rules->secure->names_checked) {
        tls_expect_also(s->tls, s->ip);
    }
    stream_shake(s); /* what fails is found by who reads */
    return true;
}

void peer_stream_close(struct peer_stream *s)
{
    if (s->fd < 0) {
        return;
    }
    if (s->tls != NULL) {
        tls_finish(s->tls);
        peer_stream_flush(s);
        tls_free(s->tls);
        s->tls = NULL;
    }
    socket_close_gently(s->fd);
    s->fd = -1;
}

bool peer_stream_is_open(const struct peer_stream *s)
{
    return s->state == PEER_PLAIN || s->state == PEER_SECURE;
}

/* ---- going out ---- */

bool peer_stream_has_output(const struct peer_stream *s)
{
    return s->tls != NULL && tls_output(s->tls).len > 0;
}

bool peer_stream_flush(struct peer_stream *s)
{
    struct bytes b;
    long n = 1;

    while (n > 0 && peer_stream_has_output(s)) {
        b = tls_output(s->tls);
        n = socket_write(s->fd, b.data, b.len);
        if (n > 0) {
            tls_sent(s->tls, (size_t)n);
        }
    }
    return n >= 0;
}

static long write_secure(struct peer_stream *s, const uint8_t *data, size_t len)
{
    size_t at = 0, n;

    while (peer_stream_flush(s)) {
        if (at == len || peer_stream_has_output(s)) {
            return (long)at;
        }
        n = len - at < WRITE_BYTES ? len - at : (size_t)WRITE_BYTES;
        if (!tls_write(s->tls, data + at, n)) {
            return stream_fail(s, tls_error(s->tls));
        }
        at += n;
    }
    return -1;
}

long peer_stream_write(struct peer_stream *s, const void *data, size_t len)
{
    switch (s->state) {
    case PEER_PLAIN:
        return socket_write(s->fd, data, len);
    case PEER_SECURE:
        return write_secure(s, data, len);
    default:
        return peer_stream_flush(s) ? 0 : -1;
    }
}

/* ---- the handshake ---- */

/* False: it is not known yet, or it is gone. */
static bool stream_decide(struct peer_stream *s, long *result)
{
    int first = socket_peek(s->fd);

    *result = first == -2 ? -1 : 0;
    if (first < 0) {
        return false;
    }
    s->state = first == TLS_HANDSHAKE_BYTE ? PEER_SHAKING : PEER_PLAIN;
    return true;
}

/* Who has come may be anybody. What it has sent stays where it is until the next turn. */
static bool may_step(const struct peer_stream *s)
{
    struct peer_tls *rules = s->rules;

    if (!s->is_accepted) {
        return true;
    }
    if (rules->turn_ms != uv_now(rules->loop)) {
        rules->turn_ms = uv_now(rules->loop);
        rules->n_steps = 0;
    }
    return rules->n_steps < STEPS_PER_TURN;
}

/* OpenSSL has no word for those who do not speak TLS at all. Who dials in the clear a member that
 * does not take it is to know why. */
static void answer_plain(struct peer_stream *s)
{
    static const uint8_t alert[] = {TLS_ALERT_BYTE, TLS_MAJOR, 3, 0, 2, 2, 70};

    if (s->is_accepted && !peer_stream_has_output(s)) {
        socket_write(s->fd, alert, sizeof(alert));
    }
}

/* False: it has failed. */
static bool stream_shake(struct peer_stream *s)
{
    int rc = tls_handshake(s->tls);

    if (rc < 0) {
        stream_fail(s, tls_error(s->tls));
        answer_plain(s);
    } else if (rc > 0) {
        s->state = PEER_SECURE;
    }
    return peer_stream_flush(s) && rc >= 0;
}

/* ---- coming in ---- */

/* What is dialled in the clear and takes TLS only answers so. */
static bool is_alert(const uint8_t *data, long len)
{
    return len >= 2 && data[0] == TLS_ALERT_BYTE && data[1] == TLS_MAJOR;
}

static long read_plain(struct peer_stream *s, void *out, size_t size)
{
    long n = socket_read(s->fd, out, size);

    if (s->is_new && is_alert(out, n)) {
        return stream_fail(s, "it speaks TLS only, and was dialled in the clear: sslQuorum is "
                              "true there, and not here");
    }
    s->is_new = s->is_new && n == 0;
    return n;
}

/* Half of the buffer for what is encrypted: together with the piece of a record that the filter
 * may hold, it fits the whole of it when it is not. */
static bool put_encrypted(struct peer_stream *s, void *buffer, size_t size)
{
    long n = socket_read(s->fd, buffer, size / 2);

    if (n > 0 && s->state == PEER_SHAKING && s->is_accepted) {
        s->rules->n_steps++;
    }
    if (n > 0 && s->tls == NULL) {
        s->tls = tls_new(s->rules->secure->context, NULL);
    }
    if (n > 0 && (s->tls == NULL || !tls_put(s->tls, buffer, (size_t)n))) {
        stream_fail(s, "no memory for it");
        return false;
    }
    return n >= 0;
}

static long read_secure(struct peer_stream *s, void *out, size_t size)
{
    long n;

    if (!put_encrypted(s, out, size)) {
        return -1;
    }
    if (s->tls == NULL) {
        return 0;
    }
    if (s->state == PEER_SHAKING && (!stream_shake(s) || s->state == PEER_SHAKING)) {
        return s->why[0] != '\0' ? -1 : 0;
    }
    n = tls_read(s->tls, out, size);
    if (n < 0) {
        return stream_fail(s, tls_error(s->tls));
    }
    return peer_stream_flush(s) ? n : -1;
}

long peer_stream_read(struct peer_stream *s, void *out, size_t size)
{
    long n = 0;

    ASSERT(size >= PEER_STREAM_BYTES);
    if (s->state == PEER_UNDECIDED && !stream_decide(s, &n)) {
        return n;
    }
    if (s->state == PEER_PLAIN) {
        return read_plain(s, out, size);
    }
    return s->state == PEER_SECURE || may_step(s) ? read_secure(s, out, size) : 0;
}

const char *peer_stream_why(const struct peer_stream *s, const char *otherwise)
{
    return s->why[0] != '\0' ? s->why : otherwise;
}

/* ---- who it is ---- */

static bool names_member(const struct peer_stream *s, const struct quorum_member *m)
{
    for (size_t i = 0; i < m->n_addresses; i++) {
        if (tls_peer_has_name(s->tls, m->address[i].host)) {
            return true;
        }
    }
    return false;
}

static void say_wrong_member(struct peer_stream *s, int64_t sid, const struct quorum_member *m)
{
    char names[256];

    tls_peer_names(s->tls, names, sizeof(names));
    snprintf(s->why, sizeof(s->why),
             "TLS: it says that it is server %" PRId64
             ", but its certificate is for %s, and neither for %s nor for the address %s",
             sid, names, m != NULL ? m->address[0].host : "a server of this list", s->ip);
}

bool peer_stream_may_be(struct peer_stream *s, int64_t sid)
{
    const struct quorum_config *members;
    const struct quorum_member *m;
    char names[8];
    int index;

    if (s->state != PEER_SECURE || !s->is_accepted || !s->rules->checks_names) {
        return true;
    }
    tls_peer_names(s->tls, names, sizeof(names));
    if (names[0] == '\0') {
        return true; /* it has shown none, and clientAuth lets it */
    }
    members = s->rules->members(s->rules->arg);
    index = quorum_config_find(members, sid);
    m = index >= 0 ? &members->member[index] : NULL;
    if ((m != NULL && names_member(s, m)) || tls_peer_has_address(s->tls, s->ip)) {
        return true;
    }
    say_wrong_member(s, sid, m);
    return false;
}
