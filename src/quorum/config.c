/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/broken.h"
#include "base/memory.h"

/* What is true of a configuration between any two calls. */
static void quorum_config_invariants(const struct quorum_config *c)
{
    size_t n_voters = 0;

    ASSERT(c->n_members <= QUORUM_MEMBERS_MAX);
    for (size_t i = 0; i < c->n_members; i++) {
        const struct quorum_member *m = &c->member[i];

        ASSERT(i == 0 || c->member[i - 1].id < m->id);
        ASSERT(m->n_addresses > 0);
        ASSERT(m->weight >= 0);
        ASSERT(quorum_set_has(&c->voters, (int)i) == !m->observer);
        n_voters += !m->observer;
    }
    ASSERT(n_voters == c->n_voters);
}

void quorum_config_init(struct quorum_config *c)
{
    *c = (struct quorum_config){0};
}

void quorum_config_fini(struct quorum_config *c)
{
    quorum_config_invariants(c);
    for (size_t i = 0; i < c->n_members; i++) {
        quorum_member_fini(&c->member[i]);
    }
    free(c->member);
    quorum_config_init(c);
}

void quorum_member_fini(struct quorum_member *m)
{
    for (size_t i = 0; i < m->n_addresses; i++) {
        free(m->address[i].host);
    }
    free(m->address);
    free(m->client_host);
    free(m->secure_client_host);
}

static char *copy_text(const char *text)
{
    return text != NULL ? must_strdup(text) : NULL;
}

void quorum_member_copy(struct quorum_member *to, const struct quorum_member *from)
{
    *to = *from;
    to->address = must_alloc(from->n_addresses * sizeof *to->address);
    for (size_t i = 0; i < from->n_addresses; i++) {
        to->address[i] = from->address[i];
        to->address[i].host = must_strdup(from->address[i].host);
    }
    to->client_host = copy_text(from->client_host);
    to->secure_client_host = copy_text(from->secure_client_host);
}

void quorum_config_copy(struct quorum_config *to, const struct quorum_config *from)
{
    *to = *from;
    to->member = must_alloc((from->n_members + 1) * sizeof *to->member);
    for (size_t i = 0; i < from->n_members; i++) {
        quorum_member_copy(&to->member[i], &from->member[i]);
    }
    quorum_config_invariants(to);
}

/* The sets are by index, so they are made anew. */
static void find_voters(struct quorum_config *c)
{
    c->voters = QUORUM_SET_EMPTY;
    c->n_voters = 0;
    for (size_t i = 0; i < c->n_members; i++) {
        if (!c->member[i].observer) {
            quorum_set_add(&c->voters, (int)i);
            c->n_voters++;
        }
    }
}

void quorum_config_insert(struct quorum_config *c, const struct quorum_member *m)
{
    size_t at = c->n_members;

    ASSERT(c->n_members < QUORUM_MEMBERS_MAX);
    c->member = must_realloc(c->member, (c->n_members + 1) * sizeof(*c->member));
    for (; at > 0 && c->member[at - 1].id > m->id; at--) {
        c->member[at] = c->member[at - 1];
    }
    c->member[at] = *m;
    c->n_members++;
    find_voters(c);
}

void quorum_config_remove(struct quorum_config *c, int64_t id)
{
    int at = quorum_config_find(c, id);

    if (at < 0) {
        return;
    }
    quorum_member_fini(&c->member[at]);
    c->n_members--;
    for (size_t i = (size_t)at; i < c->n_members; i++) {
        c->member[i] = c->member[i + 1];
    }
    find_voters(c);
}

int quorum_config_find(const struct quorum_config *c, int64_t id)
{
    for (size_t i = 0; i < c->n_members; i++) {
        if (c->member[i].id == id) {
            return (int)i;
        }
    }
    return -1;
}

bool quorum_config_is_voter(const struct quorum_config *c, int64_t id)
{
    int i = quorum_config_find(c, id);

    return i >= 0 && !c->member[i].observer;
}

