/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_sim.c - the real recipes on the real client against the real server, over links, disks and
 * clocks that misbehave, by seed.
 *
 * Links are slow, cut (also in the middle of a frame) or silent; the server restarts from its disk
 * or its disk is slow; sessions end early; processes are paused beyond their session, killed,
 * closed, or hand their session over; computers sleep or are stopped; permissions and wall clocks
 * change, the server's with a restart; the server may be of an older version; nodes are deleted by
 * hand; users cancel, time out and free what they use at any moment. What must be so is checked in
 * true time, which no client knows. The same seed gives the same run; recipe_seeds.c has the
 * command line. */
#include "sim/recipe_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "client/gzip.h"
#include "pawl/error.h"
#include "recipes/core/grant.h"
#include "sim/sim_ensemble_plan.h"
#include "sim/sim_shrink.h"

enum { CALM_LIMIT_MS = 60000, FREED_LIMIT_MS = 30000, SETTLED_TICKS = 120 };

const struct kind *const kinds[N_KINDS] = {
    &lock_kind,           &rwlock_kind,       &semaphore_kind, &latch_kind, &barrier_kind,
    &double_barrier_kind, &queue_kind,        &counter_kind,   &cache_kind, &mutex_kind,
    &multilock_kind,      &selector_kind,     &node_kind,      &group_kind, &discovery_kind,
    &value_kind,          &simple_queue_kind, &calls_kind,
};

/* ---- for kinds ---- */

bool user_lives(const struct user *u)
{
    return !u->process->ended;
}

struct pawl_client *user_client(const struct user *u)
{
    return u->process->machine->client;
}

bool sim_chance(struct sim *s, uint64_t one_in)
{
    return world_chance(s->w, one_in);
}

int64_t sim_below(struct sim *s, int64_t n)
{
    return world_below(s->w, n);
}

int64_t sim_now_ms(const struct sim *s)
{
    return world_now_ms(s->w);
}

struct asked *asked_new(struct user *u, const char *what, void *handle, int timeout_ms)
{
    struct asked *asked = must_zalloc(sizeof(*asked));

    *asked = (struct asked){.user = u,
                            .what = what,
                            .handle = handle,
                            .timeout_ms = timeout_ms,
                            .since_ms = sim_now_ms(u->sim)};
    list_push_back(&u->sim->asked, &asked->link);
    world_note(u->id, what, timeout_ms);
    return asked;
}

void asked_drop(struct asked *asked)
{
    list_remove(&asked->link);
    free(asked);
}

bool asked_told(struct asked *asked, int err)
{
    if (asked->told) {
        world_violated("user %d was told twice how its %s ended", asked->user->id, asked->what);
    }
    asked->told = true;
    if (!user_lives(asked->user)) {
        return false;
    }
    world_note(asked->user->id, asked->what, err);
    return true;
}

bool asked_may_end(const struct asked *asked, int err, bool is_gone)
{
    const struct sim *s = asked->user->sim;

    switch (err) {
    case PAWL_OK:
        return true;
    case PAWL_ERR_OPERATION_TIMEOUT:
        return asked->timeout_ms >= 0 && sim_now_ms(s) >= asked->since_ms + asked->timeout_ms;
    case PAWL_ERR_CANCELLED:
        return asked->may_cancel || is_gone;
    default:
        return sim_may_be_refused(s, err);
    }
}

void asked_cancel_all(struct user *u, const void *handle)
{
    struct list *item;

    world_note(u->id, "cancel", 0);
    list_for_each (item, &u->sim->asked) {
        struct asked *asked = container_of(item, struct asked, link);

        asked->may_cancel = asked->may_cancel || asked->handle == handle;
    }
}

bool sim_may_be_refused(const struct sim *s, int err)
{
    return s->refused && err == PAWL_ERR_NO_AUTH;
}

struct bytes sim_plain(const struct sim *s, struct bytes data)
{
    static uint8_t plain[4096];
    uint8_t *out;
    size_t len;

