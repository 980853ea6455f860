/* SPDX-License-Identifier: Apache-2.0 */
/* locks_why.c - what the waiters of some locks wait for, in sentences, and whether they wait in a
 * circle. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/text.h"
#include "look/wait_graph.h"

/* ---- sentences ---- */

static void explain_text(const char *lock, const struct lock_queue *q, size_t i)
{
    struct strbuf sentence;

    strbuf_init(&sentence, STRBUF_NO_LIMIT);
    strbuf_printf(&sentence, "%s: ", lock);
    wait_explain(q, i, &sentence);
    text_line((struct pawl_bytes){sentence.data, sentence.len});
    strbuf_fini(&sentence);
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

/* Each edge leads to the next of its circle, or into it. */
static size_t first_in_circle(const struct wait_graph *g)
{
    size_t at = 0;

    while (!g->edges[at].is_in_circle) {
        at++;
    }
    for (size_t i = 0; i < g->n; i++) {
        at = g->edges[at].next;
    }
    return at;
}

static void print_circle(const struct cli *cli, const struct wait_graph *g)
{
    size_t first = first_in_circle(g), at = first;

    if (cli->json) {
        json_open(NULL, '{');
        json_open("circle", '[');
    } else {
        fputs("they wait in a circle:", stdout);
    }
    do {
        const struct wait_edge *e = &g->edges[at];

        if (cli->json) {
            json_open(NULL, '{');
            json_hex("session", (uint64_t)e->from);
            json_text("lock", e->lock);
            json_hex("waits_for", (uint64_t)e->to);
            json_close('{');
        } else {
            printf("%s 0x%" PRIx64 " for 0x%" PRIx64 " at ", at == first ? "" : ",",
                   (uint64_t)e->from, (uint64_t)e->to);
            text_escaped(pawl_str(e->lock));
        }
        at = e->next;
    } while (at != first);
    if (cli->json) {
        json_close('[');
        json_close('{');
    } else {
        putchar('\n');
    }
}

/* ---- the command ---- */

static int explain_lock(struct cli *cli, const char *lock, struct wait_graph *g)
{
    struct lock_queue q;
    int err = lock_queue_read(cli->client, lock, &q);

    if (err != PAWL_OK) {
        return cli_report(cli, lock, err);
    }
    explain(cli, lock, &q);
    wait_graph_add(g, lock, &q);
    lock_queue_fini(&q);
    return EXIT_OK;
}

static int run_why(struct cli *cli, const struct args *args)
{
    struct wait_graph g = {0};
    int status = EXIT_OK;

    if (cli->json) {
        json_open(NULL, '[');
    }
    for (int i = 0; i < args->n_words && status == EXIT_OK; i++) {
        status = explain_lock(cli, args->words[i], &g);
    }
    if (status == EXIT_OK && wait_graph_find_circles(&g) > 0) {
        print_circle(cli, &g);
        status = EXIT_NO;
    }
    if (cli->json) {
        json_close('[');
    }
    wait_graph_fini(&g);
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
