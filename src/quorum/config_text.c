/* SPDX-License-Identifier: Apache-2.0 */
/* config_text.c - a configuration as text.
 *
 *   server.N = ADDR ("|" ADDR)* [ ";" [CLIENT] [ ";" SECURE ] ]
 *   ADDR     = HOST ":" QUORUM_PORT ":" ELECTION_PORT [ ":" ROLE ]
 *   CLIENT   = [HOST ":"] PORT          SECURE the same
 *   ROLE     = "participant" | "observer", in any case
 *   HOST     = name | IPv4 | "[" IPv6 "]"
 *   group.N  = ID (":" ID)*
 *   weight.N = number
 *
 * Sentences are Java's where Java has one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/properties.h"
#include "pawl/error.h"
#include "quorum/config.h"

#define WRONG_FORM                                                                                \
    "does not have the form server_config or server_config;client_config where server_config is " \
    "the pipe separated list of host:port:port or host:port:port:type and client_config is port " \
    "or host:port"

/* The weights of all members together fit into 64 bits. */
enum { ADDRESSES = 16, WEIGHT_MAX = INT32_MAX };

/* --- words --- */

/* Cuts `text` at every `separator`, at most into `limit` parts; more make the last one count as
 * limit + 1. Empty parts at the end do not count, as in Java. */
static size_t config_text_cut(char *text, char separator, char **part, size_t limit)
{
    size_t n = 0;

    while (text != NULL) {
        char *end = strchr(text, separator);

        if (n < limit) {
            part[n] = text;
        }
        n++;
        if (end != NULL) {
            *end++ = '\0';
        }
        text = end;
    }
    n = n > limit ? limit + 1 : n;
    while (n > 0 && n <= limit && part[n - 1][0] == '\0') {
        n--;
    }
    return n;
}

/* "host:1:2" or "[::1]:1:2" into its parts; false when brackets do not match. */
static bool config_text_cut_address(char *text, char **part, size_t limit, size_t *n,
                                    struct strbuf *why)
{
    char *bracket;

    if (text[0] != '[') {
        *n = config_text_cut(text, ':', part, limit);
        return true;
    }
    bracket = strchr(text, ']');
    if (bracket == NULL || (bracket[1] != ':' && bracket[1] != '\0')) {
        strbuf_printf(why, "%s starts with '[' but has no matching ']:'", text);
        return false;
    }
    part[0] = text + 1;
    text = bracket[1] == ':' ? bracket + 2 : NULL;
    *bracket = '\0';
    *n = 1 + config_text_cut(text, ':', part + 1, limit - 1);
    return true;
}

/* What is written must be readable again, as the same. */
static bool config_text_is_host(const char *host)
{
    const char *at = host;

    while (*at > ' ' && *at < 0x7f && *at != '\\') {
        at++;
    }
    return at > host && *at == '\0';
}

