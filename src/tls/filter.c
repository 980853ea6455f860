/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c - the bytes of one link. OpenSSL reads from `in` and writes to `out` through a BIO of
 * our own, which is a memory BIO that gives its memory back when it is empty: an idle link has
 * none. */
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tls/tls_internal.h"

/* What may wait in one direction: a peer that asks for new keys again and again and reads no answer
 * reaches the second. */
enum { IN_BYTES = 1 << 20, OUT_BYTES = 4 << 20, WRITE_BYTES = 1 << 30 };

/* ---- the BIO ---- */

static void give_back(struct strbuf *b, size_t *at)
{
    if (*at == b->len) {
        strbuf_clear(b);
        strbuf_trim(b, 0);
        *at = 0;
    }
}

static int bio_read(BIO *bio, char *out, int size)
{
    struct tls *t = BIO_get_data(bio);
    size_t n = t->in.len - t->in_at;

    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    n = n < (size_t)size ? n : (size_t)size;
    memcpy(out, t->in.data + t->in_at, n);
    t->in_at += n;
    give_back(&t->in, &t->in_at);
    return (int)n;
}

static int bio_write(BIO *bio, const char *data, int len)
{
    struct tls *t = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    strbuf_append(&t->out, data, (size_t)len);
    return t->out.failed ? -1 : len;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static pthread_once_t method_once = PTHREAD_ONCE_INIT;
static BIO_METHOD *method; /* NULL: no memory */

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pawl");
    if (method != NULL) {
        BIO_meth_set_read(method, bio_read);
        BIO_meth_set_write(method, bio_write);
        BIO_meth_set_ctrl(method, bio_ctrl);
    }
}

static BIO *make_bio(struct tls *t)
{
    BIO *bio;

    pthread_once(&method_once, make_method);
    bio = method == NULL ? NULL : BIO_new(method);
    if (bio != NULL) {
        BIO_set_data(bio, t);
        BIO_set_init(bio, 1);
    }
    return bio;
}

/* ---- life ---- */

/* Whom a client wants to see: asked for by name (SNI), and looked for in the certificate. OpenSSL
 * takes an empty name for the wish to look for none. */
static bool expect(struct tls *t, const char *name)
{
    X509_VERIFY_PARAM *rules = SSL_get0_param(t->ssl);

    if (t->context->is_server) {
        return true;
    }
    if (name == NULL || name[0] == '\0') {
        return t->context->any_name;
    }
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, name) == 1) {
        ERR_clear_error();
        if (t->context->any_name) {
            return X509_VERIFY_PARAM_set1_ip(rules, NULL, 0) == 1;
        }
    } else {
        ERR_clear_error();
        SSL_set_tlsext_host_name(t->ssl, name);
        X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        if (!t->context->any_name && X509_VERIFY_PARAM_set1_host(rules, name, 0) != 1) {
            return false;
        }
    }
    snprintf(t->name, sizeof(t->name), "%s", t->context->any_name ? "" : name);
    return true;
}

static bool prepare(struct tls *t, const char *name)
{
    BIO *bio = make_bio(t);

    t->ssl = bio == NULL ? NULL : SSL_new(t->context->ctx);
    if (t->ssl == NULL) {
        BIO_free(bio);
        return false;
    }
    SSL_set_bio(t->ssl, bio, bio);
    SSL_set_app_data(t->ssl, t);
    if (t->context->is_server) {
        SSL_set_accept_state(t->ssl);
    } else {
        SSL_set_connect_state(t->ssl);
    }
    return expect(t, name);
}

struct tls *tls_new(struct tls_context *c, const char *name)
{
    struct tls *t = calloc(1, sizeof(*t));

    if (t == NULL) {
        return NULL;
    }
    strbuf_init(&t->in, IN_BYTES);
    strbuf_init(&t->out, STRBUF_NO_LIMIT);
    t->context = c;
    tls_context_ref(c);
    ERR_clear_error();
    if (!prepare(t, name)) {
        tls_free(t);
        return NULL;
    }
    return t;
}

void tls_free(struct tls *t)
{
    if (t == NULL) {
        return;
    }
    SSL_free(t->ssl);
    tls_context_unref(t->context);
    strbuf_fini(&t->in);
    strbuf_fini(&t->out);
    free(t);
}

void tls_expect_also(struct tls *t, const char *ip)
{
    ASSERT(!t->is_done && t->name[0] != '\0');
    snprintf(t->address, sizeof(t->address), "%s", ip);
}

/* ---- bytes ---- */

