/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_bench.c - libpawl's recipes at work; curator/CuratorBench.java does the same in Java.
 *
 *   recipe-bench-pawl MODE --servers LIST [--warmup S] [--seconds S] [--clients N] [--locks N]
 *                     [--nodes N] [--changes N]
 *
 *   pairs     acquire and release, one thread                               -> rate
 *   contend   --clients handles, each with a client, on one lock            -> rate
 *   many      --locks locks, each wanted by --clients clients, asynchronous -> rate
 *   queued    --locks locks that wait for one who holds them all            -> rss_kb
 *   make      a folder with --nodes children, for the next two
 *   cache     a cache of its children: until it is initialised              -> ms
 *   follow    then --changes changes by somebody else, until all are seen   -> rate
 *   change    that somebody: waits for a line on stdin, makes the changes, ends */
#include <pawl/pawl.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

enum {
    MAX_CLIENTS = 64,
    CONNECT_MS = 20000,
    CHANGES_OUTSTANDING = 500,
    BATCHES_OUTSTANDING = 20,
    BATCH = 50
};

static struct {
    const char *mode, *servers;
    double warmup, seconds;
    int clients, locks, nodes, changes;
} o = {.warmup = 0.5, .seconds = 2, .clients = 8, .locks = 64, .nodes = 10000, .changes = 20000};

static atomic_bool stopping;
static _Atomic uint64_t n_done;

static _Noreturn void give_up(const char *what, int rc)
{
    fprintf(stderr, "recipe-bench: %s: %s\n", what, pawl_strerror(rc));
    exit(1);
}

static void must(int rc, const char *what)
{
    if (rc != 0) {
        give_up(what, rc);
    }
}

static struct pawl_client *open_client(void)
{
    struct pawl_client_options options;
    struct pawl_client *c;

    pawl_client_options_init(&options);
    options.servers = o.servers;
    options.session_timeout_ms = 30000;
    must(pawl_client_open(&options, &c), "open");
    must(pawl_client_wait_connected(c, CONNECT_MS), "connect");
    return c;
}

/* Lets the others work, and counts in between. */
static void window(void)
{
    uint64_t cpu, began, took, n;

    usleep((useconds_t)(o.warmup * 1e6));
    n = n_done;
    cpu = own_cpu_ns();
    began = clock_ns();
    usleep((useconds_t)(o.seconds * 1e6));
    n = n_done - n;
    took = clock_ns() - began;
    cpu = own_cpu_ns() - cpu;
    stopping = true;
    printf("rate=%.1f cpu_ms_per_1k=%.2f\n", (double)n * 1e9 / (double)took,
           (double)cpu / 1e3 / (double)(n ? n : 1));
    fflush(stdout);
}

/* ---- one lock ---- */

struct contender {
    pthread_t thread;
    struct pawl_client *client;
    struct pawl_lock *lock;
};

static _Atomic int inside;
static _Atomic uint64_t last_token;

static void check_alone(struct pawl_lock *l)
{
    if (atomic_fetch_add(&inside, 1) != 0 || pawl_lock_token(l) <= last_token) {
        fprintf(stderr, "recipe-bench: two holders, or a token that does not grow\n");
        exit(1);
    }
    last_token = pawl_lock_token(l);
    atomic_fetch_sub(&inside, 1);
}

static void *acquire_and_release(void *arg)
{
    struct contender *t = arg;

    while (!stopping) {
        must(pawl_lock_acquire(t->lock, -1), "acquire");
        check_alone(t->lock);
        must(pawl_lock_release(t->lock), "release");
        n_done++;
    }
    return NULL;
}

static void run_contend(int n, const char *path)
{
    static struct contender all[MAX_CLIENTS];

    for (int i = 0; i < n; i++) {
        all[i].client = open_client();
        must(pawl_lock_new(all[i].client, path, NULL, &all[i].lock), "lock");
        pthread_create(&all[i].thread, NULL, acquire_and_release, &all[i]);
    }
    window();
    for (int i = 0; i < n; i++) {
        pthread_join(all[i].thread, NULL);
        pawl_lock_free(all[i].lock);
        pawl_client_close(all[i].client);
    }
}

/* ---- many locks ---- */

struct wish {
    struct pawl_lock *lock;
    _Atomic int *inside;
};

static void got_it(struct pawl_lock *l, int err, void *arg)
{
    struct wish *w = arg;

    if (stopping || err == PAWL_ERR_CANCELLED) {
        return;
    }
    must(err, "acquire");
    if (atomic_fetch_add(w->inside, 1) != 0) {
        fprintf(stderr, "recipe-bench: two holders\n");
        exit(1);
    }
    atomic_fetch_sub(w->inside, 1);
    n_done++;
    must(pawl_lock_release_async(l, NULL, NULL), "release");
    must(pawl_lock_acquire_async(l, -1, got_it, w), "acquire again");
}

