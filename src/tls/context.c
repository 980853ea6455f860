/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - settings into an SSL_CTX, or a sentence that says what is wrong with them. */
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "pawl/error.h"
#include "tls/tls_internal.h"

/* The next piece between commas, without blanks around it. False at the end. */
static bool next_word(const char **list, char *word, size_t size)
{
    size_t len;

    *list += strspn(*list, ", \t");
    len = strcspn(*list, ",");
    if (len == 0) {
        return false;
    }
    snprintf(word, size, "%.*s", (int)len, *list);
    *list += len;
    for (len = strlen(word); len > 0 && (word[len - 1] == ' ' || word[len - 1] == '\t'); len--) {
        word[len - 1] = '\0';
    }
    return true;
}

/* ---- versions and ciphers ---- */

struct offer {
    bool v12, v13;
};

static int read_protocols(const char *list, struct offer *out, struct tls_fault *fault)
{
    char word[64];

    *out = (struct offer){.v12 = list == NULL, .v13 = list == NULL};
    while (list != NULL && next_word(&list, word, sizeof(word))) {
        if (strcmp(word, "TLSv1.2") == 0) {
            out->v12 = true;
        } else if (strcmp(word, "TLSv1.3") == 0) {
            out->v13 = true;
        } else {
            return tls_refuse(fault, TLS_PART_PROTOCOLS,
                              "\"%s\" is not offered; allowed are TLSv1.2 and TLSv1.3", word);
        }
    }
    if (!out->v12 && !out->v13) {
        return tls_refuse(fault, TLS_PART_PROTOCOLS,
                          "names no version; allowed are TLSv1.2 and TLSv1.3");
    }
    return PAWL_OK;
}

static void join(struct strbuf *list, const char *word)
{
    strbuf_append_str(list, list->len > 0 ? ":" : "");
    strbuf_append_str(list, word);
}

/* Suites of TLS 1.3 are named alike by everybody; of 1.2 OpenSSL has names of its own. */
static int sort_ciphers(SSL_CTX *ctx, const char *list, struct strbuf *v12, struct strbuf *v13,
                        struct tls_fault *fault)
{
    const char *name;
    char word[128];

    while (next_word(&list, word, sizeof(word))) {
        if (strncmp(word, "TLS_", 4) == 0 && strstr(word, "_WITH_") == NULL &&
            SSL_CTX_set_ciphersuites(ctx, word) == 1) {
            join(v13, word);
            continue;
        }
        name = OPENSSL_cipher_name(word);
        if (name == NULL || name[0] == '(' || SSL_CTX_set_cipher_list(ctx, name) != 1) {
            return tls_refuse(fault, TLS_PART_CIPHERS,
                              "\"%s\" is no cipher suite that is offered here; names are IANA's, "
                              "such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or "
                              "TLS_AES_128_GCM_SHA256",
                              word);
        }
        join(v12, name);
    }
    return PAWL_OK;
}

/* With suites of one version only, only that version is spoken. */
static int set_ciphers(SSL_CTX *ctx, const char *list, struct offer *offer, struct tls_fault *fault)
{
    struct strbuf v12, v13;
    int rc;

    strbuf_init(&v12, 64 << 10);
    strbuf_init(&v13, 64 << 10);
    rc = sort_ciphers(ctx, list, &v12, &v13, fault);
    offer->v12 = offer->v12 && v12.len > 0;
    offer->v13 = offer->v13 && v13.len > 0;
    if (rc == PAWL_OK && !offer->v12 && !offer->v13) {
        rc = tls_refuse(fault, TLS_PART_CIPHERS,
                        "there is no suite in it for the versions of TLS that are spoken");
    }
    if (rc == PAWL_OK && offer->v12) {
        SSL_CTX_set_cipher_list(ctx, strbuf_cstr(&v12));
    }
    if (rc == PAWL_OK && offer->v13) {
        SSL_CTX_set_ciphersuites(ctx, strbuf_cstr(&v13));
    }
    strbuf_fini(&v12);
    strbuf_fini(&v13);
    return rc;
}

