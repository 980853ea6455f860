/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client/prepare.h"
#include "recipes/discovery/discovery.h"

static bool is_part(const char *name)
{
    return name != NULL && name[0] != '\0' && strchr(name, '/') == NULL;
}

int service_path(const char *base, const char *name, const char *id, char **out)
{
    char *folder, *path;

    if (!is_part(name) || (id != NULL && !is_part(id))) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    folder = recipe_join(base, name);
    path = folder == NULL || id == NULL ? folder : recipe_join(folder, id);
    if (path != folder) {
        free(folder);
    }
    if (path == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    if (!prepare_is_good_path(path, false)) {
        free(path);
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    *out = path;
    return 0;
}

/* Our own view has no timeout; the user's has. */
static int user_view(const struct pawl_discovery *d, struct pawl_client **out)
{
    struct pawl_view_options o = {.size = sizeof(o)};

    if (d == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    o.timeout_ms = d->r.timeout_ms;
    return pawl_client_view(d->r.client, &o, out);
}

int pawl_discovery_names(struct pawl_discovery *d, struct pawl_reply **out)
{
    struct pawl_client *view;
    int rc = user_view(d, &view);

    if (out != NULL) {
        *out = NULL;
    }
    if (rc == 0) {
        rc = pawl_children(view, d->base, NULL, out);
        pawl_client_close(view);
    }
    return rc;
}

static int read_one(struct pawl_client *c, const char *path, struct pawl_instance **out)
{
    struct pawl_reply *reply = NULL;
    int rc = pawl_get(c, path, NULL, &reply);

    rc = rc != 0 ? rc : pawl_instance_from_json(reply->data, out);
    pawl_reply_free(reply);
    return rc;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Nodes that went meanwhile, or hold something else, are left out. */
static int read_each(struct pawl_client *c, const char *folder, const struct pawl_strings *names,
                     struct pawl_instance **items, size_t *n)
{
    const char **sorted = malloc((names->n + 1) * sizeof(*sorted));
    int rc = sorted == NULL ? PAWL_ERR_NO_MEMORY : 0;

    if (sorted != NULL && names->n > 0) {
        memcpy(sorted, names->items, names->n * sizeof(*sorted));
        qsort(sorted, names->n, sizeof(*sorted), by_text);
    }
    for (size_t i = 0; rc == 0 && i < names->n; i++) {
        char *path = recipe_join(folder, sorted[i]);

        rc = path == NULL ? PAWL_ERR_NO_MEMORY : read_one(c, path, &items[*n]);
        *n += rc == 0;
        rc = rc == PAWL_ERR_NO_NODE || rc == PAWL_ERR_CORRUPT ? 0 : rc;
        free(path);
    }
    free(sorted);
    return rc;
}

static int query_read_all(struct pawl_client *c, const char *folder,
                          const struct pawl_strings *names, struct pawl_instances **out)
{
    struct pawl_instance **items = calloc(names->n + 1, sizeof(*items));
    size_t n = 0;
    int rc = items == NULL ? PAWL_ERR_NO_MEMORY : read_each(c, folder, names, items, &n);

    if (rc == 0) {
        rc = instances_new(items, n, out);
    } else {
        while (n > 0) {
            pawl_instance_free(items[--n]);
        }
    }
    free(items);
    return rc;
}

int pawl_discovery_instances(struct pawl_discovery *d, const char *name,
                             struct pawl_instances **out)
{
    struct pawl_reply *reply = NULL;
    struct pawl_client *view = NULL;
    char *folder = NULL;
    int rc = out == NULL ? PAWL_ERR_BAD_ARGUMENTS : user_view(d, &view);

    if (out != NULL) {
        *out = NULL;
    }
    rc = rc != 0 ? rc : service_path(d->base, name, NULL, &folder);
    rc = rc != 0 ? rc : pawl_children(view, folder, NULL, &reply);
    if (rc == 0) {
        rc = query_read_all(view, folder, &reply->children, out);
    } else if (rc == PAWL_ERR_NO_NODE) {
        rc = instances_new(NULL, 0, out);
    }
    pawl_reply_free(reply);
    free(folder);
    pawl_client_close(view);
    return rc;
}

int pawl_discovery_instance(struct pawl_discovery *d, const char *name, const char *id,
                            struct pawl_instance **out)
{
    struct pawl_client *view = NULL;
    char *path = NULL;
    int rc = out == NULL || id == NULL ? PAWL_ERR_BAD_ARGUMENTS : user_view(d, &view);

    if (out != NULL) {
        *out = NULL;
    }
    rc = rc != 0 ? rc : service_path(d->base, name, id, &path);
    rc = rc != 0 ? rc : read_one(view, path, out);
    free(path);
    pawl_client_close(view);
    return rc;
}