static void run_many(void)
{
    struct wish *wishes = calloc((size_t)(o.locks * o.clients), sizeof(*wishes));
    _Atomic int *holders = calloc((size_t)o.locks, sizeof(*holders));
    struct pawl_client *clients[MAX_CLIENTS];
    char path[64];

    for (int c = 0; c < o.clients; c++) {
        clients[c] = open_client();
        for (int i = 0; i < o.locks; i++) {
            struct wish *w = &wishes[c * o.locks + i];

            w->inside = &holders[i];
            snprintf(path, sizeof(path), "/bench/many/%d", i);
            must(pawl_lock_new(clients[c], path, NULL, &w->lock), "lock");
        }
    }
    for (int i = 0; i < o.locks * o.clients; i++) {
        must(pawl_lock_acquire_async(wishes[i].lock, -1, got_it, &wishes[i]), "acquire");
    }
    window();
    for (int i = 0; i < o.locks * o.clients; i++) {
        pawl_lock_free(wishes[i].lock);
    }
    for (int c = 0; c < o.clients; c++) {
        pawl_client_close(clients[c]);
    }
    free(wishes);
    free(holders);
}

/* ---- memory ---- */

static void never(struct pawl_lock *l, int err, void *arg)
{
    (void)l;
    (void)arg;
    if (err != PAWL_ERR_CANCELLED && err != PAWL_ERR_CLOSING) {
        give_up("a lock that somebody else holds", err);
    }
}

static void until_queued(struct pawl_client *c, int n)
{
    struct pawl_reply *reply;
    size_t seen = 0;

    while (seen < (size_t)n) {
        must(pawl_children(c, "/bench/queued", NULL, &reply), "list");
        seen = reply->children.n;
        pawl_reply_free(reply);
    }
}

static void run_queued(void)
{
    struct pawl_lock **locks = calloc((size_t)o.locks + 1, sizeof(*locks));
    struct pawl_client *c = open_client();

    must(pawl_lock_new(c, "/bench/queued", NULL, &locks[o.locks]), "lock");
    must(pawl_lock_acquire(locks[o.locks], -1), "acquire");
    for (int i = 0; i < o.locks; i++) {
        must(pawl_lock_new(c, "/bench/queued", NULL, &locks[i]), "lock");
        must(pawl_lock_acquire_async(locks[i], -1, never, NULL), "queue");
    }
    until_queued(c, o.locks + 1);
    printf("rss_kb=%ld\n", process_rss_kb(getpid()));
    for (int i = 0; i <= o.locks; i++) {
        pawl_lock_free(locks[i]);
    }
    pawl_client_close(c);
    free(locks);
}

/* ---- caches ---- */

static sem_t room;

static void one_done(const struct pawl_reply *reply, void *arg)
{
    (void)arg;
    if (reply->err != PAWL_ERR_NODE_EXISTS) {
        must(reply->err, "change");
    }
    sem_post(&room);
}

static void node_path(char *out, size_t size, int i)
{
    snprintf(out, size, "/bench/cache/n%06d", i);
}

static void run_make(void)
{
    struct pawl_client *c = open_client();
    char path[64], data[100];

    memset(data, 'x', sizeof(data));
    sem_init(&room, 0, CHANGES_OUTSTANDING);
    pawl_create(c, PAWL_CREATE(.path = "/bench/cache", .flags = PAWL_OP_PARENTS), NULL);
    pawl_delete(c, PAWL_DELETE(.path = "/bench/cache/end"), NULL);
    for (int i = 0; i < o.nodes; i++) {
        node_path(path, sizeof(path), i);
        sem_wait(&room);
        must(pawl_create_async(c, PAWL_CREATE(.path = path, .data = {data, sizeof(data)}), one_done,
                               NULL),
             "create");
    }
    for (int i = 0; i < CHANGES_OUTSTANDING; i++) {
        sem_wait(&room);
    }
    pawl_client_close(c);
    printf("made=%d\n", o.nodes);
}

/* Many in one transaction: who follows is to be the limit, not who changes. */
static void change_batch(struct pawl_client *c, int from, int to)
{
    struct pawl_multi *m = pawl_multi_new(c);
    char path[64], data[100];

    memset(data, 'y', sizeof(data));
    for (int i = from; i < to; i++) {
        node_path(path, sizeof(path), i % o.nodes);
        pawl_multi_set(m, PAWL_SET(.path = path, .data = {data, sizeof(data)}));
    }
    sem_wait(&room);
    must(pawl_multi_run_async(c, m, one_done, NULL), "change");
    pawl_multi_free(m);
}

