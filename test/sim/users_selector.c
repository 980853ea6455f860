/* SPDX-License-Identifier: Apache-2.0 */
/* users_selector.c - those who lead for a while, each on a thread of its own. The threads take
 * turns with the world: see sim_threads.c. */
#include "pawl/election.h"
#include "pawl/error.h"
#include "sim/recipe_sim.h"

struct chosen {
    struct pawl_selector *selector;
    struct sim_thread *thread; /* inside `lead` */
    bool enough;               /* it is to return */
};

/* On the thread. Between two of its turns it knows what it was told in the first. */
static void lead(struct pawl_selector *s, uint64_t token, void *user)
{
    struct user *u = user;
    struct chosen *x = u->own;

    if (x->thread != NULL) {
        world_violated("user %d leads twice at once", u->id);
    }
    x->thread = sim_thread_self();
    x->enough = false;
    world_note(u->id, "lead", (int64_t)token);
    if (user_lives(u) && !pawl_selector_should_stop(s)) {
        sim_granted(u, pawl_selector_grant(s));
    }
    while (!x->enough && !pawl_selector_should_stop(s)) {
        sim_thread_yield();
    }
    world_note(u->id, "led", (int64_t)token);
    x->thread = NULL;
}

static void selector_failed(struct pawl_selector *s, int err, void *user)
{
    const struct user *u = user;

    (void)s;
    if (user_lives(u) && err != PAWL_ERR_SYSTEM && !sim_may_be_refused(u->sim, err)) {
        world_violated("user %d: selector says %s", u->id, pawl_error_name(err));
    }
}

static void selector_start(struct user *u)
{
    struct chosen *x = u->own;
    struct pawl_selector_options o = {.size = sizeof(o),
                                      .lead = lead,
                                      .id = "somebody",
                                      .doubt = sim_chance(u->sim, 2) ? PAWL_DOUBT_GO_ON
                                                                     : PAWL_DOUBT_STOP,
                                      .on_error = selector_failed,
                                      .arg = u};

    *x = (struct chosen){0};
    if (pawl_selector_new(user_client(u), u->sim->things[u->thing].path, &o, &x->selector) != 0 ||
        pawl_selector_start(x->selector) != 0) {
        world_violated("user %d could not start a selector", u->id);
    }
}

/* `lead` is asked to stop, and does; a thread that has not begun yet may begin, and ends at once.
 */
static void selector_free(struct user *u)
{
    struct chosen *x = u->own;
    struct pawl_selector *s = x->selector;

    if (s == NULL) {
        return;
    }
    if (pawl_selector_close(s) != 0 && user_lives(u)) {
        world_violated("user %d could not close its selector", u->id);
    }
    sim_threads_run(u->process->machine);
    if (x->thread != NULL) {
        world_violated("user %d leads on after its selector was closed", u->id);
    }
    x->selector = NULL;
    pawl_selector_free(s);
}

static void selector_act(struct user *u)
{
    struct sim *s = u->sim;
    struct chosen *x = u->own;

    if (x->selector == NULL) {
        if (!s->calm || u->takes_up) {
            selector_start(u);
        }
    } else if (!s->calm && sim_chance(s, 60)) {
        selector_free(u);
    } else if (x->thread != NULL) {
        x->enough = s->calm || sim_chance(s, 4);
        if (!s->calm && sim_chance(s, 10) && pawl_selector_interrupt(x->selector) != 0) {
            world_violated("user %d leads and cannot be interrupted", u->id);
        }
        sim_threads_run(u->process->machine);
    } else if (!pawl_selector_is_queued(x->selector) && !s->calm && sim_chance(s, 2)) {
        pawl_selector_requeue(x->selector);
    }
    sim_threads_run(u->process->machine);
}

static bool selector_is_idle(const struct user *u)
{
    const struct chosen *x = u->own;

    return (x->selector == NULL && !u->takes_up) ||
           (x->thread == NULL && !pawl_selector_is_queued(x->selector) &&
            !pawl_selector_is_leader(x->selector));
}

static const struct pawl_grant *selector_grant(const struct user *u)
{
    const struct chosen *x = u->own;

    return x->selector != NULL && pawl_selector_is_leader(x->selector)
               ? pawl_selector_grant(x->selector)
               : NULL;
}

static void selector_check(struct sim *s)
{
    sim_check_one_holder(s, selector_grant);
}

const struct kind selector_kind = {
    .name = "selector",
    .user_bytes = sizeof(struct chosen),
    .act = selector_act,
    .is_idle = selector_is_idle,
    .free = selector_free,
    .check = selector_check,
    .bears_refusals = true,
    .can_be_handed_over = true,
    .mixes_compression = true,
};
