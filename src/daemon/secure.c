/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/secure.h"

#include <string.h>
#include <sys/stat.h>

#include "base/logging.h"
#include "daemon/config_internal.h"
#include "os/clock.h"
#include "pawl/error.h"
#include "tls/tls.h"

enum { LOOK_MS = 1000, WARN_MS = 24 * 3600 * 1000, WARN_DAYS = 30 };

bool secure_is_wanted(const struct config *c)
{
    return c->net.secure_port >= 0 || (c->tls.unified && c->net.client_port >= 0);
}

/* ---- settings ---- */

/* ssl.protocol is what Java's SSLContext is asked for, which then speaks what is older, too. */
static const char *protocols_of(const struct config *c)
{
    const char *one = c->tls.protocol;

    if (c->tls.protocols != NULL) {
        return c->tls.protocols;
    }
    return one == NULL || strcmp(one, "TLS") == 0 || strcmp(one, "TLSv1.3") == 0 ? NULL : one;
}

static void settings_of(const struct config *c, struct tls_settings *out)
{
    *out = (struct tls_settings){
        .is_server = true,
        .key = {c->tls.key_path, c->tls.key_password, c->tls.key_password_path, c->tls.key_type},
        .trust = {c->tls.trust_path, c->tls.trust_password, c->tls.trust_password_path,
                  c->tls.trust_type},
        .client_certificate = (enum tls_client_certificate)c->tls.client_certificate,
        .protocols = protocols_of(c),
        .ciphers = c->tls.ciphers,
    };
}

static int context_of(const struct config *c, struct tls_context **out, struct tls_fault *fault)
{
    struct tls_settings settings;

    settings_of(c, &settings);
    *fault = (struct tls_fault){.text = "no memory"};
    return tls_context_new(&settings, out, fault);
}

/* ---- checks ---- */

static const char *key_at_fault(const struct config *c, enum tls_part part)
{
    switch (part) {
    case TLS_PART_KEY:
        return "ssl.keyStore.location";
    case TLS_PART_KEY_PASSWORD:
        return c->tls.key_password_path != NULL ? "ssl.keyStore.passwordPath"
                                                : "ssl.keyStore.password";
    case TLS_PART_KEY_TYPE:
        return "ssl.keyStore.type";
    case TLS_PART_TRUST:
        return "ssl.trustStore.location";
    case TLS_PART_TRUST_PASSWORD:
        return c->tls.trust_password_path != NULL ? "ssl.trustStore.passwordPath"
                                                  : "ssl.trustStore.password";
    case TLS_PART_TRUST_TYPE:
        return "ssl.trustStore.type";
    case TLS_PART_PROTOCOLS:
        return c->tls.protocols != NULL ? "ssl.enabledProtocols" : "ssl.protocol";
    case TLS_PART_CIPHERS:
        return "ssl.ciphersuites";
    default:
        return "secureClientPort";
    }
}

static void fault_at(const struct config *c, struct config_lines *errors, const char *key,
                     const char *sentence)
{
    struct config_place place = config_place_of(c, key);

    config_fault(errors, &place, key, "%s", sentence);
}

static void check_switches(const struct config *c, struct config_lines *errors)
{
    if (c->tls.crl) {
        fault_at(c, errors, "ssl.crl",
                 "this version does not check revocation, revoked certificates would be let in; "
                 "remove the key");
    }
    if (c->tls.ocsp) {
        fault_at(c, errors, "ssl.ocsp",
                 "this version does not check revocation, revoked certificates would be let in; "
                 "remove the key");
    }
    if (c->tls.reverse_lookup) {
        fault_at(c, errors, "ssl.allowReverseDnsLookup",
                 "the name service is not asked who an address is, as whoever owns the address may "
                 "answer; have the clients' addresses in their certificates, and remove the key");
    }
    if (strcmp(c->tls.scheme, "x509") != 0) {
        fault_at(c, errors, "ssl.authProvider", "there is no such scheme here; allowed is x509");
    }
    if (c->tls.check_client_address && c->tls.client_certificate == TLS_CLIENT_NONE) {
        fault_at(c, errors, "ssl.clientHostnameVerification",
                 "no client shows a certificate: ssl.clientAuth is none");
    }
}

static void check_files(struct config *c, struct config_lines *errors)
{
    struct tls_context *context;
    struct tls_fault fault;
    char text[TLS_FAULT_BYTES];

    if (context_of(c, &context, &fault) != PAWL_OK) {
        fault_at(c, errors, key_at_fault(c, fault.part), fault.text);
        return;
    }
    tls_context_describe(context, text, sizeof(text));
    if (tls_context_days_left(context) < 0) {
        struct config_place place = config_place_of(c, "ssl.keyStore.location");

        config_warn(c, &place, "ssl.keyStore.location",
                    "the certificate is no longer valid, clients will refuse it: %s", text);
    }
    tls_context_unref(context);
}

