/* SPDX-License-Identifier: Apache-2.0 */
/* supported.c - what a configuration may ask for and this server cannot do. Beside config*.c, which
 * know only the table of keys: this file knows what the server has. */
#include <string.h>

#include "daemon/config_internal.h"
#include "daemon/logins.h"
#include "daemon/secure.h"
#include "pawl/error.h"
#include "server/auth.h"
#include "server/four_letter.h"

static void supported_fault(const struct config *c, struct config_lines *errors, const char *name,
                            const char *sentence)
{
    struct config_place place = config_place_of(c, name);

    config_fault(errors, &place, name, "%s", sentence);
}

/* The next piece between commas, without the blanks around it. False at the end. */
static bool supported_next_word(const char **list, char *word, size_t size)
{
    size_t len;

    if (*list == NULL) {
        return false;
    }
    *list += strspn(*list, ", \t");
    if (**list == '\0') {
        return false;
    }
    len = strcspn(*list, ",");
    snprintf(word, size, "%.*s", (int)len, *list);
    *list += len;
    for (len = strlen(word); len > 0 && (word[len - 1] == ' ' || word[len - 1] == '\t'); len--) {
        word[len - 1] = '\0';
    }
    return true;
}

/* Why nobody can show an id of `scheme`; NULL: some can. */
static const char *supported_scheme_trouble(const struct config *c, const char *scheme)
{
    if (!auth_scheme_is_known(scheme)) {
        return "allowed are digest, ip, sasl and x509";
    }
    if (strcmp(scheme, "x509") == 0 && !secure_is_wanted(c, SECURE_CLIENTS)) {
        return "there is no port for TLS, over which clients could show a certificate";
    }
    if (strcmp(scheme, "sasl") == 0 && !logins_has_clients(c)) {
        return "no users are named, in a JAAS file (java.security.auth.login.config) or in "
               "sasl.userFile";
    }
    return strcmp(scheme, "digest") == 0 && !c->security.digest_enabled
               ? "DigestAuthenticationProvider.enabled is false"
               : NULL;
}

/* A scheme that nobody can have would lock everybody out, as soon as it is enforced. */
static void supported_check_schemes(struct config *c, struct config_lines *errors)
{
    const char *list = c->security.enforce_auth_schemes;
    struct config_place place = config_place_of(c, "enforce.auth.schemes");
    char scheme[64];

    while (supported_next_word(&list, scheme, sizeof(scheme))) {
        const char *trouble = supported_scheme_trouble(c, scheme);

        if (trouble != NULL && c->security.enforce_auth) {
            config_fault(errors, &place, "enforce.auth.schemes",
                         "Authentication scheme %s is not available: %s", scheme, trouble);
        } else if (trouble != NULL) {
            config_warn(c, &place, "enforce.auth.schemes",
                        "Authentication scheme %s is not available: %s", scheme, trouble);
        }
    }
    if (c->security.enforce_auth_schemes != NULL && !c->security.enforce_auth) {
        config_warn(c, &place, "enforce.auth.schemes",
                    "has no effect: enforce.auth.enabled is not true");
    }
}

static void supported_check_digest(const struct config *c, struct config_lines *errors)
{
    struct config_place place = config_place_of(c, "DigestAuthenticationProvider.digestAlg");

    if (!auth_digest_is_known(c->security.digest_algorithm)) {
        config_fault(errors, &place, "DigestAuthenticationProvider.digestAlg",
                     "is \"%s\", which is no hash that this system has; usual are SHA1 and SHA-256",
                     c->security.digest_algorithm);
    }
}

static void supported_check_words(struct config *c)
{
    const char *list = c->server.four_letter_words;
    struct config_place place = config_place_of(c, "4lw.commands.whitelist");
    char word[64];

    while (supported_next_word(&list, word, sizeof(word))) {
        if (strcmp(word, "*") != 0 && !four_letter_word_is_known(word)) {
            config_warn(c, &place, "4lw.commands.whitelist", "there is no word %s", word);
        }
    }
}

/* What others would count on: without it nobody would serve, or be found. */
static void supported_check_ensemble(const struct config *c, struct config_lines *errors)
{
    if (!config_is_ensemble(c)) {
        return;
    }
    if (config_is_given(c, "oraclePath")) {
        supported_fault(c, errors, "oraclePath",
                        "there is no oracle here, by design: by its word one of two members leads "
                        "alone, and what it acknowledges then is lost if the other one leads next. "
                        "Add a third voter, a small one will do, and remove the key");
    }
    if (config_value_of(c, "observerMasterPort")->parsed.number != 0) {
        supported_fault(c, errors, "observerMasterPort",
                        "followers of this version take no observers, and whoever is told to come "
                        "to this port finds nobody; remove the key on all members: observers then "
                        "learn from the leader");
    }
}

/* Plain HTTP where TLS is asked for. */
static void supported_check_http(const struct config *c, struct config_lines *errors)
{
    static const char *const of_admin[] = {"admin.portUnification", "admin.forceHttps",
                                           "admin.needClientAuth"};

    for (size_t i = 0; c->admin.enabled && i < sizeof(of_admin) / sizeof(of_admin[0]); i++) {
        if (config_value_of(c, of_admin[i])->parsed.number != 0) {
            supported_fault(c, errors, of_admin[i],
                            "this version has no HTTPS yet, the admin server would answer in the "
                            "clear; remove the key");
        }
    }
    if (c->metrics.prometheus && config_is_given(c, "metricsProvider.httpsPort")) {
        supported_fault(c, errors, "metricsProvider.httpsPort",
                        "this version has no HTTPS yet, metrics would be sent in the clear; remove "
                        "the key");
    }
}

int config_check_supported(struct config *c, struct config_lines *errors)
{
    size_t before = errors->n;

    secure_check(c, errors);
    logins_check(c, errors);
    supported_check_ensemble(c, errors);
    supported_check_schemes(c, errors);
    supported_check_digest(c, errors);
    supported_check_words(c);
    supported_check_http(c, errors);
    return errors->n == before ? 0 : PAWL_ERR_CONFIG;
}
