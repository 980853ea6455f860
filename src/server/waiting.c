/* SPDX-License-Identifier: Apache-2.0 */
#include "server/waiting.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "server/audit.h"
#include "server/connection.h"
#include "server/session.h"
#include "wire/request.h"

/* One is needed for each write: so many are kept. */
enum { MAX_SPARE = 1024 };

void waiting_init(struct waiting_queue *q)
{
    *q = (struct waiting_queue){0};
    list_init(&q->all);
    list_init(&q->spare);
}

void waiting_free(struct waiting_queue *q, struct waiting *w)
{
    ASSERT(list_empty(&w->link));
    ASSERT(list_empty(&w->of_connection));
    ASSERT(list_empty(&w->waits));
    audit_note_free(w->audit);
    free(w->is_create2);
    if (q->n_spare == MAX_SPARE) {
        free(w);
        return;
    }
    list_push_back(&q->spare, &w->link);
    q->n_spare++;
}

static struct waiting *waiting_new(struct waiting_queue *q)
{
    if (q->n_spare == 0) {
        return must_alloc(sizeof(struct waiting));
    }
    q->n_spare--;
    return container_of(list_pop_front(&q->spare), struct waiting, link);
}

void waiting_fini(struct waiting_queue *q)
{
    struct list *item;

    while ((item = list_pop_front(&q->all)) != NULL) {
        waiting_free(q, container_of(item, struct waiting, link));
    }
    while ((item = list_pop_front(&q->spare)) != NULL) {
        free(container_of(item, struct waiting, link));
    }
}

/* ---- what a multi asked for ---- */

/* How many operations it has if some of them are create2; else 0. */
static int32_t count_with_create2(struct bytes multi)
{
    struct jute_reader r = jute_reader_of(multi);
    struct request q;
    bool found = false;
    int32_t n = 0;

    while (multi_next(&r, false, &q) == MULTI_OP) {
        found = found || q.type == OP_CREATE2;
        n++;
    }
    return found ? n : 0;
}

/* In the log a create2 inside a multi is a create (see prepare.c): what was asked for is known
 * here only. */
static bool *find_create2(struct bytes multi)
{
    int32_t n = count_with_create2(multi);
    struct jute_reader r = jute_reader_of(multi);
    struct request q;
    bool *found;

    if (n == 0) {
        return NULL;
    }
    found = must_zalloc((size_t)n * sizeof(*found));
    for (int32_t i = 0; i < n; i++) {
        multi_next(&r, false, &q);
        found[i] = q.type == OP_CREATE2;
    }
    return found;
}

/* ---- the queue ---- */

struct waiting *waiting_push(struct waiting_queue *q, struct connection *c, int32_t xid,
                             const struct request *request, int64_t now_us)
{
    struct waiting *w = waiting_new(q);

    *w = (struct waiting){.connection = c,
                          .session = c->session,
                          .order = ++q->last_order,
                          .session_id = c->session_id,
                          .xid = xid,
                          .type = request->type,
                          .received_us = now_us};
    list_init(&w->waits);
    list_push_back(&q->all, &w->link);
    list_push_back(&c->waiting, &w->of_connection);
    if (request->type == OP_MULTI) {
        w->is_create2 = find_create2(request->multi);
    }
    q->n++;
    return w;
}

/* The end of a session may be decided elsewhere, and a local one may become everybody's, both under
 * cxid 0, which a client may use as well. */
static bool is_answered_by(const struct waiting *w, const struct txn_header *h)
{
    return w->session_id == h->client_id && w->xid == h->cxid &&
           (h->type != TXN_CLOSE_SESSION || w->type == OP_CLOSE_SESSION) &&
           (h->type != TXN_CREATE_SESSION || w->type == OP_CREATE_SESSION);
}

struct waiting *waiting_take(struct waiting_queue *q, const struct txn_header *h)
{
    struct waiting *first = container_of(q->all.next, struct waiting, link);

    if (list_empty(&q->all) || !is_answered_by(first, h)) {
        return NULL;
    }
    list_remove(&first->link);
    ASSERT(q->n > 0);
    q->n--;
    return first;
}

void waiting_forget_connection(struct connection *c)
{
    struct list *item;

    while ((item = list_pop_front(&c->waiting)) != NULL) {
        container_of(item, struct waiting, of_connection)->connection = NULL;
    }
}

void waiting_forget_session(struct waiting_queue *q, const struct session *s)
{
    struct list *item;

    list_for_each (item, &q->all) {
        struct waiting *w = container_of(item, struct waiting, link);

        if (w->session == s) {
            w->session = NULL;
        }
    }
}
