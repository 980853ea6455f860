/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/counters.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/answers.h"
#include "cli/walk.h"
#include "wire/path.h"

/* A transaction has to fit into a request: 1 MB as servers come. */
enum { PAIRS_MAX = 500, BATCH_BYTES = 400000, OVERHEAD_BYTES = 100 };

/* So many are raised at a time. */
enum { PASSED_MAX = 128 };

#define PASSING_NAME "pawl-import"

/* A stat shows twice what was made less what is there; see also the server's final_path(). */
int64_t counter_of(const struct pawl_stat *stat)
{
    return ((int64_t)stat->cversion + stat->n_children) / 2;
}

/* By so many or less; `*done` says by how many. */
static int raise_some(struct cli *cli, const char *child, int64_t n, int64_t *done)
{
    int64_t room = BATCH_BYTES / (2 * (int64_t)strlen(child) + OVERHEAD_BYTES);
    struct pawl_create create = {.size = sizeof(create), .path = child};
    struct pawl_delete delete = {.size = sizeof(delete), .path = child};
    struct pawl_multi *m = pawl_multi_new(cli->client);
    struct pawl_reply *reply;
    int status;

    room = room > PAIRS_MAX ? PAIRS_MAX : room < 1 ? 1 : room;
    *done = n < room ? n : room;
    for (int64_t i = 0; i < *done; i++) {
        pawl_multi_create(m, &create);
        pawl_multi_delete(m, &delete);
    }
    pawl_multi_run(cli->client, m, &reply);
    status = cli_check(cli, child, reply);
    pawl_reply_free(reply);
    pawl_multi_free(m);
    return status;
}

static int raise_by(struct counters *c, const struct counter *it, int64_t n)
{
    char *child = path_joined(it->path, PASSING_NAME);
    int64_t done = 0, some;
    int status = EXIT_OK;

    while (status == EXIT_OK && done < n) {
        status = raise_some(c->cli, child, n - done, &some);
        done += some;
    }
    free(child);
    return status;
}

/* `a` has the stat. */
static int raise_one(struct counters *c, const struct counter *it, struct answer *a)
{
    int64_t missing;

    if (!answer_wait(a)) {
        return EXIT_SIGNAL + cli_signal();
    }
    if (a->err != PAWL_OK) { /* it may have been removed meanwhile */
        return a->err == PAWL_ERR_NO_NODE ? EXIT_OK : cli_report(c->cli, it->path, a->err);
    }
    missing = it->next - counter_of(&a->stat);
    if (missing > c->limit) {
        cli_error(c->cli,
                  "%s: its counter is %" PRId64 " short of the %" PRId64 " it had; -q %" PRId64
                  " -k raises it",
                  it->path, missing, it->next, missing);
        return EXIT_NO;
    }
    return missing > 0 ? raise_by(c, it, missing) : EXIT_OK;
}

/* No server, or no answer: then there is no sense in going on. */
static bool ends_all(int status)
{
    return status != EXIT_OK && status != EXIT_NO && status != EXIT_REFUSED &&
           status != EXIT_CONFLICT && status != EXIT_NO_NODE;
}

/* ---- lists ---- */

static void list_add(struct counter_list *list, struct counter it)
{
    if (list->n == list->capacity) {
        list->capacity = 2 * list->capacity + 8;
        list->items = must_realloc(list->items, list->capacity * sizeof(*list->items));
    }
    list->items[list->n++] = it;
}

static void list_clear(struct counter_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].path);
    }
    list->n = 0;
}

void counters_pass(struct counters *c, const char *path, int64_t next)
{
    struct counter_list *chain = &c->chain;

    while (chain->n > 0 &&
           !path_is_within(bytes_str(path), bytes_str(chain->items[chain->n - 1].path))) {
        list_add(&c->passed, chain->items[--chain->n]);
    }
    if (next > 0 && c->limit > 0) {
        list_add(chain, (struct counter){.path = must_strdup(path), .next = next});
    }
}

bool counters_are_many(const struct counters *c)
{
    return c->passed.n >= PASSED_MAX;
}

static void ask_all(const struct counters *c, struct answers *answers, struct answer **out)
{
    for (size_t i = 0; i < c->passed.n; i++) {
        out[i] = answer_new(answers);
        answer_asked(out[i], pawl_exists_async(c->cli->client, c->passed.items[i].path, NULL,
                                               answer_came, out[i]));
    }
}

int counters_raise(struct counters *c)
{
    struct answers *answers = answers_new();
    struct answer **stats = must_alloc((c->passed.n + 1) * sizeof(struct answer *));
    int status = EXIT_OK;

    ask_all(c, answers, stats);
    for (size_t i = 0; i < c->passed.n; i++) {
        int here = ends_all(status) ? status : raise_one(c, &c->passed.items[i], stats[i]);

        status = ends_all(here) ? here : status;
        c->status = c->status == EXIT_OK ? here : c->status;
        answer_free(stats[i]);
    }
    free(stats);
    answers_free(answers);
    list_clear(&c->passed);
    return status;
}

int counters_end(struct counters *c, int status)
{
    while (c->chain.n > 0) {
        list_add(&c->passed, c->chain.items[--c->chain.n]);
    }
    if (status == EXIT_OK) {
        status = counters_raise(c);
    }
    list_clear(&c->passed);
    free(c->passed.items);
    free(c->chain.items);
    return status != EXIT_OK ? status : c->status;
}
