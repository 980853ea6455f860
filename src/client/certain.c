/* SPDX-License-Identifier: Apache-2.0 */
#include "client/certain.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/broken.h"

/* By a leader that counts every request we want to be heard as often as by a ping. */
static int64_t third(const struct certain *k)
{
    return k->timeout_ms / 3;
}

static void confirm(struct certain *k, int64_t since_ms)
{
    k->since_ms = since_ms > k->since_ms ? since_ms : k->since_ms;
}

static void pass(struct certain *k, int64_t since_ms, uint64_t written)
{
    k->passed = true;
    k->passed_since_ms = since_ms;
    k->passed_position = written;
}

static void begin_link(struct certain *k, const struct certain_answer *hello)
{
    certain_link_gone(k);
    k->contacts[0] = (struct certain_contact){hello->sent_ms, hello->heard_ms};
}

void certain_begun(struct certain *k, const struct certain_answer *hello, int timeout_ms)
{
    certain_session_gone(k);
    begin_link(k, hello);
    k->timeout_ms = timeout_ms;
    confirm(k, hello->sent_ms);
}

void certain_resumed(struct certain *k, const struct certain_answer *hello, int timeout_ms)
{
    begin_link(k, hello);
    if (k->timeout_ms == 0 || timeout_ms < k->timeout_ms) {
        k->timeout_ms = timeout_ms;
    }
    pass(k, hello->sent_ms, hello->written);
}

void certain_link_gone(struct certain *k)
{
    k->leader = LEADER_UNKNOWN;
    memset(k->contacts, 0, sizeof(k->contacts));
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

/* ---- A, B and C ---- */

/* Milliseconds are rounded down: one more is surely later. */
static bool is_long_after(const struct certain *k, const struct certain_contact *c, int64_t at_ms)
{
    return c->sent_ms != 0 && at_ms > c->heard_ms + third(k);
}

static const struct certain_contact *contact_before(const struct certain *k, int64_t sent_ms)
{
    for (int i = 0; i < CERTAIN_CONTACTS; i++) {
        if (is_long_after(k, &k->contacts[i], sent_ms)) {
            return &k->contacts[i];
        }
    }
    return NULL;
}

static void take_as_c(struct certain *k, const struct certain_answer *a)
{
    if (k->passed && a->proof == CERTAIN_AGREED && a->position > k->passed_position) {
        confirm(k, k->passed_since_ms);
        k->passed = false;
    }
}

/* One that has passed and waits for its C gives way only to a much younger one: or C would never
 * come in time. */
static void take_as_b(struct certain *k, const struct certain_answer *a)
{
    const struct certain_contact *c = contact_before(k, a->sent_ms);

    if (a->proof == CERTAIN_HEARD || c == NULL || c->sent_ms <= k->since_ms) {
        return;
    }
    if (!k->passed || c->sent_ms > k->passed_since_ms + third(k)) {
        pass(k, c->sent_ms, a->written);
    }
}

static void take_as_a(struct certain *k, const struct certain_answer *a)
{
    if (a->heard_ms <= k->contacts[0].heard_ms + k->timeout_ms / 12) {
        return;
    }
    memmove(&k->contacts[1], &k->contacts[0], (CERTAIN_CONTACTS - 1) * sizeof(k->contacts[0]));
    k->contacts[0] = (struct certain_contact){a->sent_ms, a->heard_ms};
}

void certain_answered(struct certain *k, const struct certain_answer *a)
{
    if (a->proof == CERTAIN_COUNTED || a->proof == CERTAIN_ECHOED) {
        k->leader = a->proof == CERTAIN_COUNTED ? LEADER_COUNTS : LEADER_PINGS;
    }
    if ((k->leader == LEADER_COUNTS && a->proof != CERTAIN_HEARD) || BROKEN(CERTAIN_BY_LEADER)) {
        confirm(k, a->sent_ms);
        return;
    }
    take_as_c(k, a);
    take_as_b(k, a);
    take_as_a(k, a);
}

/* ---- questions ---- */

int64_t certain_left_ms(const struct certain *k, int64_t now_ms)
{
    int64_t left = k->since_ms + k->timeout_ms - now_ms;

    return k->since_ms == 0 || left < 0 ? 0 : left;
}

/* When a B for the youngest A that can be had in time can be sent; INT64_MAX: there is no A. */
static int64_t b_due_ms(const struct certain *k)
{
    int64_t due = INT64_MAX;

    for (int i = 0; i < CERTAIN_CONTACTS && k->contacts[i].sent_ms > k->since_ms; i++) {
        due = k->contacts[i].heard_ms + third(k) + 1;
        if (due <= k->since_ms + k->timeout_ms * INT64_C(3) / 4) {
            break;
        }
    }
    return due;
}

/* With a leader that pings: an A, a B, and C at once. */
int64_t certain_due_ms(const struct certain *k)
{
    int64_t a_ms = k->since_ms + third(k), b_ms;

    if (k->leader != LEADER_PINGS) {
        return a_ms;
    }
    b_ms = b_due_ms(k);
    return k->passed ? 0 : b_ms == INT64_MAX ? a_ms : b_ms;
}
