/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/answers.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/cli.h"

/* Lives as long as its owner, and as anything that is on its way. */
struct answers {
    pthread_mutex_t lock;
    int came_fd;
    const struct answer *awaited;
    size_t n_users;
};

struct answers *answers_new(void)
{
    struct answers *all = must_zalloc(sizeof(*all));

    pthread_mutex_init(&all->lock, NULL);
    all->came_fd = eventfd(0, EFD_CLOEXEC);
    all->n_users = 1;
    return all;
}

/* With the lock, which it gives back. */
static void leave(struct answers *all)
{
    bool is_last = --all->n_users == 0;

    pthread_mutex_unlock(&all->lock);
    if (is_last) {
        pthread_mutex_destroy(&all->lock);
        close(all->came_fd);
        free(all);
    }
}

void answers_free(struct answers *all)
{
    pthread_mutex_lock(&all->lock);
    leave(all);
}

struct answer *answer_new(struct answers *all)
{
    struct answer *a = must_zalloc(sizeof(*a));

    a->all = all;
    pthread_mutex_lock(&all->lock);
    all->n_users++;
    pthread_mutex_unlock(&all->lock);
    return a;
}

static void throw_away(struct answer *a)
{
    free(a->memory);
    free(a);
}

void answer_free(struct answer *a)
{
    struct answers *all = a != NULL ? a->all : NULL;

    if (a == NULL) {
        return;
    }
    pthread_mutex_lock(&all->lock);
    if (!a->is_there) {
        a->is_unwanted = true;
        pthread_mutex_unlock(&all->lock);
        return;
    }
    throw_away(a);
    leave(all);
}

/* ---- a copy: the pointers, then what they point to ---- */

static size_t size_of(const struct pawl_reply *reply)
{
    size_t size = reply->data.len + 1 + reply->children.n * sizeof(char *) +
                  reply->acls.n * sizeof(struct pawl_acl);

    for (size_t i = 0; i < reply->children.n; i++) {
        size += strlen(reply->children.items[i]) + 1;
    }
    for (size_t i = 0; i < reply->acls.n; i++) {
        size += strlen(reply->acls.items[i].scheme) + strlen(reply->acls.items[i].id) + 2;
    }
    return size;
}

static const char *put_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);

    *at += size;
    return copy;
}

static void copy_parts(struct answer *a, const struct pawl_reply *reply)
{
    const char **names = a->memory;
    struct pawl_acl *acls = (struct pawl_acl *)(void *)(names + reply->children.n);
    char *at = (char *)(acls + reply->acls.n);

    for (size_t i = 0; i < reply->children.n; i++) {
        names[i] = put_text(&at, reply->children.items[i]);
    }
    for (size_t i = 0; i < reply->acls.n; i++) {
        acls[i] = (struct pawl_acl){.perms = reply->acls.items[i].perms,
                                    .scheme = put_text(&at, reply->acls.items[i].scheme),
                                    .id = put_text(&at, reply->acls.items[i].id)};
    }
    a->children = (struct pawl_strings){.items = names, .n = reply->children.n};
    a->acls = (struct pawl_acls){.items = acls, .n = reply->acls.n};
    if (reply->data.data !=
        NULL) { /* there may be no data, which is not the same as none of them */
        memcpy(at, reply->data.data, reply->data.len);
        at[reply->data.len] =
            '\0'; /* as behind a reply's: who looks at them as text finds an end */
        a->data = (struct pawl_bytes){at, reply->data.len};
    }
}

static void copy_reply(struct answer *a, const struct pawl_reply *reply)
{
    a->err = reply->err;
    a->outcome = reply->outcome;
    a->stat = reply->stat;
    a->n_bytes = size_of(reply);
    a->memory = must_alloc(a->n_bytes);
    a->n_bytes += sizeof(*a);
    copy_parts(a, reply);
}

/* ---- */

static void is_there_now(struct answer *a)
{
    struct answers *all = a->all;

    pthread_mutex_lock(&all->lock);
    if (a->is_unwanted) {
        throw_away(a);
        leave(all);
        return;
    }
    a->is_there = true;
    if (all->awaited == a) {
        eventfd_write(all->came_fd, 1);
    }
    pthread_mutex_unlock(&all->lock);
}

void answer_came(const struct pawl_reply *reply, void *answer)
{
    struct answer *a = answer;

    copy_reply(a, reply);
    is_there_now(a);
}

void answer_asked(struct answer *a, int err)
{
    if (err != PAWL_OK) {
        a->err = err;
        a->outcome = PAWL_OUTCOME_NOT_SENT;
        is_there_now(a);
    }
}

bool answer_wait(struct answer *a)
{
    struct answers *all = a->all;
    eventfd_t n;

    if (a->is_there) {
        return true;
    }
    pthread_mutex_lock(&all->lock);
    all->awaited = a->is_there ? NULL : a;
    pthread_mutex_unlock(&all->lock);
    while (!a->is_there && cli_signal() == 0) {
        cli_wait(all->came_fd);
    }
    pthread_mutex_lock(&all->lock);
    if (all->awaited == a && a->is_there) {
        eventfd_read(all->came_fd, &n);
    }
    all->awaited = NULL;
    pthread_mutex_unlock(&all->lock);
    return a->is_there;
}
