/* SPDX-License-Identifier: Apache-2.0 */
/* embed_ensemble.c - <pawl/ensemble.h>: several embedded servers, with ports and places to keep
 * things in that outlive each of them. */
#include <pawl/ensemble.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "daemon/embed.h"
#include "os/clock.h"
#include "os/disk_memory.h"
#include "os/socket.h"
#include "os/thread.h"

#define ENSEMBLE_HOST "127.0.0.1"

enum {
    START_MS = 60000,
    DEFAULT_TICK_MS = 200,
    INIT_TICKS = 100,
    SYNC_TICKS = 50,
    SESSION_TICKS = 20,
    SESSION_MS = 40000,
    ENSEMBLE_WHY_BYTES = 512,
};

#define MEMORY_BYTES ((uint64_t)1 << 30) /* of one member's log and snapshots */

enum seat_port { CLIENT_PORT, QUORUM_PORT, ELECTION_PORT, N_PORTS };

/* What a member has, whether it runs or not. */
struct seat {
    struct pawl_ensemble *ensemble;
    int id;
    char *address;
    char *folder;               /* NULL: in memory, and */
    struct disk_memory *memory; /* what is kept there */
    int reserved[N_PORTS];      /* sockets, so that nobody else gets these ports */
    int port[N_PORTS];
    struct pawl_server *server; /* NULL: does not run; changed by who has both locks */
};

struct pawl_ensemble {
    struct pawl_ensemble_options options; /* without what it points to */
    int n_seats;
    struct seat *seats;
    char *hosts;
    char **properties; /* of each member */
    size_t n_properties;
    struct lock change;         /* one member at a time is started or ended */
    struct lock log_lock;       /* and one line at a time logged */
    struct lock lock;           /* guards seats[].server */
    struct condition role_news; /* of any member */
};

/* ---- options ---- */

void pawl_ensemble_options_init(struct pawl_ensemble_options *options)
{
    *options = (struct pawl_ensemble_options){.size = sizeof(*options),
                                              .n_voters = 3,
                                              .tick_ms = DEFAULT_TICK_MS,
                                              .log_level = PAWL_LOG_INFO};
}

/* The key of "NAME=VALUE", without the prefix of a system property. */
static bool property_is(const char *property, const char *name)
{
    static const char prefix[] = "zookeeper.";
    size_t len = strlen(name);

    if (strncmp(property, prefix, sizeof(prefix) - 1) == 0) {
        property += sizeof(prefix) - 1;
    }
    return strncmp(property, name, len) == 0 && (property[len] == '=' || name[len - 1] == '.');
}

static const char *property_of_ours(const struct pawl_ensemble_options *o)
{
    static const char *const ours[] = {"dataDir", "dataLogDir", "dynamicConfigFile", "server."};

    for (size_t i = 0; i < o->n_properties; i++) {
        for (size_t k = 0; k < sizeof(ours) / sizeof(ours[0]); k++) {
            if (property_is(o->properties[i], ours[k])) {
                return o->properties[i];
            }
        }
    }
    return NULL;
}

/* PAWL_OK, or what is wrong with them. */
static int check_options(const struct pawl_ensemble_options *o, char *why, size_t why_size)
{
    const char *property;
    char text[ENSEMBLE_WHY_BYTES];

    if (o->size < offsetof(struct pawl_ensemble_options, log_level) + sizeof(o->log_level)) {
        return embed_explain(why, why_size, PAWL_ERR_BAD_ARGUMENTS,
                             "the options were not begun with pawl_ensemble_options_init()");
    }
    if (o->n_voters < 1 || o->n_observers < 0 ||
        o->n_voters > PAWL_ENSEMBLE_MEMBERS_MAX - o->n_observers) {
        snprintf(text, sizeof(text),
                 "%d voters and %d observers are no ensemble: it has at least one voter, and %d "
                 "members at most",
                 o->n_voters, o->n_observers, PAWL_ENSEMBLE_MEMBERS_MAX);
        return embed_explain(why, why_size, PAWL_ERR_BAD_ARGUMENTS, text);
    }
    if (o->tick_ms < 1) {
        snprintf(text, sizeof(text), "tick_ms is %d; a tick takes a millisecond at least",
                 o->tick_ms);
        return embed_explain(why, why_size, PAWL_ERR_BAD_ARGUMENTS, text);
    }
    property = property_of_ours(o);
    if (property != NULL) {
        snprintf(text, sizeof(text), "the property \"%s\" cannot be given to all members",
                 property);
        return embed_explain(why, why_size, PAWL_ERR_BAD_ARGUMENTS, text);
    }
    return PAWL_OK;
}

