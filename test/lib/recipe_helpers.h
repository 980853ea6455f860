/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_helpers.h - waiting for what recipes do. Include lib/test.h before. */
#ifndef PAWL_TEST_RECIPE_HELPERS_H
#define PAWL_TEST_RECIPE_HELPERS_H

#include <pawl/pawl.h>

#include <arpa/inet.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/client_fixture.h"

static inline int n_nodes(struct pawl_client *c, const char *path)
{
    struct pawl_reply *reply;
    int n = pawl_children(c, path, NULL, &reply) == 0 ? (int)reply->children.n : 0;

    pawl_reply_free(reply);
    return n;
}

static inline void until_nodes(struct pawl_client *c, const char *path, int n)
{
    wait_until(n_nodes(c, path) == n);
}

/* That the server has, of everybody: on data and on children. */
static inline int n_watches(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)client_fixture_port()),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    static char text[1 << 16];
    char *total;
    size_t len = 0;
    ssize_t n;

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(write(fd, "mntr", 4), 4);
    while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
        len += (size_t)n;
    }
    close(fd);
    text[len] = '\0';
    total = strstr(text, "zk_watch_count");
    assert_non_null(total);
    return atoi(total + strlen("zk_watch_count"));
}

static inline void until_watches(int n)
{
    wait_until(n_watches() == n);
}

static inline void until_no_watches(void)
{
    until_watches(0);
}

/* How an asynchronous call ended; 1: not yet. */
struct told {
    sem_t done;
    _Atomic int err;
};

static inline void told_init(struct told *t)
{
    sem_init(&t->done, 0, 0);
    t->err = 1;
}

static inline void told_end(struct told *t, int err)
{
    t->err = err;
    sem_post(&t->done);
}

static inline int told_wait(struct told *t)
{
    wait_semaphore(&t->done);
    return t->err;
}

static inline void tell_lock(struct pawl_lock *l, int err, void *told)
{
    (void)l;
    told_end(told, err);
}

/* What a grant was, last. */
struct grant_log {
    sem_t some;
    _Atomic int last;
};

static inline void log_grant(struct pawl_grant *g, enum pawl_grant_state state, void *arg)
{
    struct grant_log *log = arg;

    (void)g;
    log->last = (int)state;
    sem_post(&log->some);
}

static inline void until_grant(struct grant_log *log, enum pawl_grant_state state)
{
    while (log->last != (int)state) {
        wait_semaphore(&log->some);
    }
}

static inline void grant_delete(struct pawl_client *c, const struct pawl_grant *g)
{
    char path[256];

    pawl_grant_path(g, path, sizeof(path));
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = path), NULL), 0);
}

#endif
