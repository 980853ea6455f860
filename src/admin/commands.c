/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/commands.h"

#include <stdio.h>
#include <string.h>

#include "admin/request.h"
#include "admin/views.h"
#include "daemon/config.h"
#include "pawl/error.h"
#include "server/report_json.h"
#include "server/server.h"

enum { ROWS_MAX = 25000 };

const char command_not_serving[] = "This ZooKeeper instance is not currently serving requests";

/* While it is made. */
struct answer {
    const struct command_world *world;
    const struct command_request *request;
    struct server *server;
    struct json_writer json;
    int status;
    const char *error; /* NULL: none */
    char text[160];    /* what `error` may point to */
};

enum command_kind {
    SHOWS,        /* needs a server that serves */
    SHOWS_ALWAYS, /* can be asked while it looks for a leader, too */
    CHANGES,      /* a plain GET, as in Apache's; not for pages of other sites */
    CHANGES_MUCH, /* POST, with permission for everything at / */
    TAKES_LONG,   /* GET, with the same permission; the answer is made by somebody else */
    TAKES_UPLOAD  /* the same, POST */
};

struct command {
    const char *name;
    const char *aliases[2];
    enum command_kind kind;
    void (*run)(struct answer *a);
    size_t (*rows)(const struct server *s); /* how long the list would be; NULL: it is none */
};

/* ---- what is shown ---- */

#define REPORTS(name)                            \
    static void run_##name(struct answer *a)     \
    {                                            \
        report_json_##name(a->server, &a->json); \
    }
REPORTS(configuration)
REPORTS(connections)
REPORTS(dirs)
REPORTS(dump)
REPORTS(environment)
REPORTS(hash)
REPORTS(monitor)
REPORTS(server_stats)
REPORTS(stats)
REPORTS(top)
REPORTS(watch_summary)
REPORTS(watches)
REPORTS(watches_by_path)

#define VIEWS(name)                                 \
    static void run_##name(struct answer *a)        \
    {                                               \
        view_##name(a->world, a->server, &a->json); \
    }
VIEWS(initial_configuration)
VIEWS(last_snapshot)
VIEWS(observers)
VIEWS(system_properties)
VIEWS(voting_view)
VIEWS(zabstate)

static void run_leader(struct answer *a)
{
    if (view_has_leader(a->server)) {
        view_leader(a->world, a->server, &a->json);
    } else {
        a->error = "server is not initialized";
    }
}

static void run_is_read_only(struct answer *a)
{
    json_put_bool(&a->json, "read_only", a->server->role->kind == ROLE_READ_ONLY);
}

static void run_get_trace_mask(struct answer *a)
{
    json_put_integer(&a->json, "tracemask", a->server->trace_mask);
}

static void run_ruok(struct answer *a)
{
    (void)a;
}

static size_t rows_of_connections(const struct server *s)
{
    return s->n_connections;
}

static size_t rows_of_dump(const struct server *s)
{
    return tree_n_sessions(s->tree) + (size_t)tree_n_ephemerals(s->tree);
}

static size_t rows_of_watches(const struct server *s)
{
    return watch_count(&s->watches);
}

/* ---- what is changed ---- */

static void run_connection_stat_reset(struct answer *a)
{
    struct list *item;

    list_for_each (item, &a->server->connections) {
        connection_reset_stats(container_of(item, struct connection, link));
    }
}

static void run_stat_reset(struct answer *a)
{
    metrics_reset(&a->server->stats);
}

/* There is nothing of single observers to be reset. */
static void run_observer_connection_stat_reset(struct answer *a)
{
    (void)a;
}

static void run_set_trace_mask(struct answer *a)
{
    const char *text = a->request->trace_mask;
    int64_t mask;

    if (text == NULL) {
        a->error = "setTraceMask requires long traceMask argument";
    } else if (!request_long(text, &mask)) {
        snprintf(a->text, sizeof(a->text),
                 "setTraceMask requires long traceMask argument, got %.64s", text);
        a->error = a->text;
    } else {
        a->server->trace_mask = mask;
        json_put_integer(&a->json, "tracemask", mask);
    }
}

static struct connection *serving(struct list *item)
{
    struct connection *c = container_of(item, struct connection, link);

    return c->state == CONNECTION_SERVING ? c : NULL;
}

/* So many of all as the percentage comes to; what is left of one is left to chance. */
static uint64_t n_to_shed(struct server *s, int percentage)
{
    struct list *item;
    uint64_t n = 0;

    list_for_each (item, &s->connections) {
        n += serving(item) != NULL;
    }
    return (n * (uint64_t)percentage + prng_below(&s->prng, 100)) / 100;
}

/* Only those that wait for nothing, which lose nothing by it but the link; each of them with the
 * same chance. Who is in the middle of something stays: its write would be answered to nobody. */