    if (!s->compresses) {
        return data;
    }
    if (gzip_unpack(data, sizeof(plain), &out, &len) != 0) {
        return bytes_of("", 0);
    }
    memcpy(plain, out, len);
    free(out);
    return bytes_of(plain, len);
}

struct user *sim_next_user(struct sim *s, int *at)
{
    for (; *at < s->n_processes * MAX_USERS; ++*at) {
        struct process *p = &s->processes[*at / MAX_USERS];
        int i = *at % MAX_USERS;

        if (!p->ended && i < p->n_users) {
            ++*at;
            return &p->users[i];
        }
    }
    return NULL;
}

/* ---- grants ---- */

/* Whoever is asleep is asked, too, as if he woke up now. Not in a computer that is stopped: there a
 * first look at the clocks tells how long that was, and no look comes before the end. */
bool user_holds(const struct user *u, const struct pawl_grant *g)
{
    struct world *w = u->sim->w;
    struct machine *running = w->running;
    bool held;

    if (g == NULL || machine_is_stopped(u->process->machine)) {
        return false;
    }
    w->running = u->process->machine;
    held = pawl_grant_held(g);
    w->running = running;
    return held && !world_is_robbed(w, g->session_id, g->path);
}

void sim_granted(struct user *u, const struct pawl_grant *g)
{
    struct thing *t = &u->sim->things[u->thing];

    u->sim->n_done++;
    if (!user_holds(u, g)) {
        return; /* it was over before it was told */
    }
    if (pawl_grant_token(g) < t->last_token ||
        (pawl_grant_token(g) == t->last_token && !u->takes_up)) {
        world_violated("user %d got token %llu after %llu had been given", u->id,
                       (unsigned long long)pawl_grant_token(g), (unsigned long long)t->last_token);
    }
    u->takes_up = false;
    t->last_token = pawl_grant_token(g);
}

void sim_check_one_holder(struct sim *s, const struct pawl_grant *(*grant_of)(const struct user *))
{
    const struct user *holder[MAX_THINGS] = {NULL};
    struct user *u;

    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        s->w->running = u->process->machine;
        if (machine_is_stopped(u->process->machine) || !user_holds(u, grant_of(u))) {
            continue;
        }
        if (holder[u->thing] != NULL) {
            world_violated("users %d and %d hold %s at the same time", holder[u->thing]->id, u->id,
                           s->things[u->thing].path);
        }
        holder[u->thing] = u;
    }
}

void sim_grant_changed(struct user *u, int *last, int state)
{
    bool legal = (state == PAWL_GRANT_IN_DOUBT && *last == PAWL_GRANT_CERTAIN) ||
                 (state == PAWL_GRANT_CERTAIN && *last == PAWL_GRANT_IN_DOUBT) ||
                 (state == PAWL_GRANT_LOST && *last != PAWL_GRANT_LOST && *last != PAWL_GRANT_NONE);

    world_note(u->id, "grant", state);
    if (!legal) {
        world_violated("user %d: grant state %d after %d", u->id, state, *last);
    }
    *last = state;
}

/* ---- processes ---- */

static struct process_options random_options(struct sim *s)
{
    bool compresses =
        s->kind->mixes_compression ? s->compresses && sim_chance(s, 2) : s->compresses;

    return (struct process_options){
        .session_ms = (int)s->session_ms + (int)sim_below(s, 2) * 1000,
        .lost_percent = sim_chance(s, 3) ? 30 + (int)sim_below(s, 70) : 100,
        .flags = compresses ? PAWL_CLIENT_COMPRESS : 0,
    };
}

/* `before`: whose session it has, or NULL. */
static void populate(struct sim *s, struct machine *m, const struct process *before)
{
    struct process *p = &s->processes[s->n_processes++];

    p->machine = m;
    p->n_users = before != NULL ? before->n_users : 1 + (int)sim_below(s, MAX_USERS);
    for (int i = 0; i < p->n_users; i++) {
        p->users[i] = (struct user){.sim = s,
                                    .process = p,
                                    .id = s->n_users++,
                                    .thing = before != NULL ? before->users[i].thing
                                                            : (int)sim_below(s, s->n_things),
                                    .takes_up = before != NULL,
                                    .wake_ms = sim_now_ms(s) + sim_below(s, 500),
                                    .own = must_zalloc(s->kind->user_bytes)};
    }
}

