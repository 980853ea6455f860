/* SPDX-License-Identifier: Apache-2.0 */
/* config_members.c - who belongs to the ensemble: server.N, group.N, weight.N and myid.
 *
 *   server.N = ADDR ("|" ADDR)* [ ";" [CLIENT] [ ";" SECURE ] ]
 *   ADDR     = HOST ":" QUORUM_PORT ":" ELECTION_PORT [ ":" ROLE ]
 *   CLIENT   = [HOST ":"] PORT          SECURE the same
 *   ROLE     = "participant" | "observer", in any case
 *   HOST     = name | IPv4 | "[" IPv6 "]"
 *
 * The lines stand in the file itself or, when dynamicConfigFile names one, in that file only. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "daemon/config_internal.h"
#include "pawl/error.h"

#define WRONG_FORM                                                                                \
    "does not have the form server_config or server_config;client_config where server_config is " \
    "the pipe separated list of host:port:port or host:port:port:type and client_config is port " \
    "or host:port"

enum { PARTS = 5, ADDRESSES = 16, GROUP_MEMBERS = 256 };
enum { MAX_ID_WITH_TTL = 254, MAX_ID_WITH_353_TTL = 127 };

void config_member_fini(struct config_member *m)
{
    for (size_t i = 0; i < m->n_addresses; i++) {
        free(m->address[i].host);
    }
    free(m->address);
    free(m->client_host);
    free(m->secure_client_host);
}

/* --- one line --- */

/* Cuts `text` at every `separator`, at most into `limit` parts; more make the last one count as
 * limit + 1. Empty parts at the end do not count, as in Java. */
static size_t config_members_cut(char *text, char separator, char **part, size_t limit)
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

/* "host:1:2" or "[::1]:1:2" into its parts; 0 and a sentence in `why` when brackets do not match.
 */
static size_t cut_address(char *text, char **part, size_t limit, struct strbuf *why)
{
    char *bracket;

    if (text[0] != '[') {
        return config_members_cut(text, ':', part, limit);
    }
    bracket = strchr(text, ']');
    if (bracket == NULL || (bracket[1] != ':' && bracket[1] != '\0')) {
        strbuf_printf(why, "%s starts with '[' but has no matching ']:'", text);
        return 0;
    }
    part[0] = text + 1;
    text = bracket[1] == ':' ? bracket + 2 : NULL;
    *bracket = '\0';
    return 1 + config_members_cut(text, ':', part + 1, limit - 1);
}

static bool config_members_take_port(const char *host, const char *text, int *out,
                                     struct strbuf *why)
{
    int64_t port;

