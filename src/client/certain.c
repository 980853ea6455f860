/* SPDX-License-Identifier: Apache-2.0 */
#include "client/certain.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/broken.h"

enum {
    PINGS_PER_TIMEOUT = 40, /* twenty ticks: as long a timeout as servers grant by themselves */
    RUN_PART = 8,           /* a run that has taken such a part of the timeout is begun anew */
};

/* By a leader that counts every request we want to be heard as often as by a ping. */
static int64_t third(const struct certain *k)
{
    return k->timeout_ms / 3;
}

/* At the most so many pings were sent in so much time, both ends included. Milliseconds are rounded
 * down: it may have been one more. */
static int64_t most_pings(const struct certain *k, int64_t ms)
{
    ASSERT(k->timeout_ms > 0);
    return 1 + (ms + 1) * PINGS_PER_TIMEOUT / k->timeout_ms;
}

static void confirm(struct certain *k, int64_t since_ms, bool is_sure)
{
    if (since_ms > k->since_ms) {
        k->since_ms = since_ms;
        k->is_sure = is_sure;
    }
}

static void pass(struct certain *k, int64_t since_ms, bool is_sure, uint64_t written)
{
    k->passed = true;
    k->passed_is_sure = is_sure;
    k->passed_since_ms = since_ms;
    k->passed_position = written;
}

/* The leader itself has noted us. */
static void begin_link(struct certain *k, const struct certain_answer *hello)
{
    certain_link_gone(k);
    k->sure.items[0] = (struct certain_contact){hello->sent_ms, hello->heard_ms};
    k->likely = k->sure;
}

void certain_begun(struct certain *k, const struct certain_answer *hello, int timeout_ms)
{
    certain_session_gone(k);
    begin_link(k, hello);
    k->timeout_ms = timeout_ms;
    confirm(k, hello->sent_ms, true);
}

void certain_resumed(struct certain *k, const struct certain_answer *hello, int timeout_ms)
{
    begin_link(k, hello);
    if (k->timeout_ms == 0 || timeout_ms < k->timeout_ms) {
        k->timeout_ms = timeout_ms;
    }
    pass(k, hello->sent_ms, true, hello->written);
}

void certain_link_gone(struct certain *k)
{
    k->leader = LEADER_UNKNOWN;
    k->run = (struct certain_run){0};
    k->sure = k->likely = (struct certain_contacts){0};
    k->passed = false;
}

void certain_session_gone(struct certain *k)
{
    *k = (struct certain){0};
}

/* What was noted of this link has times in it that are not comparable any more. */
void certain_jumped(struct certain *k, int64_t jump_ms)
{
    enum certain_leader leader = k->leader;

    ASSERT(jump_ms > 0);
    certain_link_gone(k);
    k->leader = leader;
    k->since_ms = k->since_ms > jump_ms ? k->since_ms - jump_ms : 0;
}

/* ---- R, A, B and C ---- */

/* Milliseconds are rounded down: one more is surely later. */
static bool is_long_after(const struct certain *k, const struct certain_contact *c, int64_t at_ms)
{
    return c->sent_ms != 0 && at_ms > c->heard_ms + third(k);
}

/* One that tells more than what is known. */
static const struct certain_contact *
contact_before(const struct certain *k, const struct certain_contacts *c, int64_t sent_ms)
{
    for (int i = 0; i < CERTAIN_CONTACTS && c->items[i].sent_ms > k->since_ms; i++) {
        if (is_long_after(k, &c->items[i], sent_ms)) {
            return &c->items[i];
        }
    }
    return NULL;
}

static bool is_fresh(const struct certain *k, const struct certain_contacts *c, int64_t now_ms)
{
    return now_ms <= c->items[0].heard_ms + k->timeout_ms / 12;
}

static void note(const struct certain *k, struct certain_contacts *c, int64_t sent_ms,
                 int64_t heard_ms)
{
    if (is_fresh(k, c, heard_ms)) {
        return;
    }
    memmove(&c->items[1], &c->items[0], (CERTAIN_CONTACTS - 1) * sizeof(c->items[0]));
    c->items[0] = (struct certain_contact){sent_ms, heard_ms};
}

static void take_as_c(struct certain *k, const struct certain_answer *a)
{
    if (k->passed && a->proof == CERTAIN_AGREED && a->position > k->passed_position) {
        confirm(k, k->passed_since_ms, k->passed_is_sure);
        k->passed = false;
    }
}

/* Whether what is only likely will do. */
static bool may_guess(const struct certain *k, int64_t now_ms)
{
    return !k->is_sure || certain_left_ms(k, now_ms) == 0;
}

/* One that has passed and waits for its C gives way only to a much younger one: or C would never
 * come in time. */
