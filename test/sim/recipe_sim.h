/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_sim.h - users of recipes in processes of a simulated world.
 *
 * A run has one kind of recipe, some processes, and in each some users, who work on a few things
 * (paths) together:
 *
 *   trouble   users work at random while links, sessions, processes and the server break
 *   calm      nothing breaks any more; who holds something gives it back, nobody begins anew:
 *             everything that waits must come to its end, soon
 *   freed     all handles are freed: nothing may be left on the server */
#ifndef PAWL_TEST_RECIPE_SIM_H
#define PAWL_TEST_RECIPE_SIM_H

#include "sim/sim_world.h"

enum { MAX_USERS = 4, MAX_THINGS = 3 };

struct sim;
struct process;

struct user {
    struct sim *sim;
    struct process *process;
    int id;
    int thing;
    bool takes_up; /* it has the place of one whose session was handed over: and goes on with it */
    int64_t wake_ms;
    void *own; /* of the kind */
};

struct kind {
    const char *name;
    size_t user_bytes;
    void (*begin)(struct sim *s); /* NULL: nothing to prepare */
    void (*act)(struct user *u);  /* something random; in a calm world towards the end */
    bool (*is_idle)(const struct user *u);
    void (*explain)(struct user *u); /* why it is not idle; NULL: nothing to say */
    void (*free)(struct user *u);    /* its handles; also of those that were killed */
    void (*check)(struct sim *s);    /* at every moment; NULL: nothing */
    void (*changed)(struct sim *s);  /* after every transaction; NULL: nothing */
    void (*wrote)(struct sim *s, const struct txn *txn); /* every transaction; NULL: nothing */
    void (*calm)(struct sim *s);   /* all is at rest, handles still live; NULL: nothing */
    void (*finish)(struct sim *s); /* all is freed; NULL: nothing */
    bool leaves_nodes;             /* they are freed, and ephemeral nodes stay */
    bool no_robbers;               /* nodes are not deleted by hand */
    bool bears_refusals;           /* by the server, for a while, to make nodes */
    bool can_be_handed_over;       /* sessions, with their places in queues */
    bool no_compression;           /* parents, which are made without data, count */
    bool mixes_compression;        /* processes with and without share the things */
};

extern const struct kind lock_kind, rwlock_kind, semaphore_kind, latch_kind, barrier_kind,
    double_barrier_kind, queue_kind, counter_kind, cache_kind, mutex_kind, multilock_kind,
    calls_kind, selector_kind, node_kind, group_kind, discovery_kind, value_kind, simple_queue_kind;

struct process {
    struct machine *machine;
    bool ended; /* closed or killed */
    int n_users;
    struct user users[MAX_USERS];
};

/* An asynchronous call of a user's: told exactly once. */
struct asked {
    struct list link;
    struct user *user;
    void *handle;
    const char *what;
    int64_t since_ms;
    int timeout_ms;
    bool told, may_cancel;
    int64_t detail, before; /* for the kind */
};

/* What users do to one path. */
struct thing {
    char path[32];
    uint64_t last_token;
    int64_t number, maybe; /* for the kind */
    uint64_t n_restarts;
    bool is_refused;
    void *own;
};

struct sim {
    struct world *w;
    const struct kind *kind;
    bool calm, compresses;
    bool refused; /* somebody, some time */
    int n_users, n_things, n_at_start;
    struct thing things[MAX_THINGS];
    struct process processes[MAX_MACHINES];
    int n_processes;
    struct list asked;
    int64_t trouble_until_ms, fault_ms, fault_pause_ms, think_ms, session_ms, calm_ms;
    int n_faults, n_done;         /* done: what users achieved */
    const struct selection *keep; /* of faults, from the so many-th item on; NULL: all */
    size_t keep_from;
    void *own;
};

/* ---- runs ---- */

struct selection;

struct run_options {
    bool verbose;
    bool ensemble; /* of so many voters, 0: by the seed; else the server stands alone */
    int n_voters;
    /* Which items of the ensemble's plan happen, and behind them which of the clients' trouble, in
     * its order; NULL: all. */
    const struct selection *keep;
    const char *replay; /* of that; "" */
};

struct totals {
    uint64_t events, done, faults;
    int64_t longest_calm_ms, simulated_ms;
};

enum { N_KINDS = 18 };
extern const struct kind *const kinds[N_KINDS];

/* Ends the program when something is not as it has to be. */
void sim_run(uint64_t seed, const struct kind *kind, const struct run_options *o,
             struct totals *totals);

/* ---- for kinds ---- */

bool user_lives(const struct user *u); /* neither closed nor killed */
struct pawl_client *user_client(const struct user *u);
bool sim_chance(struct sim *s, uint64_t one_in);
int64_t sim_below(struct sim *s, int64_t n);
int64_t sim_now_ms(const struct sim *s);

struct asked *asked_new(struct user *u, const char *what, void *handle, int timeout_ms);
void asked_drop(struct asked *asked); /* the call was not taken: it will not be told */

/* The callback of `asked`: false when its user was killed, and does not count. */
bool asked_told(struct asked *asked, int err);

/* Whether it may end so, as far as that is the same for all that wait; `is_gone`: its handle. */
bool asked_may_end(const struct asked *asked, int err, bool is_gone);
void asked_cancel_all(struct user *u, const void *handle); /* may now end with CANCELLED */

/* The server has refused things in this run. */
bool sim_may_be_refused(const struct sim *s, int err);

/* What users wrote, where all of it is compressed; good until the next call. */
struct bytes sim_plain(const struct sim *s, struct bytes data);

/* All live users, one after the other: NULL at the end. */
struct user *sim_next_user(struct sim *s, int *at);

/* ---- grants ---- */

struct pawl_grant;

/* Holds it now, as far as it matters: nothing was taken away from it. */
bool user_holds(const struct user *u, const struct pawl_grant *g);

/* A grant was given: tokens grow. */
void sim_granted(struct user *u, const struct pawl_grant *g);

/* `grant_of` is what a user holds, or NULL: of each thing there is one holder at a time. */
void sim_check_one_holder(struct sim *s, const struct pawl_grant *(*grant_of)(const struct user *));

/* States follow each other as the header says. */
void sim_grant_changed(struct user *u, int *last, int state);

#endif
