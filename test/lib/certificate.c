/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lib/certificate.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/test.h"

static void extend(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

    assert_non_null(e);
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
}

static void save(struct certificate *c)
{
    FILE *f;
    int fd;

    strcpy(c->path, "/tmp/pawl-test-tls-XXXXXX");
    fd = mkstemp(c->path);
    assert_true(fd >= 0);
    f = fdopen(fd, "w");
    PEM_write_X509(f, c->x509);
    PEM_write_PrivateKey(f, c->key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
}

static void add_name(X509_NAME *subject, const char *type, const char *value)
{
    X509_NAME_add_entry_by_txt(subject, type, MBSTRING_UTF8, (const unsigned char *)value, -1, -1,
                               0);
}

void certificate_make(struct certificate *c, const struct certificate *by, const char *name,
                      const char *names)
{
    X509 *x = X509_new();
    X509_NAME *subject = X509_get_subject_name(x);

    c->key = EVP_EC_gen("P-256");
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, c->key);
    add_name(subject, "O", "Pawl");
    add_name(subject, "CN", name);
    X509_set_issuer_name(x, by == NULL ? subject : X509_get_subject_name(by->x509));
    if (by == NULL) {
        extend(x, NID_basic_constraints, "critical,CA:TRUE");
    }
    if (names != NULL) {
        extend(x, NID_subject_alt_name, names);
    }
    X509_sign(x, by == NULL ? c->key : by->key, EVP_sha256());
    c->x509 = x;
    save(c);
}

void certificate_unmake(struct certificate *c)
{
    unlink(c->path);
    X509_free(c->x509);
    EVP_PKEY_free(c->key);
}