static char *formatted(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *formatted(const char *format, ...)
{
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return must_strdup(text);
}

static void add_property(struct pawl_ensemble *e, char *property)
{
    e->properties = must_realloc(e->properties, (e->n_properties + 1) * sizeof(*e->properties));
    e->properties[e->n_properties++] = property;
}

/* Of two of the same name the last one counts, so the user's come last. */
static void make_properties(struct pawl_ensemble *e, const struct pawl_ensemble_options *o)
{
    long most_ms = (long)SESSION_TICKS * o->tick_ms;

    add_property(e, formatted("tickTime=%d", o->tick_ms));
    add_property(e, formatted("initLimit=%d", INIT_TICKS));
    add_property(e, formatted("syncLimit=%d", SYNC_TICKS));
    add_property(e,
                 formatted("maxSessionTimeout=%ld", most_ms > SESSION_MS ? most_ms : SESSION_MS));
    add_property(e, must_strdup("standaloneEnabled=false"));
    for (int i = 0; i < e->n_seats; i++) {
        const struct seat *s = &e->seats[i];

        add_property(e,
                     formatted("server.%d=" ENSEMBLE_HOST ":%d:%d:%s;" ENSEMBLE_HOST ":%d", s->id,
                               s->port[QUORUM_PORT], s->port[ELECTION_PORT],
                               i < o->n_voters ? "participant" : "observer", s->port[CLIENT_PORT]));
    }
    for (size_t i = 0; i < o->n_properties; i++) {
        add_property(e, must_strdup(o->properties[i]));
    }
}

/* ---- seats ---- */

static int seat_reserve(struct seat *s)
{
    for (int i = 0; i < N_PORTS; i++) {
        int rc = socket_reserve_tcp(ENSEMBLE_HOST, &s->reserved[i], &s->port[i]);

        if (rc != PAWL_OK) {
            s->reserved[i] = -1;
            return rc;
        }
    }
    s->address = formatted(ENSEMBLE_HOST ":%d", s->port[CLIENT_PORT]);
    return PAWL_OK;
}

static void seat_init(struct seat *s, struct pawl_ensemble *e, int id, const char *folder)
{
    *s = (struct seat){.ensemble = e, .id = id};
    for (int i = 0; i < N_PORTS; i++) {
        s->reserved[i] = -1;
    }
    if (folder != NULL) {
        s->folder = formatted("%s/%d", folder, id);
    } else {
        s->memory = disk_memory_new(MEMORY_BYTES);
    }
}

static void seat_fini(struct seat *s)
{
    for (int i = 0; i < N_PORTS; i++) {
        if (s->reserved[i] >= 0) {
            close(s->reserved[i]);
        }
    }
    disk_memory_free(s->memory);
    free(s->address);
    free(s->folder);
}

static void seat_log(enum pawl_log_level level, const char *line, void *arg)
{
    struct seat *s = arg;
    const struct pawl_ensemble_options *o = &s->ensemble->options;
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_printf(&text, "server %d: %s", s->id, line);
    lock_take(&s->ensemble->log_lock);
    o->log(level, strbuf_cstr(&text), o->log_arg);
    lock_give(&s->ensemble->log_lock);
    strbuf_fini(&text);
}

static void seat_role_changed(void *arg)
{
    struct seat *s = arg;

    lock_take(&s->ensemble->lock);
    condition_broadcast(&s->ensemble->role_news);
    lock_give(&s->ensemble->lock);
}

static void seat_put(struct seat *s, struct pawl_server *server)
{
    lock_take(&s->ensemble->lock);
    s->server = server;
    condition_broadcast(&s->ensemble->role_news);
    lock_give(&s->ensemble->lock);
}

static int seat_start(struct seat *s, char *why, size_t why_size)
{
    const struct pawl_ensemble_options *o = &s->ensemble->options;
    struct embed_place place = {.disk = s->memory == NULL ? NULL : disk_memory_disk(s->memory),
                                .role_changed = seat_role_changed,
                                .arg = s};
    struct pawl_server_options options;
    struct pawl_server *server;
    int rc;

    pawl_server_options_init(&options);
    options.folder = s->folder;
    options.in_memory = s->memory != NULL;
    options.port = s->port[CLIENT_PORT];
    options.address = ENSEMBLE_HOST;
    options.server_id = s->id;
    options.properties = (const char *const *)s->ensemble->properties;
    options.n_properties = s->ensemble->n_properties;
    options.log = o->log == NULL ? NULL : seat_log;
    options.log_arg = s;
    options.log_level = o->log_level;
    rc = embed_start(&options, &place, &server, why, why_size);
    if (rc == PAWL_OK) {
        seat_put(s, server);
    }
    return rc;
}

static int seat_stop(struct seat *s)
{
    struct pawl_server *server = s->server;

    seat_put(s, NULL);
    return pawl_server_stop(server);
}

/* The power goes first: what the member still does is done to nothing. */
static int seat_kill(struct seat *s)
{
    struct pawl_server *server = s->server;

    seat_put(s, NULL);
    if (s->memory != NULL) {
        disk_memory_cut(s->memory);
    }
    embed_kill(server);
    if (s->memory != NULL) {
        disk_memory_restore(s->memory);
    }
    return PAWL_OK;
}

/* ---- how it stands ---- */

/* Under the lock. */
static enum pawl_server_role seat_role(const struct seat *s)
{
    return s->server == NULL ? PAWL_ROLE_NOT_SERVING : pawl_server_role(s->server);
}

static int find_leader(const struct pawl_ensemble *e)
{
    for (int i = 0; i < e->n_seats; i++) {
        if (seat_role(&e->seats[i]) == PAWL_ROLE_LEADER) {
            return e->seats[i].id;
        }
    }
    return 0;
}

static bool seat_serves(const struct seat *s)
{
    enum pawl_server_role role = seat_role(s);

    return role != PAWL_ROLE_NOT_SERVING && role != PAWL_ROLE_READ_ONLY;
}

/* PAWL_OK: all that run serve. OPERATION_TIMEOUT: not yet. */
static int look_at_all(const struct pawl_ensemble *e, char *why, size_t why_size)
{
    bool all_serve = find_leader(e) != 0;

    for (int i = 0; i < e->n_seats; i++) {
        struct pawl_server *server = e->seats[i].server;
        int rc = server == NULL ? PAWL_OK : pawl_server_error(server, why, why_size);

        if (rc != PAWL_OK) {
            return rc;
        }
        all_serve = all_serve && (server == NULL || seat_serves(&e->seats[i]));
    }
    return all_serve ? PAWL_OK : PAWL_ERR_OPERATION_TIMEOUT;
}

static int wait_for_all(struct pawl_ensemble *e, int timeout_ms, char *why, size_t why_size)
{
    int64_t until_ms = clock_monotonic_ms() + timeout_ms, left_ms;
    int rc;

    lock_take(&e->lock);
    while ((rc = look_at_all(e, why, why_size)) == PAWL_ERR_OPERATION_TIMEOUT) {
        left_ms = timeout_ms < 0 ? -1 : until_ms - clock_monotonic_ms();
        if (timeout_ms >= 0 && left_ms <= 0) {
            break;
        }
        condition_wait(&e->role_news, &e->lock, left_ms);
    }
    lock_give(&e->lock);
    return rc;
}

int pawl_ensemble_wait(struct pawl_ensemble *e, int timeout_ms)
{
    return wait_for_all(e, timeout_ms, NULL, 0);
}

static struct seat *find_seat(const struct pawl_ensemble *e, int member)
{
    return member < 1 || member > e->n_seats ? NULL : &e->seats[member - 1];
}

const char *pawl_ensemble_hosts(const struct pawl_ensemble *e)
{
    return e->hosts;
}

const char *pawl_ensemble_address(const struct pawl_ensemble *e, int member)
{
    const struct seat *s = find_seat(e, member);

    return s == NULL ? NULL : s->address;
}

int pawl_ensemble_leader(struct pawl_ensemble *e)
{
    int leader;

    lock_take(&e->lock);
    leader = find_leader(e);
    lock_give(&e->lock);
    return leader;
}

enum pawl_server_role pawl_ensemble_role(struct pawl_ensemble *e, int member)
{
    const struct seat *s = find_seat(e, member);
    enum pawl_server_role role = PAWL_ROLE_NOT_SERVING;

    lock_take(&e->lock);
    if (s != NULL) {
        role = seat_role(s);
    }
    lock_give(&e->lock);
    return role;
}

/* ---- members ---- */

static int end_member(struct pawl_ensemble *e, int member, int (*end)(struct seat *s))
{
    struct seat *s = find_seat(e, member);
    int rc;

    if (s == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    lock_take(&e->change);
    rc = s->server == NULL ? PAWL_ERR_INVALID_STATE : end(s);
    lock_give(&e->change);
    return rc;
}

int pawl_ensemble_stop_member(struct pawl_ensemble *e, int member)
{
    return end_member(e, member, seat_stop);
}

int pawl_ensemble_kill_member(struct pawl_ensemble *e, int member)
{
    return end_member(e, member, seat_kill);
}

int pawl_ensemble_start_member(struct pawl_ensemble *e, int member)
{
    struct seat *s = find_seat(e, member);
    char why[ENSEMBLE_WHY_BYTES];
    int rc = PAWL_ERR_INVALID_STATE;

    if (s == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    lock_take(&e->change);
    if (s->server == NULL) {
        rc = seat_start(s, why, sizeof(why));
        if (rc != PAWL_OK && e->options.log != NULL) {
            seat_log(PAWL_LOG_ERROR, why, s);
        }
    }
    lock_give(&e->change);
    return rc;
}

/* ---- the whole ---- */

int pawl_ensemble_stop(struct pawl_ensemble *e)
{
    int rc = PAWL_OK, one;

    if (e == NULL) {
        return PAWL_OK;
    }
    for (int i = 0; i < e->n_seats; i++) {
        one = e->seats[i].server == NULL ? PAWL_OK : seat_stop(&e->seats[i]);
        rc = rc == PAWL_OK ? one : rc;
        seat_fini(&e->seats[i]);
    }
    for (size_t i = 0; i < e->n_properties; i++) {
        free(e->properties[i]);
    }
    condition_fini(&e->role_news);
    lock_fini(&e->lock);
    lock_fini(&e->log_lock);
    lock_fini(&e->change);
    free(e->properties);
    free(e->hosts);
    free(e->seats);
    free(e);
    return rc;
}

static struct pawl_ensemble *ensemble_new_for(const struct pawl_ensemble_options *options)
{
    struct pawl_ensemble *e = must_zalloc(sizeof(*e));

    e->options = *options;
    e->n_seats = options->n_voters + options->n_observers;
    e->seats = must_zalloc((size_t)e->n_seats * sizeof(*e->seats));
    for (int i = 0; i < e->n_seats; i++) {
        seat_init(&e->seats[i], e, i + 1, options->folder);
    }
    lock_init(&e->change);
    lock_init(&e->log_lock);
    lock_init(&e->lock);
    condition_init(&e->role_news);
    return e;
}

static int take_ports(struct pawl_ensemble *e, char *why, size_t why_size)
{
    struct strbuf hosts;
    int rc = PAWL_OK;

    strbuf_init(&hosts, STRBUF_NO_LIMIT);
    for (int i = 0; rc == PAWL_OK && i < e->n_seats; i++) {
        rc = seat_reserve(&e->seats[i]);
        if (rc == PAWL_OK) {
            strbuf_printf(&hosts, "%s%s", i == 0 ? "" : ",", e->seats[i].address);
        }
    }
    e->hosts = must_strdup(strbuf_cstr(&hosts));
    strbuf_fini(&hosts);
    return rc == PAWL_OK ? rc : embed_explain(why, why_size, rc, socket_last_error());
}

static int start_all(struct pawl_ensemble *e, char *why, size_t why_size)
{
    char text[ENSEMBLE_WHY_BYTES] = "";
    int rc = PAWL_OK;

    for (int i = 0; i < e->n_seats; i++) {
        rc = seat_start(&e->seats[i], text, sizeof(text));
        if (rc != PAWL_OK) {
            return embed_explain(why, why_size, rc, text);
        }
    }
    rc = wait_for_all(e, START_MS, text, sizeof(text));
    return rc == PAWL_OK ? rc
                         : embed_explain(why, why_size, rc,
                                         rc == PAWL_ERR_OPERATION_TIMEOUT
                                             ? "the members have not agreed upon a leader in time"
                                             : text);
}

int pawl_ensemble_start(const struct pawl_ensemble_options *options, struct pawl_ensemble **out,
                        char *why, size_t why_size)
{
    struct pawl_ensemble *e;
    int rc = check_options(options, why, why_size);

    *out = NULL;
    if (rc != PAWL_OK) {
        return rc;
    }
    e = ensemble_new_for(options);
    rc = take_ports(e, why, why_size);
    if (rc == PAWL_OK) {
        make_properties(e, options);
        rc = start_all(e, why, why_size);
    }
    if (rc != PAWL_OK) {
        pawl_ensemble_stop(e);
        return rc;
    }
    *out = e;
    return PAWL_OK;
}
