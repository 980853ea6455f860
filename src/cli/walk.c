/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/answers.h"

/* How far we look ahead: so many places, if their answers do not take more than this together. The
 * next few are asked for in any case. */
enum { AHEAD_MAX = 128, AHEAD_MIN = 4, LOOKS_MAX = 1024, AHEAD_BYTES = 512 * 1024 };

/* A long list is asked for when it is nearly its turn. */
enum { LONG_LIST = 64 };

/* What was asked about one node. NULL: not, or not yet. */
struct look {
    struct answer *first, *acls, *children;
};

/* Still to be visited, the next one last: a tree may be deeper than our stack. */
struct ahead {
    struct place {
        char *path;
        int depth;
        bool is_asked;
        struct look look;
    } * items;
    size_t n, capacity;
    size_t n_looks;      /* places that were asked for */
    size_t answer_bytes; /* what an answer takes, rather more than less */
    struct answers *answers;
};

static void ahead_add(struct ahead *a, char *path, int depth)
{
    if (a->n == a->capacity) {
        a->capacity = 2 * a->capacity + 64;
        a->items = must_realloc(a->items, a->capacity * sizeof(*a->items));
    }
    a->items[a->n++] = (struct place){.path = path, .depth = depth};
}

char *path_joined(const char *parent, const char *name)
{
    size_t len = strlen(parent), size = len + strlen(name) + 2;
    char *path = must_alloc(size);

    snprintf(path, size, "%s%s%s", parent, len > 0 && parent[len - 1] == '/' ? "" : "/", name);
    return path;
}

static int by_name_backwards(const void *a, const void *b)
{
    return strcmp(*(const char *const *)b, *(const char *const *)a);
}

static void add_children(struct ahead *a, const struct place *parent,
                         const struct pawl_strings *names)
{
    const char **sorted = must_alloc((names->n + 1) * sizeof(*sorted));

    if (names->n > 0) {
        memcpy(sorted, names->items, names->n * sizeof(*sorted));
    }
    qsort(sorted, names->n, sizeof(*sorted), by_name_backwards);
    for (size_t i = 0; i < names->n; i++) {
        ahead_add(a, path_joined(parent->path, sorted[i]), parent->depth + 1);
    }
    free(sorted);
}

static bool may_have_children(const struct walk *w, int depth)
{
    return !w->is_limited || depth < w->max_depth;
}

/* ---- looking ahead ---- */

static bool is_read(const struct answer *a)
{
    return a != NULL && a->is_there && a->err == PAWL_OK;
}

static struct answer *ask_children(const struct walk *w, struct ahead *ahead, const char *path)
{
    struct answer *a = answer_new(ahead->answers);

    answer_asked(a, pawl_children_async(w->cli->client, path, NULL, answer_came, a));
    return a;
}

/* One request where one will do: a list of children has the stat of the parent with it, and data
 * have the number of children. */
static void ask(const struct walk *w, struct ahead *ahead, struct place *place)
{
    struct pawl_client *c = w->cli->client;
    struct look *l = &place->look;

    if (!w->with_data && may_have_children(w, place->depth)) {
        l->first = ask_children(w, ahead, place->path);
    } else {
        l->first = answer_new(ahead->answers);
        answer_asked(l->first, (w->with_data ? pawl_get_async : pawl_exists_async)(
                                   c, place->path, NULL, answer_came, l->first));
    }
    if (w->with_acls) {
        l->acls = answer_new(ahead->answers);
        answer_asked(l->acls, pawl_get_acl_async(c, place->path, answer_came, l->acls));
    }
    place->is_asked = true;
    ahead->n_looks++;
}

static bool wants_list(const struct walk *w, const struct place *place)
{
    return w->with_data && place->look.children == NULL && may_have_children(w, place->depth) &&
           is_read(place->look.first) && place->look.first->stat.n_children > 0;
}

/* From the next one on; `i` is how many are before it. */
static void look_ahead(const struct walk *w, struct ahead *ahead)
{
    for (size_t i = 0; i < ahead->n && i < AHEAD_MAX; i++) {
        struct place *place = &ahead->items[ahead->n - 1 - i];
        bool is_near = i < AHEAD_MIN;

        if (!place->is_asked) {
            if (!is_near && (ahead->n_looks >= LOOKS_MAX ||
                             ahead->n_looks * ahead->answer_bytes > AHEAD_BYTES)) {
                return;
            }
            ask(w, ahead, place);
        } else if (wants_list(w, place) &&
                   (is_near || place->look.first->stat.n_children <= LONG_LIST)) {
            place->look.children = ask_children(w, ahead, place->path);
        }
    }
}

