/* SPDX-License-Identifier: Apache-2.0 */
/* client_bench.c - the driver: puts one client library to work and prints what it took.
 *
 * A closed loop. In the blocking modes every thread makes the next call when the last one has
 * returned; in the asynchronous ones every answer's callback makes the next call, which keeps the
 * number outstanding constant. Warm-up first, then a window; what was answered and the CPU of this
 * process are read at its two ends. */
#include "client_bench.h"

#include <dirent.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

enum {
    NODES = 1000,
    PATH_MAX_BYTES = 32,
    THREADS_MAX = 64,
    WARM_UP_CYCLES = 50,
    SETTLE_NS = 1000000000
};

struct options {
    const char *mode;
    const char *servers;
    double warmup, seconds;
    int threads;
    int outstanding;
    long count;
    bool writes;
};

const char client_data[DATA_BYTES];
static char paths[NODES][PATH_MAX_BYTES];
static _Atomic bool stop;

/* ---- what is measured ---- */

struct usage {
    uint64_t ns, cpu_ns, ops;
};

struct memory {
    long rss_kb;
    long heap_bytes; /* handed out by malloc and not given back */
    int descriptors;
    int threads;
};

static int count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    int n = 0;

    if (dir == NULL) {
        die("cannot read %s", folder);
    }
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n;
}

static struct memory memory_now(void)
{
    struct memory m;
    struct mallinfo2 heap;

    malloc_trim(0);
    heap = mallinfo2();
    m.rss_kb = process_rss_kb(getpid());
    m.heap_bytes = (long)(heap.uordblks + heap.hblkhd);
    m.descriptors = count_entries("/proc/self/fd");
    m.threads = count_entries("/proc/self/task");
    return m;
}

/* The same once the threads of closed handles have ended, which may take a moment longer than the
 * close itself. */
static struct memory memory_settled(const struct memory *before)
{
    uint64_t limit_ns = clock_ns() + SETTLE_NS;
    struct memory m = memory_now();

    while ((m.threads > before->threads || m.descriptors > before->descriptors) &&
           clock_ns() < limit_ns) {
        sched_yield();
        m = memory_now();
    }
    return m;
}

static void print_growth(const struct memory *before, const struct memory *after)
{
    printf(" rss_kb=%ld rss_growth_kb=%ld heap_growth_bytes=%ld descriptors_growth=%d "
           "threads_growth=%d",
           after->rss_kb, after->rss_kb - before->rss_kb, after->heap_bytes - before->heap_bytes,
           after->descriptors - before->descriptors, after->threads - before->threads);
}

static void print_rate(const struct usage *begin, const struct usage *end)
{
    double ops = (double)(end->ops - begin->ops);

    if (ops == 0) {
        die("nothing was answered within the window");
    }
    printf(" ops=%.0f rate=%.1f cpu_ms_per_100k=%.2f", ops,
           ops * 1e9 / (double)(end->ns - begin->ns),
           (double)(end->cpu_ns - begin->cpu_ns) / 1e6 * 1e5 / ops);
}

static void sleep_seconds(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};

    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
}

/* ---- blocking ---- */

struct caller {
    _Alignas(64) _Atomic uint64_t ops; /* a cache line of its own */
    pthread_t thread;
    struct client *client;
    bool writes;
    unsigned next;
};

static void *caller_main(void *arg)
{
    struct caller *c = arg;

    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        const char *path = paths[c->next++ % NODES];

        if (c->writes) {
            client_set(c->client, path);
        } else {
            client_get(c->client, path);
        }
        atomic_store_explicit(&c->ops, c->ops + 1, memory_order_relaxed);
    }
    return NULL;
}

static struct usage usage_of_callers(struct caller *callers, int n)
{
    struct usage u = {.ns = clock_ns(), .cpu_ns = own_cpu_ns()};
    int i;

    for (i = 0; i < n; i++) {
        u.ops += callers[i].ops;
    }
    return u;
}

static void run_blocking(const struct options *o)
{
    static struct caller callers[THREADS_MAX];
    struct client *client = client_open(o->servers);
    struct usage begin, end;
    int i;

    for (i = 0; i < o->threads; i++) {
        callers[i].client = client;
        callers[i].writes = o->writes;
        callers[i].next = (unsigned)i * (NODES / THREADS_MAX);
        if (pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]) != 0) {
            die("no thread");
        }
    }
    sleep_seconds(o->warmup);
    begin = usage_of_callers(callers, o->threads);
    sleep_seconds(o->seconds);
    end = usage_of_callers(callers, o->threads);
    stop = true;
    for (i = 0; i < o->threads; i++) {
        pthread_join(callers[i].thread, NULL);
    }
    client_close(client);
    print_rate(&begin, &end);
}

