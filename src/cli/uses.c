/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/uses.h"

#include <string.h>

static const struct {
    const char *mark, *also; /* in the name of a node below it */
    const char *what;
} uses[] = {
    {"lock-", NULL, "a plain lock (neither --shared, --write nor --permits)"},
    {"__READ__", "__WRIT__", "a read/write lock (--shared or --write)"},
    {"leases", NULL, "a semaphore (pawl semaphore, or --permits)"},
};
enum { N_USES = sizeof(uses) / sizeof(uses[0]) };

static size_t use_of(enum held_kind kind)
{
    return kind == HELD_LOCK ? 0 : kind == HELD_LEASE ? 2 : 1;
}

static bool is_marked(const char *name, size_t use)
{
    return strstr(name, uses[use].mark) != NULL ||
           (uses[use].also != NULL && strstr(name, uses[use].also) != NULL);
}

static const char *other_use(const char *name, size_t own)
{
    for (size_t use = 0; use < N_USES; use++) {
        if (use != own && is_marked(name, use)) {
            return uses[use].what;
        }
    }
    return NULL;
}

int uses_find_other(struct pawl_client *c, const char *path, enum held_kind kind,
                    const char **other)
{
    struct pawl_reply *reply;
    int err;

    pawl_children(c, path, NULL, &reply);
    err = reply == NULL ? PAWL_ERR_NO_MEMORY : reply->err;
    *other = NULL;
    for (size_t i = 0; err == PAWL_OK && i < reply->children.n && *other == NULL; i++) {
        *other = other_use(reply->children.items[i], use_of(kind));
    }
    pawl_reply_free(reply);
    return err == PAWL_ERR_NO_NODE ? PAWL_OK : err;
}
