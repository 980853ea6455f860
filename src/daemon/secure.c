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

bool secure_is_wanted(const struct config *c, enum secure_peers peers)
{
    return peers == SECURE_MEMBERS
               ? config_is_ensemble(c) && (c->member_tls_wanted || c->member_tls.unified)
               : c->net.secure_port >= 0 || (c->tls.unified && c->net.client_port >= 0);
}

/* ---- settings ---- */

static const struct config_tls *tls_of(const struct config *c, enum secure_peers peers)
{
    return peers == SECURE_MEMBERS ? &c->member_tls : &c->tls;
}

static const char *name_of(enum secure_peers peers)
{
    return peers == SECURE_MEMBERS ? "members" : "clients";
}

/* ssl.protocol is what Java's SSLContext is asked for, which then speaks what is older, too. */
static const char *protocols_of(const struct config_tls *t)
{
    const char *one = t->protocol;

    if (t->protocols != NULL) {
        return t->protocols;
    }
    return one == NULL || strcmp(one, "TLS") == 0 || strcmp(one, "TLSv1.3") == 0 ? NULL : one;
}

/* A file of lists is there to be used, unless somebody has said otherwise. */
static bool wants_crl(const struct config *c, enum secure_peers peers)
{
    const struct config_tls *t = tls_of(c, peers);
    const char *key = peers == SECURE_MEMBERS ? "ssl.quorum.crl" : "ssl.crl";

    return t->crl_path != NULL && (t->crl || !config_is_given(c, key));
}

static void settings_of(const struct config *c, enum secure_peers peers, struct tls_settings *out)
{
    const struct config_tls *t = tls_of(c, peers);

    *out = (struct tls_settings){
        .is_server = true,
        .key = {t->key_path, t->key_password, t->key_password_path, t->key_type},
        .trust = {t->trust_path, t->trust_password, t->trust_password_path, t->trust_type},
        .client_certificate = (enum tls_client_certificate)t->client_certificate,
        .protocols = protocols_of(t),
        .ciphers = t->ciphers,
        .crl_path = wants_crl(c, peers) ? t->crl_path : NULL,
        .among_equals = peers == SECURE_MEMBERS,
    };
}

/* Both sides of what members say to each other have the same files. `dialling` is NULL for clients.
 */
static int contexts_of(const struct config *c, enum secure_peers peers, struct tls_context **out,
                       struct tls_context **dialling, struct tls_fault *fault)
{
    const struct config_tls *t = tls_of(c, peers);
    struct tls_settings settings;
    int rc;

    settings_of(c, peers, &settings);
    *fault = (struct tls_fault){.text = "no memory"};
    *dialling = NULL;
    if (peers == SECURE_MEMBERS && t->trust_path == NULL) {
        fault->part = TLS_PART_TRUST;
        strcpy(fault->text, "is not set, so that no certificate of a member could be trusted");
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = tls_context_new(&settings, out, fault);
    if (rc != PAWL_OK || peers == SECURE_CLIENTS) {
        return rc;
    }
    settings.is_server = false;
    settings.any_name = !t->check_names;
    rc = tls_context_new(&settings, dialling, fault);
    if (rc != PAWL_OK) {
        tls_context_unref(*out);
    }
    return rc;
}

/* ---- checks ---- */

/* Without the "ssl." or "ssl.quorum." in front. */
static const char *key_of_part(const struct config_tls *t, enum tls_part part)
{
    switch (part) {
    case TLS_PART_KEY:
        return "keyStore.location";
    case TLS_PART_KEY_PASSWORD:
        return t->key_password_path != NULL ? "keyStore.passwordPath" : "keyStore.password";
    case TLS_PART_KEY_TYPE:
        return "keyStore.type";
    case TLS_PART_TRUST:
        return "trustStore.location";
    case TLS_PART_TRUST_PASSWORD:
        return t->trust_password_path != NULL ? "trustStore.passwordPath" : "trustStore.password";
    case TLS_PART_TRUST_TYPE:
        return "trustStore.type";
    case TLS_PART_PROTOCOLS:
        return t->protocols != NULL ? "enabledProtocols" : "protocol";
    case TLS_PART_CIPHERS:
        return "ciphersuites";
    case TLS_PART_CRL:
        return "crl.location";
    default:
        return NULL;
    }
}

struct key_name {
    char text[64];
};

static struct key_name key_name(enum secure_peers peers, const char *rest)
{
    struct key_name name;

    snprintf(name.text, sizeof(name.text), "%s%s", peers == SECURE_MEMBERS ? "ssl.quorum." : "ssl.",
             rest);
    return name;
}

static struct key_name key_at_fault(const struct config *c, enum secure_peers peers,
                                    enum tls_part part)
{
    const char *rest = key_of_part(tls_of(c, peers), part);
    struct key_name name;

