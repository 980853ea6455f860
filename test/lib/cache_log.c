/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lib/cache_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

static int put_node(char *out, size_t size, const struct pawl_node *n)
{
    return snprintf(out, size, "%s=%.24s v%d", n->path,
                    !n->has_data           ? "?"
                    : n->data.data == NULL ? ""
                                           : (const char *)n->data.data,
                    n->stat.version);
}

static void put_event(char *out, size_t size, const struct pawl_cache_event *event)
{
    static const char *const names[] = {
        [PAWL_CACHE_EVENT_CREATED] = "CREATED", [PAWL_CACHE_EVENT_CHANGED] = "CHANGED",
        [PAWL_CACHE_EVENT_DELETED] = "DELETED", [PAWL_CACHE_EVENT_INITIALISED] = "INITIALISED",
        [PAWL_CACHE_EVENT_STALE] = "STALE",     [PAWL_CACHE_EVENT_RESYNCED] = "RESYNCED",
        [PAWL_CACHE_EVENT_ERROR] = "ERROR",
    };
    size_t n = (size_t)snprintf(out, size, "%s", names[event->type]);

    if (event->type == PAWL_CACHE_EVENT_ERROR) {
        snprintf(out + n, size - n, " %s %s", event->path, pawl_error_name(event->err));
    }
    if (event->old_node != NULL) {
        n += (size_t)snprintf(out + n, size - n, " ");
        n += (size_t)put_node(out + n, size - n, event->old_node);
    }
    if (event->new_node != NULL && n < size) {
        n += (size_t)snprintf(out + n, size - n, event->old_node == NULL ? " " : " -> ");
        put_node(out + n, size - n, event->new_node);
    }
}

static void write_down(struct pawl_cache *c, const struct pawl_cache_event *event, void *arg)
{
    struct cache_log *log = arg;

    (void)c;
    pthread_mutex_lock(&log->lock);
    if (log->n < CACHE_LOG_LINES) {
        put_event(log->lines[log->n++], CACHE_LOG_LINE, event);
    }
    pthread_mutex_unlock(&log->lock);
    sem_post(&log->some);
}

void cache_log_open(struct cache_log *log, struct pawl_client *c, const char *path, int depth,
                    int flags, const struct pawl_cache_options *options)
{
    struct pawl_cache_options o = {.size = sizeof(o)};

    memset(log, 0, sizeof(*log));
    sem_init(&log->some, 0, 0);
    pthread_mutex_init(&log->lock, NULL);
    log->lines = calloc(CACHE_LOG_LINES, sizeof(*log->lines));
    assert_non_null(log->lines);
    if (options != NULL) {
        o = *options;
    }
    o.flags |= flags;
    o.on_event = write_down;
    o.on_event_arg = log;
    assert_int_equal(pawl_cache_new(c, path, depth, &o, &log->cache), 0);
}

void cache_log_close(struct cache_log *log)
{
    pawl_cache_free(log->cache);
    free(log->lines);
    sem_destroy(&log->some);
}

const char *cache_log_next(struct cache_log *log)
{
    const char *line;

    wait_semaphore(&log->some);
    pthread_mutex_lock(&log->lock);
    assert_true(log->told < log->n);
    line = log->lines[log->told++];
    pthread_mutex_unlock(&log->lock);
    return line;
}

void cache_log_expect(struct cache_log *log, const char *line)
{
    assert_string_equal(cache_log_next(log), line);
}

void cache_log_expect_both(struct cache_log *log, const char *a, const char *b)
{
    const char *first = cache_log_next(log), *second = cache_log_next(log);

    if (strcmp(first, a) != 0) {
        const char *other = first;

        first = second;
        second = other;
    }
    assert_string_equal(first, a);
    assert_string_equal(second, b);
}

void cache_log_until(struct cache_log *log, const char *line)
{
    while (strncmp(cache_log_next(log), line, strlen(line)) != 0) {
    }
}

void cache_log_until_last(struct cache_log *log, const char *line)
{
    bool last = false;

    while (!last) {
        const char *next = cache_log_next(log);

        pthread_mutex_lock(&log->lock);
        last = log->told == log->n && strcmp(next, line) == 0;
        pthread_mutex_unlock(&log->lock);
    }
}

void cache_log_is_quiet(struct cache_log *log)
{
    pthread_mutex_lock(&log->lock);
    if (log->told < log->n) {
        print_error("not expected: %s\n", log->lines[log->told]);
    }
    assert_int_equal(log->told, log->n);
    pthread_mutex_unlock(&log->lock);
}
