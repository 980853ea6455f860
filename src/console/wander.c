/* SPDX-License-Identifier: Apache-2.0 */
#include "console/wander.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *joined(const char *parent, const char *name)
{
    size_t size = strlen(parent) + strlen(name) + 2;
    char *path = must_alloc(size);

    snprintf(path, size, "%s%s%s", parent, strcmp(parent, "/") == 0 ? "" : "/", name);
    return path;
}

static void push(struct wander *w, const char *path, struct pawl_reply *reply)
{
    struct wander_folder f = {.path = must_strdup(path), .reply = reply, .n = reply->children.n};

    f.names = must_alloc((f.n + 1) * sizeof(*f.names));
    if (f.n > 0) {
        memcpy(f.names, reply->children.items, f.n * sizeof(*f.names));
        qsort(f.names, f.n, sizeof(*f.names), by_name);
    }
    if (w->n == w->capacity) {
        w->capacity = 2 * w->capacity + 16;
        w->folders = must_realloc(w->folders, w->capacity * sizeof(*w->folders));
    }
    w->folders[w->n++] = f;
}

static void pop(struct wander *w)
{
    struct wander_folder *f = &w->folders[--w->n];

    pawl_reply_free(f->reply);
    free(f->names);
    free(f->path);
}

static int list(struct wander *w, const char *path)
{
    struct pawl_reply *reply = NULL;
    int err = pawl_children(w->client, path, NULL, &reply);

    if (err == PAWL_OK) {
        push(w, path, reply);
    } else {
        pawl_reply_free(reply);
    }
    return err;
}

/* Past `name` and all before it. */
static void skip_to(struct wander_folder *f, const char *name, size_t len)
{
    while (f->next < f->n) {
        int order = strncmp(f->names[f->next], name, len);

        if (order > 0 || (order == 0 && f->names[f->next][len] != '\0')) {
            return;
        }
        f->next++;
    }
}

/* Down from the top to `after`. What is gone on the way ends it: the rest of it is gone, too. */
static void go_behind(struct wander *w, const char *top, const char *after)
{
    size_t at = strcmp(top, "/") == 0 ? 0 : strlen(top);
    char *path = must_strdup(after);

    if (list(w, top) == PAWL_OK) {
        while (after[at] == '/' && after[at + 1] != '\0') {
            size_t len = strcspn(after + at + 1, "/");

            skip_to(&w->folders[w->n - 1], after + at + 1, len);
            at += 1 + len;
            path[at] = '\0';
            if (list(w, path) != PAWL_OK) {
                break;
            }
            path[at] = after[at];
        }
    }
    free(path);
}

void wander_begin(struct wander *w, struct pawl_client *client, const char *top, const char *after)
{
    *w = (struct wander){.client = client, .path = must_strdup(top), .is_begun = after != NULL};
    if (after != NULL) {
        go_behind(w, top, after);
    }
}

void wander_fini(struct wander *w)
{
    while (w->n > 0) {
        pop(w);
    }
    free(w->folders);
    free(w->path);
}

const char *wander_next(struct wander *w)
{
    struct wander_folder *f;

    if (!w->is_begun) {
        w->is_begun = true;
        return w->path;
    }
    while (w->n > 0 && w->folders[w->n - 1].next == w->folders[w->n - 1].n) {
        pop(w);
    }
    if (w->n == 0) {
        return NULL;
    }
    f = &w->folders[w->n - 1];
    free(w->path);
    w->path = joined(f->path, f->names[f->next++]);
    return w->path;
}

int wander_enter(struct wander *w, const struct pawl_reply **children)
{
    int err = list(w, w->path);

    if (err == PAWL_OK) {
        *children = w->folders[w->n - 1].reply;
    }
    return err;
}

void wander_leave(struct wander *w)
{
    pop(w);
}
