/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/counters.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/walk.h"
#include "wire/path.h"

/* A transaction has to fit into a request: 1 MB as servers come. */
enum { PAIRS_MAX = 500, BATCH_BYTES = 400000, OVERHEAD_BYTES = 100 };

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
    c->n_raised += status == EXIT_OK;
    free(child);
    return status;
}

static int raise_one(struct counters *c, const struct counter *it)
{
    struct pawl_reply *reply;
    int64_t missing = 0;
    int status;

    pawl_exists(c->cli->client, it->path, NULL, &reply);
    if (reply != NULL && reply->err == PAWL_ERR_NO_NODE) {
        status = EXIT_OK; /* somebody has removed it meanwhile */
    } else {
        status = cli_check(c->cli, it->path, reply);
        missing = status == EXIT_OK ? it->next - counter_of(&reply->stat) : 0;
    }
    pawl_reply_free(reply);
    if (missing > c->limit) {
        cli_error(c->cli,
                  "%s: its counter is %" PRId64 " short of the %" PRId64 " it had; -q %" PRId64
                  " -k raises it",
                  it->path, missing, it->next, missing);
        return EXIT_NO;
    }
    return status == EXIT_OK && missing > 0 ? raise_by(c, it, missing) : status;
}

/* No server, or no answer: then there is no sense in going on. */
static bool ends_all(int status)
{
    return status != EXIT_OK && status != EXIT_NO && status != EXIT_REFUSED &&
           status != EXIT_CONFLICT && status != EXIT_NO_NODE;
}

static int raise_last(struct counters *c)
{
    struct counter it = c->items[--c->n];
    int status = c->limit > 0 ? raise_one(c, &it) : EXIT_OK;

    free(it.path);
    if (c->status == EXIT_OK) {
        c->status = status;
    }
    return ends_all(status) ? status : EXIT_OK;
}

int counters_pass(struct counters *c, const char *path, int64_t next)
{
    int status = EXIT_OK;

    while (status == EXIT_OK && c->n > 0 &&
           !path_is_within(bytes_str(path), bytes_str(c->items[c->n - 1].path))) {
        status = raise_last(c);
    }
    if (status == EXIT_OK && next > 0) {
        if (c->n == c->capacity) {
            c->capacity = 2 * c->capacity + 8;
            c->items = must_realloc(c->items, c->capacity * sizeof(*c->items));
        }
        c->items[c->n++] = (struct counter){.path = must_strdup(path), .next = next};
    }
    return status;
}

int counters_end(struct counters *c, int status)
{
    while (c->n > 0) {
        if (status == EXIT_OK) {
            status = raise_last(c);
        } else {
            free(c->items[--c->n].path);
        }
    }
    free(c->items);
    c->items = NULL;
    return status != EXIT_OK ? status : c->status;
}
