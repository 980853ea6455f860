/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"

void session_table_init(struct session_table *t, int64_t wall_ms, int64_t server_id)
{
    map_init(&t->sessions);
    t->n_local = 0;
    t->next_id = (int64_t)(((uint64_t)wall_ms << 24) >> 8 | (uint64_t)server_id << 56);
    if (t->next_id == INT64_MIN) { /* that value marks containers */
        t->next_id++;
    }
}

void session_table_clear(struct session_table *t)
{
    struct map_entry *e;
    size_t at = 0;

    while ((e = map_drain(&t->sessions, &at)) != NULL) {
        free(container_of(e, struct session, entry));
    }
    map_fini(&t->sessions);
    map_init(&t->sessions);
    t->n_local = 0;
}

void session_table_fini(struct session_table *t)
{
    session_table_clear(t);
    map_fini(&t->sessions);
}

int64_t session_new_id(struct session_table *t)
{
    while (session_find(t, t->next_id) != NULL) { /* the clock was set back between two starts */
        t->next_id++;
    }
    return t->next_id++;
}

void session_skip_to(struct session_table *t, int64_t id)
{
    if (id >> 56 == t->next_id >> 56 && id >= t->next_id) {
        t->next_id = id + 1;
    }
}

struct session *session_add(struct session_table *t, int64_t id, int32_t timeout_ms)
{
    struct session *s = must_zalloc(sizeof(*s));

    ASSERT(session_find(t, id) == NULL);
    s->id = id;
    s->timeout_ms = timeout_ms;
    map_insert(&t->sessions, &s->entry, hash_u64((uint64_t)id));
    list_init(&s->heard);
    return s;
}

struct session *session_find(const struct session_table *t, int64_t id)
{
    struct map_entry *e = map_first(&t->sessions, hash_u64((uint64_t)id));

    while (e != NULL && container_of(e, struct session, entry)->id != id) {
        e = map_next(e);
    }
    return e == NULL ? NULL : container_of(e, struct session, entry);
}

void session_remove(struct session_table *t, struct session *s)
{
    ASSERT(s->connection == NULL);
    ASSERT(s->newest == NULL); /* its closing is the last thing that it does */
    ASSERT(s->expiry.deadline_ms == 0 && list_empty(&s->heard));
    session_set_local(t, s, false);
    map_remove(&t->sessions, &s->entry);
    free(s);
}

void session_set_local(struct session_table *t, struct session *s, bool local)
{
    ASSERT(s->expiry.deadline_ms == 0 && list_empty(&s->heard));
    t->n_local += (size_t)local - (size_t)s->local;
    s->local = local;
}

/* java.util.Random(id ^ 0xB3415C00).nextBytes: a checksum rather than a secret, but what every
 * ZooKeeper server computes. */
void session_password(int64_t id, uint8_t out[PASSWORD_BYTES])
{
    const uint64_t mask = ((uint64_t)1 << 48) - 1;
    uint64_t seed = ((uint64_t)id ^ 0xB3415C00u ^ 0x5DEECE66Du) & mask;

    for (int i = 0; i < PASSWORD_BYTES; i += 4) {
        uint32_t word;

        seed = (seed * 0x5DEECE66Du + 0xB) & mask;
        word = (uint32_t)(seed >> 16);
        for (int j = 0; j < 4; j++) {
            out[i + j] = (uint8_t)(word >> 8 * j);
        }
    }
}

bool session_password_matches(int64_t id, struct bytes password)
{
    uint8_t expected[PASSWORD_BYTES];

    if (id == 0 || password.len != PASSWORD_BYTES) {
        return false;
    }
    session_password(id, expected);
    return bytes_equal_secret(bytes_of(expected, PASSWORD_BYTES), password);
}
