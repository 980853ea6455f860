/* SPDX-License-Identifier: Apache-2.0 */
/* config_finish.c - defaults that follow from other values, what must hold between several keys,
 * and what may change while the server runs.
 *
 * Where Apache ZooKeeper has a sentence for a fault, ours contains it: people search for it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "daemon/config_internal.h"
#include "pawl/error.h"

enum { MIN_EXTRA_BYTES = 1024, UNIX_PATH_LIMIT = 107 };

static int config_fault_of(const struct config *c, struct config_lines *errors, const char *name,
                           const char *sentence)
{
    struct config_place place = config_place_of(c, name);

    return config_fault(errors, &place, name, "%s", sentence);
}

static bool config_is_true(const struct config *c, const char *name)
{
    return config_value_of(c, name)->parsed.number != 0;
}

static int64_t at_most_int(int64_t value)
{
    return value < INT32_MAX ? value : INT32_MAX;
}

/* Those that a reload can change, from the values of `base`. */
static void config_derive_live(struct config *c, const struct config *base)
{
    if (config_value_of(c, "minSessionTimeout")->parsed.number < 0 ||
        !config_is_given(c, "minSessionTimeout")) {
        c->server.min_session_timeout_ms = at_most_int(2 * base->server.tick_ms);
    }
    if (config_value_of(c, "maxSessionTimeout")->parsed.number < 0 ||
        !config_is_given(c, "maxSessionTimeout")) {
        c->server.max_session_timeout_ms = at_most_int(20 * base->server.tick_ms);
    }
    if (!config_is_given(c, "4lw.commands.whitelist")) {
        config_replace_string(&c->server.four_letter_words,
                              base->server.read_only_mode ? "srvr,isro" : "srvr");
    }
}

static void config_derive(struct config *c)
{
    config_derive_live(c, c);
    if (c->store.log_dir == NULL && c->store.data_dir != NULL) {
        config_replace_string(&c->store.log_dir, c->store.data_dir);
    }
    if (!config_is_given(c, "jute.maxbuffer.extrasize")) {
        c->server.max_packet_extra_bytes = c->server.max_packet_bytes;
    }
    if (c->server.max_packet_extra_bytes < MIN_EXTRA_BYTES) {
        c->server.max_packet_extra_bytes = MIN_EXTRA_BYTES;
    }
}

static int config_check_store(const struct config *c, struct config_lines *errors)
{
    if (c->store.data_dir == NULL && !config_was_refused(c, "dataDir")) {
        return config_fault_of(
            c, errors, "dataDir",
            "dataDir is not set; give the folder for the data, in the file or by --data");
    }
    return 0;
}

static int config_check_listeners(struct config *c, struct config_lines *errors)
{
    bool no_port = c->net.client_port < 0 && !config_was_refused(c, "clientPort");
    bool no_secure_port = c->net.secure_port < 0 && !config_was_refused(c, "secureClientPort");
    int rc = 0;

    if (no_port && c->net.client_address != NULL) {
        rc = config_fault_of(c, errors, "clientPortAddress",
                             "clientPortAddress is set but clientPort is not set");
    }
    if (no_secure_port && c->net.secure_address != NULL) {
        rc = config_fault_of(c, errors, "secureClientPortAddress",
                             "secureClientPortAddress is set but secureClientPort is not set");
    }
    if (c->net.client_port > 0 && c->net.client_port == c->net.secure_port) {
        rc = config_fault_of(c, errors, "secureClientPort", "is the same port as clientPort");
    }
    if (c->net.unix_socket != NULL && strlen(c->net.unix_socket) > UNIX_PATH_LIMIT) {
        rc = config_fault_of(c, errors, "clientUnixSocket",
                             "is too long; allowed are 107 bytes, a limit of the system");
    }
    if (no_port && no_secure_port && c->net.unix_socket == NULL) {
        config_lines_add(&c->warnings, "clientPort is not set: no client can connect");
    }
    return rc;
}

static int config_check_sessions(const struct config *c, struct config_lines *errors)
{
    struct config_place place;

    if (c->server.min_session_timeout_ms <= c->server.max_session_timeout_ms) {
        return 0;
    }
    place = config_place_of(c, config_is_given(c, "minSessionTimeout") ? "minSessionTimeout"
                                                                       : "maxSessionTimeout");
    return config_fault(errors, &place, "minSessionTimeout",
                        "minSessionTimeout must not be larger than maxSessionTimeout: %" PRId64
                        " and %" PRId64 " ms",
                        c->server.min_session_timeout_ms, c->server.max_session_timeout_ms);
}