/* ---- asynchronous ---- */

struct flood {
    struct client *client;
    bool writes;
    unsigned next; /* only touched by one callback at a time */
    int outstanding;
    uint64_t limit; /* no more calls than that */
    uint64_t made;
    _Atomic uint64_t answered;
    sem_t empty;
};

static void flood_answered(void *arg);

static void flood_call(struct flood *f)
{
    const char *path = paths[f->next++ % NODES];

    f->made++;
    if (f->writes) {
        client_set_async(f->client, path, flood_answered, f);
    } else {
        client_get_async(f->client, path, flood_answered, f);
    }
}

static void flood_answered(void *arg)
{
    struct flood *f = arg;

    atomic_store_explicit(&f->answered, f->answered + 1, memory_order_relaxed);
    if (!atomic_load_explicit(&stop, memory_order_relaxed) && f->made < f->limit) {
        flood_call(f);
    } else if (--f->outstanding == 0) {
        sem_post(&f->empty);
    }
}

/* Makes the first calls from inside a callback, so that `next`, `made` and `outstanding` belong to
 * the thread of callbacks from the start. */
static void flood_first(void *arg)
{
    struct flood *f = arg;
    int i;

    for (i = 0; i < f->outstanding; i++) {
        flood_call(f);
    }
}

static void *flood_main(void *arg)
{
    struct flood *f = arg;

    client_get_async(f->client, paths[0], flood_first, f);
    while (sem_trywait(&f->empty) != 0) {
        if (!client_turn(f->client)) {
            sem_wait(&f->empty);
            break;
        }
    }
    return NULL;
}

static void flood_init(struct flood *f, struct client *client, const struct options *o)
{
    memset(f, 0, sizeof(*f));
    f->client = client;
    f->writes = o->writes;
    f->outstanding = o->outstanding;
    f->limit = UINT64_MAX;
    sem_init(&f->empty, 0, 0);
}

static struct usage usage_of_flood(struct flood *f)
{
    struct usage u = {.ns = clock_ns(), .cpu_ns = own_cpu_ns()};

    u.ops = f->answered;
    return u;
}

static void run_async(const struct options *o)
{
    struct client *client = client_open(o->servers);
    struct usage begin, end;
    struct flood flood;
    pthread_t thread;

    flood_init(&flood, client, o);
    if (pthread_create(&thread, NULL, flood_main, &flood) != 0) {
        die("no thread");
    }
    sleep_seconds(o->warmup);
    begin = usage_of_flood(&flood);
    sleep_seconds(o->seconds);
    end = usage_of_flood(&flood);
    stop = true;
    pthread_join(thread, NULL);
    client_close(client);
    print_rate(&begin, &end);
}

/* ---- memory ---- */

static void flood_count(struct client *client, const struct options *o, long count)
{
    struct flood flood;

    flood_init(&flood, client, o);
    flood.limit = (uint64_t)count;
    flood_main(&flood);
}

/* `count` asynchronous operations, after a tenth of that as a warm-up; three times, and the least
 * growth is told: what operations leave behind is left by all of them, while a thread that happens
 * to allocate for the first time, or a longer queue than ever before, is met once. */
static void run_growth(const struct options *o)
{
    struct client *client = client_open(o->servers);
    struct memory now, least_before = {0}, least_after = {.rss_kb = LONG_MAX};

    flood_count(client, o, o->count / 10);
    now = memory_now();
    for (int i = 0; i < 3; i++) {
        struct memory before = now;

        flood_count(client, o, o->count);
        now = memory_now();
        if (now.rss_kb - before.rss_kb < least_after.rss_kb - least_before.rss_kb) {
            least_before = before;
            least_after = now;
        }
    }
    client_close(client);
    print_growth(&least_before, &least_after);
}

