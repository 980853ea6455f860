/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/importing.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/answers.h"
#include "cli/walk.h"

static struct pawl_bytes bytes_for(const struct imported *n)
{
    struct pawl_bytes none = {0};

    return n->has_data
               ? (struct pawl_bytes){n->data.len > 0 ? (const void *)n->data.data : "", n->data.len}
               : none;
}

static enum pawl_mode mode_for(const struct importing *im, const struct imported *n)
{
    if (im->is_plain || (!n->is_container && n->ttl_ms == 0)) {
        return PAWL_MODE_PERSISTENT;
    }
    return n->is_container ? PAWL_MODE_CONTAINER : PAWL_MODE_TTL;
}

static struct pawl_create request_for(const struct importing *im, const struct imported *n)
{
    return (struct pawl_create){.size = sizeof(struct pawl_create),
                                .path = n->path,
                                .data = bytes_for(n),
                                .mode = mode_for(im, n),
                                .ttl_ms = im->is_plain ? 0 : n->ttl_ms,
                                .acls = n->acls};
}

/* ---- what the answers say ---- */

static int overwrite(struct importing *im, const struct imported *n)
{
    struct pawl_set set = {.size = sizeof(set), .path = n->path, .data = bytes_for(n)};
    struct pawl_set_acl set_acl = {.size = sizeof(set_acl), .path = n->path, .acls = n->acls};
    struct pawl_reply *reply;
    int status;

    pawl_set(im->cli->client, &set, &reply);
    status = cli_check(im->cli, n->path, reply);
    pawl_reply_free(reply);
    if (status == EXIT_OK && n->acls.n > 0) {
        pawl_set_acl(im->cli->client, &set_acl, &reply);
        status = cli_check(im->cli, n->path, reply);
        pawl_reply_free(reply);
    }
    im->n_changed += status == EXIT_OK;
    return status;
}

/* The root is always there. */
static int meet_existing(struct importing *im, const struct imported *n)
{
    if (im->overwrites) {
        if (im->is_dry) {
            im->n_changed++;
            return EXIT_OK;
        }
        return overwrite(im, n);
    }
    if (im->keeps || strcmp(n->path, "/") == 0) {
        im->n_kept++;
        return EXIT_OK;
    }
    cli_error(im->cli,
              "%s exists already; -k leaves such nodes as they are, -o replaces their data",
              n->path);
    return EXIT_CONFLICT;
}

static int judge(struct importing *im, const struct imported *n, int err, enum pawl_outcome outcome)
{
    switch (err) {
    case PAWL_OK:
        im->n_made++;
        return EXIT_OK;
    case PAWL_ERR_NODE_EXISTS:
        return meet_existing(im, n);
    case PAWL_ERR_NO_NODE:
        cli_error(im->cli, "%s: its parent does not exist; -p makes it", n->path);
        return EXIT_NO_NODE;
    case PAWL_ERR_UNIMPLEMENTED:
        cli_error(im->cli, "%s: this server has no %s; -P makes plain nodes of them", n->path,
                  n->ttl_ms > 0 ? "nodes with a TTL" : "containers");
        return EXIT_REFUSED;
    default:
        im->n_unknown += outcome == PAWL_OUTCOME_UNKNOWN;
        return cli_report_change(im->cli, n->path, err, outcome);
    }
}

/* All that was sent behind it has failed for the same reason, or has nothing to do with it. */
static int make_with_parents(struct importing *im, const struct imported *n)
{
    struct pawl_create request = request_for(im, n);
    struct pawl_reply *reply;
    int status;

    request.flags = PAWL_OP_PARENTS;
    pawl_create(im->cli->client, &request, &reply);
    status = reply == NULL ? cli_check(im->cli, n->path, reply)
                           : judge(im, n, reply->err, reply->outcome);
    pawl_reply_free(reply);
    return status;
}

/* Of a dry run the answer is whether there is such a node. */
static int judge_look(struct importing *im, const struct imported *n, int err)
{
    if (err == PAWL_ERR_NO_NODE) {
        im->n_made++;
        return EXIT_OK;
    }
    return err == PAWL_OK ? meet_existing(im, n) : cli_report(im->cli, n->path, err);
}

