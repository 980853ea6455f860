/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - a file of keys or certificates.
 *
 * What a file is, is seen by its first bytes and not by its name: keytool has written PKCS#12 under
 * any name for years.
 *
 *   -----BEGIN ...   PEM: certificates and keys in any order, text between them is skipped
 *   30 8x            PKCS#12
 *   fe ed fe ed      Java's own store (JKS), ce ce ce ce another of the kind (JCEKS): not read
 *
 * A file is read once, in whole, so that key and certificate are of the same version of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "pawl/error.h"
#include "tls/tls_internal.h"

enum { STORE_BYTES = 4 << 20, PASSWORD_BYTES = 1024 };

enum store_kind { STORE_PEM, STORE_PKCS12, STORE_JKS, STORE_UNKNOWN };

/* How the parts of one store are called when one is at fault. */
struct store_parts {
    enum tls_part file, password, type;
};

static const struct store_parts key_parts = {TLS_PART_KEY, TLS_PART_KEY_PASSWORD,
                                             TLS_PART_KEY_TYPE};
static const struct store_parts trust_parts = {TLS_PART_TRUST, TLS_PART_TRUST_PASSWORD,
                                               TLS_PART_TRUST_TYPE};

/* ---- files ---- */

static void forget(struct strbuf *b)
{
    if (b->data != NULL) {
        OPENSSL_cleanse(b->data, b->capacity);
    }
    strbuf_fini(b);
}

/* No buffer that was outgrown keeps what was in it. */
static void append_secret(struct strbuf *b, const void *data, size_t len)
{
    struct strbuf larger;

    if (b->capacity - b->len < len) {
        strbuf_init(&larger, b->limit);
        strbuf_reserve(&larger, b->len + len);
        strbuf_append(&larger, b->data, b->len);
        forget(b);
        *b = larger;
    }
    strbuf_append(b, data, len);
}

/* How many bytes there were, as far as it was read, or -1. */
static ssize_t read_all(int fd, struct strbuf *out)
{
    char block[4096];
    ssize_t n = 0, total = 0;

    while (!out->failed && (n = read(fd, block, sizeof(block))) > 0) {
        append_secret(out, block, (size_t)n);
        total += n;
    }
    OPENSSL_cleanse(block, sizeof(block));
    return n < 0 ? -1 : total;
}

static int read_file(const char *path, size_t limit, struct strbuf *out, enum tls_part part,
                     struct tls_fault *fault)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not for ever on a pipe */
    ssize_t n;
    int error;

    strbuf_init(out, limit);
    if (fd < 0) {
        return tls_refuse(fault, part, "%s: %s", path, strerror(errno));
    }
    n = read_all(fd, out);
    error = errno;
    close(fd);
    if (n < 0) {
        return tls_refuse(fault, part, "%s: %s", path, strerror(error));
    }
    if ((size_t)n > limit) {
        return tls_refuse(fault, part, "%s is longer than %zu bytes", path, limit);
    }
    return out->failed ? PAWL_ERR_NO_MEMORY : PAWL_OK;
}

/* "" when there is none. */
static int read_password(const struct tls_store *store, const struct store_parts *parts, char *out,
                         size_t size, struct tls_fault *fault)
{
    struct strbuf text;
    size_t len;
    int rc;

    if (store->password_path == NULL) {
        len = store->password == NULL ? 0 : strlen(store->password);
        if (len >= size) {
            return tls_refuse(fault, parts->password, "the password is too long");
        }
        memcpy(out, store->password == NULL ? "" : store->password, len + 1);
        return PAWL_OK;
    }
    rc = read_file(store->password_path, size - 1, &text, parts->password, fault);
    if (rc == PAWL_OK) {
        len = text.len;
        while (len > 0 && (text.data[len - 1] == '\n' || text.data[len - 1] == '\r')) {
            len--;
        }
        if (len > 0) {
            memcpy(out, text.data, len);
        }
        out[len] = '\0';
    }
    forget(&text);
    return rc;
}

/* ---- what a file is ---- */

static enum store_kind kind_of(const struct strbuf *file)
{
    static const uint8_t jks[] = {0xfe, 0xed, 0xfe, 0xed}, jceks[] = {0xce, 0xce, 0xce, 0xce};