/* Keys of TLS where there is none. */
static void warn_unused(struct config *c)
{
    static const char *const keys[] = {"ssl.keyStore.location", "ssl.trustStore.location",
                                       "client.portUnification"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct config_place place = config_place_of(c, keys[i]);

        if (config_is_given(c, keys[i]) && (i != 2 || c->tls.unified)) {
            config_warn(c, &place, keys[i],
                        "has no effect: there is no port for TLS; "
                        "secureClientPort would be one");
        }
    }
}

void secure_check(struct config *c, struct config_lines *errors)
{
    if (secure_is_wanted(c)) {
        check_switches(c, errors);
        check_files(c, errors);
    } else {
        warn_unused(c);
    }
}

/* ---- files ---- */

void secure_stamp_of(const char *path, struct secure_stamp *out)
{
    struct stat st;

    *out = (struct secure_stamp){0};
    if (path != NULL && stat(path, &st) == 0) {
        *out = (struct secure_stamp){
            .device = (int64_t)st.st_dev,
            .inode = (int64_t)st.st_ino,
            .size = st.st_size,
            .changed_ns = st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec,
            .modified_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec,
        };
    }
}

static void stamp_all(const struct config *c, struct secure_stamp *out)
{
    secure_stamp_of(c->tls.key_path, &out[0]);
    secure_stamp_of(c->tls.key_password_path, &out[1]);
    secure_stamp_of(c->tls.trust_path, &out[2]);
    secure_stamp_of(c->tls.trust_password_path, &out[3]);
}

static void warn_of_end(struct secure *s, int64_t now_ms)
{
    int days = tls_context_days_left(s->context);
    char text[TLS_FAULT_BYTES];

    if (days >= WARN_DAYS || (s->warned_ms != 0 && now_ms - s->warned_ms < WARN_MS)) {
        return;
    }
    s->warned_ms = now_ms;
    tls_context_describe(s->context, text, sizeof(text));
    if (days < 0) {
        log_warn("TLS: the certificate is no longer valid, clients will refuse it: %s", text);
    } else {
        log_warn("TLS: the certificate is valid for %d days more: %s", days, text);
    }
}

static void take_over(struct secure *s, struct tls_context *fresh)
{
    char text[TLS_FAULT_BYTES];

    tls_context_unref(s->context);
    s->context = fresh;
    s->warned_ms = 0;
    tls_context_describe(fresh, text, sizeof(text));
    log_info("TLS: clients are shown the certificate of %s", text);
}

int secure_open(struct secure *s, const struct config *c, struct tls_fault *fault)
{
    struct tls_context *fresh;
    int rc;

    *s = (struct secure){0};
    if (!secure_is_wanted(c)) {
        return PAWL_OK;
    }
    stamp_all(c, s->stamps); /* before they are read: a change behind that is seen */
    rc = context_of(c, &fresh, fault);
    if (rc == PAWL_OK) {
        take_over(s, fresh);
        warn_of_end(s, clock_monotonic_ms());
    }
    return rc;
}

void secure_close(struct secure *s)
{
    tls_context_unref(s->context);
    s->context = NULL;
}

static void secure_reload(struct secure *s, const struct config *c)
{
    struct tls_context *fresh;
    struct tls_fault fault;

    if (context_of(c, &fresh, &fault) == PAWL_OK) {
        take_over(s, fresh);
    } else {
        log_error("TLS: the certificates have changed but cannot be used, those from before stay "
                  "in use: %s: %s",
                  key_at_fault(c, fault.part), fault.text);
    }
}

static void look_at_files(struct secure *s, const struct config *c, bool now)
{
    struct secure_stamp fresh[SECURE_FILES];

    stamp_all(c, fresh);
    if (now || memcmp(fresh, s->stamps, sizeof(fresh)) != 0) {
        memcpy(s->stamps, fresh, sizeof(fresh));
        secure_reload(s, c);
    }
}

void secure_look(struct secure *s, const struct config *c, int64_t now_ms, bool now)
{
    if (s->context == NULL || (!now && now_ms - s->looked_ms < LOOK_MS)) {
        return;
    }
    s->looked_ms = now_ms;
    if (now || c->tls.reload) {
        look_at_files(s, c, now);
    }
    warn_of_end(s, now_ms);
}