/* A class name counts by its last part: "org.apache....PrometheusMetricsProvider". */
static int config_check_metrics(struct config *c, struct config_lines *errors)
{
    static const char *const known[] = {"DefaultMetricsProvider", "PrometheusMetricsProvider",
                                        "NullMetricsProvider"};
    const char *name = c->metrics.provider;
    const char *dot = strrchr(name, '.');

    name = dot != NULL ? dot + 1 : name;
    c->metrics.prometheus = strcmp(name, "PrometheusMetricsProvider") == 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i]) == 0) {
            return 0;
        }
    }
    return config_fault_of(
        c, errors, "metricsProvider.className",
        "metrics provider class was not found; allowed are PrometheusMetricsProvider, "
        "DefaultMetricsProvider and NullMetricsProvider");
}

static int config_check_admin(const struct config *c, struct config_lines *errors)
{
    const char *url = c->admin.command_url;

    if (url[0] != '/' || url[1] == '\0' || url[strlen(url) - 1] == '/' ||
        strspn(url, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./") !=
            strlen(url)) {
        return config_fault_of(c, errors, "admin.commandURL",
                               "is not a path like /commands: letters, digits, - _ . between "
                               "slashes, and none at its end");
    }
    if (c->admin.enabled && c->metrics.prometheus && c->admin.port > 0 &&
        c->admin.port == c->metrics.port) {
        return config_fault_of(c, errors, "metricsProvider.httpPort",
                               "is the same port as admin.serverPort, which has /metrics as well; "
                               "remove metricsProvider.className or name another port");
    }
    return 0;
}

static int config_check_quorum_auth(const struct config *c, struct config_lines *errors)
{
    bool enabled = config_is_true(c, "quorum.auth.enableSasl");
    bool learner = config_is_true(c, "quorum.auth.learnerRequireSasl");
    bool server = config_is_true(c, "quorum.auth.serverRequireSasl");
    int rc = 0;

    if (!enabled && learner) {
        rc = config_fault_of(c, errors, "quorum.auth.learnerRequireSasl",
                             "quorum.auth.enableSasl is disabled, so cannot enable "
                             "quorum.auth.learnerRequireSasl");
    }
    if (!enabled && server) {
        rc = config_fault_of(c, errors, "quorum.auth.serverRequireSasl",
                             "quorum.auth.enableSasl is disabled, so cannot enable "
                             "quorum.auth.serverRequireSasl");
    } else if (!learner && server) {
        rc = config_fault_of(c, errors, "quorum.auth.serverRequireSasl",
                             "quorum.auth.learnerRequireSasl is disabled, so cannot enable "
                             "quorum.auth.serverRequireSasl");
    }
    return rc;
}

static int config_check_client_auth(const struct config *c, struct config_lines *errors)
{
    const char *schemes = c->security.enforce_auth_schemes;
    const char *super = c->security.super_digest;
    int rc = 0;

    if (c->security.enforce_auth && (schemes == NULL || schemes[0] == '\0')) {
        rc = config_fault_of(
            c, errors, "enforce.auth.enabled",
            "enforce.auth.enabled is true but enforce.auth.schemes is not configured");
    }
    if (super != NULL && strchr(super, ':') == NULL) {
        rc = config_fault_of(c, errors, "DigestAuthenticationProvider.superDigest",
                             "is not of the form super:DIGEST");
    }
    return rc;
}

/* superUser and superUser.X, all of them alike. */
static void config_gather_supers(struct config *c)
{
    c->sasl.supers = must_zalloc((c->n_entries + 1) * sizeof(*c->sasl.supers));
    if (c->sasl.super_user != NULL) {
        c->sasl.supers[c->sasl.n_supers++] = c->sasl.super_user;
    }
    for (size_t i = 0; i < c->n_entries; i++) {
        if (strcmp(c->entry[i].key->name, "superUser.") == 0) {
            c->sasl.supers[c->sasl.n_supers++] = c->entry[i].text;
        }
    }
}

int config_finish(struct config *c, struct config_lines *errors)
{
    size_t before = errors->n;

    config_derive(c);
    config_gather_supers(c);
    config_check_store(c, errors);
    config_finish_members(c, errors);
    config_check_listeners(c, errors);
    config_check_sessions(c, errors);
    config_check_metrics(c, errors);
    config_check_admin(c, errors);
    config_check_quorum_auth(c, errors);
    config_check_client_auth(c, errors);
    return errors->n == before ? 0 : PAWL_ERR_CONFIG;
}

/* --- taking over a changed file --- */

static bool config_same_string(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool config_same_field(const struct config_key *k, const void *a, const void *b)
{
    switch (k->field) {
    case CONFIG_FIELD_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case CONFIG_FIELD_INT:
        return *(const int *)a == *(const int *)b;
    case CONFIG_FIELD_INT64:
        return *(const int64_t *)a == *(const int64_t *)b;
    case CONFIG_FIELD_DOUBLE:
        return memcmp(a, b, sizeof(double)) == 0;
    case CONFIG_FIELD_STRING:
        return config_same_string(*(char *const *)a, *(char *const *)b);
    default:
        return true;
    }
}

static void config_copy_field(const struct config_key *k, void *to, const void *from)
{
    switch (k->field) {
    case CONFIG_FIELD_BOOL:
        *(bool *)to = *(const bool *)from;
        break;
    case CONFIG_FIELD_INT:
        *(int *)to = *(const int *)from;
        break;
    case CONFIG_FIELD_INT64:
        *(int64_t *)to = *(const int64_t *)from;
        break;
    case CONFIG_FIELD_DOUBLE:
        *(double *)to = *(const double *)from;
        break;
    case CONFIG_FIELD_STRING:
        config_replace_string(to, *(char *const *)from);
        break;
    default:
        break;
    }
}

/* The text too, so that config_text() and config_print_effective() tell what is in effect. */
static void config_copy_value(struct config *to, const struct config *from, size_t i)
{
    char *text = from->value[i].parsed.text;

    free(to->value[i].parsed.text);
    to->value[i] = from->value[i];
    to->value[i].parsed.text = text != NULL ? must_strdup(text) : NULL;
    if (to->value[i].place.file != NULL) {
        to->value[i].place.file = to->file;
    }
}

/* A limit that is derived from a value of the next start stays with what is derived from it now. If
 * the two that were given or derived then contradict each other, neither is taken. */
static void config_rederive(struct config *fresh, const struct config *running,
                            struct config_lines *notes)
{
    config_derive_live(fresh, running);
    if (fresh->server.min_session_timeout_ms > fresh->server.max_session_timeout_ms) {
        config_lines_add(notes, "minSessionTimeout, maxSessionTimeout: take effect with the next "
                                "start, together with tickTime");
        fresh->server.min_session_timeout_ms = running->server.min_session_timeout_ms;
        fresh->server.max_session_timeout_ms = running->server.max_session_timeout_ms;
    }
}

/* What a list of members that changes says has been in effect since it did. */
static bool config_is_of_members(const struct config *c, const struct config_key *k)
{
    int me = quorum_config_find(&c->ensemble.quorum, c->ensemble.my_id);
    bool has_client_part = me >= 0 && c->ensemble.quorum.member[me].client_host != NULL;

    if (!c->ensemble.reconfig_enabled || !config_is_ensemble(c)) {
        return false;
    }
    return strcmp(k->name, "dynamicConfigFile") == 0 ||
           (has_client_part && strncmp(k->name, "clientPort", strlen("clientPort")) == 0 &&
            strcmp(k->name, "clientPortListenBacklog") != 0);
}

bool config_reload(struct config *running, struct config *fresh, struct config_lines *notes)
{
    bool taken = false;

    config_rederive(fresh, running, notes);

    for (size_t i = 0; i < config_n_keys; i++) {
        const struct config_key *k = &config_keys[i];
        void *mine = (char *)running + k->offset;
        const void *theirs = (const char *)fresh + k->offset;

        if (k->field == CONFIG_FIELD_NONE
                ? config_same_string(running->value[i].parsed.text, fresh->value[i].parsed.text)
                : config_same_field(k, mine, theirs)) {
            continue;
        }
        if (config_is_of_members(fresh, k)) {
            continue;
        }
        if (k->live) {
            config_copy_field(k, mine, theirs);
            config_copy_value(running, fresh, i);
            taken = true;
        }
        config_lines_add(notes, "%s: changed, %s", k->name,
                         k->live ? "in effect from now on" : "takes effect with the next start");
    }
    return taken;
}