    if (file->len >= 4 && (memcmp(file->data, jks, 4) == 0 || memcmp(file->data, jceks, 4) == 0)) {
        return STORE_JKS;
    }
    if (file->len > 1 && file->data[0] == 0x30 && file->data[1] >= 0x80) {
        return STORE_PKCS12;
    }
    if (file->len > 0 && memmem(file->data, file->len, "-----BEGIN", 10) != NULL) {
        return STORE_PEM;
    }
    return STORE_UNKNOWN;
}

static int check_type(const struct tls_store *store, const struct store_parts *parts,
                      struct tls_fault *fault)
{
    static const char *const known[] = {"PEM", "PKCS12", "JKS"};

    if (store->type == NULL || store->type[0] == '\0') {
        return PAWL_OK;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcasecmp(store->type, known[i]) == 0) {
            return PAWL_OK;
        }
    }
    return tls_refuse(fault, parts->type,
                      "\"%s\" is no type of store that is read here; allowed are PEM and PKCS12",
                      store->type);
}

static int check_kind(const struct tls_store *store, enum store_kind kind,
                      const struct store_parts *parts, struct tls_fault *fault)
{
    bool said_pem = store->type != NULL && strcasecmp(store->type, "PEM") == 0;
    bool said_other = store->type != NULL && store->type[0] != '\0' && !said_pem;

    if (kind == STORE_JKS) {
        return tls_refuse(fault, parts->file,
                          "%s is a Java key store (JKS), which is not read here; convert it with: "
                          "keytool -importkeystore -srckeystore %s -destkeystore store.p12 "
                          "-deststoretype PKCS12",
                          store->path, store->path);
    }
    if (kind == STORE_UNKNOWN) {
        return tls_refuse(fault, parts->file, "%s is neither PEM nor PKCS#12", store->path);
    }
    if (kind == STORE_PKCS12 ? said_pem : said_other) {
        return tls_refuse(fault, parts->type, "\"%s\" is not what %s is: that is %s", store->type,
                          store->path, kind == STORE_PEM ? "PEM" : "PKCS12");
    }
    return PAWL_OK;
}

struct opened {
    struct strbuf file;
    enum store_kind kind;
    char password[PASSWORD_BYTES];
};

static void opened_fini(struct opened *o)
{
    forget(&o->file);
    OPENSSL_cleanse(o->password, sizeof(o->password));
}

/* opened_fini() in any case. */
static int store_open(const struct tls_store *store, const struct store_parts *parts,
                      struct opened *o, struct tls_fault *fault)
{
    int rc;

    memset(o, 0, sizeof(*o));
    rc = check_type(store, parts, fault);
    rc = rc != PAWL_OK ? rc : read_password(store, parts, o->password, sizeof(o->password), fault);
    rc = rc != PAWL_OK ? rc : read_file(store->path, STORE_BYTES, &o->file, parts->file, fault);
    if (rc != PAWL_OK) {
        return rc;
    }
    o->kind = kind_of(&o->file);
    return check_kind(store, o->kind, parts, fault);
}

/* ---- PEM ---- */

/* Never a question on a terminal. */
static int give_password(char *out, int size, int writing, void *arg)
{
    size_t len = strlen(arg);

    (void)writing;
    if (len == 0 || len > (size_t)size) {
        return -1;
    }
    memcpy(out, arg, len);
    return (int)len;
}

static int pem_certificates(const struct strbuf *file, const char *path, enum tls_part part,
                            STACK_OF(X509) * *out, struct tls_fault *fault)
{
    BIO *bio = BIO_new_mem_buf(file->data, (int)file->len);
    STACK_OF(X509) *all = sk_X509_new_null();
    char none[1] = "";
    X509 *one;
    int rc = PAWL_OK;

    ERR_clear_error();
    while (bio != NULL && all != NULL &&
           (one = PEM_read_bio_X509_AUX(bio, NULL, give_password, none)) != NULL) {
        if (sk_X509_push(all, one) == 0) {
            X509_free(one);
            rc = PAWL_ERR_NO_MEMORY;
        }
    }
    BIO_free(bio);
    if (rc == PAWL_OK && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
        rc = tls_refuse(fault, part, "a certificate in %s cannot be read: %s", path, tls_reason());
    } else if (rc == PAWL_OK && sk_X509_num(all) == 0) {
        rc = tls_refuse(fault, part, "there is no certificate in %s", path);
    }
    if (rc != PAWL_OK) {
        sk_X509_pop_free(all, X509_free);
        return rc;
    }
    *out = all;
    return PAWL_OK;
}

static int pem_key(const struct strbuf *file, const char *path, char *password, EVP_PKEY **out,
                   struct tls_fault *fault)
{
    BIO *bio = BIO_new_mem_buf(file->data, (int)file->len);