static int set_rules(struct tls_context *c, const struct tls_settings *s, struct tls_fault *fault)
{
    struct offer offer;
    int rc = read_protocols(s->protocols, &offer, fault);

    if (rc == PAWL_OK && s->ciphers != NULL && s->ciphers[0] != '\0') {
        rc = set_ciphers(c->ctx, s->ciphers, &offer, fault);
    }
    if (rc != PAWL_OK) {
        return rc;
    }
    SSL_CTX_set_min_proto_version(c->ctx, offer.v12 ? TLS1_2_VERSION : TLS1_3_VERSION);
    SSL_CTX_set_max_proto_version(c->ctx, offer.v13 ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_options(c->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(c->ctx, SSL_MODE_RELEASE_BUFFERS);
    return PAWL_OK;
}

/* ---- certificates ---- */

static int set_keys(struct tls_context *c, const struct tls_settings *s, struct tls_fault *fault)
{
    struct tls_keys keys;
    int rc;

    if (s->key.path == NULL) {
        return PAWL_OK;
    }
    rc = tls_load_keys(&s->key, s->key_path, &keys, fault);
    if (rc != PAWL_OK) {
        return rc;
    }
    ERR_clear_error();
    if (SSL_CTX_use_cert_and_key(c->ctx, keys.certificate, keys.key, keys.chain, 1) != 1) {
        rc = tls_refuse(fault, TLS_PART_KEY, "the certificate in %s cannot be used: %s",
                        s->key.path, tls_reason());
    }
    tls_keys_fini(&keys);
    return rc;
}

/* Whoever stands in the file is trusted, as in Java: an authority, one below it, or a single
 * certificate. */
static int trust_all(struct tls_context *c, STACK_OF(X509) * all)
{
    X509_STORE *store = SSL_CTX_get_cert_store(c->ctx);

    for (int i = 0; i < sk_X509_num(all); i++) {
        if (X509_STORE_add_cert(store, sk_X509_value(all, i)) != 1 ||
            (c->is_server && SSL_CTX_add_client_CA(c->ctx, sk_X509_value(all, i)) != 1)) {
            return PAWL_ERR_NO_MEMORY;
        }
    }
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(c->ctx), X509_V_FLAG_PARTIAL_CHAIN);
    return PAWL_OK;
}

static int set_trust(struct tls_context *c, const struct tls_settings *s, struct tls_fault *fault)
{
    STACK_OF(X509) *all = NULL;
    int rc;

    if (s->trust.path == NULL) {
        snprintf(c->trust, sizeof(c->trust), "those of the system");
        return c->is_server || SSL_CTX_set_default_verify_paths(c->ctx) == 1
                   ? PAWL_OK
                   : tls_refuse(fault, TLS_PART_TRUST, "the system's certificates: %s",
                                tls_reason());
    }
    snprintf(c->trust, sizeof(c->trust), "those in %s", s->trust.path);
    rc = tls_load_trust(&s->trust, &all, fault);
    rc = rc != PAWL_OK ? rc : trust_all(c, all);
    sk_X509_pop_free(all, X509_free);
    return rc;
}

/* Of everybody in the chain up to whom we trust. */
static int set_crls(struct tls_context *c, const struct tls_settings *s, struct tls_fault *fault)
{
    X509_STORE *store = SSL_CTX_get_cert_store(c->ctx);
    int rc;

    if (s->crl_path == NULL) {
        return PAWL_OK;
    }
    snprintf(c->crl, sizeof(c->crl), "%s", s->crl_path);
    rc = tls_load_crls(s->crl_path, &c->crls, fault);
    for (int i = 0; rc == PAWL_OK && i < sk_X509_CRL_num(c->crls); i++) {
        if (X509_STORE_add_crl(store, sk_X509_CRL_value(c->crls, i)) != 1) {
            rc = PAWL_ERR_NO_MEMORY;
        }
    }
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(c->ctx),
                                X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return rc;
}

static int verify_mode(const struct tls_settings *s)
{
    if (!s->is_server) {
        return SSL_VERIFY_PEER;
    }
    switch (s->client_certificate) {
    case TLS_CLIENT_NEEDED:
        return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    case TLS_CLIENT_WANTED:
        return SSL_VERIFY_PEER;
    default:
        return SSL_VERIFY_NONE;
    }
}

static int check_whole(const struct tls_settings *s, struct tls_fault *fault)
{
    if (s->is_server && s->key.path == NULL) {
        return tls_refuse(fault, TLS_PART_KEY, "there is no certificate to show to %s",
                          s->among_equals ? "members" : "clients");
    }
    if (s->is_server && s->trust.path == NULL && s->client_certificate != TLS_CLIENT_NONE) {
        return tls_refuse(fault, TLS_PART_TRUST,
                          "is not set, so that no certificate of %s could be trusted; name a "
                          "file of certificates, or let them show none (clientAuth=none)",
                          s->among_equals ? "a member" : "a client");
    }
    if (s->key.path == NULL && s->key_path != NULL) {
        return tls_refuse(fault, TLS_PART_KEY, "there is a key (%s), but no certificate for it",
                          s->key_path);
    }
    return PAWL_OK;
}

/* ---- life ---- */

/* Sessions are kept by the clients, in tickets: here they cost no memory. */
static void set_sessions(struct tls_context *c)
{
    static const unsigned char id[] = "pawl";

    SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_OFF);
    if (c->is_server) {
        SSL_CTX_set_session_id_context(c->ctx, id, sizeof(id) - 1);
        SSL_CTX_set_num_tickets(c->ctx, 1);
        SSL_CTX_set_timeout(c->ctx, 3600);
    }
}