    if (!config_parse_int64(text, false, &port)) {
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

static bool take_role(const char *text, bool *observer, struct strbuf *why)
{
    if (strcasecmp(text, "observer") == 0 || strcasecmp(text, "participant") == 0) {
        *observer = strcasecmp(text, "observer") == 0;
        return true;
    }
    strbuf_printf(why, "Unrecognised peertype: %s; allowed are participant and observer", text);
    return false;
}

static bool take_address(struct config_member *m, char *text, const char *whole, struct strbuf *why)
{
    char *part[PARTS];
    size_t n = cut_address(text, part, 4, why);
    struct config_address a = {0};
    bool observer = m->observer;

    if (why->len > 0) {
        return false;
    }
    if (n < 3 || n > 4) {
        strbuf_printf(why, "%s %s", whole, WRONG_FORM);
        return false;
    }
    if (!config_members_take_port(part[0], part[1], &a.quorum_port, why) ||
        !config_members_take_port(part[0], part[2], &a.election_port, why) ||
        (n == 4 && !take_role(part[3], &observer, why))) {
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

/* "2181", "10.0.0.1:2181", "[::1]:2181" */
static bool take_client(char *text, const char *whole, char **host, int *port, struct strbuf *why)
{
    char *part[PARTS];
    size_t n = cut_address(text, part, 2, why);

    if (why->len > 0) {
        return false;
    }
    if (n < 1 || n > 2) {
        strbuf_printf(why, "%s %s", whole, WRONG_FORM);
        return false;
    }
    if (!config_members_take_port(n == 2 ? part[0] : "0.0.0.0", part[n - 1], port, why)) {
        return false;
    }
    *host = must_strdup(n == 2 ? part[0] : "0.0.0.0");
    return true;
}

static bool take_addresses(struct config_member *m, char *text, const char *whole, bool several,
                           struct strbuf *why)
{
    char *address[ADDRESSES];
    size_t n = config_members_cut(text, '|', address, ADDRESSES);

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
        if (!take_address(m, address[i], whole, why)) {
            return false;
        }
    }
    return true;
}

static bool parse_line(struct config_member *m, const char *text, bool several, struct strbuf *why)
{
    char *copy = must_strdup(text);
    char *part[4];
    size_t n = config_members_cut(copy, ';', part, 3);
    bool ok = n >= 1 && n <= 3;

    if (!ok) {
        strbuf_printf(why, "%s %s", text, WRONG_FORM);
    }
    ok = ok && take_addresses(m, part[0], text, several, why);
    if (ok && n >= 2 && part[1][0] != '\0') {
        ok = take_client(part[1], text, &m->client_host, &m->client_port, why);
    }
    if (ok && n == 3) {
        ok = take_client(part[2], text, &m->secure_client_host, &m->secure_client_port, why);
    }
    free(copy);
    return ok;
}

/* --- all lines --- */

static bool is_membership(const struct config_entry *e)
{
    return e->key->class == CONFIG_CLASS_ENSEMBLE;
}

static bool is_of(const struct config_entry *e, const char *family)
{
    return strcmp(e->key->name, family) == 0;
}

static struct config_member *find_member(struct config *c, int64_t id)
{
    for (size_t i = 0; i < c->ensemble.n_members; i++) {
        if (c->ensemble.member[i].id == id) {
            return &c->ensemble.member[i];
        }
    }
    return NULL;
}

/* The N of server.N. */
static bool take_id(const struct config_entry *e, int64_t *id, struct config_lines *errors)
{
    const char *text = strchr(e->name, '.') + 1;

    if (!config_parse_int64(text, false, id)) {
        config_fault(errors, &e->place, e->name, "\"%s\" is not a number; allowed is %sN", text,
                     e->key->name);
        return false;
    }
    return true;
}

static void config_members_add(struct config *c, const struct config_entry *e,
                               struct config_lines *errors)
{
    struct config_member m = {
        .client_port = -1, .secure_client_port = -1, .group = -1, .weight = 1};
    struct strbuf why;

    if (!take_id(e, &m.id, errors)) {
        return;
    }
    if (find_member(c, m.id) != NULL) {
        config_fault(errors, &e->place, e->name, "there is a server %" PRId64 " already", m.id);
        return;
    }
    strbuf_init(&why, STRBUF_NO_LIMIT);
    if (parse_line(&m, e->text, c->ensemble.multi_address, &why)) {
        c->ensemble.member = must_realloc(c->ensemble.member, (c->ensemble.n_members + 1) *
                                                                  sizeof(*c->ensemble.member));
        c->ensemble.member[c->ensemble.n_members++] = m;
    } else {
        config_fault(errors, &e->place, e->name, "%s", strbuf_cstr(&why));
        config_member_fini(&m);
    }
    strbuf_fini(&why);
}

static void join_group(struct config *c, const struct config_entry *e, int64_t group,
                       const char *text, struct config_lines *errors)
{
    struct config_member *m;
    int64_t id;

    if (!config_parse_int64(text, false, &id)) {
        config_fault(errors, &e->place, e->name,
                     "\"%s\" is not a number; allowed are server ids separated by ':'", text);
        return;
    }
    m = find_member(c, id);
    if (m != NULL && m->group != -1) {
        config_fault(errors, &e->place, e->name, "Server %" PRId64 " is in multiple groups", id);
    } else if (m != NULL) {
        m->group = group;
    }
}

static void add_group(struct config *c, const struct config_entry *e, struct config_lines *errors)
{
    char *copy = must_strdup(e->text);
    char *id[GROUP_MEMBERS];
    size_t n = config_members_cut(copy, ':', id, GROUP_MEMBERS);
    int64_t group;

    c->ensemble.hierarchical = true;
    if (n > GROUP_MEMBERS) {
        config_fault(errors, &e->place, e->name, "has more than %d members", (int)GROUP_MEMBERS);
    } else if (take_id(e, &group, errors)) {
        for (size_t i = 0; i < n; i++) {
            join_group(c, e, group, id[i], errors);
        }
    }
    free(copy);
}

static void add_weight(struct config *c, const struct config_entry *e, struct config_lines *errors)
{
    int64_t id, weight;
    struct config_member *m;

    c->ensemble.hierarchical = true;
    if (!take_id(e, &id, errors)) {
        return;
    }
    if (!config_parse_int64(e->text, false, &weight) || weight < 0) {
        config_fault(errors, &e->place, e->name,
                     "\"%s\" is no weight; allowed is a whole number from 0", e->text);
        return;
    }
    m = find_member(c, id);
    if (m != NULL) {
        m->weight = weight;
    }
}

static void check_groups(struct config *c, struct config_lines *errors)
{
    for (size_t i = 0; c->ensemble.hierarchical && i < c->ensemble.n_members; i++) {
        const struct config_member *m = &c->ensemble.member[i];
        struct config_place place = {.file = c->file};

        if (m->group == -1 && !m->observer) {
            config_fault(errors, &place, "group.N", "Server %" PRId64 " is not in a group", m->id);
        }
    }
}

static size_t n_participants(const struct config *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->ensemble.n_members; i++) {
        n += !c->ensemble.member[i].observer;
    }
    return n;
}

bool config_is_ensemble(const struct config *c)
{
    size_t n = n_participants(c);

    return n > 1 || (n == 1 && !c->ensemble.standalone_enabled);
}

static void members_check_numbers(struct config *c, struct config_lines *errors)
{
    struct config_place place = {.file = c->file};
    size_t n = n_participants(c);
    bool observers = c->ensemble.n_members > n;

    if (n == 0 && observers) {
        config_fault(errors, &place, "server.N",
                     "Observers w/o participants is an invalid configuration");
    } else if (n == 0 && !c->ensemble.standalone_enabled) {
        config_fault(errors, &place, "standaloneEnabled",
                     "standaloneEnabled = false then number of participants should be >0");
    } else if (n == 1 && c->ensemble.standalone_enabled && observers) {
        config_fault(errors, &place, "server.N",
                     "Observers w/o quorum is an invalid configuration");
    } else if (n == 1 && c->ensemble.standalone_enabled) {
        config_warn(c, &place, "server.N",
                    "Invalid configuration, only one server specified "
                    "(ignoring)");
    } else if (n == 2) {
        config_warn(c, &place, "server.N",
                    "No server failure will be tolerated. You need at "
                    "least 3 servers.");
    } else if (n > 2 && n % 2 == 0) {
        config_warn(c, &place, "server.N",
                    "Non-optimal configuration, consider an odd number of "
                    "servers.");
    }
}

/* --- the dynamic file --- */

struct dynamic_reader {
    struct config *c;
    struct config_lines *errors;
};

static void take_dynamic_pair(void *arg, int line, const char *name, const char *text)
{
    struct dynamic_reader *reader = arg;
    struct config_place place = {CONFIG_FILE, reader->c->dynamic_file_read, line};
    const char *rest;
    const struct config_key *k = config_key_find(name, &rest);

    if (strcmp(name, "version") == 0) {
        config_fault(reader->errors, &place, name, "dynamic file shouldn't have version inside");
    } else if (k == NULL || !k->family || k->class != CONFIG_CLASS_ENSEMBLE) {
        config_fault(reader->errors, &place, name,
                     "Unrecognised parameter: %s; allowed are server.N, group.N and weight.N",
                     name);
    } else {
        config_entry_set(reader->c, k, rest, text, place);
    }
}

static void read_dynamic_file(struct config *c, struct config_lines *errors)
{
    struct dynamic_reader reader = {c, errors};
    struct properties_error error;
    struct strbuf text;

    for (size_t i = 0; i < c->n_entries; i++) {
        if (is_membership(&c->entry[i])) {
            config_fault(errors, &c->entry[i].place, c->entry[i].name,
                         "parameter: %s must be in a separate dynamic config file",
                         c->entry[i].name);
        }
    }
    config_replace_string(&c->dynamic_file_read, c->ensemble.dynamic_file);
    if (config_load(c->dynamic_file_read, &text, errors) != 0) {
        return;
    }
    if (properties_parse(strbuf_bytes(&text), take_dynamic_pair, &reader, &error) != 0) {
        config_lines_add(errors, "%s:%d: %s", c->dynamic_file_read, error.line, error.what);
    }
    strbuf_fini(&text);
}

/* --- this server --- */

/* myid has one line with the number; a standalone server does not need it. */
static void read_my_id(struct config *c, struct config_lines *errors)
{
    char path[4096], line[64] = "";
    FILE *file;

    if (c->store.data_dir == NULL ||
        snprintf(path, sizeof(path), "%s/myid", c->store.data_dir) >= (int)sizeof(path)) {
        return;
    }
    file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    if (fgets(line, sizeof(line), file) == NULL) {
        line[0] = '\0';
    }
    fclose(file);
    line[strcspn(line, " \t\r\n")] = '\0';
    if (!config_parse_int64(line, false, &c->ensemble.my_id) || c->ensemble.my_id < 0) {
        config_lines_add(errors, "%s: serverid %s is not a number", path, line);
        c->ensemble.my_id = -1;
    }
}

static bool is_any_address(const char *host)
{
    return host == NULL || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

/* The client part of this server's own line is where it listens; a clientPort beside it may only
 * say the same. */
static void take_own_client_address(struct config *c, const struct config_member *me,
                                    struct config_lines *errors)
{
    bool same = me->client_port == c->net.client_port &&
                (is_any_address(c->net.client_address) ||
                 strcmp(c->net.client_address, me->client_host) == 0);

    if (config_value_of(c, "clientPort")->place.origin == CONFIG_OPTION) {
        return; /* --port wins over the file, this line included */
    }
    if (c->net.client_port >= 0 && !same) {
        struct config_place place = config_place_of(c, "clientPort");

        config_fault(errors, &place, "clientPort",
                     "client address for this server (id = %" PRId64 ") in static config file is "
                     "%s:%d is different from client address found in dynamic file: %s:%d",
                     me->id, c->net.client_address ? c->net.client_address : "0.0.0.0",
                     c->net.client_port, me->client_host, me->client_port);
        return;
    }
    c->net.client_port = me->client_port;
    config_replace_string(&c->net.client_address,
                          is_any_address(me->client_host) ? NULL : me->client_host);
}

/* Without a myid, as containers start a standalone server, the only line there is counts if nothing
 * else says where to listen. */
static const struct config_member *find_myself(struct config *c)
{
    bool only_one = c->ensemble.n_members == 1 && !config_is_ensemble(c);

    if (c->ensemble.my_id < 0 && only_one && c->net.client_port < 0) {
        return &c->ensemble.member[0];
    }
    return find_member(c, c->ensemble.my_id);
}

static void check_role(struct config *c, const struct config_member *me)
{
    struct config_place place = config_place_of(c, "peerType");

    if (config_is_given(c, "peerType") && c->ensemble.observer != me->observer) {
        config_warn(c, &place, "peerType",
                    "Peer type from servers list (%s) doesn't match peerType (%s). Defaulting to "
                    "servers list.",
                    me->observer ? "OBSERVER" : "PARTICIPANT",
                    c->ensemble.observer ? "OBSERVER" : "PARTICIPANT");
    }
    c->ensemble.observer = me->observer;
}

static void check_my_id(struct config *c, const struct config_member *me,
                        struct config_lines *errors)
{
    int64_t limit = c->server.ttl_as_in_353 ? MAX_ID_WITH_353_TTL : MAX_ID_WITH_TTL;
    const char *dir = c->store.data_dir;

    if (dir != NULL && config_is_ensemble(c) && c->ensemble.my_id < 0) {
        config_lines_add(errors, "%s/myid: myid file is missing", dir);
    } else if (config_is_ensemble(c) && c->ensemble.my_id >= 0 && me == NULL) {
        config_lines_add(errors, "%s/myid: My id %" PRId64 " not in the peer list", dir,
                         c->ensemble.my_id);
    }
    if ((c->server.extended_types || c->server.ttl_as_in_353) && c->ensemble.my_id > limit) {
        config_lines_add(errors,
                         "%s/myid: extendedTypesEnabled is true, so the server id must not be "
                         "larger than %" PRId64 ": %" PRId64,
                         dir, limit, c->ensemble.my_id);
    }
}

static void check_limits(struct config *c, struct config_lines *errors)
{
    struct config_place init = config_place_of(c, "initLimit");
    struct config_place sync = config_place_of(c, "syncLimit");

    if (!config_is_ensemble(c)) {
        return;
    }
    if (c->ensemble.init_limit == 0 && !config_was_refused(c, "initLimit")) {
        config_fault(errors, &init, "initLimit", "initLimit is not set; an ensemble needs it");
    }
    if (c->ensemble.sync_limit == 0 && !config_was_refused(c, "syncLimit")) {
        config_fault(errors, &sync, "syncLimit", "syncLimit is not set; an ensemble needs it");
    }
}

static void collect(struct config *c, struct config_lines *errors)
{
    for (size_t i = 0; i < c->n_entries; i++) {
        if (is_of(&c->entry[i], "server.")) {
            config_members_add(c, &c->entry[i], errors);
        }
    }
    for (size_t i = 0; i < c->n_entries; i++) {
        if (is_of(&c->entry[i], "group.")) {
            add_group(c, &c->entry[i], errors);
        } else if (is_of(&c->entry[i], "weight.")) {
            add_weight(c, &c->entry[i], errors);
        }
    }
}

int config_finish_members(struct config *c, struct config_lines *errors)
{
    size_t before = errors->n;
    const struct config_member *me;

    if (c->ensemble.dynamic_file != NULL) {
        read_dynamic_file(c, errors);
    }
    collect(c, errors);
    if (errors->n == before) { /* a line that cannot be read would be missed below */
        check_groups(c, errors);
        members_check_numbers(c, errors);
    }
    read_my_id(c, errors);
    me = find_myself(c);
    if (me != NULL) {
        check_role(c, me);
    }
    if (me != NULL && me->client_port >= 0) {
        take_own_client_address(c, me, errors);
    }
    check_my_id(c, me, errors);
    check_limits(c, errors);
    return errors->n == before ? 0 : PAWL_ERR_CONFIG;
}