/* A whole decimal number, as Long.parseLong() takes it. */
static bool config_text_number(const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    uint64_t limit = (uint64_t)INT64_MAX + (*text == '-'), value = 0;

    if (*digits == '\0') {
        return false;
    }
    for (; *digits != '\0'; digits++) {
        uint64_t digit = (uint64_t)(*digits - '0');

        if (*digits < '0' || *digits > '9' || value > (limit - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = (int64_t)(*text == '-' ? -value : value);
    return true;
}

static bool config_text_port(const char *host, const char *text, int *out, struct strbuf *why)
{
    int64_t port;

    if (!config_text_number(text, &port)) {
        strbuf_printf(why, "Address unresolved: %s:%s; a port is a number", host, text);
        return false;
    }
    if (port < 0 || port > 65535) {
        strbuf_printf(why, "port out of range: %" PRId64 "; allowed is 0 to 65535", port);
        return false;
    }
    *out = (int)port;
    return true;
}

/* strcasecmp() is not ISO C. */
static bool config_text_is_word(const char *text, const char *word)
{
    while (*word != '\0' && (*text | 0x20) == *word) {
        text++;
        word++;
    }
    return *text == *word;
}

static bool config_text_role(const char *text, bool *observer, struct strbuf *why)
{
    *observer = config_text_is_word(text, "observer");
    if (*observer || config_text_is_word(text, "participant")) {
        return true;
    }
    strbuf_printf(why, "Unrecognised peertype: %s; allowed are participant and observer", text);
    return false;
}

/* --- a server line --- */

static bool config_text_address(struct quorum_member *m, char *text, const char *whole,
                                struct strbuf *why)
{
    char *part[5];
    struct quorum_address a = {0};
    bool observer = m->observer;
    size_t n;

    if (!config_text_cut_address(text, part, 4, &n, why)) {
        return false;
    }
    if (n < 3 || n > 4 || !config_text_is_host(part[0])) {
        strbuf_printf(why, "%s %s", whole, WRONG_FORM);
        return false;
    }
    if (!config_text_port(part[0], part[1], &a.quorum_port, why) ||
        !config_text_port(part[0], part[2], &a.election_port, why) ||
        (n == 4 && !config_text_role(part[3], &observer, why))) {
        return false;
    }
    if (a.quorum_port == a.election_port) {
        strbuf_printf(why,
                      "Client and election port must be different! Please update the "
                      "configuration file on server.%" PRId64,
                      m->id);
        return false;
    }
    if (m->n_addresses > 0 && observer != m->observer) {
        strbuf_append_str(why, "Multiple addresses should have similar type");
        return false;
    }
    a.host = must_strdup(part[0]);
    m->observer = observer;
    m->address = must_realloc(m->address, (m->n_addresses + 1) * sizeof(*m->address));
    m->address[m->n_addresses++] = a;
    return true;
}

bool quorum_config_read_id(const char *text, int64_t *out)
{
    return config_text_number(text, out);
}

static bool config_text_addresses(struct quorum_member *m, char *text, const char *whole,
                                  bool several, struct strbuf *why)
{
    char *address[ADDRESSES];
    size_t n = config_text_cut(text, '|', address, ADDRESSES);

    if (n > 1 && !several) {
        strbuf_printf(why,
                      "Multiple address feature is disabled, but multiple addresses were specified "
                      "for sid %" PRId64 "; set multiAddress.enabled=true",
                      m->id);
        return false;
    }
    if (n == 0 || n > ADDRESSES) {
        strbuf_printf(why, "%s %s", whole, WRONG_FORM);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!config_text_address(m, address[i], whole, why)) {
            return false;
        }
    }
    return true;
}

/* "2181", "10.0.0.1:2181", "[::1]:2181" */
static bool config_text_client(char *text, const char *whole, char **host, int *port,
                               struct strbuf *why)
{
    char *part[3];
    size_t n;

    if (!config_text_cut_address(text, part, 2, &n, why)) {
        return false;
    }
    if (n < 1 || n > 2 || (n == 2 && !config_text_is_host(part[0]))) {
        strbuf_printf(why, "%s %s", whole, WRONG_FORM);
        return false;
    }
    if (!config_text_port(n == 2 ? part[0] : "0.0.0.0", part[n - 1], port, why)) {
        return false;
    }
    *host = must_strdup(n == 2 ? part[0] : "0.0.0.0");
    return true;
}

static bool config_text_server(struct quorum_member *m, const char *text, bool several,
                               struct strbuf *why)
{
    char *copy = must_strdup(text);
    char *part[4];
    size_t n = config_text_cut(copy, ';', part, 3);
    bool ok = n >= 1 && n <= 3;

    if (!ok) {
        strbuf_printf(why, "%s %s", text, WRONG_FORM);
    }
    ok = ok && config_text_addresses(m, part[0], text, several, why);
    if (ok && n >= 2 && part[1][0] != '\0') {
        ok = config_text_client(part[1], text, &m->client_host, &m->client_port, why);
    }
    if (ok && n == 3) {
        ok = config_text_client(part[2], text, &m->secure_client_host, &m->secure_client_port, why);
    }
    free(copy);
    return ok;
}

bool quorum_config_add_server(struct quorum_config *c, int64_t id, const char *text, bool several,
                              struct strbuf *why)
{
    struct quorum_member m = {
        .id = id, .client_port = -1, .secure_client_port = -1, .group = -1, .weight = 1};

    ASSERT(why->len == 0);
    if (quorum_config_find(c, id) >= 0) {
        strbuf_printf(why, "there is a server %" PRId64 " already", id);
        return false;
    }
    if (c->n_members == QUORUM_MEMBERS_MAX) {
        strbuf_printf(why, "an ensemble has at most %d members", (int)QUORUM_MEMBERS_MAX);
        return false;
    }
    if (!config_text_server(&m, text, several, why)) {
        quorum_member_fini(&m);
        return false;
    }
    quorum_config_insert(c, &m);
    return true;
}

/* --- groups and weights --- */

static bool config_text_join(struct quorum_config *c, int64_t group, const char *text,
                             struct strbuf *why)
{
    int64_t id;
    int i;

    if (!config_text_number(text, &id)) {
        strbuf_printf(why, "\"%s\" is not a number; allowed are server ids separated by ':'", text);
        return false;
    }
    i = quorum_config_find(c, id);
    if (i >= 0 && c->member[i].group != -1) {
        strbuf_printf(why, "Server %" PRId64 " is in multiple groups", id);
        return false;
    }
    if (i >= 0) {
        c->member[i].group = group;
    }
    return true;
}

bool quorum_config_add_group(struct quorum_config *c, int64_t group, const char *text,
                             struct strbuf *why)
{
    char *id[QUORUM_MEMBERS_MAX];
    char *copy = must_strdup(text);
    size_t n = config_text_cut(copy, ':', id, QUORUM_MEMBERS_MAX);
    bool ok = group >= 0 && n <= QUORUM_MEMBERS_MAX;

    ASSERT(why->len == 0);
    c->hierarchical = true;
    if (!ok && group < 0) {
        strbuf_printf(why, "group %" PRId64 " is negative", group);
    } else if (!ok) {
        strbuf_printf(why, "has more than %d members", (int)QUORUM_MEMBERS_MAX);
    }
    for (size_t i = 0; ok && i < n; i++) {
        ok = config_text_join(c, group, id[i], why);
    }
    free(copy);
    return ok;
}

bool quorum_config_add_weight(struct quorum_config *c, int64_t id, const char *text,
                              struct strbuf *why)
{
    int i = quorum_config_find(c, id);
    int64_t weight;

    ASSERT(why->len == 0);
    c->hierarchical = true;
    if (!config_text_number(text, &weight) || weight < 0 || weight > WEIGHT_MAX) {
        strbuf_printf(why, "\"%s\" is no weight; allowed is a whole number from 0 to %d", text,
                      (int)WEIGHT_MAX);
        return false;
    }
    if (i >= 0) {
        c->member[i].weight = weight;
    }
    return true;
}

bool quorum_config_check(const struct quorum_config *c, struct strbuf *why)
{
    for (size_t i = 0; c->hierarchical && i < c->n_members; i++) {
        if (c->member[i].group == -1 && !c->member[i].observer) {
            strbuf_printf(why, "Server %" PRId64 " is not in a group", c->member[i].id);
            return false;
        }
    }
    return true;
}

/* --- a whole text --- */

enum config_text_kind { TEXT_SERVER, TEXT_GROUP, TEXT_WEIGHT, TEXT_VERSION, TEXT_KINDS };

/* Groups and weights may stand before the servers: the text is walked once for each kind. */
struct config_text_walk {
    struct quorum_config *config;
    struct strbuf *why;
    enum config_text_kind kind;
    bool has_version;
    bool bad_number; /* where a number is to stand is something else */
    bool failed;
};

/* What the key names; -1: nothing that a configuration has; -2: it has no number. */
static int config_text_key(const char *key, int64_t *id)
{
    static const char *const prefixes[] = {"server.", "group.", "weight."};

    for (int kind = TEXT_SERVER; kind <= TEXT_WEIGHT; kind++) {
        size_t len = strlen(prefixes[kind]);

        if (strncmp(key, prefixes[kind], len) == 0) {
            return config_text_number(key + len, id) && *id >= 0 ? kind : -2;
        }
    }
    return strcmp(key, "version") == 0 ? TEXT_VERSION : -1;
}

/* Long.parseLong(text, 16): a sign is allowed, but no zxid has one. */
static bool config_text_version(const char *text, int64_t *out)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t value = 0;

    if (*text == '\0' || strlen(text) > 16) {
        return false;
    }
    for (; *text != '\0'; text++) {
        const char *digit = strchr(digits, *text >= 'A' && *text <= 'F' ? *text | 0x20 : *text);

        if (digit == NULL) {
            return false;
        }
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *out = (int64_t)value;
    return *out >= 0;
}

static bool config_text_take_version(struct config_text_walk *walk, const char *text)
{
    if (walk->has_version || !config_text_version(text, &walk->config->version)) {
        walk->bad_number = !walk->has_version;
        strbuf_printf(walk->why, "version: \"%s\" is not the one hexadecimal number", text);
        return false;
    }
    walk->has_version = true;
    return true;
}

static bool config_text_take_pair(struct config_text_walk *walk, const char *key, const char *value)
{
    int64_t id = 0;
    int kind = config_text_key(key, &id);

    if (kind < 0) {
        walk->bad_number = kind == -2;
        strbuf_printf(walk->why, "Unrecognised parameter: %s", key);
        return false;
    }
    if ((enum config_text_kind)kind != walk->kind) {
        return true;
    }
    switch (walk->kind) {
    case TEXT_SERVER:
        return quorum_config_add_server(walk->config, id, value, true, walk->why);
    case TEXT_GROUP:
        return quorum_config_add_group(walk->config, id, value, walk->why);
    case TEXT_WEIGHT:
        return quorum_config_add_weight(walk->config, id, value, walk->why);
    default:
        return config_text_take_version(walk, value);
    }
}

static void config_text_take(void *arg, int line, const char *key, const char *value)
{
    struct config_text_walk *walk = arg;

    (void)line;
    walk->failed = walk->failed || !config_text_take_pair(walk, key, value);
}

static bool config_text_is_ascii(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == 0 || text.data[i] > 0x7e) {
            return false;
        }
    }
    return true;
}