static void take_as_b(struct certain *k, const struct certain_answer *a)
{
    const struct certain_contact *c = contact_before(k, &k->sure, a->sent_ms);
    bool is_sure = c != NULL;

    if (!is_sure && may_guess(k, a->heard_ms)) {
        c = contact_before(k, &k->likely, a->sent_ms);
    }
    if (a->proof == CERTAIN_HEARD || c == NULL) {
        return;
    }
    if (!k->passed || c->sent_ms > k->passed_since_ms + third(k)) {
        pass(k, c->sent_ms, is_sure, a->written);
    }
}

static void take_as_a(struct certain *k, const struct certain_answer *a)
{
    struct certain_run *run = &k->run;

    note(k, &k->likely, a->sent_ms, a->heard_ms);
    if (run->from_ms == 0 || a->position <= run->position) {
        return;
    }
    run->sent_ms = run->n == 0 ? a->sent_ms : run->sent_ms;
    run->n++;
    if (run->n > most_pings(k, a->heard_ms - run->from_ms)) {
        note(k, &k->sure, run->sent_ms, a->heard_ms);
        *run = (struct certain_run){0};
    }
}

/* What it takes if they take as long as R did, and somewhat longer. */
static int n_wanted(const struct certain *k, int64_t r_ms)
{
    int64_t n = 1 + most_pings(k, 2 * r_ms + k->timeout_ms / PINGS_PER_TIMEOUT / 2);

    return n < PINGS_PER_TIMEOUT ? (int)n : PINGS_PER_TIMEOUT;
}

/* A run is left to grow for a while: who begins anew with each answer gets nowhere. */
static void take_as_r(struct certain *k, const struct certain_answer *a)
{
    int64_t until_ms = k->run.from_ms + k->timeout_ms / RUN_PART;

    if (a->proof == CERTAIN_HEARD || is_fresh(k, &k->sure, a->heard_ms) ||
        (k->run.from_ms != 0 && a->heard_ms <= until_ms)) {
        return;
    }
    k->run = (struct certain_run){.from_ms = a->sent_ms,
                                  .position = a->written,
                                  .n_wanted = n_wanted(k, a->heard_ms - a->sent_ms)};
}

void certain_answered(struct certain *k, const struct certain_answer *a)
{
    if (a->proof == CERTAIN_COUNTED || a->proof == CERTAIN_ECHOED) {
        k->leader = a->proof == CERTAIN_COUNTED ? LEADER_COUNTS : LEADER_PINGS;
    }
    if ((k->leader == LEADER_COUNTS && a->proof != CERTAIN_HEARD) || BROKEN(CERTAIN_BY_LEADER)) {
        confirm(k, a->sent_ms, true);
        return;
    }
    take_as_c(k, a);
    take_as_b(k, a);
    take_as_a(k, a);
    take_as_r(k, a);
}

/* ---- questions ---- */

int64_t certain_left_ms(const struct certain *k, int64_t now_ms)
{
    int64_t left = k->since_ms + k->timeout_ms - now_ms;

    return k->since_ms == 0 || left < 0 ? 0 : left;
}

/* When a B for the youngest A that can be had in time can be sent; INT64_MAX: there is no A. */
static int64_t b_due_ms(const struct certain *k, const struct certain_contacts *c)
{
    int64_t due = INT64_MAX;

    for (int i = 0; i < CERTAIN_CONTACTS && c->items[i].sent_ms > k->since_ms; i++) {
        due = c->items[i].heard_ms + third(k) + 1;
        if (due <= k->since_ms + k->timeout_ms * INT64_C(3) / 4) {
            break;
        }
    }
    return due;
}

static int64_t min_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* An R. While a run is under way, what is wanted for it has been sent. */
static int64_t r_due_ms(const struct certain *k)
{
    int64_t due = k->since_ms + third(k), again = k->run.from_ms + k->timeout_ms / RUN_PART + 1;

    return k->run.from_ms != 0 && again > due ? again : due;
}

/* With a leader that pings: an R, a B, and C at once. */
int64_t certain_due_ms(const struct certain *k)
{
    int64_t b_ms;

    if (k->leader != LEADER_PINGS) {
        return k->since_ms + third(k);
    }
    b_ms = b_due_ms(k, &k->sure);
    if (!k->is_sure) {
        b_ms = min_ms(b_ms, b_due_ms(k, &k->likely));
    }
    return k->passed ? 0 : b_ms == INT64_MAX ? r_due_ms(k) : b_ms;
}

int certain_wanted(const struct certain *k)
{
    return k->leader == LEADER_PINGS ? k->run.n_wanted : 0;
}

void certain_wanted_sent(struct certain *k)
{
    k->run.n_wanted = 0;
}
