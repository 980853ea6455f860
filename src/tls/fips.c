/* SPDX-License-Identifier: Apache-2.0 */
/* fips.c - only what FIPS 140 allows: OpenSSL has a provider of its own for it, which a system has
 * or has not. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdio.h>

#include "tls/tls_internal.h"

static bool refuse(char *why, size_t size, const char *what)
{
    snprintf(why, size, "%s: %s", what, tls_reason());
    ERR_clear_error();
    return false;
}

/* What is fetched by default has to be the provider's: one that is there and has nothing of use
 * would leave no TLS at all. */
static bool works(void)
{
    EVP_MD *md = EVP_MD_fetch(NULL, "SHA256", "fips=yes");

    EVP_MD_free(md);
    return md != NULL;
}

bool tls_fips(char *why, size_t size)
{
    static OSSL_PROVIDER *fips, *base; /* for as long as the process lives */

    ERR_clear_error();
    fips = fips != NULL ? fips : OSSL_PROVIDER_load(NULL, "fips");
    if (fips == NULL) {
        return refuse(why, size, "OpenSSL's provider \"fips\" cannot be loaded");
    }
    base = base != NULL ? base : OSSL_PROVIDER_load(NULL, "base"); /* files of keys */
    if (base == NULL || EVP_default_properties_enable_fips(NULL, 1) != 1 || !works()) {
        return refuse(why, size, "OpenSSL's provider \"fips\" is there, but does not work");
    }
    return true;
}