/* After a failure (`status`) only what has become of it counts. */
static int judge_answer(struct importing *im, const struct sent_node *s, int status)
{
    const struct answer *a = s->answer;

    if (status != EXIT_OK) {
        im->n_made += !im->is_dry && a->err == PAWL_OK;
        im->n_unknown += a->outcome == PAWL_OUTCOME_UNKNOWN;
        return status;
    }
    if (im->is_dry) {
        return judge_look(im, &s->node, a->err);
    }
    if (im->makes_parents && a->err == PAWL_ERR_NO_NODE) {
        return make_with_parents(im, &s->node);
    }
    return judge(im, &s->node, a->err, a->outcome);
}

/* ---- the window ---- */

static size_t weight_of(const struct imported *n)
{
    return n->data.len + strlen(n->path);
}

/* The oldest one. With a signal it is not known what becomes of the rest. */
static int settle_one(struct importing *im, int status)
{
    struct sent_node *s = &im->sent[im->first];
    int reader_line = im->cli->line;

    if (answer_wait(s->answer)) {
        im->cli->line = s->line;
        status = judge_answer(im, s, status);
        im->cli->line = reader_line;
    } else {
        im->n_unknown++;
        status = EXIT_SIGNAL + cli_signal();
    }
    im->n_bytes -= weight_of(&s->node);
    answer_free(s->answer);
    imported_fini(&s->node);
    im->first = (im->first + 1) % IMPORTING_MAX;
    im->n--;
    return status;
}

static int settle_all(struct importing *im, int status)
{
    while (im->n > 0) {
        status = settle_one(im, status);
    }
    return status;
}

static int make_room(struct importing *im, size_t n_bytes)
{
    int status = EXIT_OK;

    while (status == EXIT_OK && im->n > 0 &&
           (im->n == IMPORTING_MAX || im->n_bytes + n_bytes > IMPORTING_BYTES)) {
        status = settle_one(im, status);
    }
    return status;
}

static void send_node(struct importing *im, struct sent_node *s)
{
    struct pawl_create request = request_for(im, &s->node);
    struct pawl_client *c = im->cli->client;
    int err;

    s->answer = answer_new(im->answers);
    if (im->is_dry) {
        err = pawl_exists_async(c, s->node.path, NULL, answer_came, s->answer);
    } else if (strcmp(s->node.path, "/") == 0) {
        err = PAWL_ERR_NODE_EXISTS;
    } else {
        err = pawl_create_async(c, &request, answer_came, s->answer);
    }
    answer_asked(s->answer, err);
}

/* Below the top that it was exported from, the node is at `path`. */
static void move_below(struct imported *n, const char *top)
{
    char *path = strcmp(n->path, "/") == 0 ? must_strdup(top) : path_joined(top, n->path + 1);

    free(n->path);
    n->path = path;
}

/* ---- */

void importing_begin(struct importing *im)
{
    im->answers = answers_new();
}

int importing_add(struct importing *im, struct imported *n)
{
    struct sent_node *s;
    int status;

    if (n->is_ephemeral) {
        im->n_ephemeral++;
        return EXIT_OK;
    }
    move_below(n, im->top);
    status = make_room(im, weight_of(n));
    if (status == EXIT_OK && !im->is_dry) {
        counters_pass(&im->counters, n->path, n->sequence);
        if (counters_are_many(&im->counters)) {
            status = settle_all(im, status);
            status = status == EXIT_OK ? counters_raise(&im->counters) : status;
        }
    }
    if (status != EXIT_OK) {
        return status;
    }
    s = &im->sent[(im->first + im->n++) % IMPORTING_MAX];
    *s = (struct sent_node){.node = *n, .line = im->cli->line};
    imported_init(n);
    im->n_bytes += weight_of(&s->node);
    send_node(im, s);
    if (!im->has_begun) { /* if even the first one fails, nothing else is to be done */
        im->has_begun = true;
        return settle_all(im, EXIT_OK);
    }
    return EXIT_OK;
}

int importing_end(struct importing *im, int status)
{
    status = settle_all(im, status);
    answers_free(im->answers);
    return counters_end(&im->counters, status);
}
