/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/insecure.h"

#include <string.h>
#include <sys/stat.h>

#include "daemon/config_internal.h"
#include "daemon/secure.h"
#include "tls/tls.h"

static void warn(struct config *c, const char *key, const char *sentence)
{
    struct config_place place = config_place_of(c, key);

    config_warn(c, &place, key, "%s", sentence);
}

/* ---- who can connect ---- */

static bool is_loopback(const char *host)
{
    return host != NULL && (strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
                            strcmp(host, "localhost") == 0);
}

/* Others can reach a port that does not ask for TLS. */
static bool has_plain_port(const struct config *c)
{
    return c->net.client_port >= 0 && !is_loopback(c->net.client_address);
}

static bool has_secure_port(const struct config *c)
{
    return c->net.secure_port >= 0 && !is_loopback(c->net.secure_address);
}

/* Nobody is let in without having shown who he is. */
static bool is_authenticated(const struct config *c)
{
    return c->security.enforce_auth || c->sasl.required;
}

static void check_clients(struct config *c)
{
    if (has_plain_port(c) && c->security.super_digest != NULL) {
        warn(c, "DigestAuthenticationProvider.superDigest",
             "the super user's password crosses the network in the clear, by clientPort: have "
             "clientPortAddress=127.0.0.1 and a secureClientPort");
    }
    if (has_plain_port(c) && !is_authenticated(c)) {
        warn(c, "clientPort",
             "whoever reaches it may read and write all nodes that world:anyone may, as / is at "
             "first: enforce.auth.enabled=true with enforce.auth.schemes, or "
             "clientPortAddress=127.0.0.1 and a secureClientPort; then pawl acl set /");
    }
    if (has_secure_port(c) && c->tls.client_certificate != TLS_CLIENT_NEEDED &&
        !is_authenticated(c)) {
        warn(c, "ssl.clientAuth",
             "clients need not show who they are, at secureClientPort neither: "
             "ssl.clientAuth=need, or enforce.auth.enabled=true with enforce.auth.schemes");
    }
    if (c->server.skip_acl) {
        warn(c, "skipACL", "no permission is checked: remove it");
    }
    if (has_plain_port(c) && c->server.four_letter_words != NULL &&
        strchr(c->server.four_letter_words, '*') != NULL) {
        warn(c, "4lw.commands.whitelist",
             "whoever reaches clientPort may list sessions, watches and settings: name only the "
             "words that are needed, such as srvr,ruok");
    }
    if (c->admin.enabled && !is_loopback(c->admin.address)) {
        warn(c, "admin.serverAddress",
             "whoever reaches it may ask what is only shown, in the clear: "
             "admin.serverAddress=127.0.0.1");
    }
}

/* ---- members ---- */

static bool members_are_elsewhere(const struct config *c)
{
    for (size_t i = 0; i < c->ensemble.quorum.n_members; i++) {
        const struct quorum_member *m = &c->ensemble.quorum.member[i];

        for (size_t j = 0; j < m->n_addresses; j++) {
            if (!is_loopback(m->address[j].host)) {
                return true;
            }
        }
    }
    return false;
}

static void check_member_tls(struct config *c)
{
    if (c->member_tls.unified) {
        warn(c, "portUnification",
             "members are taken without TLS as well, and so is anybody: remove it when all of them "
             "have sslQuorum=true");
    }
    if (c->member_tls.client_certificate != TLS_CLIENT_NEEDED) {
        warn(c, "ssl.quorum.clientAuth",
             "whoever connects is taken for a member without a certificate: "
             "ssl.quorum.clientAuth=need");
    }
    if (!c->member_tls.check_names || !c->member_tls.check_client_address) {
        warn(c,
             c->member_tls.check_names ? "ssl.quorum.clientHostnameVerification"
                                       : "ssl.quorum.hostnameVerification",
             "whoever has any certificate that ssl.quorum.trustStore.location trusts can be a "
             "member: remove it");
    }
}

static void check_members(struct config *c)
{
    bool by_sasl = config_value_of(c, "quorum.auth.serverRequireSasl")->parsed.number != 0;

    if (!config_is_ensemble(c) || !(members_are_elsewhere(c) || c->ensemble.listen_on_all)) {
        return;
    }
    if (c->member_tls_wanted) {
        check_member_tls(c);
    } else {
        warn(c, "sslQuorum",
             by_sasl ? "what members tell each other can be read and changed on the way: "
                       "sslQuorum=true"
                     : "whoever reaches the ports of the members can be one, and what they tell "
                       "each other can be read and changed: sslQuorum=true, or a network of their "
                       "own");
    }
}

/* ---- secrets ---- */

static bool is_readable_by_all(const char *path)
{
    struct stat st;

    return path != NULL && stat(path, &st) == 0 && (st.st_mode & S_IROTH) != 0;
}

static void check_one_secret(struct config *c, const struct config_key *key)
{
    const struct config_value *v = config_value_of(c, key->name);

    if (v->place.origin == CONFIG_PROPERTY) {
        warn(c, key->name,
             "stands on the command line, which everybody on this machine can read: put it into "
             "the file, or name a file with it, as passwordPath does");
    } else if (v->place.origin == CONFIG_FILE && is_readable_by_all(v->place.file)) {
        warn(c, key->name, "stands in a file that everybody on this machine can read: chmod 600");
    }
}

static void check_file(struct config *c, const char *key, const char *path)
{
    if (is_readable_by_all(path)) {
        warn(c, key, "is a file that everybody on this machine can read: chmod 600");
    }
}

static void check_secrets(struct config *c)
{
    for (size_t i = 0; i < config_n_keys; i++) {
        if (config_keys[i].type == CONFIG_TYPE_SECRET && !config_keys[i].family) {
            check_one_secret(c, &config_keys[i]);
        }
    }
    check_file(c, "ssl.keyStore.location", c->tls.key_path);
    check_file(c, "ssl.keyStore.passwordPath", c->tls.key_password_path);
    check_file(c, "ssl.quorum.keyStore.location", c->member_tls.key_path);
    check_file(c, "ssl.quorum.keyStore.passwordPath", c->member_tls.key_password_path);
    if (is_readable_by_all(c->store.data_dir)) {
        warn(c, "dataDir",
             "is a folder whose names everybody on this machine can read: chmod 750 (files in it "
             "are made with 600)");
    }
}

bool insecure_has_secrets(const struct config *c)
{
    return secure_is_wanted(c, SECURE_CLIENTS) || secure_is_wanted(c, SECURE_MEMBERS) ||
           c->sasl.jaas_path != NULL || c->sasl.users_path != NULL ||
           c->security.super_digest != NULL;
}

void insecure_check(struct config *c)
{
    check_clients(c);
    check_members(c);
    check_secrets(c);
}
