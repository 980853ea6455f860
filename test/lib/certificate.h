/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.h - certificates for tests of TLS, each in a file with its key. */
#ifndef PAWL_TEST_CERTIFICATE_H
#define PAWL_TEST_CERTIFICATE_H

#include <openssl/x509.h>

struct certificate {
    EVP_PKEY *key;
    X509 *x509;
    char path[64]; /* both, as PEM */
};

/* O=Pawl,CN=`name`, valid for an hour. `by` NULL: signed by itself, an authority. `names` as in
 * "DNS:localhost,IP:127.0.0.1"; NULL: none. */
void certificate_make(struct certificate *c, const struct certificate *by, const char *name,
                      const char *names);
void certificate_unmake(struct certificate *c); /* its file goes, too */

#endif
