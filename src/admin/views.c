/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/config.h"
#include "daemon/host.h"
#include "server/server.h"

/* ---- configuration and files ---- */

/* In an ensemble Apache's has null here. */
void view_initial_configuration(const struct command_world *world, struct server *s,
                                struct json_writer *w)
{
    json_put_string(w, "initial_configuration",
                    s->facts.membership != NULL ? NULL : world->file_text);
}

void view_last_snapshot(const struct command_world *world, struct server *s, struct json_writer *w)
{
    struct host_snapshot last = host_last_snapshot(world->host);
    char zxid[24];

    (void)s;
    snprintf(zxid, sizeof(zxid), "%" PRIx64, (uint64_t)last.zxid);
    json_put_string(w, "zxid", last.zxid < 0 ? "-1" : zxid);
    json_put_integer(w, "timestamp", last.written_s);
}

static void view_property(const char *name, const char *text, void *arg)
{
    char full[256];

    snprintf(full, sizeof(full), "zookeeper.%s", name);
    json_put_string(arg, full, text);
}

/* Instead of the JVM's properties, what was configured, without its secrets. */
void view_system_properties(const struct command_world *world, struct server *s,
                            struct json_writer *w)
{
    const struct server_facts *f = &s->facts;

    json_put_string(w, "os.arch", f->os_arch);
    json_put_string(w, "os.name", f->os_name);
    json_put_string(w, "os.version", f->os_version);
    json_put_string(w, "user.dir", f->user_dir);
    json_put_string(w, "user.home", f->user_home);
    json_put_string(w, "user.name", f->user_name);
    config_each_given(world->config, view_property, w);
}

/* ---- the ensemble ---- */

static bool view_is_member(const struct server *s)
{
    return s->role->standing != NULL && s->role->kind != ROLE_READ_ONLY &&
           s->role->kind != ROLE_NONE;
}

bool view_has_leader(const struct server *s)
{
    return view_is_member(s);
}

static const struct quorum_member *view_member(const struct command_world *world, int64_t id)
{
    const struct quorum_config *q = world->members;
    int i = quorum_config_find(q, id);

    return i < 0 ? NULL : &q->member[i];
}

void view_leader(const struct command_world *world, struct server *s, struct json_writer *w)
{
    const struct quorum_member *leader;
    struct role_standing standing;

    s->role->standing(s->role, &standing);
    leader = view_member(world, standing.leader);
    json_put_bool(w, "is_leader", s->role->kind == ROLE_LEADER);
    json_put_integer(w, "leader_id", standing.leader);
    json_put_string(w, "leader_ip",
                    leader == NULL || leader->n_addresses == 0 ? "" : leader->address[0].host);
}

/* Single observers are not told of: there is no queue of packets for each here. */
void view_observers(const struct command_world *world, struct server *s, struct json_writer *w)
{
    struct role_standing standing = {0};

    (void)world;
    if (view_is_member(s)) {
        s->role->standing(s->role, &standing);
    }
    json_put_integer(w, "synced_observers", (int64_t)standing.n_synced_observers);
    json_open_list(w, "observers");
    json_close_list(w);
}

static void view_address(struct json_writer *w, const char *name, const char *host, int port)
{
    char text[300];

    snprintf(text, sizeof(text), strchr(host, ':') != NULL ? "[%s]:%d" : "%s:%d", host, port);
    json_put_string(w, name, text);
}

static int view_port(const struct quorum_address *a, bool election)
{
    return election ? a->election_port : a->quorum_port;
}

static void view_addresses(struct json_writer *w, const char *name, const struct quorum_member *m,
                           bool election)
{
    json_open_list(w, name);
    for (size_t i = 0; i < m->n_addresses; i++) {
        view_address(w, NULL, m->address[i].host, view_port(&m->address[i], election));
    }
    json_close_list(w);
}

static void view_client_address(struct json_writer *w, const struct quorum_member *m)
{
    if (m->client_port < 0) {
        json_put_string(w, "client_address", "");
    } else {
        view_address(w, "client_address", m->client_host == NULL ? "0.0.0.0" : m->client_host,
                     m->client_port);
    }
}

static void view_voter(struct json_writer *w, const struct quorum_member *m)
{
    char id[24];

    snprintf(id, sizeof(id), "%" PRId64, m->id);
    json_open_object(w, id);
    view_addresses(w, "server_addresses", m, false);
    view_addresses(w, "election_addresses", m, true);
    view_client_address(w, m);
    json_put_string(w, "learner_type", m->observer ? "observer" : "participant");
    json_close_object(w);
}

void view_voting_view(const struct command_world *world, struct server *s, struct json_writer *w)
{
    const struct quorum_config *q = world->members;

    json_open_object(w, "current_config");
    for (size_t i = 0; view_is_member(s) && i < q->n_members; i++) {
        if (quorum_set_has(&q->voters, (int)i)) {
            view_voter(w, &q->member[i]);
        }
    }
    json_close_object(w);
}

/* The fields of a Java object. What it can reach it does not try: all count as reachable. */
static void view_bean(struct json_writer *w, const char *name, const struct quorum_member *m,
                      bool election)
{
    const char *first = m->address[0].host;
    int port = view_port(&m->address[0], election);

    json_open_object(w, name);
    json_put_bool(w, "empty", false);
    json_open_list(w, "wildcard_addresses");
    for (size_t i = 0; i < m->n_addresses; i++) {
        view_address(w, NULL, "0.0.0.0", view_port(&m->address[i], election));
    }
    json_close_list(w);
    json_open_list(w, "all_ports");
    for (size_t i = 0; i < m->n_addresses; i++) {
        json_put_integer(w, NULL, view_port(&m->address[i], election));
    }
    json_close_list(w);
    json_open_list(w, "all_host_strings");
    for (size_t i = 0; i < m->n_addresses; i++) {
        json_put_string(w, NULL, m->address[i].host);
    }
    json_close_list(w);
    view_addresses(w, "all_reachable_addresses_or_all", m, election);
    view_address(w, "reachable_or_one", first, port);
    view_addresses(w, "all_addresses", m, election);
    view_addresses(w, "all_reachable_addresses", m, election);
    view_address(w, "one", first, port);
    view_address(w, "reachable_address", first, port);
    json_close_object(w);
}

static void view_member_state(const struct command_world *world, const struct server *s,
                              const struct quorum_member *me, struct json_writer *w)
{
    char zxid[24];

    snprintf(zxid, sizeof(zxid), "0x%" PRIx64, (uint64_t)s->applied_zxid);
    json_put_integer(w, "myid", me->id);
    json_put_bool(w, "is_leader", s->role->kind == ROLE_LEADER);
    view_bean(w, "quorum_address", me, false);
    view_bean(w, "election_address", me, true);
    view_client_address(w, me);
    json_put_bool(w, "voting", quorum_config_is_voter(world->members, me->id));
    json_put_string(w, "last_zxid", zxid);
    json_put_integer(w, "zab_epoch", (int64_t)((uint64_t)s->applied_zxid >> 32));
    json_put_integer(w, "zab_counter", s->applied_zxid & 0xffffffff);
    json_put_string(w, "zabstate", "broadcast");
}

void view_zabstate(const struct command_world *world, struct server *s, struct json_writer *w)
{
    const struct quorum_member *me =
        view_is_member(s) ? view_member(world, s->facts.server_id) : NULL;

    if (me != NULL && me->n_addresses > 0) {
        view_member_state(world, s, me, w);
    } else {
        json_put_bool(w, "voting", false);
        json_put_string(w, "zabstate", "");
    }
}