static int64_t shed(struct server *s, int percentage)
{
    uint64_t wanted = n_to_shed(s, percentage), n_idle = 0;
    struct list *item;
    int64_t n = 0;

    list_for_each (item, &s->connections) {
        n_idle += serving(item) != NULL && connection_is_idle(serving(item));
    }
    list_for_each (item, &s->connections) {
        struct connection *c = serving(item);

        if (c != NULL && connection_is_idle(c)) {
            if (prng_below(&s->prng, n_idle--) < wanted) {
                connection_close_after_flush(s, c);
                wanted--;
                n++;
            }
        }
    }
    return n;
}

static void run_shed_connections(struct answer *a)
{
    int percentage = 0;

    a->error = request_percentage(a->request->body, &percentage);
    if (a->error != NULL) {
        a->status = 400;
        return;
    }
    json_put_integer(&a->json, "connections_shed", shed(a->server, percentage));
    json_put_integer(&a->json, "percentage_requested", percentage);
}

/* ---- what takes long ---- */

/* Whether enough time has passed since the last one that was allowed. */
static bool may_again(struct answer *a, int64_t *next_us)
{
    int64_t now_us = a->server->now_us, left_us = *next_us - now_us;

    if (*next_us != 0 && left_us > 0) {
        a->world->limits->retry_after_s = (left_us + 999999) / 1000000;
        return false;
    }
    *next_us = now_us + 1000 * a->world->config->admin.rate_limit_ms;
    return true;
}

static void run_snapshot(struct answer *a)
{
    if (!a->world->config->admin.snapshot_enabled) {
        a->status = 503;
    } else if (!may_again(a, &a->world->limits->snapshot_us)) {
        a->status = 429;
    } else {
        a->status = COMMAND_GOES_ON;
    }
}

/* A member that had another tree than its ensemble would be alone with it: the others do not know,
 * and the next transaction would tell it apart. */
static void run_restore(struct answer *a)
{
    if (!a->world->config->admin.restore_enabled) {
        a->status = 503;
    } else if (a->server->role->kind != ROLE_ALONE) {
        a->status = 409;
        a->error = "A member of an ensemble is not restored alone: stop all members, restore the "
                   "files of one (pawl restore), and put those of the others aside";
    } else if (!may_again(a, &a->world->limits->restore_us)) {
        a->status = 429;
    } else {
        a->status = COMMAND_GOES_ON;
    }
}

/* ---- the commands, in the order of the index ---- */

static const struct command commands[] = {
    {"configuration", {"conf", "config"}, SHOWS, run_configuration, NULL},
    {"connection_stat_reset", {"crst"}, CHANGES, run_connection_stat_reset, NULL},
    {"connections", {"cons"}, SHOWS, run_connections, rows_of_connections},
    {"dirs", {NULL}, SHOWS, run_dirs, NULL},
    {"dump", {NULL}, SHOWS, run_dump, rows_of_dump},
    {"environment", {"env", "envi"}, SHOWS_ALWAYS, run_environment, NULL},
    {"get_trace_mask", {"gtmk"}, SHOWS_ALWAYS, run_get_trace_mask, NULL},
    {"hash", {NULL}, SHOWS, run_hash, NULL},
    {"initial_configuration", {"icfg"}, SHOWS, run_initial_configuration, NULL},
    {"is_read_only", {"isro"}, SHOWS, run_is_read_only, NULL},
    {"last_snapshot", {"lsnp"}, SHOWS, run_last_snapshot, NULL},
    {"leader", {"lead"}, SHOWS, run_leader, NULL},
    {"monitor", {"mntr"}, SHOWS_ALWAYS, run_monitor, NULL},
    {"observer_connection_stat_reset", {"orst"}, CHANGES, run_observer_connection_stat_reset, NULL},
    {"observers", {"obsr"}, SHOWS, run_observers, NULL},
    {"restore", {"rest"}, TAKES_UPLOAD, run_restore, NULL},
    {"ruok", {NULL}, SHOWS, run_ruok, NULL},
    {"server_stats", {"srvr"}, SHOWS, run_server_stats, NULL},
    {"set_trace_mask", {"stmk"}, CHANGES, run_set_trace_mask, NULL},
    {"shed_connections", {"shed"}, CHANGES_MUCH, run_shed_connections, NULL},
    {"snapshot", {"snap"}, TAKES_LONG, run_snapshot, NULL},
    {"stat_reset", {"srst"}, CHANGES, run_stat_reset, NULL},
    {"stats", {"stat"}, SHOWS, run_stats, rows_of_connections},
    {"system_properties", {"sysp"}, SHOWS_ALWAYS, run_system_properties, NULL},
    {"top", {NULL}, SHOWS, run_top, NULL},
    {"voting_view", {NULL}, SHOWS, run_voting_view, NULL},
    {"watch_summary", {"wchs"}, SHOWS, run_watch_summary, NULL},
    {"watches", {"wchc"}, SHOWS, run_watches, rows_of_watches},
    {"watches_by_path", {"wchp"}, SHOWS, run_watches_by_path, rows_of_watches},
    {"zabstate", {NULL}, SHOWS_ALWAYS, run_zabstate, NULL},
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static bool is_called(const struct command *c, const char *name)
{
    return strcmp(c->name, name) == 0 ||
           (c->aliases[0] != NULL && strcmp(c->aliases[0], name) == 0) ||
           (c->aliases[1] != NULL && strcmp(c->aliases[1], name) == 0);
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (is_called(&commands[i], name)) {
            return &commands[i];
        }
    }
    return NULL;
}