static int config_text_read(struct quorum_config *c, struct bytes text, struct strbuf *why)
{
    struct config_text_walk walk = {.config = c, .why = why};
    struct properties_error error;

    if (!config_text_is_ascii(text)) {
        strbuf_append_str(why, "there are bytes that no configuration has");
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    for (int kind = 0; kind < TEXT_KINDS && !walk.failed; kind++) {
        walk.kind = (enum config_text_kind)kind;
        if (properties_parse(text, config_text_take, &walk, &error) != 0 && !walk.failed) {
            strbuf_printf(why, "line %d: %s", error.line, error.what);
            return PAWL_ERR_BAD_ARGUMENTS;
        }
    }
    if (walk.failed) {
        return walk.bad_number ? PAWL_ERR_MARSHALLING : PAWL_ERR_BAD_ARGUMENTS;
    }
    return quorum_config_check(c, why) ? PAWL_OK : PAWL_ERR_BAD_ARGUMENTS;
}

int quorum_config_read_any(struct quorum_config *c, struct bytes text, struct strbuf *why)
{
    int rc;

    ASSERT(why->len == 0);
    quorum_config_init(c);
    rc = config_text_read(c, text, why);
    if (rc != PAWL_OK) {
        quorum_config_fini(c);
    }
    return rc;
}

bool quorum_config_read(struct quorum_config *c, struct bytes text, struct strbuf *why)
{
    if (quorum_config_read_any(c, text, why) != PAWL_OK) {
        return false;
    }
    if (c->n_voters == 0) {
        strbuf_append_str(why, "there is no voter");
        quorum_config_fini(c);
        return false;
    }
    return true;
}

/* --- writing --- */

/* The next group of an IPv6 address, at most four hexadecimal digits; NULL: there is none. */
static const char *config_text_hex_group(const char *at, uint16_t *out)
{
    char *end;
    unsigned long value;

    if (strspn(at, "0123456789abcdefABCDEF") == 0) {
        return NULL;
    }
    value = strtoul(at, &end, 16);
    *out = (uint16_t)value;
    return end - at <= 4 ? end : NULL;
}

/* False: not an address, or one with a scope or an IPv4 part. */
static bool config_text_ipv6(const char *at, uint16_t group[8])
{
    size_t n = 0, gap = SIZE_MAX;

    memset(group, 0, 8 * sizeof(group[0]));
    while (*at != '\0' && n < 8) {
        if (at[0] == ':' && at[1] == ':' && gap == SIZE_MAX) {
            gap = n;
            at += 2;
            continue;
        }
        at += *at == ':' && n > 0 && gap != n;
        at = config_text_hex_group(at, &group[n]);
        if (at == NULL) {
            return false;
        }
        n++;
    }
    if (*at != '\0' || (gap == SIZE_MAX) != (n == 8)) {
        return false;
    }
    if (gap != SIZE_MAX) {
        memmove(group + 8 - (n - gap), group + gap, (n - gap) * sizeof(group[0]));
        memset(group + gap, 0, (8 - n) * sizeof(group[0]));
    }
    return true;
}

/* Java writes IPv6 addresses without shortening them. */
static void config_text_write_host(const char *host, struct strbuf *out)
{
    uint16_t group[8];

    if (strchr(host, ':') == NULL) {
        strbuf_append_str(out, host);
    } else if (!config_text_ipv6(host, group)) {
        strbuf_printf(out, "[%s]", host);
    } else {
        for (size_t i = 0; i < 8; i++) {
            strbuf_printf(out, "%s%x", i == 0 ? "[" : ":", group[i]);
        }
        strbuf_append_str(out, "]");
    }
}

static void config_text_write_client(const char *host, int port, struct strbuf *out)
{
    if (host != NULL) {
        strbuf_append_str(out, ";");
        config_text_write_host(host, out);
        strbuf_printf(out, ":%d", port);
    }
}

static int config_text_by_host(const void *a, const void *b)
{
    const struct quorum_address *const *x = a, *const *y = b;

    return strcmp((*x)->host, (*y)->host);
}

static void config_text_write_server(const struct quorum_member *m, struct strbuf *out)
{
    const struct quorum_address *sorted[ADDRESSES];

    ASSERT(m->n_addresses > 0 && m->n_addresses <= ADDRESSES);
    for (size_t i = 0; i < m->n_addresses; i++) {
        sorted[i] = &m->address[i];
    }
    qsort(sorted, m->n_addresses, sizeof(sorted[0]), config_text_by_host);
    strbuf_printf(out, "server.%" PRId64 "=", m->id);
    for (size_t i = 0; i < m->n_addresses; i++) {
        strbuf_append_str(out, i > 0 ? "|" : "");
        config_text_write_host(sorted[i]->host, out);
        strbuf_printf(out, ":%d:%d", sorted[i]->quorum_port, sorted[i]->election_port);
    }
    strbuf_append_str(out, m->observer ? ":observer" : ":participant");
    config_text_write_client(m->client_host, m->client_port, out);
    if (m->secure_client_host != NULL && m->client_host == NULL) {
        strbuf_append_str(out, ";");
    }
    config_text_write_client(m->secure_client_host, m->secure_client_port, out);
    strbuf_append_str(out, "\n");
}

/* The smallest group above `last`, or -1. */
static int64_t config_text_next_group(const struct quorum_config *c, int64_t last)
{
    int64_t next = -1;

    for (size_t i = 0; i < c->n_members; i++) {
        int64_t group = c->member[i].group;

        if (group > last && (next == -1 || group < next)) {
            next = group;
        }
    }
    return next;
}

static void config_text_write_group(const struct quorum_config *c, int64_t group,
                                    struct strbuf *out)
{
    const char *before = "=";

    strbuf_printf(out, "group.%" PRId64, group);
    for (size_t i = 0; i < c->n_members; i++) {
        if (c->member[i].group == group) {
            strbuf_printf(out, "%s%" PRId64, before, c->member[i].id);
            before = ":";
        }
    }
    strbuf_append_str(out, "\n");
}

static void config_text_write_hierarchy(const struct quorum_config *c, struct strbuf *out)
{
    for (int64_t g = config_text_next_group(c, -1); g >= 0; g = config_text_next_group(c, g)) {
        config_text_write_group(c, g, out);
    }
    for (size_t i = 0; i < c->n_members; i++) {
        if (!c->member[i].observer) {
            strbuf_printf(out, "weight.%" PRId64 "=%" PRId64 "\n", c->member[i].id,
                          c->member[i].weight);
        }
    }
}

void quorum_config_write(const struct quorum_config *c, struct strbuf *out)
{
    for (size_t i = 0; i < c->n_members; i++) {
        config_text_write_server(&c->member[i], out);
    }
    if (c->hierarchical) {
        config_text_write_hierarchy(c, out);
    }
    strbuf_printf(out, "version=%" PRIx64, (uint64_t)c->version);
}