    ERR_clear_error();
    *out = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, give_password, password);
    BIO_free(bio);
    if (*out != NULL) {
        return PAWL_OK;
    }
    if (memmem(file->data, file->len, "PRIVATE KEY-----", 16) == NULL) {
        return tls_refuse(fault, TLS_PART_KEY, "there is no private key in %s", path);
    }
    if (memmem(file->data, file->len, "ENCRYPTED", 9) != NULL) {
        return tls_refuse(fault, TLS_PART_KEY_PASSWORD, "the key in %s is encrypted, and %s", path,
                          password[0] == '\0' ? "no password is given" : "the password is wrong");
    }
    return tls_refuse(fault, TLS_PART_KEY, "the private key in %s cannot be read: %s", path,
                      tls_reason());
}

/* ---- PKCS#12 ---- */

static int pkcs12_fault(const struct tls_store *store, const struct store_parts *parts,
                        const char *password, struct tls_fault *fault)
{
    unsigned long error = ERR_peek_error();

    if (ERR_GET_LIB(error) == ERR_LIB_PKCS12 &&
        ERR_GET_REASON(error) == PKCS12_R_MAC_VERIFY_FAILURE) {
        return tls_refuse(fault, parts->password, "%s: %s", store->path,
                          password[0] == '\0' ? "it has a password, and none is given"
                                              : "the password is wrong");
    }
    if (strstr(tls_reason(), "unsupported") != NULL) {
        return tls_refuse(fault, parts->file,
                          "%s is encrypted in an old way that is no longer allowed (RC2, 3DES); "
                          "write it anew: openssl pkcs12 -legacy -in %s -nodes -out all.pem && "
                          "openssl pkcs12 -export -in all.pem -out new.p12",
                          store->path, store->path);
    }
    return tls_refuse(fault, parts->file, "%s cannot be read as PKCS#12: %s", store->path,
                      tls_reason());
}

static int pkcs12_read(const struct tls_store *store, const struct store_parts *parts,
                       struct opened *o, struct tls_keys *out, struct tls_fault *fault)
{
    const unsigned char *at = o->file.data;
    PKCS12 *p12;
    int good;

    ERR_clear_error();
    p12 = d2i_PKCS12(NULL, &at, (long)o->file.len);
    good = p12 != NULL && PKCS12_parse(p12, o->password, &out->key, &out->certificate, &out->chain);
    PKCS12_free(p12);
    return good ? PAWL_OK : pkcs12_fault(store, parts, o->password, fault);
}

/* ---- keys ---- */

void tls_keys_fini(struct tls_keys *keys)
{
    X509_free(keys->certificate);
    EVP_PKEY_free(keys->key);
    sk_X509_pop_free(keys->chain, X509_free);
    *keys = (struct tls_keys){0};
}

/* The certificate of the key is taken out of `chain`. */
static int find_own(struct tls_keys *keys, const char *path, struct tls_fault *fault)
{
    for (int i = 0; i < sk_X509_num(keys->chain); i++) {
        if (X509_check_private_key(sk_X509_value(keys->chain, i), keys->key) == 1) {
            keys->certificate = sk_X509_delete(keys->chain, i);
            return PAWL_OK;
        }
    }
    return tls_refuse(fault, TLS_PART_KEY, "no certificate in %s belongs to the private key", path);
}

static int load_pem_keys(const struct tls_store *store, const char *key_path, struct opened *o,
                         struct tls_keys *out, struct tls_fault *fault)
{
    struct strbuf apart = {0};
    int rc = PAWL_OK;

    if (key_path != NULL) {
        rc = read_file(key_path, STORE_BYTES, &apart, TLS_PART_KEY, fault);
    }
    rc = rc != PAWL_OK
             ? rc
             : pem_key(key_path != NULL ? &apart : &o->file,
                       key_path != NULL ? key_path : store->path, o->password, &out->key, fault);
    rc = rc != PAWL_OK ? rc
                       : pem_certificates(&o->file, store->path, TLS_PART_KEY, &out->chain, fault);
    forget(&apart);
    return rc != PAWL_OK ? rc : find_own(out, store->path, fault);
}

int tls_load_keys(const struct tls_store *store, const char *key_path, struct tls_keys *out,
                  struct tls_fault *fault)
{
    struct opened o;
    int rc = store_open(store, &key_parts, &o, fault);

