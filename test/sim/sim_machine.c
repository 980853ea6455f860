/* SPDX-License-Identifier: Apache-2.0 */
/* sim_machine.c - what io_thread.c is on a machine, in simulated time: the same symbols, so that
 * the linker takes these. Also those of beacon.c, whose texts tell of the machine that runs us. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "client/beacon.h"
#include "client/step.h"
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

int64_t engine_now_ms(void)
{
    return world_now_ms(the_world);
}

int64_t engine_wall_ms(void)
{
    return world_now_ms(the_world);
}

void engine_wake(struct engine *e)
{
    struct machine *m = machine_of(e);

    if (m != NULL) {
        m->woken = true;
    }
}

void engine_kick(struct engine *e)
{
    (void)e; /* nobody drives: that takes a thread */
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
    e->fd = A_DESCRIPTOR;
    e->link_number++;
    e->dialing = true;
    e->write_blocked = false;
}

void link_close(struct engine *e)
{
    struct machine *m = machine_of(e);

    if (e->fd < 0) {
        return;
    }
    net_hang_up(the_world, m->socket);
    m->socket = NULL;
    e->fd = -1;
    e->link_number++;
    e->dialing = false;
    e->write_blocked = false;
}

void engine_link_failed(struct engine *e, int64_t now_ms)
{
    link_close(e);
    core_link_down(e->core, now_ms);
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
    e->dial_limit_ms = e->core->link_limit_ms;
    adopt(e, net_dial(the_world, machine_of(e)));
}

static void dialed(struct engine *e, struct machine *m, int64_t now_ms)
{
    if (!net_dialed(the_world, m->socket)) {
        link_next_address(e, now_ms);
        return;
    }
    e->dialing = false;
    core_link_up(e->core, now_ms);
}

/* ---- bytes ---- */

void link_flush(struct engine *e, int64_t now_ms)
{
    struct machine *m = machine_of(e);
    struct world *w = the_world;
    struct bytes b;

    while (e->fd >= 0 && !e->dialing && !e->write_blocked && (b = core_output(e->core)).len > 0) {
        size_t n = b.len;

        if (w->trouble && world_chance(w, 150)) { /* the socket is full for a while */
            n = 1 + (size_t)world_below(w, (int64_t)b.len);
            e->write_blocked = true;
            m->writable_at_ms = now_ms + world_below(w, 300);
        }
        net_send(w, m->socket, bytes_of(b.data, n));
        core_wrote(e->core, now_ms, n);
    }
}

void engine_feed(struct engine *e, int64_t now_ms, const uint8_t *data, size_t n)
{
    uint64_t link = e->link_number;

    while (n > 0 && e->link_number == link && e->core->link != LINK_NONE && !e->core->want_drop) {
        uint8_t *at;
        size_t room = core_room(e->core, &at);

        ASSERT(room > 0);
        room = room < n ? room : n;
        memcpy(at, data, room);
        core_received(e->core, now_ms, room);
        data += room;
        n -= room;
    }
}

/* As on a machine: what is read after the core wants the link dropped is nobody's. */
void engine_read(struct engine *e, int64_t now_ms)
{
    struct machine *m = machine_of(e);
    struct piece *p;

    while (e->fd >= 0 && !e->core->want_drop &&
           (p = net_arrived(the_world, &m->socket->to_client)) != NULL) {
        bool eof = p->eof;

        list_remove(&p->link);
        if (!eof) {
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
    m->woken = false;
    if (e->fd < 0) {
        return;
    }
    if (e->dialing) {
        if (now_ms >= m->socket->up_at_ms) {
            dialed(e, m, now_ms);
        }
        return;
    }
    if (e->write_blocked && now_ms >= m->writable_at_ms) {
        e->write_blocked = false;
    }
    engine_read(e, now_ms);
}

/* Something has come for it. */
static int64_t arrival_ms(const struct machine *m)
{
    const struct engine *e = m->e;
    int64_t t;

    if (m->woken) {
        return 0;
    }
    if (e->fd < 0) {
        return INT64_MAX;
    }
    if (e->dialing) {
        return m->socket->up_at_ms;
    }
    t = net_next_ms(&m->socket->to_client);
    return e->write_blocked && m->writable_at_ms < t ? m->writable_at_ms : t;
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
}

void engine_turn(struct engine *e, int64_t timeout_ms)
{
    struct machine *m = machine_of(e);
    int64_t wait;

    e->in_turn = true;
    e->io_asleep = false;
    engine_tick(e, engine_now_ms());
    wait = engine_wait_ms(e, engine_now_ms());
    if (timeout_ms >= 0 && (wait < 0 || wait > timeout_ms)) {
        wait = timeout_ms;
    }
    ASSERT(wait >= 0);
    if (wait > 0) {
        e->io_asleep = true;
        pthread_mutex_unlock(&e->lock);
        sleep_for(m, wait);
        pthread_mutex_lock(&e->lock);
        e->io_asleep = false;
    }
    handle(e, m, engine_now_ms());
    engine_settle(e, engine_now_ms());
    e->io_asleep = true;
    e->in_turn = false;
}

void engine_tell_loop(struct engine *e)
{
    if (!list_empty(&e->inbox)) {
        engine_wake(e);
    }
}

void *io_thread_main(void *engine)
{
    (void)engine;
    ASSERT(false); /* there are no threads */
    return NULL;
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
    pawl_client_process(m->client, 0);
    if (m->client == NULL) {
        return;
    }
    pthread_mutex_lock(&e->lock);
    wait = engine_wait_ms(e, engine_now_ms());
    m->due_ms = wait < 0 ? INT64_MAX : engine_now_ms() + wait;
    m->woken = m->woken || !list_empty(&e->inbox);
    pthread_mutex_unlock(&e->lock);
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
