/* SPDX-License-Identifier: Apache-2.0 */
/* sim_machine.c - what client/machine/ and os/clock.h are on a machine, in simulated time: the same
 * symbols, so that the linker takes these. Also those of beacon.c, whose texts tell of the machine
 * that runs us. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "client/beacon.h"
#include "client/step.h"
#include "os/clock.h"
#include "os/entropy.h"
#include "sim/sim_world.h"

enum { A_DESCRIPTOR = 1 << 29 }; /* no system call ever sees it, but close() at the end */

static struct machine *machine_of(const struct engine *e)
{
    for (int i = the_world->n_machines - 1; i >= 0; i--) {
        if (the_world->machines[i].e == e) {
            return &the_world->machines[i];
        }
    }
    return NULL; /* it is just being opened */
}

/* Tables keep their fixed key: the same seed is the same run. */
void entropy_key_tables(void)
{
}

/* ---- clocks ---- */

/* Those of whose code runs; nobody's are right. */
static const struct sim_clocks *clocks(void)
{
    static const struct sim_clocks right;

    return the_world->running == NULL ? &right : &the_world->running->clocks;
}

/* How long the last sleep has been so far. */
static int64_t asleep_ms(const struct sim_clocks *c)
{
    int64_t now = world_now_ms(the_world);

    return (now < c->until_ms ? now : c->until_ms) - c->from_ms;
}

int64_t clock_boot_ms(void)
{
    const struct sim_clocks *c = clocks();

    return world_now_ms(the_world) - c->stopped_ms - (c->is_stopped ? asleep_ms(c) : 0);
}

int64_t clock_monotonic_ms(void)
{
    const struct sim_clocks *c = clocks();

    return world_now_ms(the_world) - c->slept_ms - asleep_ms(c);
}

int64_t clock_monotonic_us(void)
{
    return clock_monotonic_ms() * 1000;
}

int64_t clock_wall_ms(void)
{
    return world_now_ms(the_world) + clocks()->wall_ahead_ms;
}

/* ---- waking ---- */

void machine_wake(struct engine *e)
{
    struct machine *m = machine_of(e);

    if (m != NULL) {
        m->woken = true;
    }
}

void machine_kick(struct engine *e)
{
    (void)e; /* nobody drives: that takes a thread */
}

/* Every handle here has a seed of its own. */
bool machine_random(void *out, size_t len)
{
    (void)out;
    (void)len;
    return false;
}

int machine_open(struct machine_state *m)
{
    (void)m;
    return 0;
}

void machine_close(struct machine_state *m)
{
    (void)m;
}

void machine_interest(const struct engine *e, int *fd, short *events)
{
    (void)e;
    *fd = A_DESCRIPTOR;
    *events = 0;
}

long machine_receive(struct engine *e, struct waiter *w, int64_t left_ms, uint8_t *data, size_t len)
{
    (void)e;
    (void)w;
    (void)left_ms;
    (void)data;
    (void)len;
    ASSERT(false); /* nobody drives */
    return -1;
}

/* ---- links ---- */

void link_arm(struct engine *e)
{
    (void)e;
}

void link_probe(struct engine *e)
{
    (void)e; /* no server here is read-only */
}

static void adopt(struct engine *e, struct sim_link *l)
{
    machine_of(e)->socket = l;
    link_set_fd(&e->link, A_DESCRIPTOR);
}

void link_close(struct engine *e)
{
    struct machine *m = machine_of(e);

    if (e->link.fd < 0) {
        return;
    }
    net_hang_up(the_world, m->socket);
    m->socket = NULL;
    link_set_fd(&e->link, -1);
}

void link_forget(struct engine *e)
{
    e->link.fd = -1;
    e->link.state = SOCKET_NONE;
}

/* There is only one. */
void link_next_address(struct engine *e, int64_t now_ms)
{
    engine_link_failed(e, now_ms);
}

void link_start(struct engine *e, int64_t now_ms)
{
    (void)now_ms;
    link_close(e);
    witness_dials(machine_of(e));
    e->link.dial_limit_ms = e->core->link_limit_ms;
    adopt(e, net_dial(the_world, machine_of(e),
                      e->core->hosts.items[e->core->host].port - SERVERS_PORT));
}

static void dialed(struct engine *e, struct machine *m, int64_t now_ms)
{
    if (!net_dialed(the_world, m->socket)) {
        link_next_address(e, now_ms);
        return;
    }
    link_move(&e->link, SOCKET_WRITABLE);
    core_link_up(e->core, now_ms);
}

/* ---- bytes ---- */

void link_flush(struct engine *e, int64_t now_ms)
{
    struct machine *m = machine_of(e);
    struct world *w = the_world;
    struct bytes b;

    while (e->link.state == SOCKET_WRITABLE && (b = requests_output(e->core)).len > 0) {
        size_t n = b.len;

        if (w->trouble && world_chance(w, 150)) { /* the socket is full for a while */
            n = 1 + (size_t)world_below(w, (int64_t)b.len);
            link_move(&e->link, SOCKET_FULL);
            m->writable_at_ms = world_now_ms(w) + world_below(w, 300);
        }
        witness_sends(m, bytes_of(b.data, n));
        net_send(w, m->socket, bytes_of(b.data, n));
        requests_wrote(e->core, now_ms, n);
    }
}

