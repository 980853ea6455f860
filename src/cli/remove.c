/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remove.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/answers.h"
#include "cli/walk.h"
#include "wire/path.h"

/* On their way at a time; and how often we look again for what others have added. */
enum { WINDOW = 256, ROUNDS_MAX = 10 };

struct removing {
    struct cli *cli;
    const char *top;
    struct pawl_condition only_if; /* of the top */
    char **open; /* visited, each below the one before it: not all below is known */
    size_t n_open, capacity;
    struct answers *answers;
    struct sent_delete {
        char *path;
        struct answer *answer;
    } sent[WINDOW]; /* a ring, the oldest at `first` */
    size_t first, n;
    int64_t n_removed, n_unknown;
    bool is_not_empty; /* one of them was not: somebody has added to it */
    int status;        /* the first failure, which was reported */
};

/* Of nodes that others have removed there is nothing to say. */
static void judge(struct removing *r, const struct sent_delete *s)
{
    const struct answer *a = s->answer;

    r->n_removed += a->err == PAWL_OK;
    r->n_unknown += a->outcome == PAWL_OUTCOME_UNKNOWN;
    if (a->err == PAWL_ERR_NOT_EMPTY) {
        r->is_not_empty = true;
    } else if (a->err != PAWL_ERR_NO_NODE && r->status == EXIT_OK) {
        r->status = cli_report_change(r->cli, s->path, a->err, a->outcome);
    }
}

static void settle_one(struct removing *r)
{
    struct sent_delete *s = &r->sent[r->first];

    if (answer_wait(s->answer)) {
        judge(r, s);
    } else {
        r->n_unknown++;
        r->status = EXIT_SIGNAL + cli_signal();
    }
    answer_free(s->answer);
    free(s->path);
    r->first = (r->first + 1) % WINDOW;
    r->n--;
}

/* Takes the path. */
static void send_delete(struct removing *r, char *path)
{
    struct pawl_delete request = {.size = sizeof(request), .path = path};
    struct sent_delete *s;

    if (r->n == WINDOW) {
        settle_one(r);
    }
    if (r->status != EXIT_OK) {
        free(path);
        return;
    }
    if (strcmp(path, r->top) == 0) {
        request.only_if = r->only_if;
    }
    s = &r->sent[(r->first + r->n++) % WINDOW];
    *s = (struct sent_delete){.path = path, .answer = answer_new(r->answers)};
    answer_asked(s->answer, pawl_delete_async(r->cli->client, &request, answer_came, s->answer));
}

/* All is known that is below a node when the walk leaves it. NULL: it leaves all. */
static void leave_all_but(struct removing *r, const char *path)
{
    while (r->n_open > 0 &&
           (path == NULL || !path_is_within(bytes_str(path), bytes_str(r->open[r->n_open - 1])))) {
        send_delete(r, r->open[--r->n_open]);
    }
}

static int visit_removed(const struct walk_node *node, void *arg)
{
    struct removing *r = arg;

    leave_all_but(r, node->path);
    if (r->n_open == r->capacity) {
        r->capacity = 2 * r->capacity + 16;
        r->open = must_realloc(r->open, r->capacity * sizeof(*r->open));
    }
    r->open[r->n_open++] = must_strdup(node->path);
    return r->status;
}

static int remove_once(struct removing *r)
{
    struct walk w = {.cli = r->cli, .visit = visit_removed, .arg = r};
    int status;

    r->is_not_empty = false;
    status = walk_tree(&w, r->top);
    r->status = r->status == EXIT_OK && status != EXIT_REFUSED ? status : r->status;
    leave_all_but(r, NULL);
    while (r->n > 0) {
        settle_one(r);
    }
    return r->status == EXIT_OK ? status : r->status;
}

static void say_how_far(const struct removing *r)
{
    if (r->n_removed > 0 || r->n_unknown > 0) {
        cli_error(r->cli,
                  "%s: until then %" PRId64 " nodes were removed, and %" PRId64
                  " more may have been",
                  r->top, r->n_removed, r->n_unknown);
    }
}

int remove_subtree(struct cli *cli, const char *top, struct pawl_condition only_if)
{
    struct removing r = {.cli = cli, .top = top, .only_if = only_if, .answers = answers_new()};
    int status = EXIT_OK;

    for (int i = 0; i == 0 || (i < ROUNDS_MAX && status == EXIT_OK && r.is_not_empty); i++) {
        status = remove_once(&r);
    }
    if (status == EXIT_OK && r.is_not_empty) {
        status = cli_report(cli, top, PAWL_ERR_NOT_EMPTY);
    }
    if (status != EXIT_OK) {
        say_how_far(&r);
    }
    free(r.open);
    answers_free(r.answers);
    return status;
}