static void run_handles(const struct options *o)
{
    struct client **clients = must_calloc((size_t)o->count, sizeof(struct client *));
    struct memory before, after;
    struct client *first = client_open(o->servers);
    long i;

    /* What a first handle allocates once, for all, is not charged to the others. */
    client_get(first, paths[0]);
    before = memory_now();
    for (i = 0; i < o->count; i++) {
        clients[i] = client_open(o->servers);
        client_get(clients[i], paths[0]);
    }
    after = memory_now();
    for (i = 0; i < o->count; i++) {
        client_close(clients[i]);
    }
    client_close(first);
    free(clients);
    print_growth(&before, &after);
    printf(" kb_per_handle=%.2f",
           (double)(after.rss_kb - before.rss_kb) * 1.024 / (double)o->count);
}

static void cycle(const struct options *o, long count)
{
    while (count-- > 0) {
        struct client *client = client_open(o->servers);

        client_get(client, paths[0]);
        client_close(client);
    }
}

static void run_cycles(const struct options *o)
{
    struct memory before, after;
    uint64_t began_ns;

    cycle(o, WARM_UP_CYCLES);
    before = memory_now();
    began_ns = clock_ns();
    cycle(o, o->count);
    printf(" us_per_cycle=%.1f", (double)(clock_ns() - began_ns) / 1e3 / (double)o->count);
    after = memory_settled(&before);
    print_growth(&before, &after);
}

/* ---- setting up ---- */

static void run_setup(const struct options *o)
{
    struct client *client = client_open(o->servers);
    int i;

    client_create(client, "/bench");
    for (i = 0; i < NODES; i++) {
        client_create(client, paths[i]);
    }
    client_close(client);
}

/* Holds a handle until standard input ends: the host of a `local:` folder. */
static void run_host(const struct options *o)
{
    struct client *client = client_open(o->servers);
    char byte;

    printf(" ready=1\n");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    client_close(client);
}

static const struct {
    const char *name;
    void (*run)(const struct options *o);
    const char *does;
} modes[] = {
    {"setup", run_setup, "creates the nodes that the others use"},
    {"blocking", run_blocking, "calls from --threads threads on one handle"},
    {"async", run_async, "--outstanding calls on one handle"},
    {"growth", run_growth, "memory before and after --count asynchronous calls"},
    {"handles", run_handles, "memory of --count idle handles"},
    {"cycles", run_cycles, "memory before and after --count times open, get, close"},
    {"host", run_host, "keeps one handle open until its input ends"},
};

static _Noreturn void usage(void)
{
    size_t i;

    fprintf(stderr, "usage: client-bench-%s MODE --servers LIST [options]\n\n", client_name);
    for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        fprintf(stderr, "  %-10s %s\n", modes[i].name, modes[i].does);
    }
    fprintf(stderr, "\n  --writes          set instead of get\n"
                    "  --threads N       (1)\n"
                    "  --outstanding N   (100)\n"
                    "  --count N         (1000)\n"
                    "  --warmup S        (1)\n"
                    "  --seconds S       (3)\n");
    exit(2);
}

static void parse_options(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        {"servers", 1, NULL, 's'},     {"writes", 0, NULL, 'w'},
        {"threads", 1, NULL, 't'},     {"count", 1, NULL, 'c'},
        {"outstanding", 1, NULL, 'o'}, {"warmup", 1, NULL, 'u'},
        {"seconds", 1, NULL, 'S'},     {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (c) {
        case 's':
            o->servers = optarg;
            break;
        case 'w':
            o->writes = true;
            break;
        case 't':
            o->threads = atoi(optarg);
            break;
        case 'c':
            o->count = atol(optarg);
            break;
        case 'o':
            o->outstanding = atoi(optarg);
            break;
        case 'u':
            o->warmup = atof(optarg);
            break;
        case 'S':
            o->seconds = atof(optarg);
            break;
        default:
            usage();
        }
    }
    if (optind != argc - 1 || o->servers == NULL || o->threads < 1 || o->threads > THREADS_MAX ||
        o->outstanding < 1 || o->count < 1 || o->seconds <= 0) {
        usage();
    }
    o->mode = argv[optind];
}

int main(int argc, char **argv)
{
    struct options o = {.threads = 1, .outstanding = 100, .count = 1000, .warmup = 1, .seconds = 3};
    size_t i;

    parse_options(argc, argv, &o);
    for (i = 0; i < NODES; i++) {
        snprintf(paths[i], sizeof(paths[i]), "/bench/n%05zu", i);
    }
    for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].name, o.mode) == 0) {
            printf("client=%s mode=%s", client_name, o.mode);
            modes[i].run(&o);
            printf("\n");
            return 0;
        }
    }
    usage();
}