static void start_process(struct sim *s)
{
    struct process_options o = random_options(s);
    struct machine *m = s->n_processes == MAX_MACHINES ? NULL : world_start(s->w, &o);

    if (m != NULL) {
        populate(s, m, NULL);
    }
}

static void free_users(struct sim *s, struct process *p)
{
    s->w->running = p->machine;
    for (int i = 0; i < p->n_users; i++) {
        s->kind->free(&p->users[i]);
    }
}

/* Handles may be freed before their client is closed, or after. */
static void close_process(struct sim *s, struct process *p)
{
    bool before = sim_chance(s, 2);

    if (before) {
        free_users(s, p);
    }
    p->ended = true;
    world_close(p->machine, sim_chance(s, 3) ? 0 : 2000);
    if (!before) {
        free_users(s, p);
    }
}

/* The next image of the program has the session; of this one only the handles are left. */
static void hand_over(struct sim *s, struct process *p)
{
    struct process_options o = random_options(s);
    struct machine *heir;

    if (p->machine->n_turns > 0 || s->n_processes == MAX_MACHINES) {
        return;
    }
    s->w->running = p->machine;
    p->ended = true;
    heir = world_hand_over(p->machine, &o);
    if (heir == NULL && p->machine->client != NULL) {
        p->ended = false;
        return;
    }
    free_users(s, p);
    if (heir != NULL) { /* else there came to be too many machines while it detached */
        populate(s, heir, p);
    }
}

/* ---- what goes wrong ---- */

/* Nobody may make nodes in a thing's folder for a while. */
static void change_permissions(struct sim *s, int thing, bool refuse)
{
    struct thing *t = &s->things[thing];
    int32_t perms = refuse ? PERM_ALL & ~PERM_CREATE : PERM_ALL;
    int rc;

    if (s->w->server_is_down || !s->kind->bears_refusals) {
        return;
    }
    rc = world_permit(s->w, t->path, perms);
    if (rc == PAWL_ERR_NO_NODE && refuse) {
        return;
    }
    t->is_refused = refuse || (rc != 0 && rc != PAWL_ERR_NO_NODE); /* perhaps */
    s->refused = s->refused || refuse;
}

static void allow_everything(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        if (s->things[i].is_refused) {
            change_permissions(s, i, false);
        }
    }
}

static struct process *random_process(struct sim *s)
{
    int n = 0, at = 0;

    for (int i = 0; i < s->n_processes; i++) {
        n += !s->processes[i].ended;
    }
    n = n == 0 ? -1 : (int)sim_below(s, n);
    for (; at < s->n_processes; at++) {
        if (!s->processes[at].ended && n-- == 0) {
            return &s->processes[at];
        }
    }
    return NULL;
}

/* Some node without children below a thing. */
static void delete_by_hand(struct sim *s)
{
    struct tree *t = world_tree(s->w);
    znode_id top = tree_find(t, bytes_str(s->things[sim_below(s, s->n_things)].path));
    znode_id at = top, chosen = 0;
    struct strbuf path;
    int64_t n = 0;

    if (top == 0 || s->w->server_is_down || s->kind->no_robbers) {
        return;
    }
    while ((at = tree_next_below(t, top, at)) != 0) {
        if (tree_n_children(t, at) == 0 && sim_below(s, ++n) == 0) {
            chosen = at;
        }
    }
    if (chosen != 0) {
        strbuf_init(&path, STRBUF_NO_LIMIT);
        tree_path(t, chosen, &path);
        world_delete(s->w, strbuf_cstr(&path));
        strbuf_fini(&path);
    }
}