/* The last of all is a new node, so that who follows knows the end. */
static void run_change(void)
{
    struct pawl_client *c = open_client();

    sem_init(&room, 0, BATCHES_OUTSTANDING);
    if (getchar() == EOF) {
        exit(1);
    }
    for (int i = 0; i < o.changes; i += BATCH) {
        change_batch(c, i, i + BATCH < o.changes ? i + BATCH : o.changes);
    }
    for (int i = 0; i < BATCHES_OUTSTANDING; i++) {
        sem_wait(&room);
    }
    must(pawl_create(c, PAWL_CREATE(.path = "/bench/cache/end"), NULL), "create the end");
    pawl_client_close(c);
    printf("changed=%d\n", o.changes);
}

static sem_t ended;
static _Atomic uint64_t first_change_ns;

static void followed(struct pawl_cache *cache, const struct pawl_cache_event *event, void *arg)
{
    (void)cache;
    (void)arg;
    if (event->type == PAWL_CACHE_EVENT_INITIALISED) {
        return;
    }
    if (event->type == PAWL_CACHE_EVENT_CHANGED && first_change_ns == 0) {
        first_change_ns = clock_ns();
    }
    if (event->type == PAWL_CACHE_EVENT_CREATED && strcmp(event->new_node->name, "end") == 0) {
        sem_post(&ended);
    }
}

static void run_cache(bool follows)
{
    struct pawl_cache_options options = {
        .size = sizeof(options), .flags = PAWL_CACHE_NO_ROOT, .on_event = followed};
    struct pawl_client *c = open_client();
    struct pawl_cache *cache;
    uint64_t began = clock_ns();

    sem_init(&ended, 0, 0);
    must(pawl_cache_new(c, "/bench/cache", PAWL_DEPTH_CHILDREN, &options, &cache), "cache");
    must(pawl_cache_wait(cache, -1), "initialise");
    printf("ms=%.1f nodes=%zu\n", (double)(clock_ns() - began) / 1e6, pawl_cache_size(cache));
    if (follows) {
        printf("ready=1\n");
        fflush(stdout);
        sem_wait(&ended);
        printf("rate=%.1f\n", o.changes * 1e9 / (double)(clock_ns() - first_change_ns));
    }
    pawl_cache_free(cache);
    pawl_client_close(c);
}

/* ---- choosing ---- */

static void parse(int argc, char **argv)
{
    o.mode = argc > 1 ? argv[1] : "";
    for (int i = 2; i + 1 < argc; i += 2) {
        const char *k = argv[i], *v = argv[i + 1];

        if (strcmp(k, "--servers") == 0) {
            o.servers = v;
        } else if (strcmp(k, "--warmup") == 0) {
            o.warmup = atof(v);
        } else if (strcmp(k, "--seconds") == 0) {
            o.seconds = atof(v);
        } else if (strcmp(k, "--clients") == 0) {
            o.clients = atoi(v);
        } else if (strcmp(k, "--locks") == 0) {
            o.locks = atoi(v);
        } else if (strcmp(k, "--nodes") == 0) {
            o.nodes = atoi(v);
        } else if (strcmp(k, "--changes") == 0) {
            o.changes = atoi(v);
        } else {
            fprintf(stderr, "recipe-bench: no option %s\n", k);
            exit(2);
        }
    }
    if (o.servers == NULL || o.clients < 1 || o.clients > MAX_CLIENTS) {
        fprintf(stderr, "recipe-bench: --servers is missing, or --clients is not 1 to %d\n",
                MAX_CLIENTS);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    if (strcmp(o.mode, "pairs") == 0) {
        run_contend(1, "/bench/pairs");
    } else if (strcmp(o.mode, "contend") == 0) {
        run_contend(o.clients, "/bench/contend");
    } else if (strcmp(o.mode, "many") == 0) {
        run_many();
    } else if (strcmp(o.mode, "queued") == 0) {
        run_queued();
    } else if (strcmp(o.mode, "make") == 0) {
        run_make();
    } else if (strcmp(o.mode, "change") == 0) {
        run_change();
    } else if (strcmp(o.mode, "cache") == 0 || strcmp(o.mode, "follow") == 0) {
        run_cache(strcmp(o.mode, "follow") == 0);
    } else {
        fprintf(stderr, "recipe-bench: no mode %s\n", o.mode);
        return 2;
    }
    return 0;
}
