/* SPDX-License-Identifier: Apache-2.0 */
/* cycles.c - opens and closes the same thing again and again, and says what memory it has.
 *
 *   cycles SERVERS WHAT N
 *
 * Prints "DONE HEAP RSS" ten times on the way: how many were done, bytes of the heap in use, and
 * kilobytes resident. Then waits for a line on its standard input with the connection still open,
 * so that the server can be looked at. */
#include <malloc.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pawl/barrier.h>
#include <pawl/cache.h>
#include <pawl/counter.h>
#include <pawl/discovery.h>
#include <pawl/election.h>
#include <pawl/group.h>
#include <pawl/lock.h>
#include <pawl/queue.h>
#include <pawl/rwlock.h>
#include <pawl/semaphore.h>

enum { WAIT_MS = 30000 };

static const char *servers;
static struct pawl_lock *kept; /* for "acquire" */

static void must(int rc, const char *what)
{
    if (rc != PAWL_OK) {
        fprintf(stderr, "cycles: %s: %s\n", what, pawl_error_name(rc));
        exit(1);
    }
}

static void acquire_and_release(struct pawl_lock *l)
{
    must(pawl_lock_acquire(l, WAIT_MS), "acquire");
    must(pawl_lock_release(l), "release");
}

static struct pawl_client *open_client(void)
{
    struct pawl_client_options options;
    struct pawl_client *c;

    pawl_client_options_init(&options);
    options.servers = servers;
    must(pawl_client_open(&options, &c), "open");
    must(pawl_client_wait_connected(c, WAIT_MS), "connect");
    return c;
}

/* ---- one cycle of each kind ---- */

static void cycle_acquire(struct pawl_client *c)
{
    if (kept == NULL) {
        must(pawl_lock_new(c, "/cycles/acquire", NULL, &kept), "new");
    }
    acquire_and_release(kept);
}

static void cycle_lock(struct pawl_client *c)
{
    struct pawl_lock *l;

    must(pawl_lock_new(c, "/cycles/lock", NULL, &l), "new");
    acquire_and_release(l);
    pawl_lock_free(l);
}

static void ignore(struct pawl_lock *l, int err, void *arg)
{
    (void)l;
    (void)err;
    (void)arg;
}

/* Two in one queue: with a watch that fires, and one that is taken back. */
static void cycle_queue(struct pawl_client *c)
{
    struct pawl_lock *first, *second;

    must(pawl_lock_new(c, "/cycles/queue", NULL, &first), "new");
    must(pawl_lock_new(c, "/cycles/queue", NULL, &second), "new");
    must(pawl_lock_acquire(first, WAIT_MS), "acquire");
    if (pawl_lock_acquire(second, 1) != PAWL_ERR_OPERATION_TIMEOUT) {
        must(PAWL_ERR_INVALID_STATE, "both have it");
    }
    must(pawl_lock_acquire_async(second, WAIT_MS, ignore, NULL), "acquire");
    must(pawl_lock_release(first), "release");
    must(pawl_lock_acquire(second, WAIT_MS), "acquire");
    pawl_lock_free(second); /* releases it, in the background */
    pawl_lock_free(first);
}

static void cycle_rwlock(struct pawl_client *c)
{
    struct pawl_rwlock *rw;

    must(pawl_rwlock_new(c, "/cycles/rw", NULL, &rw), "new");
    acquire_and_release(pawl_rwlock_reader(rw));
    acquire_and_release(pawl_rwlock_writer(rw));
    pawl_rwlock_free(rw);
}

static void cycle_semaphore(struct pawl_client *c)
{
    struct pawl_semaphore_options options = {.size = sizeof(options), .max_leases = 2};
    struct pawl_semaphore *s;
    struct pawl_lease *lease;

    must(pawl_semaphore_new(c, "/cycles/semaphore", &options, &s), "new");
    must(pawl_semaphore_acquire(s, WAIT_MS, &lease), "acquire");
    must(pawl_lease_release(lease), "release");
    pawl_semaphore_free(s);
}

static void cycle_latch(struct pawl_client *c)
{
    struct pawl_latch *l;

    must(pawl_latch_new(c, "/cycles/latch", NULL, &l), "new");
    must(pawl_latch_start(l), "start");
    must(pawl_latch_wait(l, WAIT_MS), "await");
    must(pawl_latch_close(l, PAWL_LATCH_CLOSE_SILENT), "close");
    pawl_latch_free(l);
}

static void cycle_barrier(struct pawl_client *c)
{
    struct pawl_double_barrier *b;

    must(pawl_double_barrier_new(c, "/cycles/barrier", 1, &b), "new");
    must(pawl_double_barrier_enter(b, WAIT_MS), "enter");
    must(pawl_double_barrier_leave(b, WAIT_MS), "leave");
    pawl_double_barrier_free(b);
}

static void cycle_count(struct pawl_client *c)
{
    struct pawl_shared_count *s;

    must(pawl_shared_count_new(c, "/cycles/count", 0, NULL, NULL, &s), "new");
    must(pawl_shared_count_start(s), "start");
    must(pawl_shared_count_set(s, 7), "set");
    pawl_shared_count_free(s);
}