static void end_or_replace(struct sim *s, struct process *p, bool kill)
{
    if (p->machine->n_turns > 0) {
        return;
    }
    if (kill) {
        p->ended = true;
        world_kill(p->machine);
    } else {
        close_process(s, p);
    }
    start_process(s);
}

enum { JUMP_SEEN_MS = 100 }; /* by less a wall clock may just be being corrected */

/* A computer whose wall clock has lost the time that it slept has its boot clock left. */
static void sleep_or_stop(struct sim *s, struct machine *m)
{
    int64_t ms = sim_below(s, 2 * s->session_ms);

    if (world_now_ms(s->w) < m->paused_until_ms) {
        return;
    }
    if (sim_chance(s, 3)) {
        world_stop(m, JUMP_SEEN_MS + ms);
    } else {
        world_sleep(m, ms);
        m->clocks.wall_ahead_ms -= sim_chance(s, 2) ? ms : 0;
    }
}

/* On the wrong side of a partition with its server. What its users hold they keep: a grant has to
 * end by itself. */
static void strand(struct process *p, int64_t ms)
{
    if (!world_strand(p->machine, ms)) {
        world_cut(p->machine, BOTH_WAYS);
        return;
    }
    for (int i = 0; i < p->n_users; i++) {
        p->users[i].wake_ms += ms;
    }
}

static void make_trouble(struct sim *s)
{
    struct world *w = s->w;
    struct process *p = random_process(s);
    struct machine *m = p == NULL ? NULL : p->machine;

    if (m == NULL || m->client == NULL) {
        return;
    }
    switch (sim_below(s, 30)) {
    default: /* the commonest */
        world_cut(m, BOTH_WAYS);
        break;
    case 0:
    case 1:
        world_cut(m, sim_chance(s, 2) ? TO_SERVER : TO_CLIENT);
        break;
    case 2:
    case 3:
        world_freeze(m, 1 + (int)sim_below(s, 3), FOR_EVER);
        break;
    case 4:
    case 5:
    case 6:
        world_freeze(m, 1 + (int)sim_below(s, 3), sim_below(s, s->session_ms));
        break;
    case 7:
    case 8:
        world_pause(m, sim_below(s, s->session_ms / 2));
        break;
    case 9:
    case 10:
        world_pause(m, s->session_ms + sim_below(s, 4000));
        break;
    case 11:
        world_crash(w, sim_below(s, sim_chance(s, 3) ? 8000 : 800));
        break;
    case 12:
        world_slow_disk(w, sim_below(s, 3000));
        break;
    case 13:
        if (!w->server_is_down && world_session(m) != 0) {
            world_kill_session(w, world_session(m));
        }
        break;
    case 14:
        delete_by_hand(s);
        break;
    case 15:
        end_or_replace(s, p, false);
        break;
    case 16:
        end_or_replace(s, p, true);
        break;
    case 17:
    case 18:
        world_cut_off(m, sim_below(s, 2 * s->session_ms), sim_below(s, s->session_ms / 2));
        break;
    case 19:
        if (!machine_is_stopped(m)) { /* nothing would tell of both */
            m->clocks.wall_ahead_ms = sim_below(s, 20000000) - 10000000;
        }
        break;
    case 24:
        sleep_or_stop(s, m);
        break;
    case 26:
    case 27:
        strand(p, sim_below(s, 4 * s->session_ms));
        break;
    case 25:
        w->wall_jump_ms = sim_below(s, 20000000) - 10000000;
        world_crash(w, sim_below(s, 800));
        break;
    case 20:
    case 21:
        if (s->kind->can_be_handed_over) {
            hand_over(s, p);
        }
        break;
    case 22:
    case 23: {
        int thing = (int)sim_below(s, s->n_things);

        change_permissions(s, thing, !s->things[thing].is_refused);
        break;
    }
    }
}

/* Each has its chance to itself: without it, what follows is the same as far as possible. */
static void next_trouble(struct sim *s)
{
    size_t item = s->keep_from + (size_t)s->n_faults++;
    struct prng random = s->w->random;

    if (s->keep != NULL && !selection_has(s->keep, item)) {
        return;
    }
    prng_seed(&s->w->random, s->w->seed * 100003 + item);
    make_trouble(s);
    s->w->random = random;
}

