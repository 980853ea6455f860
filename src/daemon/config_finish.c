/* SPDX-License-Identifier: Apache-2.0 */
/* config_finish.c - defaults that follow from other values, what must hold between several keys,
 * what this version cannot do, and what may change while the server runs.
 *
 * Where Apache ZooKeeper has a sentence for a fault, ours contains it: people search for it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "daemon/config_internal.h"
#include "pawl/error.h"

enum { MIN_EXTRA_BYTES = 1024, UNIX_PATH_LIMIT = 107 };

static int fault(const struct config *c, struct config_lines *errors, const char *name,
                 const char *sentence)
{
    struct config_place place = config_place_of(c, name);

    return config_fault(errors, &place, name, "%s", sentence);
}

static bool is_true(const struct config *c, const char *name)
{
    return config_value_of(c, name)->parsed.number != 0;
}

static int64_t at_most_int(int64_t value)
{
    return value < INT32_MAX ? value : INT32_MAX;
}

static void derive_defaults(struct config *c)
{
    if (c->store.log_dir == NULL && c->store.data_dir != NULL) {
        config_replace_string(&c->store.log_dir, c->store.data_dir);
    }
    if (c->server.min_session_timeout_ms < 0) {
        c->server.min_session_timeout_ms = at_most_int(2 * c->server.tick_ms);
    }
    if (c->server.max_session_timeout_ms < 0) {
        c->server.max_session_timeout_ms = at_most_int(20 * c->server.tick_ms);
    }
    if (!config_is_given(c, "maxWriteQueuePollTime")) {
        c->store.write_queue_poll_ms = c->store.flush_delay_ms / 3;
    }
    if (!config_is_given(c, "jute.maxbuffer.extrasize")) {
        c->server.max_packet_extra_bytes = c->server.max_packet_bytes;
    }
    if (c->server.max_packet_extra_bytes < MIN_EXTRA_BYTES) {
        c->server.max_packet_extra_bytes = MIN_EXTRA_BYTES;
    }
    if (c->server.four_letter_words == NULL) {
        config_replace_string(&c->server.four_letter_words,
                              c->server.read_only_mode ? "srvr,isro" : "srvr");
    }
}

static int check_store(const struct config *c, struct config_lines *errors)
{
    if (c->store.data_dir == NULL && !config_was_refused(c, "dataDir")) {
        return fault(c, errors, "dataDir",
                     "dataDir is not set; give the folder for the data, in the file or by --data");
    }
    return 0;
}

static int check_listeners(struct config *c, struct config_lines *errors)
{
    bool no_port = c->net.client_port < 0 && !config_was_refused(c, "clientPort");
    bool no_secure_port = c->net.secure_port < 0 && !config_was_refused(c, "secureClientPort");
    int rc = 0;

    if (no_port && c->net.client_address != NULL) {
        rc = fault(c, errors, "clientPortAddress",
                   "clientPortAddress is set but clientPort is not set");
    }
    if (no_secure_port && c->net.secure_address != NULL) {
        rc = fault(c, errors, "secureClientPortAddress",
                   "secureClientPortAddress is set but secureClientPort is not set");
    }
    if (c->net.client_port > 0 && c->net.client_port == c->net.secure_port) {
        rc = fault(c, errors, "secureClientPort", "is the same port as clientPort");
    }
    if (c->net.unix_socket != NULL && strlen(c->net.unix_socket) > UNIX_PATH_LIMIT) {
        rc = fault(c, errors, "clientUnixSocket",
                   "is too long; allowed are 107 bytes, a limit of the system");
    }
    if (no_port && no_secure_port && c->net.unix_socket == NULL) {
        config_lines_add(&c->warnings, "clientPort is not set: no client can connect");
    }
    return rc;
}

static int check_sessions(const struct config *c, struct config_lines *errors)
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
static int check_metrics(const struct config *c, struct config_lines *errors)
{
    static const char *const known[] = {"DefaultMetricsProvider", "PrometheusMetricsProvider",
                                        "NullMetricsProvider"};
    const char *name = config_text(c, "metricsProvider.className");
    const char *dot = strrchr(name, '.');

    name = dot != NULL ? dot + 1 : name;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i]) == 0) {
            return 0;
        }
    }
    return fault(c, errors, "metricsProvider.className",
                 "metrics provider class was not found; allowed are PrometheusMetricsProvider, "
                 "DefaultMetricsProvider and NullMetricsProvider");
}

static int check_quorum_auth(const struct config *c, struct config_lines *errors)
{
    bool enabled = is_true(c, "quorum.auth.enableSasl");
    bool learner = is_true(c, "quorum.auth.learnerRequireSasl");
    bool server = is_true(c, "quorum.auth.serverRequireSasl");
    int rc = 0;

    if (!enabled && learner) {
        rc = fault(c, errors, "quorum.auth.learnerRequireSasl",
                   "quorum.auth.enableSasl is disabled, so cannot enable "
                   "quorum.auth.learnerRequireSasl");
    }
    if (!enabled && server) {
        rc = fault(c, errors, "quorum.auth.serverRequireSasl",
                   "quorum.auth.enableSasl is disabled, so cannot enable "
                   "quorum.auth.serverRequireSasl");
    } else if (!learner && server) {
        rc = fault(c, errors, "quorum.auth.serverRequireSasl",
                   "quorum.auth.learnerRequireSasl is disabled, so cannot enable "
                   "quorum.auth.serverRequireSasl");
    }
    return rc;
}

static int check_client_auth(const struct config *c, struct config_lines *errors)
{
    const char *schemes = c->security.enforce_auth_schemes;
    const char *super = c->security.super_digest;
    int rc = 0;

    if (c->security.enforce_auth && (schemes == NULL || schemes[0] == '\0')) {
        rc = fault(c, errors, "enforce.auth.enabled",
                   "enforce.auth.enabled is true but enforce.auth.schemes is not configured");
    }
    if (super != NULL && strchr(super, ':') == NULL) {
        rc = fault(c, errors, "DigestAuthenticationProvider.superDigest",
                   "is not of the form super:DIGEST");
    }
    return rc;
}

int config_finish(struct config *c, struct config_lines *errors)
{
    size_t before = errors->n;

    derive_defaults(c);
    check_store(c, errors);
    config_finish_members(c, errors);
    check_listeners(c, errors);
    check_sessions(c, errors);
    check_metrics(c, errors);
    check_quorum_auth(c, errors);
    check_client_auth(c, errors);
    return errors->n == before ? 0 : PAWL_ERR_CONFIG;
}

/* Whether `word` is in the comma separated `list`. */
static bool lists(const char *list, const char *word)
{
    size_t len = strlen(word);

    while (list != NULL && *list != '\0') {
        size_t skip = strspn(list, ", \t");
        size_t item = strcspn(list + skip, ", \t");

        if (item == len && strncasecmp(list + skip, word, len) == 0) {
            return true;
        }
        list += skip + item;
    }
    return false;
}

