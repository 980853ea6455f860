/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - what went wrong, in words: which certificate, which name, which date, and who said so.
 */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <string.h>

#include "pawl/error.h"
#include "tls/tls_internal.h"

int tls_refuse(struct tls_fault *fault, enum tls_part part, const char *format, ...)
{
    va_list args;

    fault->part = part;
    va_start(args, format);
    vsnprintf(fault->text, sizeof(fault->text), format, args);
    va_end(args);
    return PAWL_ERR_BAD_ARGUMENTS;
}

const char *tls_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());

    return reason != NULL ? reason : "no reason is given";
}

/* ---- certificates ---- */

static void say_untrusted(struct tls *t, const char *subject, const char *issuer)
{
    snprintf(
        t->verdict, sizeof(t->verdict),
        "the certificate of %s is signed by nobody that is trusted here: its issuer is %s, and "
        "trusted are %s",
        subject, issuer, t->context->trust);
}

static void say_date(struct tls *t, const char *subject, const char *what, const ASN1_TIME *time)
{
    char date[64];

    tls_time_text(time, date, sizeof(date));
    snprintf(t->verdict, sizeof(t->verdict), "the certificate of %s %s %s", subject, what, date);
}

static void say_wrong_name(struct tls *t, const X509 *certificate)
{
    char names[256];

    tls_names_of(certificate, names, sizeof(names));
    snprintf(t->verdict, sizeof(t->verdict), "its certificate is for %s, not for %s", names,
             t->name);
}

static void say_verdict(struct tls *t, int error, const X509 *certificate)
{
    char subject[TLS_NAME_BYTES / 2], issuer[TLS_NAME_BYTES / 2];

    tls_name_text(X509_get_subject_name(certificate), subject, sizeof(subject));
    tls_name_text(X509_get_issuer_name(certificate), issuer, sizeof(issuer));
    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        say_date(t, subject, "has expired on", X509_get0_notAfter(certificate));
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        say_date(t, subject, "is not valid before", X509_get0_notBefore(certificate));
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        say_wrong_name(t, certificate);
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        say_untrusted(t, subject, issuer);
        break;
    case X509_V_ERR_CERT_REVOKED:
        snprintf(t->verdict, sizeof(t->verdict),
                 "the certificate of %s has been revoked, says the list of %s in %s", subject,
                 issuer, t->context->crl);
        break;
    case X509_V_ERR_UNABLE_TO_GET_CRL:
        snprintf(t->verdict, sizeof(t->verdict),
                 "whether the certificate of %s has been revoked is not known: there is no list of "
                 "%s in %s",
                 subject, issuer, t->context->crl);
        break;
    case X509_V_ERR_CRL_HAS_EXPIRED:
        snprintf(
            t->verdict, sizeof(t->verdict),
            "whether the certificate of %s has been revoked is not known: the list of %s in %s "
            "is out of date",
            subject, issuer, t->context->crl);
        break;
    default:
        snprintf(t->verdict, sizeof(t->verdict), "the certificate of %s: %s", subject,
                 X509_verify_cert_error_string(error));
    }
}

/* The name is not there, but the address is, which will do. */
static bool is_by_address(const struct tls *t, int error, X509 *certificate)
{
    bool is = error == X509_V_ERR_HOSTNAME_MISMATCH && t->address[0] != '\0' &&
              certificate != NULL && X509_check_ip_asc(certificate, t->address, 0) == 1;

    ERR_clear_error();
    return is;
}

/* The end of the chain is trusted because it stands in our file: nobody has to vouch for it. */
static bool is_anchor(X509_STORE_CTX *store)
{
    return X509_STORE_CTX_get_error(store) == X509_V_ERR_UNABLE_TO_GET_CRL &&
           X509_STORE_CTX_get_error_depth(store) ==
               sk_X509_num(X509_STORE_CTX_get0_chain(store)) - 1;
}

int tls_on_verify(int good, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls *t = ssl == NULL ? NULL : SSL_get_app_data(ssl);
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);

    if (!good && t != NULL &&
        (is_by_address(t, X509_STORE_CTX_get_error(store), certificate) || is_anchor(store))) {
        X509_STORE_CTX_set_error(store, X509_V_OK);
        return 1;
    }
    if (!good && t != NULL && t->verdict[0] == '\0') {
        if (certificate != NULL) {
            say_verdict(t, X509_STORE_CTX_get_error(store), certificate);
        } else {
            snprintf(t->verdict, sizeof(t->verdict), "%s",
                     X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)));
        }
    }
    return good;
}

/* ---- everything else ---- */

enum { ALERT_REASONS = 1000 }; /* SSL_R_... of what the other side said: so much above its alert */

static void say_alert(struct tls *t, int alert)
{
    const char *who = t->context->who;
    const char *hint = "", *name = SSL_alert_desc_string_long(alert);

    switch (alert) {
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_NO_CERTIFICATE:
        name = "certificate required"; /* OpenSSL 3.0 has no name for the first */
        hint = ": it lets in only those who show a certificate";
        break;
    case SSL_AD_HANDSHAKE_FAILURE:
        hint = ": no protocol or cipher suite in common, or it wants a certificate";
        break;
    case SSL_AD_UNKNOWN_CA:
        hint = ": it does not trust who has signed our certificate";
        break;
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN:
        hint = ": it does not like our certificate, or wants to see one";
        break;
    case SSL_AD_CERTIFICATE_EXPIRED:
        hint = ": our certificate has expired by its clock";
        break;
    case SSL_AD_PROTOCOL_VERSION:
        hint = ": no version of TLS in common";
        break;
    default:
        break;
    }
    snprintf(t->error, sizeof(t->error), "%s refuses, with the alert \"%s\"%s", who, name, hint);
}

static void say_reason(struct tls *t, int reason)
{
    const char *who = t->context->who;

    switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_UNEXPECTED_MESSAGE:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_BAD_RECORD_TYPE:
        snprintf(t->error, sizeof(t->error), "%s does not speak TLS%s", who,
                 t->context->is_server ? "" : " on this port");
        break;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        snprintf(t->error, sizeof(t->error), "%s shows no certificate, and one is needed", who);
        break;
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        snprintf(t->error, sizeof(t->error), "%s has no cipher suite or kind of key in common",
                 who);
        break;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
        snprintf(t->error, sizeof(t->error), "%s has no version of TLS in common", who);
        break;
    default:
        snprintf(t->error, sizeof(t->error), "%s", tls_reason());
    }
}

void tls_explain(struct tls *t)
{
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_REASON(error);

    if (t->error[0] != '\0') {
        return;
    }
    if (t->verdict[0] != '\0') {
        memcpy(t->error, t->verdict, sizeof(t->error));
    } else if (t->out.failed) {
        snprintf(t->error, sizeof(t->error), "no memory, or the other side reads nothing");
    } else if (error == 0) {
        snprintf(t->error, sizeof(t->error), "it was cut off");
    } else if (ERR_GET_LIB(error) == ERR_LIB_SSL && reason >= ALERT_REASONS) {
        say_alert(t, reason - ALERT_REASONS);
    } else if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
        say_reason(t, reason);
    } else {
        snprintf(t->error, sizeof(t->error), "%s", tls_reason());
    }
    ERR_clear_error();
}
