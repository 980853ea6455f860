/* SPDX-License-Identifier: Apache-2.0 */
/* cache_log.h - a cache whose events are written down: "CREATED /a=data v0",
 * "CHANGED /a=1 v0 -> /a=2 v1", "DELETED /a=2 v1", "INITIALISED", "ERROR /a NO_AUTH"; data that are
 * not there are "?". */
#ifndef PAWL_TEST_CACHE_LOG_H
#define PAWL_TEST_CACHE_LOG_H

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#include "pawl/cache.h"

enum { CACHE_LOG_LINES = 65536, CACHE_LOG_LINE = 112 };

struct cache_log {
    struct pawl_cache *cache;
    sem_t some;
    pthread_mutex_t lock;
    int n, told; /* written down, looked at */
    char (*lines)[CACHE_LOG_LINE];
};

/* `options` NULL: none but `flags`. */
void cache_log_open(struct cache_log *log, struct pawl_client *c, const char *path, int depth,
                    int flags, const struct pawl_cache_options *options);
void cache_log_close(struct cache_log *log);

/* The next event, when it has come. */
const char *cache_log_next(struct cache_log *log);

/* The next event is this one. */
void cache_log_expect(struct cache_log *log, const char *line);

/* The next two are these, in one order or the other: siblings are read in the server's order. */
void cache_log_expect_both(struct cache_log *log, const char *a, const char *b);

/* Passes events over up to one that begins so. */
void cache_log_until(struct cache_log *log, const char *line);

/* Waits until the last event that has come is this one. */
void cache_log_until_last(struct cache_log *log, const char *line);

/* No event has come beyond those looked at. */
void cache_log_is_quiet(struct cache_log *log);

#endif
