/* SPDX-License-Identifier: Apache-2.0 */
/* api_search.c - nodes by their name or their content, so many at a time. */
#include <string.h>

#include "console/call.h"
#include "console/request.h"
#include "console/wander.h"
#include "os/clock.h"
#include "wire/path.h"

/* Of one request; the next goes on behind it. */
enum { NODES_MAX = 5000, FOUND_MAX = 200, SEARCH_MS = 2000 };

struct search {
    struct call *call;
    const char *name, *content; /* NULL: whatever it is */
    json_t *found;
    int64_t n_looked_at;
};

static bool has_name(const struct search *s, const char *path)
{
    return s->name == NULL || strcasestr(strrchr(path, '/') + 1, s->name) != NULL;
}

static bool has_content(const struct search *s, const char *path)
{
    struct pawl_reply *reply = NULL;
    bool has;

    if (s->content == NULL) {
        return true;
    }
    has = pawl_get(s->call->client, path, NULL, &reply) == PAWL_OK &&
          memmem(reply->data.data, reply->data.len, s->content, strlen(s->content)) != NULL;
    pawl_reply_free(reply);
    return has;
}

/* NULL: all has been looked at. The path to go on behind, lent by the walk. */
static const char *look(struct search *s, struct wander *w, int *err)
{
    int64_t end_ms = clock_monotonic_ms() + SEARCH_MS;
    const struct pawl_reply *children;
    const char *path;

    while ((path = wander_next(w)) != NULL) {
        if (has_name(s, path) && has_content(s, path)) {
            json_array_append_new(s->found, json_of_text(path));
        }
        *err = wander_enter(w, &children);
        if (*err != PAWL_OK && *err != PAWL_ERR_NO_NODE && *err != PAWL_ERR_NO_AUTH) {
            return NULL;
        }
        if (++s->n_looked_at == NODES_MAX || json_array_size(s->found) == FOUND_MAX ||
            clock_monotonic_ms() > end_ms) {
            break;
        }
    }
    *err = PAWL_OK;
    return path;
}

void api_search(struct call *c)
{
    const char *const *arguments = c->request->arguments;
    const char *top = call_path(c), *after = arguments[ARGUMENT_AFTER], *next;
    struct search s = {
        .call = c, .name = arguments[ARGUMENT_NAME], .content = arguments[ARGUMENT_CONTENT]};
    struct wander w;
    int err = PAWL_OK;

    if (top == NULL) {
        return;
    }
    if ((s.name == NULL && s.content == NULL) ||
        (after != NULL &&
         (!request_path(after) || !path_is_within(bytes_str(after), bytes_str(top))))) {
        call_fail(c, 400, "BAD_ARGUMENTS", "name or content is needed; after is a path below path");
        return;
    }
    s.found = json_array();
    wander_begin(&w, c->client, top, after);
    next = look(&s, &w, &err);
    json_object_set_new(c->out, "found", s.found);
    json_object_set_new(c->out, "n_looked_at", json_integer(s.n_looked_at));
    json_object_set_new(c->out, "next", next != NULL ? json_of_text(next) : json_null());
    if (err != PAWL_OK) {
        call_fail_with(c, top, err);
    }
    wander_fini(&w);
}