int tls_context_new(const struct tls_settings *s, struct tls_context **out, struct tls_fault *fault)
{
    struct tls_context *c;
    int rc = check_whole(s, fault);

    if (rc != PAWL_OK) {
        return rc;
    }
    c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    atomic_init(&c->refs, 1);
    c->is_server = s->is_server;
    c->any_name = s->any_name;
    c->who = s->among_equals ? "the other member" : s->is_server ? "the client" : "the server";
    ERR_clear_error();
    c->ctx = SSL_CTX_new(s->is_server ? TLS_server_method() : TLS_client_method());
    rc = c->ctx == NULL ? PAWL_ERR_NO_MEMORY : set_rules(c, s, fault);
    rc = rc != PAWL_OK ? rc : set_keys(c, s, fault);
    rc = rc != PAWL_OK ? rc : set_trust(c, s, fault);
    rc = rc != PAWL_OK ? rc : set_crls(c, s, fault);
    if (rc != PAWL_OK) {
        tls_context_unref(c);
        return rc;
    }
    SSL_CTX_set_verify(c->ctx, verify_mode(s), tls_on_verify);
    set_sessions(c);
    *out = c;
    return PAWL_OK;
}

void tls_context_ref(struct tls_context *c)
{
    atomic_fetch_add(&c->refs, 1);
}

void tls_context_unref(struct tls_context *c)
{
    if (c != NULL && atomic_fetch_sub(&c->refs, 1) == 1) {
        SSL_CTX_free(c->ctx);
        sk_X509_CRL_pop_free(c->crls, X509_CRL_free);
        free(c);
    }
}

void tls_context_describe(const struct tls_context *c, char *out, size_t size)
{
    const X509 *own = SSL_CTX_get0_certificate(c->ctx);
    char subject[TLS_NAME_BYTES / 2], issuer[TLS_NAME_BYTES / 2], date[64];

    out[0] = '\0';
    if (own != NULL) {
        tls_name_text(X509_get_subject_name(own), subject, sizeof(subject));
        tls_name_text(X509_get_issuer_name(own), issuer, sizeof(issuer));
        tls_time_text(X509_get0_notAfter(own), date, sizeof(date));
        snprintf(out, size, "%s, issued by %s, valid until %s", subject, issuer, date);
    }
}

int tls_context_days_left(const struct tls_context *c)
{
    const X509 *own = SSL_CTX_get0_certificate(c->ctx);
    int days = 0, seconds = 0;

    if (own == NULL || ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(own)) != 1) {
        return INT_MAX;
    }
    return days == 0 && seconds < 0 ? -1 : days;
}

bool tls_context_crl_is_old(const struct tls_context *c, char *out, size_t size)
{
    char issuer[TLS_NAME_BYTES / 2], date[64];

    for (int i = 0; i < sk_X509_CRL_num(c->crls); i++) {
        const X509_CRL *crl = sk_X509_CRL_value(c->crls, i);
        const ASN1_TIME *end = X509_CRL_get0_nextUpdate(crl);

        if (end != NULL && X509_cmp_current_time(end) < 0) {
            tls_name_text(X509_CRL_get_issuer(crl), issuer, sizeof(issuer));
            tls_time_text(end, date, sizeof(date));
            snprintf(out, size, "that of %s in %s, since %s", issuer, c->crl, date);
            return true;
        }
    }
    return false;
}