/* A large answer counts at once, small ones by and by. */
static void note_size(struct ahead *ahead, const struct look *l)
{
    const struct answer *all[] = {l->first, l->acls, l->children};
    size_t n_bytes = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        n_bytes += all[i] != NULL && all[i]->is_there ? all[i]->n_bytes : 0;
    }
    ahead->answer_bytes -= ahead->answer_bytes / 16;
    ahead->answer_bytes = n_bytes > ahead->answer_bytes ? n_bytes : ahead->answer_bytes;
}

static void look_free(struct look *l)
{
    answer_free(l->first);
    answer_free(l->acls);
    answer_free(l->children);
}

/* ---- one node ---- */

/* What is known of it. */
struct found {
    struct walk_node node;
    bool is_gone;
    int status;
};

/* Whether the answer can be used. If not: the node is gone, or may not be read, or `status`. */
static bool is_answered(const struct walk *w, struct found *f, struct answer *a)
{
    if (!answer_wait(a)) {
        f->status = EXIT_SIGNAL + cli_signal();
        return false;
    }
    if (a->err == PAWL_OK) {
        return true;
    }
    if (f->node.depth > 0 && a->err == PAWL_ERR_NO_NODE) {
        f->is_gone = true;
        return false;
    }
    f->status = cli_report(w->cli, f->node.path, a->err);
    if (f->node.depth > 0 && a->err == PAWL_ERR_NO_AUTH) {
        f->node.is_readable = false;
    }
    return false;
}

/* Servers before 3.9 show the stat of any node to everybody. */
static void look_at_closed(const struct walk *w, struct found *f)
{
    struct pawl_reply *reply;

    f->node.data = (struct pawl_bytes){0};
    pawl_exists(w->cli->client, f->node.path, NULL, &reply);
    f->is_gone = reply != NULL && reply->err == PAWL_ERR_NO_NODE;
    f->node.has_stat = reply != NULL && reply->err == PAWL_OK;
    if (f->node.has_stat) {
        f->node.stat = reply->stat;
    }
    pawl_reply_free(reply);
}

static void take_answers(const struct walk *w, struct ahead *ahead, struct place *place,
                         struct found *f)
{
    struct look *l = &place->look;

    if (is_answered(w, f, l->first)) {
        f->node.has_stat = true;
        f->node.stat = l->first->stat;
        f->node.data = l->first->data;
        if (wants_list(w, place)) {
            l->children = ask_children(w, ahead, place->path);
        }
        if (l->acls != NULL && is_answered(w, f, l->acls)) {
            f->node.acls = l->acls->acls;
        }
        if (l->children != NULL && f->status == EXIT_OK && !f->is_gone) {
            is_answered(w, f, l->children);
        }
    }
    if (!f->node.is_readable) {
        look_at_closed(w, f);
    }
}

static int walk_step(const struct walk *w, struct place *place, struct ahead *ahead,
                     bool *is_refused)
{
    struct found f = {.node = {.path = place->path, .depth = place->depth, .is_readable = true}};
    const struct answer *list;

    f.node.name = place->depth > 0 ? strrchr(place->path, '/') + 1 : place->path;
    take_answers(w, ahead, place, &f);
    list = w->with_data ? place->look.children : place->look.first;
    if (!f.node.is_readable) {
        *is_refused = true;
        f.status = EXIT_OK;
    }
    if (f.status == EXIT_OK && !f.is_gone) {
        f.status = w->visit(&f.node, w->arg);
        if (is_read(list) && f.node.is_readable && may_have_children(w, place->depth)) {
            add_children(ahead, place, &list->children);
        }
    }
    note_size(ahead, &place->look);
    return f.status;
}

int walk_tree(const struct walk *w, const char *top)
{
    struct ahead ahead = {.answer_bytes = AHEAD_BYTES / AHEAD_MIN, .answers = answers_new()};
    bool is_refused = false;
    int status = EXIT_OK;

    ahead_add(&ahead, must_strdup(top), 0);
    while (ahead.n > 0) {
        struct place place;

        if (status == EXIT_OK && !ferror(stdout)) {
            look_ahead(w, &ahead);
        }
        place = ahead.items[--ahead.n];
        if (status == EXIT_OK && !ferror(stdout)) {
            status = walk_step(w, &place, &ahead, &is_refused);
        }
        ahead.n_looks -= place.is_asked;
        look_free(&place.look);
        free(place.path);
    }
    free(ahead.items);
    answers_free(ahead.answers);
    return status == EXIT_OK && is_refused ? EXIT_REFUSED : status;
}