static void cycle_cache(struct pawl_client *c)
{
    struct pawl_cache *cache;

    must(pawl_cache_new(c, "/cycles", -1, NULL, &cache), "new");
    must(pawl_cache_wait(cache, WAIT_MS), "wait");
    pawl_cache_free(cache);
}

static void cycle_group(struct pawl_client *c)
{
    struct pawl_group *g;

    must(pawl_group_join(c, "/cycles/group", "me", NULL, &g), "join");
    must(pawl_group_wait(g, WAIT_MS), "wait");
    pawl_group_leave(g);
}

static void cycle_discovery(struct pawl_client *c)
{
    struct pawl_discovery *d;

    must(pawl_discovery_new(c, "/cycles/services", &d), "new");
    must(pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "1"), WAIT_MS), "register");
    must(pawl_discovery_unregister(d, "web", "1", WAIT_MS), "unregister");
    pawl_discovery_free(d);
}

static void lead(struct pawl_selector *s, uint64_t token, void *arg)
{
    (void)s;
    (void)token;
    must(sem_post(arg) == 0 ? PAWL_OK : PAWL_ERR_INVALID_STATE, "post");
}

static void cycle_selector(struct pawl_client *c)
{
    struct pawl_selector_options options = {.size = sizeof(options), .lead = lead};
    struct pawl_selector *s;
    sem_t led;

    sem_init(&led, 0, 0);
    options.arg = &led;
    must(pawl_selector_new(c, "/cycles/selector", &options, &s), "new");
    must(pawl_selector_start(s), "start");
    while (sem_wait(&led) != 0) {
    }
    pawl_selector_free(s);
    sem_destroy(&led);
}

static int consume(struct pawl_queue *q, const struct pawl_item *item, void *arg)
{
    (void)q;
    (void)item;
    return sem_post(arg);
}

static void cycle_items(struct pawl_client *c)
{
    struct pawl_queue_options options = {
        .size = sizeof(options), .consumer = consume, .lock_path = "/cycles/items-locks"};
    struct pawl_queue *q;
    sem_t consumed;

    sem_init(&consumed, 0, 0);
    options.consumer_arg = &consumed;
    must(pawl_queue_new(c, "/cycles/items", &options, &q), "new");
    must(pawl_queue_put(q, PAWL_PUT(.item = {"x", 1}), WAIT_MS), "put");
    while (sem_wait(&consumed) != 0) {
    }
    pawl_queue_free(q);
    sem_destroy(&consumed);
}

static void cycle_client(struct pawl_client *c)
{
    (void)c;
    pawl_client_close(open_client());
}

static const struct kind {
    const char *name;
    void (*run)(struct pawl_client *c);
} kinds[] = {
    {"acquire", cycle_acquire}, {"lock", cycle_lock},           {"queue", cycle_queue},
    {"rwlock", cycle_rwlock},   {"latch", cycle_latch},         {"semaphore", cycle_semaphore},
    {"barrier", cycle_barrier}, {"count", cycle_count},         {"cache", cycle_cache},
    {"group", cycle_group},     {"discovery", cycle_discovery}, {"selector", cycle_selector},
    {"items", cycle_items},     {"client", cycle_client}};

/* ---- memory ---- */

static long resident_kb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL || fscanf(f, "%*s %ld", &pages) != 1) {
        pages = 0;
    }
    if (f != NULL) {
        fclose(f);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void settled(const struct pawl_reply *reply, void *arg)
{
    must(reply->err, "sync");
    must(sem_post(arg) == 0 ? PAWL_OK : PAWL_ERR_INVALID_STATE, "post");
}

/* What goes on in the background has gone: requests are answered in order, and so are callbacks. */
static void settle(struct pawl_client *c)
{
    sem_t all;

    sem_init(&all, 0, 0);
    must(pawl_sync_async(c, "/", settled, &all), "sync");
    while (sem_wait(&all) != 0) {
    }
    sem_destroy(&all);
}

static void tell(long done)
{
    struct mallinfo2 heap = mallinfo2();

    printf("%ld %zu %ld\n", done, heap.uordblks + heap.hblkhd, resident_kb());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const struct kind *kind = NULL;
    struct pawl_client *c;
    char line[8];
    long n;

    for (size_t i = 0; argc == 4 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        kind = strcmp(kinds[i].name, argv[2]) == 0 ? &kinds[i] : kind;
    }
    if (kind == NULL) {
        fprintf(stderr, "usage: cycles SERVERS WHAT N\n");
        return 2;
    }
    servers = argv[1];
    n = atol(argv[3]);
    c = open_client();
    for (long i = 1; i <= n; i++) {
        kind->run(c);
        if (i % (n / 10) == 0) {
            settle(c);
            tell(i);
        }
    }
    if (fgets(line, sizeof(line), stdin) == NULL) {
        return 1;
    }
    pawl_lock_free(kept);
    pawl_client_close(c);
    return 0;
}