static bool needs_permission(const struct command *c)
{
    return c->kind == CHANGES_MUCH || c->kind == TAKES_LONG || c->kind == TAKES_UPLOAD;
}

const char *command_name(const struct command *c)
{
    return c->name;
}

bool command_takes_post(const struct command *c)
{
    return c->kind == CHANGES_MUCH || c->kind == TAKES_UPLOAD;
}

bool command_takes_upload(const struct command *c)
{
    return c->kind == TAKES_UPLOAD;
}

bool command_changes(const struct command *c)
{
    return c->kind == CHANGES || needs_permission(c);
}

bool command_is_shared(const struct command *c)
{
    return c->kind == SHOWS || c->kind == SHOWS_ALWAYS;
}

bool command_is_too_long(const struct command *c, const struct server *s)
{
    return c->rows != NULL && c->rows(s) > ROWS_MAX;
}

void command_index(const char *url, struct strbuf *out)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        strbuf_printf(out, "<a href=\"%s/%s\">%s</a>\n<br/>\n", url, commands[i].name,
                      commands[i].name);
    }
}

/* ---- running one ---- */

static bool may_everything(struct server *s, struct identity *who)
{
    uint32_t acl = tree_acl(s->tree, tree_find(s->tree, bytes_str("/")));

    for (int32_t perm = 1; perm <= PERM_ADMIN; perm <<= 1) {
        if (!auth_allows(who, &s->options.auth, tree_acls(s->tree), acl, perm)) {
            return false;
        }
    }
    return true;
}

/* Whoever asks has to show who it is, and that it may do everything at the root. */
static bool is_authorized(struct answer *a)
{
    const struct auth_options *o = &a->server->options.auth;
    struct bytes scheme, data;
    struct identity who;

    a->status = 401;
    if (a->request->authorization == NULL) {
        a->error = "Auth info is missing for the command";
        return false;
    }
    identity_init(&who, a->request->ip);
    if (!request_authorization(a->request->authorization, &scheme, &data) ||
        auth_add(&who, o, scheme, data) != PAWL_OK || !auth_is_sufficient(&who, o)) {
        a->error = "Not authenticated";
        a->server->stats.auth_failed++;
    } else {
        who.n_in_force = who.n_ids;
        a->status = may_everything(a->server, &who) ? 200 : 403;
        a->error = a->status == 200 ? NULL : "Not authorized";
    }
    identity_fini(&who);
    return a->status == 200;
}

static void run(struct answer *a)
{
    const struct command *c = a->request->command;

    if (c->kind != SHOWS_ALWAYS && !server_takes_clients(a->server)) {
        a->error = command_not_serving;
    } else if (needs_permission(c) && !is_authorized(a)) {
        return;
    } else if (command_is_too_long(c, a->server)) {
        snprintf(a->text, sizeof(a->text),
                 "The list would have %zu rows, more than the %d that are made while clients wait",
                 c->rows(a->server), ROWS_MAX);
        a->error = a->text;
    } else {
        c->run(a);
    }
}

int command_run(const struct command_world *world, struct server *s,
                const struct command_request *q, struct strbuf *out)
{
    struct answer a = {.world = world, .request = q, .server = s, .status = 200};

    json_writer_init(&a.json, out);
    json_open_object(&a.json, NULL);
    run(&a);
    json_put_string(&a.json, "command",
                    a.error == command_not_serving ? q->spelled : q->command->name);
    json_put_string(&a.json, "error", a.error);
    json_close_object(&a.json);
    json_writer_fini(&a.json);
    return a.status;
}

void command_tell_zxid(const struct command *c, int64_t zxid, struct strbuf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_open_object(&w, NULL);
    json_put_integer(&w, "last_zxid", zxid);
    json_put_string(&w, "command", c->name);
    json_put_string(&w, "error", NULL);
    json_close_object(&w);
    json_writer_fini(&w);
}

void command_refuse(const char *name, const char *error, struct strbuf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_open_object(&w, NULL);
    json_put_string(&w, "command", name);
    json_put_string(&w, "error", error);
    json_close_object(&w);
    json_writer_fini(&w);
}