int config_check_supported(const struct config *c, struct config_lines *errors)
{
    size_t before = errors->n;

    if (config_is_ensemble(c)) {
        struct config_place place = {.file = c->dynamic_file_read ? c->dynamic_file_read : c->file};

        config_fault(errors, &place, "server.N",
                     "%zu servers are given, but this version serves standalone only; remove the "
                     "server lines",
                     c->ensemble.n_members);
    }
    if (c->net.secure_port >= 0) {
        fault(c, errors, "secureClientPort", "this version has no TLS yet; remove the key");
    }
    if (is_true(c, "sessionRequireClientSASLAuth")) {
        fault(c, errors, "sessionRequireClientSASLAuth",
              "this version has no SASL yet, no client could connect; remove the key");
    }
    if (c->security.enforce_auth && (lists(c->security.enforce_auth_schemes, "sasl") ||
                                     lists(c->security.enforce_auth_schemes, "x509"))) {
        fault(c, errors, "enforce.auth.schemes",
              "this version has neither SASL nor x509 yet; allowed are digest and ip");
    }
    return errors->n == before ? 0 : PAWL_ERR_CONFIG;
}

/* --- taking over a changed file --- */

static bool same_string(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_field(const struct config_key *k, const void *a, const void *b)
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
        return same_string(*(char *const *)a, *(char *const *)b);
    default:
        return true;
    }
}

static void copy_field(const struct config_key *k, void *to, const void *from)
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
static void copy_value(struct config *to, const struct config *from, size_t i)
{
    char *text = from->value[i].parsed.text;

    free(to->value[i].parsed.text);
    to->value[i] = from->value[i];
    to->value[i].parsed.text = text != NULL ? must_strdup(text) : NULL;
    if (to->value[i].place.file != NULL) {
        to->value[i].place.file = to->file;
    }
}

bool config_reload(struct config *running, const struct config *fresh, struct config_lines *notes)
{
    bool taken = false;

    for (size_t i = 0; i < config_n_keys; i++) {
        const struct config_key *k = &config_keys[i];
        void *mine = (char *)running + k->offset;
        const void *theirs = (const char *)fresh + k->offset;

        if (k->field == CONFIG_FIELD_NONE
                ? same_string(running->value[i].parsed.text, fresh->value[i].parsed.text)
                : same_field(k, mine, theirs)) {
            continue;
        }
        if (k->live) {
            copy_field(k, mine, theirs);
            copy_value(running, fresh, i);
            taken = true;
        }
        config_lines_add(notes, "%s: changed, %s", k->name,
                         k->live ? "in effect from now on" : "takes effect with the next start");
    }
    return taken;
}
