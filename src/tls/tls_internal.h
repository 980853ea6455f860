/* SPDX-License-Identifier: Apache-2.0 */
/* tls_internal.h - what the files of this folder share.
 *
 *   store.c    a file of keys or certificates -> OpenSSL's objects
 *   context.c  settings -> SSL_CTX
 *   filter.c   the bytes of one link
 *   fips.c     only what FIPS 140 allows
 *   names.c    subjects and names of certificates as text
 *   words.c    what went wrong, in words
 *   ask.c      a question over a blocking socket */
#ifndef PAWL_TLS_TLS_INTERNAL_H
#define PAWL_TLS_TLS_INTERNAL_H

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdatomic.h>

#include "base/strbuf.h"
#include "tls/tls.h"

enum { TLS_NAME_BYTES = 512 };

struct tls_context {
    _Atomic int refs;
    SSL_CTX *ctx;
    bool is_server;
    bool any_name;
    const char *who; /* the other side, for messages */
    char trust[256]; /* where trust comes from, for messages */
    char crl[256];   /* where lists of what was revoked do; "": they do not */
    STACK_OF(X509_CRL) * crls;
};

struct tls {
    SSL *ssl;
    struct tls_context *context;
    struct strbuf in; /* from the network, not yet looked at */
    size_t in_at;
    struct strbuf out; /* for the network, not yet sent */
    size_t out_at;
    bool is_done; /* the handshake */
    bool is_over;
    char name[256];                /* whom a client wants; "": whoever it is */
    char address[48];              /* or that; "": nothing else will do */
    char error[TLS_FAULT_BYTES];   /* "": none */
    char verdict[TLS_FAULT_BYTES]; /* what is wrong with the peer's certificate; "": nothing */
};

/* PAWL_ERR_BAD_ARGUMENTS; the sentence goes into `fault`. */
int tls_refuse(struct tls_fault *fault, enum tls_part part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- store.c ---- */

struct tls_keys {
    X509 *certificate;
    EVP_PKEY *key;
    STACK_OF(X509) * chain;
};

int tls_load_keys(const struct tls_store *store, const char *key_path, struct tls_keys *out,
                  struct tls_fault *fault);
void tls_keys_fini(struct tls_keys *keys);
int tls_load_trust(const struct tls_store *store, STACK_OF(X509) * *out, struct tls_fault *fault);
int tls_load_crls(const char *path, STACK_OF(X509_CRL) * *out, struct tls_fault *fault);

/* ---- names.c ---- */

/* As X500Principal.getName() of Java. */
void tls_name_print(const X509_NAME *name, struct strbuf *out);
/* The same, cut to fit. */
void tls_name_text(const X509_NAME *name, char *out, size_t size);
/* Host names and addresses that the certificate is for: "localhost, 127.0.0.1". */
void tls_names_of(const X509 *certificate, char *out, size_t size);
void tls_time_text(const ASN1_TIME *time, char *out, size_t size);

/* ---- words.c ---- */

/* OpenSSL's verdict about one certificate of the peer's chain, into t->verdict. */
int tls_on_verify(int good, X509_STORE_CTX *store);
/* What stands in OpenSSL's queue of errors after a call that failed, into t->error. */
void tls_explain(struct tls *t);
/* The first of that queue, as OpenSSL has it. */
const char *tls_reason(void);

#endif