    *out = (struct tls_keys){0};
    if (rc == PAWL_OK && o.kind == STORE_PEM) {
        rc = load_pem_keys(store, key_path, &o, out, fault);
    } else if (rc == PAWL_OK) {
        rc = pkcs12_read(store, &key_parts, &o, out, fault);
        if (rc == PAWL_OK && (out->key == NULL || out->certificate == NULL)) {
            rc = tls_refuse(fault, TLS_PART_KEY,
                            "there is no private key with its certificate in %s", store->path);
        }
    }
    opened_fini(&o);
    if (rc != PAWL_OK) {
        tls_keys_fini(out);
    }
    return rc;
}

/* ---- trust ---- */

/* Those of a PKCS#12 file, whether they stand with a key or alone. */
static int all_of_pkcs12(const struct tls_store *store, struct opened *o, STACK_OF(X509) * *out,
                         struct tls_fault *fault)
{
    struct tls_keys keys = {0};
    int rc = pkcs12_read(store, &trust_parts, o, &keys, fault);

    if (rc == PAWL_OK && keys.chain == NULL) {
        keys.chain = sk_X509_new_null();
        rc = keys.chain == NULL ? PAWL_ERR_NO_MEMORY : PAWL_OK;
    }
    if (rc == PAWL_OK && keys.certificate != NULL) {
        if (sk_X509_push(keys.chain, keys.certificate) > 0) {
            keys.certificate = NULL;
        } else {
            rc = PAWL_ERR_NO_MEMORY;
        }
    }
    if (rc == PAWL_OK && sk_X509_num(keys.chain) == 0) {
        rc = tls_refuse(fault, TLS_PART_TRUST, "there is no certificate in %s", store->path);
    }
    if (rc == PAWL_OK) {
        *out = keys.chain;
        keys.chain = NULL;
    }
    tls_keys_fini(&keys);
    return rc;
}

int tls_load_trust(const struct tls_store *store, STACK_OF(X509) * *out, struct tls_fault *fault)
{
    struct opened o;
    int rc = store_open(store, &trust_parts, &o, fault);

    if (rc == PAWL_OK) {
        rc = o.kind == STORE_PEM
                 ? pem_certificates(&o.file, store->path, TLS_PART_TRUST, out, fault)
                 : all_of_pkcs12(store, &o, out, fault);
    }
    opened_fini(&o);
    return rc;
}

/* ---- what was revoked ---- */

/* True: all that is there has been read. */
static bool pem_crls(const struct strbuf *file, STACK_OF(X509_CRL) * all)
{
    BIO *bio = BIO_new_mem_buf(file->data, (int)file->len);
    char none[1] = "";
    X509_CRL *one;

    ERR_clear_error();
    while (bio != NULL && (one = PEM_read_bio_X509_CRL(bio, NULL, give_password, none)) != NULL) {
        if (sk_X509_CRL_push(all, one) == 0) {
            X509_CRL_free(one);
            break;
        }
    }
    BIO_free(bio);
    return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

/* As authorities publish it. */
static bool der_crl(const struct strbuf *file, STACK_OF(X509_CRL) * all)
{
    const unsigned char *at = file->data;
    X509_CRL *one;

    ERR_clear_error();
    one = d2i_X509_CRL(NULL, &at, (long)file->len);
    if (one != NULL && sk_X509_CRL_push(all, one) == 0) {
        X509_CRL_free(one);
        one = NULL;
    }
    return one != NULL;
}

int tls_load_crls(const char *path, STACK_OF(X509_CRL) * *out, struct tls_fault *fault)
{
    STACK_OF(X509_CRL) *all = sk_X509_CRL_new_null();
    struct strbuf file = {0};
    int rc =
        all == NULL ? PAWL_ERR_NO_MEMORY : read_file(path, STORE_BYTES, &file, TLS_PART_CRL, fault);

    if (rc == PAWL_OK &&
        !(kind_of(&file) == STORE_PEM ? pem_crls(&file, all) : der_crl(&file, all))) {
        rc = tls_refuse(fault, TLS_PART_CRL, "a revocation list in %s cannot be read: %s", path,
                        tls_reason());
    } else if (rc == PAWL_OK && sk_X509_CRL_num(all) == 0) {
        rc = tls_refuse(fault, TLS_PART_CRL, "there is no revocation list in %s", path);
    }
    forget(&file);
    if (rc != PAWL_OK) {
        sk_X509_CRL_pop_free(all, X509_CRL_free);
        return rc;
    }
    *out = all;
    return PAWL_OK;
}