    if (rest != NULL) {
        return key_name(peers, rest);
    }
    snprintf(name.text, sizeof(name.text), "%s",
             peers == SECURE_MEMBERS ? "sslQuorum" : "secureClientPort");
    return name;
}

static void fault_at(const struct config *c, struct config_lines *errors, const char *key,
                     const char *sentence)
{
    struct config_place place = config_place_of(c, key);

    config_fault(errors, &place, key, "%s", sentence);
}

static void check_switches(const struct config *c, enum secure_peers peers,
                           struct config_lines *errors)
{
    const struct config_tls *t = tls_of(c, peers);

    if (t->crl && t->crl_path == NULL) {
        fault_at(c, errors, key_name(peers, "crl").text,
                 peers == SECURE_MEMBERS
                     ? "revocation lists are not fetched over the network; name a file of them "
                       "with ssl.quorum.crl.location, which is read again when it changes"
                     : "revocation lists are not fetched over the network; name a file of them "
                       "with ssl.crl.location, which is read again when it changes");
    }
    if (t->ocsp) {
        fault_at(c, errors, key_name(peers, "ocsp").text,
                 "nobody is asked over the network while a handshake waits, revoked certificates "
                 "would be let in; check lists instead (crl.location), and remove the key");
    }
    if (t->reverse_lookup) {
        fault_at(c, errors, key_name(peers, "allowReverseDnsLookup").text,
                 "the name service is not asked who an address is, as whoever owns the address may "
                 "answer; have the address in the certificate, and remove the key");
    }
    if (t->check_client_address && t->client_certificate == TLS_CLIENT_NONE &&
        config_is_given(c, key_name(peers, "clientHostnameVerification").text)) {
        fault_at(c, errors, key_name(peers, "clientHostnameVerification").text,
                 peers == SECURE_MEMBERS
                     ? "no member shows a certificate: ssl.quorum.clientAuth is none"
                     : "no client shows a certificate: ssl.clientAuth is none");
    }
}

static void check_files(struct config *c, enum secure_peers peers, struct config_lines *errors)
{
    struct tls_context *context, *dialling;
    struct tls_fault fault;
    char text[TLS_FAULT_BYTES];

    if (contexts_of(c, peers, &context, &dialling, &fault) != PAWL_OK) {
        fault_at(c, errors, key_at_fault(c, peers, fault.part).text, fault.text);
        return;
    }
    tls_context_describe(context, text, sizeof(text));
    if (tls_context_days_left(context) < 0) {
        struct key_name key = key_name(peers, "keyStore.location");
        struct config_place place = config_place_of(c, key.text);

        config_warn(c, &place, key.text,
                    "the certificate is no longer valid, %s will refuse it: %s", name_of(peers),
                    text);
    }
    if (tls_context_crl_is_old(context, text, sizeof(text))) {
        struct key_name key = key_name(peers, "crl.location");
        struct config_place place = config_place_of(c, key.text);

        config_warn(c, &place, key.text,
                    "a revocation list is out of date, nobody will be let in whom it is about: %s",
                    text);
    }
    tls_context_unref(context);
    tls_context_unref(dialling);
}

/* Keys of TLS where there is none. */
static void warn_unused(struct config *c, const char *key, bool is_set, const char *what)
{
    struct config_place place = config_place_of(c, key);

    if (is_set && config_is_given(c, key)) {
        config_warn(c, &place, key, "has no effect: %s", what);
    }
}

static void check_clients(struct config *c, struct config_lines *errors)
{
    static const char none[] = "there is no port for TLS; secureClientPort would be one";

    if (!secure_is_wanted(c, SECURE_CLIENTS)) {
        warn_unused(c, "ssl.keyStore.location", true, none);
        warn_unused(c, "ssl.trustStore.location", true, none);
        warn_unused(c, "client.portUnification", c->tls.unified, none);
        return;
    }
    check_switches(c, SECURE_CLIENTS, errors);
    if (strcmp(c->tls_scheme, "x509") != 0) {
        fault_at(c, errors, "ssl.authProvider", "there is no such scheme here; allowed is x509");
    }
    check_files(c, SECURE_CLIENTS, errors);
}

static void check_members(struct config *c, struct config_lines *errors)
{
    const char *none = config_is_ensemble(c) ? "members talk in the clear; sslQuorum=true is TLS"
                                             : "this server stands alone";

    if (!secure_is_wanted(c, SECURE_MEMBERS)) {
        warn_unused(c, "ssl.quorum.keyStore.location", true, none);
        warn_unused(c, "ssl.quorum.trustStore.location", true, none);
        warn_unused(c, "sslQuorum", c->member_tls_wanted, "this server stands alone");
        warn_unused(c, "portUnification", c->member_tls.unified, "this server stands alone");
        return;
    }
    check_switches(c, SECURE_MEMBERS, errors);
    check_files(c, SECURE_MEMBERS, errors);
}

/* Before anything else is made of keys and certificates. */
static bool check_fips(const struct config *c, struct config_lines *errors)
{
    char why[512];

    if (!c->fips || tls_fips(why, sizeof(why))) {
        return true;
    }
    fault_at(c, errors, "fips-mode", why);
    return false;
}

void secure_check(struct config *c, struct config_lines *errors)
{
    if (!check_fips(c, errors)) {
        return;
    }
    check_clients(c, errors);
    check_members(c, errors);
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

static void stamp_all(const struct config_tls *t, struct secure_stamp *out)
{
    secure_stamp_of(t->key_path, &out[0]);
    secure_stamp_of(t->key_password_path, &out[1]);
    secure_stamp_of(t->trust_path, &out[2]);
    secure_stamp_of(t->trust_password_path, &out[3]);
    secure_stamp_of(t->crl_path, &out[4]);
}

static void warn_of_certificate(const struct secure *s, int days)
{
    char text[TLS_FAULT_BYTES];

    tls_context_describe(s->context, text, sizeof(text));
    if (days < 0) {
        log_warn("TLS: the certificate is no longer valid, %s will refuse it: %s",
                 name_of(s->peers), text);
    } else if (days < WARN_DAYS) {
        log_warn("TLS: the certificate for %s is valid for %d days more: %s", name_of(s->peers),
                 days, text);
    }
}

/* Once, and every day as long as it is so. */
static void warn_of_end(struct secure *s, int64_t now_ms)
{
    char text[TLS_FAULT_BYTES];
    bool crl_is_old = tls_context_crl_is_old(s->context, text, sizeof(text));

    s->days_left = tls_context_days_left(s->context);
    if ((s->days_left >= WARN_DAYS && !crl_is_old) ||
        (s->warned_ms != 0 && now_ms - s->warned_ms < WARN_MS)) {
        return;
    }
    s->warned_ms = now_ms;
    warn_of_certificate(s, s->days_left);
    if (crl_is_old) {
        log_warn("TLS: a revocation list is out of date, none of the %s will be let in whom it is "
                 "about: %s",
                 name_of(s->peers), text);
    }
}

static void take_over(struct secure *s, struct tls_context *fresh, struct tls_context *dialling)
{
    char text[TLS_FAULT_BYTES];

    secure_close(s);
    s->context = fresh;
    s->dialling = dialling;
    s->warned_ms = 0;
    tls_context_describe(fresh, text, sizeof(text));
    log_info("TLS: %s are shown the certificate of %s", name_of(s->peers), text);
}

int secure_open(struct secure *s, const struct config *c, enum secure_peers peers,
                struct tls_fault *fault)
{
    struct tls_context *fresh, *dialling;
    int rc;

    *s = (struct secure){.peers = peers, .names_checked = tls_of(c, peers)->check_names};
    if (!secure_is_wanted(c, peers)) {
        return PAWL_OK;
    }
    stamp_all(tls_of(c, peers), s->stamps); /* before they are read: a change behind that is seen */
    rc = contexts_of(c, peers, &fresh, &dialling, fault);
    if (rc == PAWL_OK) {
        take_over(s, fresh, dialling);
        warn_of_end(s, clock_monotonic_ms());
    }
    return rc;
}

void secure_close(struct secure *s)
{
    tls_context_unref(s->context);
    tls_context_unref(s->dialling);
    s->context = s->dialling = NULL;
}

static void secure_reload(struct secure *s, const struct config *c)
{
    struct tls_context *fresh, *dialling;
    struct tls_fault fault;

    if (contexts_of(c, s->peers, &fresh, &dialling, &fault) == PAWL_OK) {
        take_over(s, fresh, dialling);
    } else {
        log_error("TLS: the certificates for %s have changed but cannot be used, those from before "
                  "stay in use: %s: %s",
                  name_of(s->peers), key_at_fault(c, s->peers, fault.part).text, fault.text);
    }
}

static void look_at_files(struct secure *s, const struct config *c, bool now)
{
    struct secure_stamp fresh[SECURE_FILES];

    stamp_all(tls_of(c, s->peers), fresh);
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
    if (now || tls_of(c, s->peers)->reload) {
        look_at_files(s, c, now);
    }
    warn_of_end(s, now_ms);
}
