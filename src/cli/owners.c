/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/words.h"
#include "look/cons.h"
#include "os/clock.h"

enum { PATIENCE_MS = 1000 };

/* A server tells by a clock of its own when it has last answered whom. Our own session, which has
 * just had an answer, tells what that clock shows. */
struct asking_owners {
    struct owners *found;
    uint64_t our_session;
    int64_t answered_ms; /* we were, by our clock */
};

/* Of one server: from `first` on, with the time of the last answer in the place of what is left. */
static void settle(struct asking_owners *a, size_t first, int64_t their_now_ms)
{
    for (size_t i = first; i < a->found->n; i++) {
        struct owner *o = &a->found->items[i];
        int64_t silent_ms = their_now_ms - o->left_ms;

        if (their_now_ms < 0 || o->left_ms < 0 || o->timeout_ms < 0) {
            o->left_ms = -1;
        } else {
            o->left_ms = silent_ms > o->timeout_ms ? 0 : o->timeout_ms - silent_ms;
        }
    }
}

static void add_owner(struct owners *o, const struct cons *c)
{
    struct owner *new;

    o->items = must_realloc(o->items, (o->n + 1) * sizeof(*o->items));
    new = &o->items[o->n++];
    *new = (struct owner){
        .session_id = c->session_id, .timeout_ms = c->timeout_ms, .left_ms = c->answered_ms};
    snprintf(new->client, sizeof(new->client), "%.*s", (int)c->client_len, c->client);
}

static void hear_connections(const char *server, struct pawl_bytes answer, bool is_one_of_many,
                             void *arg)
{
    struct asking_owners *a = arg;
    const char *at = answer.data, *end = at + answer.len;
    int64_t their_now_ms = -1, since_ms = clock_monotonic_ms() - a->answered_ms;
    size_t first = a->found->n;

    (void)server;
    (void)is_one_of_many;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline != NULL ? newline : end) - at);
        struct cons c;

        if (len > 0 && cons_parse(at, len, &c)) {
            add_owner(a->found, &c);
            if (c.session_id == a->our_session && c.answered_ms >= 0) {
                their_now_ms = c.answered_ms + since_ms;
            }
        }
        at += len + 1;
    }
    settle(a, first, their_now_ms);
}

void owners_ask(struct cli *cli, struct owners *out)
{
    struct asking_owners a = {.found = out};
    struct pawl_reply *reply;
    int timeout_ms = cli->connect_timeout_ms;

    *out = (struct owners){0};
    pawl_exists(cli->client, "/", NULL, &reply);
    pawl_reply_free(reply);
    a.our_session = (uint64_t)pawl_client_session_id(cli->client);
    a.answered_ms = clock_monotonic_ms();
    if (timeout_ms > PATIENCE_MS) { /* this is by the way */
        cli->connect_timeout_ms = PATIENCE_MS;
    }
    words_hear_all(cli, "cons", hear_connections, &a);
    cli->connect_timeout_ms = timeout_ms;
}

void owners_fini(struct owners *o)
{
    free(o->items);
}

const struct owner *owners_find(const struct owners *o, int64_t session_id)
{
    for (size_t i = 0; i < o->n; i++) {
        if (o->items[i].session_id == (uint64_t)session_id && session_id != 0) {
            return &o->items[i];
        }
    }
    return NULL;
}