/* ---- the world's hooks ---- */

static int64_t next_ms(void *sim)
{
    struct sim *s = sim;
    int64_t t = s->w->trouble ? s->fault_ms : INT64_MAX;
    struct user *u;

    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        const struct machine *m = u->process->machine;
        int64_t due = m->n_turns > 0                    ? INT64_MAX
                      : u->wake_ms < m->paused_until_ms ? m->paused_until_ms
                                                        : u->wake_ms;

        t = due < t ? due : t;
    }
    return t;
}

static void act(void *sim)
{
    struct sim *s = sim;
    struct user *u;

    if (sim_now_ms(s) >= s->trouble_until_ms) { /* somebody may wait inside a call */
        s->w->trouble = false;
    }
    if (s->w->trouble && sim_now_ms(s) >= s->fault_ms) {
        s->fault_ms = sim_now_ms(s) + 1 + sim_below(s, 2 * s->fault_pause_ms);
        next_trouble(s);
    }
    if (s->calm) {
        allow_everything(s);
    }
    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        const struct machine *m = u->process->machine;

        if (m->n_turns == 0 && sim_now_ms(s) >= u->wake_ms && sim_now_ms(s) >= m->paused_until_ms) {
            u->wake_ms = sim_now_ms(s) + 1 + sim_below(s, s->think_ms);
            s->w->running = u->process->machine;
            s->kind->act(u);
        }
    }
}

static void check(void *sim)
{
    struct sim *s = sim;

    if (s->kind->check != NULL) {
        s->kind->check(s);
    }
}

static void changed(void *sim)
{
    struct sim *s = sim;

    if (s->kind->changed != NULL) {
        s->kind->changed(s);
    }
}

static void wrote(const struct txn *txn, void *sim)
{
    struct sim *s = sim;

    if (s->kind->wrote != NULL) {
        s->kind->wrote(s, txn);
    }
}

/* ---- a run ---- */

static void begin(struct sim *s)
{
    struct world *w = s->w;

    list_init(&s->asked);
    w->trouble = true;
    w->next_ms = next_ms;
    w->act = act;
    w->check = check;
    w->changed = changed;
    w->wrote = wrote;
    w->arg = s;
    s->n_things = 1 + (int)sim_below(s, 2);
    s->session_ms = 2000 + sim_below(s, 3) * 1000;
    s->fault_pause_ms = 50 + sim_below(s, 1500);
    s->think_ms = 20 + sim_below(s, 400);
    s->n_at_start = 3 + (int)sim_below(s, 3);
    s->fault_ms = world_now_ms(w) + 500;
    s->compresses = !s->kind->no_compression && sim_chance(s, 8);
    w->profile = sim_chance(s, 6) ? 35 : sim_chance(s, 5) ? 38 : 0;
    for (int i = 0; i < s->n_things; i++) {
        snprintf(s->things[i].path, sizeof(s->things[i].path), "/sim/thing-%d", i);
    }
    servers_await(w);
    if (s->kind->begin != NULL) {
        s->kind->begin(s);
    }
    for (int i = 0; i < s->n_at_start; i++) {
        start_process(s);
    }
}

static bool all_idle(struct sim *s)
{
    struct user *u;

    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        if (!s->kind->is_idle(u)) {
            return false;
        }
    }
    return true;
}

/* For whoever looks for the reason. */
static void print_things(struct sim *s)
{
    struct tree *t = world_tree(s->w);
    znode_id top = tree_find(t, bytes_str("/sim")), at = top;
    struct strbuf path;

    strbuf_init(&path, STRBUF_NO_LIMIT);
    while (top != 0 && (at = tree_next_below(t, top, at)) != 0) {
        strbuf_clear(&path);
        tree_path(t, at, &path);
        printf("%s of session %llx\n", strbuf_cstr(&path), (unsigned long long)tree_owner(t, at));
    }
    strbuf_fini(&path);
}

