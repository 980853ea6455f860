/* SPDX-License-Identifier: Apache-2.0 */
/* config_members.c - who belongs to the ensemble: server.N, group.N, weight.N and myid.
 *
 * What a line may say is quorum/config.h's business. The lines stand in the file itself or, when
 * dynamicConfigFile names one, in that file only. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/config_internal.h"
#include "daemon/dynamic_files.h"
#include "pawl/error.h"

enum { MAX_ID_WITH_TTL = 254, MAX_ID_WITH_353_TTL = 127 };

/* --- all lines --- */

static bool is_membership(const struct config_entry *e)
{
    return e->key->class == CONFIG_CLASS_ENSEMBLE;
}

static bool is_of(const struct config_entry *e, const char *family)
{
    return strcmp(e->key->name, family) == 0;
}

static const struct quorum_member *find_member(const struct config *c, int64_t id)
{
    int i = quorum_config_find(&c->ensemble.quorum, id);

    return i < 0 ? NULL : &c->ensemble.quorum.member[i];
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

/* What one line says, for the kind of line that it is. */
static bool config_members_say(struct config *c, const struct config_entry *e, int64_t id,
                               struct strbuf *why)
{
    struct quorum_config *q = &c->ensemble.quorum;

    if (is_of(e, "server.")) {
        return quorum_config_add_server(q, id, e->text, c->ensemble.multi_address, why);
    }
    if (is_of(e, "group.")) {
        return quorum_config_add_group(q, id, e->text, why);
    }
    return quorum_config_add_weight(q, id, e->text, why);
}

static void config_members_add(struct config *c, const struct config_entry *e,
                               struct config_lines *errors)
{
    struct strbuf why;
    int64_t id;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    if (take_id(e, &id, errors) && !config_members_say(c, e, id, &why)) {
        config_fault(errors, &e->place, e->name, "%s", strbuf_cstr(&why));
    }
    strbuf_fini(&why);
}

static void check_groups(struct config *c, struct config_lines *errors)
{
    struct config_place place = {.file = c->file};
    struct strbuf why;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    if (!quorum_config_check(&c->ensemble.quorum, &why)) {
        config_fault(errors, &place, "group.N", "%s", strbuf_cstr(&why));
    }
    strbuf_fini(&why);
}

bool config_is_ensemble(const struct config *c)
{
    size_t n = c->ensemble.quorum.n_voters;

    return n > 1 || (n == 1 && !c->ensemble.standalone_enabled);
}

static void members_check_numbers(struct config *c, struct config_lines *errors)
{
    struct config_place place = {.file = c->file};
    size_t n = c->ensemble.quorum.n_voters;
    bool observers = c->ensemble.quorum.n_members > n;

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

/* Two servers cannot listen at one place; nor can a server listen twice. */
static bool config_members_collide(const struct quorum_address *a, const struct quorum_address *b,
                                   int *port)
{
    bool quorum = a->quorum_port == b->quorum_port || a->quorum_port == b->election_port;
    bool election = a->election_port == b->quorum_port || a->election_port == b->election_port;

    *port = quorum ? a->quorum_port : a->election_port;
    return (quorum || election) && strcmp(a->host, b->host) == 0;
}

static void config_members_check_pair(struct config *c, const struct quorum_member *a,
                                      const struct quorum_member *b, struct config_lines *errors)
{
    struct config_place place = {.file = c->file};
    int port;

    for (size_t i = 0; i < a->n_addresses * b->n_addresses; i++) {
        const struct quorum_address *x = &a->address[i / b->n_addresses];

        if (config_members_collide(x, &b->address[i % b->n_addresses], &port)) {
            config_fault(errors, &place, "server.N",
                         "servers %" PRId64 " and %" PRId64
                         " are both to listen at %s:%d; each needs ports of its own there",
                         a->id, b->id, x->host, port);
            return;
        }
    }
}

static void config_members_check_ports(struct config *c, struct config_lines *errors)
{
    const struct quorum_config *q = &c->ensemble.quorum;

    for (size_t i = 0; i < q->n_members; i++) {
        for (size_t k = i + 1; k < q->n_members; k++) {
            config_members_check_pair(c, &q->member[i], &q->member[k], errors);
        }
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
    c->ensemble.quorum.version = dynamic_version_of(c->dynamic_file_read);
    if (properties_parse(strbuf_bytes(&text), take_dynamic_pair, &reader, &error) != 0) {
        config_lines_add(errors, "%s:%d: %s", c->dynamic_file_read, error.line, error.what);
    }
    strbuf_fini(&text);
}

/* A list that was proposed counts beside the one in force: it has to be readable. */
static void check_proposed(struct config *c, struct config_lines *errors)
{
    struct dynamic_files *files = NULL;
    struct quorum_config proposed;
    struct strbuf why;
    int rc;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    rc = dynamic_files_open(c->file, &files, &why);
    if (rc == PAWL_OK) {
        rc = dynamic_files_proposed(files, &proposed, &why);
    }
    if (rc == PAWL_OK) {
        quorum_config_fini(&proposed);
    } else if (rc != PAWL_ERR_NOT_FOUND) {
        config_lines_add(errors, "%s",
                         why.len > 0 ? strbuf_cstr(&why) : dynamic_files_error(files));
    }
    strbuf_fini(&why);
    dynamic_files_close(files);
}

/* Where a list that changes is kept. */
static void check_files(struct config *c, struct config_lines *errors)
{
    struct config_place place = config_place_of(c, "reconfigEnabled");

    if (!c->ensemble.reconfig_enabled || !config_is_ensemble(c)) {
        return;
    }
    if (c->file == NULL) {
        config_fault(errors, &place, "reconfigEnabled",
                     "a list of members that changes is kept beside the configuration file, and "
                     "there is none");
        return;
    }
    check_proposed(c, errors);
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
static void take_own_client_address(struct config *c, const struct quorum_member *me,
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
static const struct quorum_member *find_myself(struct config *c)
{
    bool only_one = c->ensemble.quorum.n_members == 1 && !config_is_ensemble(c);

    if (c->ensemble.my_id < 0 && only_one && c->net.client_port < 0) {
        return &c->ensemble.quorum.member[0];
    }
    return find_member(c, c->ensemble.my_id);
}

static void check_role(struct config *c, const struct quorum_member *me)
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

static void config_members_not_among(const struct config *c, const char *dir,
                                     struct config_lines *errors)
{
    struct strbuf list;

    strbuf_init(&list, STRBUF_NO_LIMIT);
    quorum_config_list(&c->ensemble.quorum, &list);
    config_lines_add(errors, "%s/myid: My id %" PRId64 " not in the peer list, which has: %s", dir,
                     c->ensemble.my_id, strbuf_cstr(&list));
    strbuf_fini(&list);
}

/* The client's port of an ensemble's member is none of those of its line. */
static void config_members_check_client_port(struct config *c, const struct quorum_member *me,
                                             struct config_lines *errors)
{
    struct config_place place = config_place_of(c, "clientPort");

    for (size_t i = 0; config_is_ensemble(c) && i < me->n_addresses; i++) {
        if (c->net.client_port > 0 && (c->net.client_port == me->address[i].quorum_port ||
                                       c->net.client_port == me->address[i].election_port)) {
            config_fault(errors, &place, "clientPort",
                         "%d is a port of server.%" PRId64 " for the other members as well",
                         c->net.client_port, me->id);
            return;
        }
    }
}

static void check_my_id(struct config *c, const struct quorum_member *me,
                        struct config_lines *errors)
{
    int64_t limit = c->server.ttl_as_in_353 ? MAX_ID_WITH_353_TTL : MAX_ID_WITH_TTL;
    const char *dir = c->store.data_dir;

    if (dir != NULL && config_is_ensemble(c) && c->ensemble.my_id < 0) {
        config_lines_add(errors, "%s/myid: myid file is missing", dir);
    } else if (config_is_ensemble(c) && c->ensemble.my_id >= 0 && me == NULL) {
        config_members_not_among(c, dir, errors);
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

static void collect(struct config *c, const char *family, struct config_lines *errors)
{
    for (size_t i = 0; i < c->n_entries; i++) {
        if (is_of(&c->entry[i], family)) {
            config_members_add(c, &c->entry[i], errors);
        }
    }
}

int config_finish_members(struct config *c, struct config_lines *errors)
{
    size_t before = errors->n;
    const struct quorum_member *me;

    if (c->ensemble.dynamic_file != NULL) {
        read_dynamic_file(c, errors);
    }
    collect(c, "server.", errors);
    collect(c, "group.", errors);
    collect(c, "weight.", errors);
    if (errors->n == before) { /* a line that cannot be read would be missed below */
        check_groups(c, errors);
        members_check_numbers(c, errors);
        config_members_check_ports(c, errors);
    }
    read_my_id(c, errors);
    me = find_myself(c);
    if (me != NULL) {
        check_role(c, me);
    }
    if (me != NULL && me->client_port >= 0) {
        take_own_client_address(c, me, errors);
    }
    if (me != NULL) {
        config_members_check_client_port(c, me, errors);
    }
    check_my_id(c, me, errors);
    check_limits(c, errors);
    check_files(c, errors);
    return errors->n == before ? 0 : PAWL_ERR_CONFIG;
}