/* As on a machine: what is read after the core wants the link dropped is nobody's. */
void link_feed(struct engine *e, int64_t now_ms, const uint8_t *data, size_t n)
{
    engine_feed(e, now_ms, data, n);
}

void link_read(struct engine *e, int64_t now_ms)
{
    struct machine *m = machine_of(e);
    struct piece *p;

    while (e->link.fd >= 0 && !e->core->want_drop &&
           (p = net_arrived(the_world, &m->socket->to_client)) != NULL) {
        bool eof = p->eof;

        list_remove(&p->link);
        if (!eof) {
            witness_hears(m, bytes_of(p->data, p->len));
            engine_feed(e, now_ms, p->data, p->len);
        }
        net_taken(p);
        if (eof) {
            engine_link_failed(e, now_ms);
        }
    }
}

/* ---- turns ---- */

static void handle(struct engine *e, struct machine *m, int64_t now_ms)
{
    int64_t true_ms = world_now_ms(the_world);

    m->woken = false;
    if (e->link.fd < 0) {
        return;
    }
    if (e->link.state == SOCKET_DIALING) {
        if (true_ms >= m->socket->up_at_ms) {
            dialed(e, m, now_ms);
        }
        return;
    }
    if (e->link.state == SOCKET_FULL && true_ms >= m->writable_at_ms) {
        link_move(&e->link, SOCKET_WRITABLE);
    }
    link_read(e, now_ms);
}

/* Something has come for it. */
static int64_t arrival_ms(const struct machine *m)
{
    const struct engine *e = m->e;
    int64_t t;

    if (m->woken) {
        return 0;
    }
    if (e->link.fd < 0) {
        return INT64_MAX;
    }
    if (e->link.state == SOCKET_DIALING) {
        return m->socket->up_at_ms;
    }
    t = net_next_ms(&m->socket->to_client);
    return e->link.state == SOCKET_FULL && m->writable_at_ms < t ? m->writable_at_ms : t;
}

/* The world goes on while a blocking call waits. */
static void sleep_for(struct machine *m, int64_t ms)
{
    int64_t until = world_now_ms(the_world) + ms;

    m->n_turns++;
    while ((world_now_ms(the_world) < until && arrival_ms(m) > world_now_ms(the_world)) ||
           world_now_ms(the_world) < m->paused_until_ms) {
        world_step(the_world, until > m->paused_until_ms ? until : m->paused_until_ms);
    }
    m->n_turns--;
    the_world->running = m;
}

void machine_turn(struct engine *e, int64_t timeout_ms)
{
    struct machine *m = machine_of(e);
    int64_t wait;

    e->machine.in_turn = true;
    e->machine.asleep = false;
    engine_tick(e, machine_now_ms());
    wait = engine_wait_ms(e, machine_now_ms());
    if (timeout_ms >= 0 && (wait < 0 || wait > timeout_ms)) {
        wait = timeout_ms;
    }
    ASSERT(wait >= 0);
    if (wait > 0) {
        e->machine.asleep = true;
        engine_unlock(e);
        sleep_for(m, wait);
        engine_lock(e);
        e->machine.asleep = false;
    }
    handle(e, m, machine_now_ms());
    engine_settle(e, machine_now_ms());
    e->machine.asleep = true;
    e->machine.in_turn = false;
}

/* ---- driving ---- */

int64_t machine_next_ms(const struct machine *m)
{
    int64_t t;

    if (!machine_runs(m) || m->n_turns > 0) {
        return INT64_MAX;
    }
    t = arrival_ms(m);
    t = m->due_ms < t ? m->due_ms : t;
    return t < m->paused_until_ms ? m->paused_until_ms : t;
}

void machine_drive(struct machine *m)
{
    struct engine *e = m->e;
    int64_t wait;

    world_note(m->id, "turn", 0);
    the_world->running = m;
    pawl_client_process(m->client, 0);
    if (m->client == NULL) {
        return;
    }
    engine_lock(e);
    wait = engine_wait_ms(e, machine_now_ms());
    m->due_ms = wait < 0 ? INT64_MAX : world_now_ms(the_world) + wait;
    m->woken = m->woken || !list_empty(&e->dispatch.inbox);
    engine_unlock(e);
}

/* ---- beacons ---- */

int beacon_open(void)
{
    return A_DESCRIPTOR;
}

void beacon_set(int fd, bool lit)
{
    (void)fd;
    (void)lit;
}

void beacon_close(int fd)
{
    (void)fd;
}

void identity_text(char *out, size_t size)
{
    snprintf(out, size, "10.0.0.1 host=sim pid=1 program=sim since=1970-01-01T00:00:00Z");
}
