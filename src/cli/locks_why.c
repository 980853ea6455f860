/* SPDX-License-Identifier: Apache-2.0 */
/* locks_why.c - what the waiters of some locks wait for, in sentences, and whether they wait in a
 * circle.
 *
 * Who is ahead of somebody in the queue of a lock keeps it waiting: that is an edge from one
 * session to another. A circle of edges over several locks is a deadlock, unless threads of one
 * session do what looks like it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/lock_queue.h"
#include "cli/text.h"

struct edge {
    int64_t from, to; /* sessions: the first waits for the second */
    const char *lock;
    enum { NEW, ON_THE_WAY, DONE } visit;
    const struct edge *next; /* on the way: the one that was followed */
};

struct edges {
    struct edge *items;
    size_t n;
};

/* ---- sentences ---- */

static void print_who(const struct pawl_participant *p)
{
    printf("0x%" PRIx64, (uint64_t)p->session_id);
    if (p->data.len > 0) {
        fputs(" (", stdout);
        text_escaped(p->data);
        putchar(')');
    }
}

static void print_since(const struct pawl_participant *p)
{
    char since[40];

    text_time(p->since_ms, since, sizeof(since));
    printf(" since %s", since);
}

static void print_for_whom(const struct lock_queue *q, size_t i)
{
    size_t ahead;

    if (lock_queue_behind(q, i, &ahead)) {
        fputs(" for ", stdout);
        print_who(q->items[ahead]);
        puts(lock_queue_holds(q, ahead) ? ", which holds it" : ", which waits itself");
    } else {
        printf(" for one of %zu leases\n", q->n_leases);
    }
}

static void explain_text(const char *lock, const struct lock_queue *q, size_t i)
{
    bool holds = lock_queue_holds(q, i);

    text_escaped(pawl_str(lock));
    fputs(": ", stdout);
    print_who(q->items[i]);
    fputs(!holds ? " waits" : q->is_semaphore ? " has a lease" : " holds it", stdout);
    print_since(q->items[i]);
    if (holds) {
        putchar('\n');
    } else {
        print_for_whom(q, i);
    }
}

static void explain_json(const char *lock, const struct lock_queue *q, size_t i)
{
    const struct pawl_participant *p = q->items[i];
    size_t ahead;

    json_open(NULL, '{');
    json_text("lock", lock);
    json_text("does", lock_queue_holds(q, i) ? "holds" : "waits");
    json_text("path", p->path);
    json_hex("session", (uint64_t)p->session_id);
    json_number("since", p->since_ms);
    json_data("data", p->data);
    if (lock_queue_behind(q, i, &ahead)) {
        json_text("behind", q->items[ahead]->path);
        json_hex("behind_session", (uint64_t)q->items[ahead]->session_id);
    }
    json_close('{');
}

static void explain(const struct cli *cli, const char *lock, const struct lock_queue *q)
{
    for (size_t i = 0; i < q->n; i++) {
        if (cli->json) {
            explain_json(lock, q, i);
        } else {
            explain_text(lock, q, i);
        }
    }
    if (q->n == 0 && !cli->json) {
        text_escaped(pawl_str(lock));
        puts(": nobody holds it, and nobody waits");
    }
}

/* ---- circles ---- */

static void add_edges(struct edges *e, const char *lock, const struct lock_queue *q)
{
    for (size_t i = 0; i < q->n; i++) {
        for (size_t ahead = 0; ahead < i; ahead++) {
            int64_t from = q->items[i]->session_id, to = q->items[ahead]->session_id;

            if (lock_queue_excludes(q, ahead, i) && from != to) {
                e->items = must_realloc(e->items, (e->n + 1) * sizeof(*e->items));
                e->items[e->n++] = (struct edge){.from = from, .to = to, .lock = lock};
            }
        }
    }
}

/* The first edge of a circle that can be reached by `at`, or NULL. As deep as there are sessions
 * that wait for each other. */
static const struct edge *circle_from(struct edges *e, struct edge *at)
{
    const struct edge *found = NULL;

    if (at->visit != NEW) {
        return at->visit == ON_THE_WAY ? at : NULL;
    }
    at->visit = ON_THE_WAY;
    for (size_t i = 0; i < e->n && found == NULL; i++) {
        if (e->items[i].from == at->to) {
            at->next = &e->items[i];
            found = circle_from(e, &e->items[i]);
        }
    }
    at->visit = DONE;
    return found;
}

static const struct edge *find_circle(struct edges *e)
{
    const struct edge *found = NULL;

    for (size_t i = 0; i < e->n && found == NULL; i++) {
        found = circle_from(e, &e->items[i]);
    }
    return found;
}

static void print_circle(const struct cli *cli, const struct edge *first)
{
    const struct edge *at = first;

    if (cli->json) {
        json_open(NULL, '{');
        json_open("circle", '[');
    } else {
        fputs("they wait in a circle:", stdout);
    }
    do {
        if (cli->json) {
            json_open(NULL, '{');
            json_hex("session", (uint64_t)at->from);
            json_text("lock", at->lock);
            json_hex("waits_for", (uint64_t)at->to);
            json_close('{');
        } else {
            printf("%s 0x%" PRIx64 " for 0x%" PRIx64 " at ", at == first ? "" : ",",
                   (uint64_t)at->from, (uint64_t)at->to);
            text_escaped(pawl_str(at->lock));
        }
        at = at->next;
    } while (at != first);
    if (cli->json) {
        json_close('[');
        json_close('{');
    } else {
        putchar('\n');
    }
}

/* ---- the command ---- */

static int explain_lock(struct cli *cli, const char *lock, struct edges *e)
{
    struct lock_queue q;
    int err = lock_queue_read(cli->client, lock, &q);

    if (err != PAWL_OK) {
        return cli_report(cli, lock, err);
    }
    explain(cli, lock, &q);
    add_edges(e, lock, &q);
    lock_queue_fini(&q);
    return EXIT_OK;
}

static int run_why(struct cli *cli, const struct args *args)
{
    struct edges e = {0};
    const struct edge *circle;
    int status = EXIT_OK;

    if (cli->json) {
        json_open(NULL, '[');
    }
    for (int i = 0; i < args->n_words && status == EXIT_OK; i++) {
        status = explain_lock(cli, args->words[i], &e);
    }
    circle = status == EXIT_OK ? find_circle(&e) : NULL;
    if (circle != NULL) {
        print_circle(cli, circle);
        status = EXIT_NO;
    }
    if (cli->json) {
        json_close('[');
    }
    free(e.items);
    return status;
}

static const struct option_spec why_options[] = {{0, NULL, NULL, NULL}};

const struct command command_locks_why = {
    .name = "locks why",
    .synopsis = "PATH...",
    .summary = "tell who waits for whom, and exit with 1 if they wait in a circle",
    .options = why_options,
    .min_words = 1,
    .max_words = -1,
    .run = run_why};