static void print_watch(struct bytes path, const struct connection *c, unsigned bits, void *arg)
{
    (void)arg;
    printf("watch of kinds %u of session %llx on %.*s\n", bits, (unsigned long long)c->session_id,
           (int)path.len, (const char *)path.data);
}

static void waits_for_ever(struct sim *s)
{
    struct list *item;
    struct user *u;

    print_things(s);
    for (int at = 0; s->kind->explain != NULL && (u = sim_next_user(s, &at)) != NULL;) {
        if (!s->kind->is_idle(u)) {
            s->kind->explain(u);
        }
    }
    list_for_each (item, &s->asked) {
        const struct asked *asked = container_of(item, struct asked, link);

        if (!asked->told && user_lives(asked->user)) {
            world_violated("user %d of process %d waits for ever for its %s", asked->user->id,
                           asked->user->process->machine->id, asked->what);
        }
    }
    world_violated("somebody does not come to rest");
}

static void wake_up(struct machine *m)
{
    int64_t now = world_now_ms(the_world);

    m->paused_until_ms = 0;
    m->clocks.until_ms = m->clocks.until_ms < now ? m->clocks.until_ms : now;
}

static void run_calm(struct sim *s)
{
    int64_t limit = sim_now_ms(s) + CALM_LIMIT_MS + (s->w->cluster != NULL ? 30000 : 0);

    world_note(-1, "calm", 0);
    s->calm = true;
    s->calm_ms = sim_now_ms(s);
    s->w->trouble = false;
    servers_calm(s->w);
    for (int i = 0; i < s->n_processes; i++) {
        wake_up(s->processes[i].machine);
        s->processes[i].machine->cut_off_until_ms = 0;
        s->processes[i].machine->stranded_until_ms = 0;
    }
    while (!all_idle(s)) {
        if (sim_now_ms(s) >= limit) {
            waits_for_ever(s);
        }
        world_step(s->w, limit);
    }
    if (s->kind->calm != NULL) {
        s->kind->calm(s);
    }
}

static bool nothing_left(struct sim *s)
{
    return world_n_watches(s->w) == 0 &&
           (s->kind->leaves_nodes || tree_n_ephemerals(world_tree(s->w)) == 0);
}

/* Those who live free what they have; of those who were killed only the memory is freed. */
static void run_freed(struct sim *s)
{
    int64_t limit = sim_now_ms(s) + FREED_LIMIT_MS;

    world_note(-1, "freed", 0);
    for (int i = 0; i < s->n_processes; i++) {
        if (!s->processes[i].ended) {
            free_users(s, &s->processes[i]);
        }
    }
    s->w->next_ms = NULL;
    s->w->act = NULL;
    while (!nothing_left(s)) {
        if (sim_now_ms(s) >= limit) {
            print_things(s);
            world_each_watch(s->w, print_watch, NULL);
            world_violated("%zu watches and %lld ephemeral nodes are left", world_n_watches(s->w),
                           (long long)tree_n_ephemerals(world_tree(s->w)));
        }
        world_step(s->w, limit);
    }
    if (s->kind->finish != NULL) {
        s->kind->finish(s);
    }
}

static void check_asked(struct sim *s)
{
    struct list *item;

    while ((item = list_pop_front(&s->asked)) != NULL) {
        struct asked *asked = container_of(item, struct asked, link);

        if (!asked->told) { /* also by a client that was closed, or a handle that was freed */
            world_violated("user %d was never told how its %s ended", asked->user->id, asked->what);
        }
        free(asked);
    }
}