bool tls_put(struct tls *t, const void *data, size_t len)
{
    strbuf_append(&t->in, data, len);
    return !t->in.failed;
}

static long fail(struct tls *t)
{
    tls_explain(t);
    t->is_over = true;
    return -1;
}

int tls_handshake(struct tls *t)
{
    int rc;

    if (t->is_done || t->is_over) {
        return t->is_over ? -1 : 1;
    }
    ERR_clear_error();
    rc = SSL_do_handshake(t->ssl);
    if (rc == 1) {
        t->is_done = true;
        return 1;
    }
    if (SSL_get_error(t->ssl, rc) == SSL_ERROR_WANT_READ) {
        return 0;
    }
    return (int)fail(t);
}

/* One record at a time is what SSL_read() gives. A goodbye behind what was read waits for the next
 * call: until then what was read can be answered. */
static long read_on(struct tls *t, uint8_t *out, size_t size)
{
    size_t n = 0, one;

    while (n < size) {
        ERR_clear_error();
        if (SSL_read_ex(t->ssl, out + n, size - n, &one) == 1) {
            n += one;
            continue;
        }
        if (SSL_get_error(t->ssl, 0) == SSL_ERROR_WANT_READ) {
            break;
        }
        if (SSL_get_error(t->ssl, 0) == SSL_ERROR_ZERO_RETURN) {
            t->is_over = n == 0;
        } else {
            fail(t);
        }
        break;
    }
    return n == 0 && t->is_over ? -1 : (long)n;
}

long tls_read(struct tls *t, void *out, size_t size)
{
    ASSERT(t->is_done);
    if (t->is_over) {
        return -1;
    }
    if (t->out.len - t->out_at > OUT_BYTES) {
        snprintf(t->error, sizeof(t->error), "the other side makes us answer and reads nothing");
        t->is_over = true;
        return -1;
    }
    return read_on(t, out, size);
}

bool tls_write(struct tls *t, const void *data, size_t len)
{
    const uint8_t *at = data;
    size_t one;

    ASSERT(t->is_done);
    while (len > 0 && !t->is_over) {
        ERR_clear_error();
        if (SSL_write_ex(t->ssl, at, len < WRITE_BYTES ? len : (size_t)WRITE_BYTES, &one) != 1) {
            fail(t);
            break;
        }
        at += one;
        len -= one;
    }
    return len == 0;
}

void tls_finish(struct tls *t)
{
    if (t->is_done && t->error[0] == '\0') {
        ERR_clear_error();
        SSL_shutdown(t->ssl);
        ERR_clear_error();
    }
    t->is_over = true;
}

struct bytes tls_output(const struct tls *t)
{
    return bytes_of(t->out.data == NULL ? NULL : t->out.data + t->out_at, t->out.len - t->out_at);
}

void tls_sent(struct tls *t, size_t len)
{
    ASSERT(len <= t->out.len - t->out_at);
    t->out_at += len;
    give_back(&t->out, &t->out_at);
}

const char *tls_error(const struct tls *t)
{
    return t->error;
}

/* ---- the peer ---- */

char *tls_peer_subject(const struct tls *t)
{
    const X509 *certificate = SSL_get0_peer_certificate(t->ssl);
    struct strbuf text;

    if (certificate == NULL) {
        return NULL;
    }
    strbuf_init(&text, STRBUF_NO_LIMIT);
    tls_name_print(X509_get_subject_name(certificate), &text);
    strbuf_append(&text, "", 1);
    if (text.failed) {
        strbuf_fini(&text);
        return NULL;
    }
    return (char *)text.data;
}

bool tls_peer_has_address(const struct tls *t, const char *ip)
{
    X509 *certificate = SSL_get0_peer_certificate(t->ssl);
    bool has = certificate != NULL && X509_check_ip_asc(certificate, ip, 0) == 1;

    ERR_clear_error();
    return has;
}

bool tls_peer_has_name(const struct tls *t, const char *host)
{
    X509 *certificate = SSL_get0_peer_certificate(t->ssl);
    bool has =
        certificate != NULL &&
        (X509_check_ip_asc(certificate, host, 0) == 1 ||
         X509_check_host(certificate, host, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) == 1);

    ERR_clear_error();
    return has;
}

void tls_peer_names(const struct tls *t, char *out, size_t size)
{
    const X509 *certificate = SSL_get0_peer_certificate(t->ssl);

    out[0] = '\0';
    if (certificate != NULL) {
        tls_names_of(certificate, out, size);
    }
}