int64_t quorum_config_weight(const struct quorum_config *c, int64_t id)
{
    return quorum_config_is_voter(c, id) ? c->member[quorum_config_find(c, id)].weight : 0;
}

static bool config_majority(const struct quorum_config *c, const struct quorum_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < QUORUM_MEMBERS_MAX / 64; i++) {
        n += (size_t)__builtin_popcountll(set->bits[i] & c->voters.bits[i]);
    }
    return n > c->n_voters / 2 || (BROKEN(QUORUM_COUNT) && n > 0 && n >= c->n_voters / 2);
}

/* Weight of a group, and of those of its voters who are in `set`. */
static void config_weigh(const struct quorum_config *c, const struct quorum_set *set, int64_t group,
                         int64_t *all, int64_t *in_set)
{
    *all = *in_set = 0;
    for (size_t i = 0; i < c->n_members; i++) {
        const struct quorum_member *m = &c->member[i];

        if (m->group == group && !m->observer) {
            *all += m->weight;
            *in_set += quorum_set_has(set, (int)i) ? m->weight : 0;
        }
    }
}

static bool config_is_first_of_group(const struct quorum_config *c, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (c->member[i].group == c->member[index].group) {
            return false;
        }
    }
    return true;
}

static bool config_hierarchy(const struct quorum_config *c, const struct quorum_set *set)
{
    size_t n_groups = 0, n_won = 0;

    for (size_t i = 0; i < c->n_members; i++) {
        int64_t all, in_set;

        if (config_is_first_of_group(c, i)) {
            config_weigh(c, set, c->member[i].group, &all, &in_set);
            n_groups += all > 0;
            n_won += in_set > all / 2;
        }
    }
    return n_won > n_groups / 2;
}

bool quorum_config_contains(const struct quorum_config *c, const struct quorum_set *set)
{
    return c->hierarchical ? config_hierarchy(c, set) : config_majority(c, set);
}

static bool config_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool quorum_member_same_addresses(const struct quorum_member *a, const struct quorum_member *b)
{
    if (a->n_addresses != b->n_addresses) {
        return false;
    }
    for (size_t i = 0; i < a->n_addresses; i++) {
        if (strcmp(a->address[i].host, b->address[i].host) != 0 ||
            a->address[i].quorum_port != b->address[i].quorum_port ||
            a->address[i].election_port != b->address[i].election_port) {
            return false;
        }
    }
    return true;
}

static bool config_same_member(const struct quorum_member *a, const struct quorum_member *b)
{
    return a->id == b->id && a->observer == b->observer && quorum_member_same_addresses(a, b) &&
           config_same_text(a->client_host, b->client_host) && a->client_port == b->client_port;
}

bool quorum_config_equal(const struct quorum_config *a, const struct quorum_config *b)
{
    bool same = a->n_members == b->n_members;

    if (a->version == b->version) {
        return true;
    }
    for (size_t i = 0; same && i < a->n_members; i++) {
        same = config_same_member(&a->member[i], &b->member[i]);
    }
    return same;
}

bool quorum_config_same_voter(const struct quorum_config *a, const struct quorum_config *b,
                              int64_t id)
{
    return quorum_config_is_voter(a, id) && quorum_config_is_voter(b, id) &&
           quorum_member_same_addresses(&a->member[quorum_config_find(a, id)],
                                        &b->member[quorum_config_find(b, id)]);
}

bool quorum_config_same_members(const struct quorum_config *a, const struct quorum_config *b)
{
    bool same = a->n_members == b->n_members;

    for (size_t i = 0; same && i < a->n_members; i++) {
        same = a->member[i].id == b->member[i].id && a->member[i].observer == b->member[i].observer;
    }
    return same;
}

void quorum_config_list(const struct quorum_config *c, struct strbuf *out)
{
    for (size_t i = 0; i < c->n_members; i++) {
        strbuf_printf(out, "%s%" PRId64 "%s", i > 0 ? " " : "", c->member[i].id,
                      c->member[i].observer ? "(observer)" : "");
    }
}