static void end(struct sim *s)
{
    for (int i = 0; i < s->n_processes; i++) {
        struct process *p = &s->processes[i];

        if (p->machine->dead) {
            free_users(s, p);
            world_close(p->machine, 0);
        } else if (!p->ended) {
            world_close(p->machine, 5000);
        }
    }
    if (s->w->server_is_down) { /* a session's time runs anew when it comes back */
        world_run(s->w, s->w->up_again_ms - sim_now_ms(s));
    }
    world_run(s->w, s->session_ms + 8000);
    if (world_n_sessions(s->w) != 0) {
        world_violated("%zu sessions are left", world_n_sessions(s->w));
    }
    check_asked(s);
    for (int i = 0; i < s->n_processes; i++) {
        for (int k = 0; k < s->processes[i].n_users; k++) {
            free(s->processes[i].users[k].own);
        }
    }
}

/* Everybody serves again soon, and has the same. */
static void check_settled(struct sim *s, const struct trouble_plan *plan)
{
    int64_t limit = sim_now_ms(s) + 60000 + SETTLED_TICKS * plan->tick_ms;

    while (!servers_are_settled(s->w)) {
        if (sim_now_ms(s) >= limit) {
            world_violated("liveness: the ensemble is not settled long after the trouble");
        }
        world_run(s->w, 100);
    }
}

static void live(struct sim *s, const struct trouble_plan *plan, struct totals *totals)
{
    int64_t calm_from, begun = sim_now_ms(s);

    s->trouble_until_ms = plan != NULL ? begun + plan->trouble_us / 1000 : INT64_MAX;
    begin(s);
    world_run(s->w, plan != NULL ? begun + plan->trouble_us / 1000 - sim_now_ms(s)
                                 : 5000 + sim_below(s, 25000));
    calm_from = sim_now_ms(s);
    run_calm(s);
    calm_from = sim_now_ms(s) - calm_from;
    if (plan != NULL) {
        check_settled(s, plan);
    }
    run_freed(s);
    end(s);
    totals->longest_calm_ms =
        calm_from > totals->longest_calm_ms ? calm_from : totals->longest_calm_ms;
}

static void add_up(struct totals *totals, const struct sim *s, const struct run_options *o)
{
    totals->events += s->w->n_events + servers_n_events(s->w);
    totals->done += (uint64_t)s->n_done;
    totals->faults += (uint64_t)s->n_faults;
    totals->simulated_ms += sim_now_ms(s) - 1000000;
    if (o->verbose) {
        printf("seed %llu: %llu events, %d done, %d faults, trace %016llx\n",
               (unsigned long long)s->w->seed, (unsigned long long)s->w->n_events, s->n_done,
               s->n_faults, (unsigned long long)s->w->trace);
    }
}

/* The ensemble's plan, or what is left of it. */
static void make_plan(struct trouble_plan *plan, uint64_t seed, const struct run_options *o)
{
    size_t n = 0;

    trouble_plan_make_real(plan, seed, o->n_voters);
    for (size_t i = 0; i < plan->n; i++) {
        if (o->keep == NULL || selection_has(o->keep, i)) {
            plan->items[n++] = plan->items[i];
        }
    }
    plan->n = n;
}

static size_t n_planned(uint64_t seed, const struct run_options *o)
{
    struct trouble_plan plan;
    size_t n;

    trouble_plan_make_real(&plan, seed, o->n_voters);
    n = plan.n;
    trouble_plan_fini(&plan);
    return n;
}

void sim_run(uint64_t seed, const struct kind *kind, const struct run_options *o,
             struct totals *totals)
{
    struct sim *s = must_zalloc(sizeof(*s));
    struct trouble_plan plan = {0};
    char replay[128];

    snprintf(replay, sizeof(replay), "%s--recipe %s --seed %llu", o->ensemble ? "--ensemble " : "",
             kind->name, (unsigned long long)seed);
    s->kind = kind;
    if (o->ensemble) {
        make_plan(&plan, seed, o);
        s->keep = o->keep;
        s->keep_from = n_planned(seed, o);
        s->w = world_new_ensemble(seed, &plan, o->verbose);
    } else {
        s->w = world_new(seed, 0, o->verbose);
    }
    s->w->replay = replay;
    live(s, o->ensemble ? &plan : NULL, totals);
    add_up(totals, s, o);
    world_free(s->w);
    trouble_plan_fini(&plan);
    free(s->own);
    free(s);
}
