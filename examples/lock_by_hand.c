/* SPDX-License-Identifier: Apache-2.0 */
/* lock_by_hand.c - the lock, written with nothing but create, children, exists and delete.
 *
 *   lock_by_hand [SERVERS]
 *
 * Four processes give out order numbers from a plain file, three times over: without a lock, with
 * the lock of this file, and with the library's. Without one, numbers are given out twice.
 *
 * docs/how-the-lock-works.md goes through it line by line, and says what the library's lock does
 * beyond this one: use that one. */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <semaphore.h>
#include <string.h>

/* ---- the lock by hand ---- */

struct hand_lock {
    struct pawl_client *client;
    const char *path; /* the node of the lock; each contender is a child of it */
    char mine[128];   /* our child, "" while there is none */
    sem_t changed;    /* posted when the child before ours may be gone */
};

/* The ten digits that the server has put at the end of a sequential node's name. */
static const char *number_of(const char *name)
{
    size_t len = strlen(name);

    return name + (len > 10 ? len - 10 : 0);
}

static void on_change(const struct pawl_event *event, void *arg)
{
    struct hand_lock *lock = arg;

    (void)event; /* whatever it was: look again */
    sem_post(&lock->changed);
}

/* The child that stands just before ours, into `out`; false: nobody does, and the lock is ours. */
static bool one_before(struct hand_lock *lock, char *out, size_t size)
{
    const char *mine = number_of(lock->mine), *best = NULL;
    struct pawl_reply *list;

    check(pawl_children(lock->client, lock->path, NULL, &list), "children");
    for (size_t i = 0; i < list->children.n; i++) {
        const char *name = list->children.items[i], *number = number_of(name);

        if (strcmp(number, mine) < 0 && (best == NULL || strcmp(number, number_of(best)) > 0)) {
            best = name;
        }
    }
    if (best != NULL) {
        snprintf(out, size, "%s/%s", lock->path, best);
    }
    pawl_reply_free(list);
    return best != NULL;
}

/* Waits until `path` has changed; returns at once if it is not there any more. */
static void wait_for(struct hand_lock *lock, const char *path)
{
    struct pawl_watch watch = {on_change, lock};
    int rc = pawl_exists(lock->client, path, &watch, NULL);

    if (rc != PAWL_ERR_NO_NODE) {
        check(rc, "exists");
        while (sem_wait(&lock->changed) != 0) {
        }
    }
}

static void hand_acquire(struct hand_lock *lock)
{
    char name[128], before[256];
    struct pawl_reply *made;

    snprintf(name, sizeof(name), "%s/lock-", lock->path);
    check(pawl_create(lock->client,
                      PAWL_CREATE(.path = name, .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                  .flags = PAWL_OP_PARENTS),
                      &made),
          "create");
    snprintf(lock->mine, sizeof(lock->mine), "%s", made->path);
    pawl_reply_free(made);
    while (one_before(lock, before, sizeof(before))) {
        wait_for(lock, before);
    }
}

static void hand_release(struct hand_lock *lock)
{
    check(pawl_delete(lock->client, PAWL_DELETE(.path = lock->mine), NULL), "delete");
    lock->mine[0] = '\0';
}

/* ---- a worker: orders, under one of three kinds of lock ---- */

enum { WORKERS = 4, ROUNDS = 10, PAUSE_NS = 5000000 };

/* `unlucky`: all have read the same number before the first of them writes. Without a lock that may
 * happen at any time; it is made to happen once, so that nobody has to wait for it. */
static long next_number(const char *file, struct pawl_double_barrier *unlucky)
{
    struct timespec pause = {0, PAUSE_NS}; /* what a real shop would do with a number */
    long number = 0;
    FILE *f = fopen(file, "r");

    if (f != NULL) {
        number = fscanf(f, "%ld", &number) == 1 ? number : 0;
        fclose(f);
    }
    if (unlucky != NULL) {
        check(pawl_double_barrier_enter(unlucky, PATIENCE_MS), "enter");
        check(pawl_double_barrier_leave(unlucky, PATIENCE_MS), "leave");
    }
    nanosleep(&pause, NULL);
    f = fopen(file, "w");
    if (f == NULL || fprintf(f, "%ld\n", ++number) < 0 || fclose(f) != 0) {
        perror(file);
        exit(1);
    }
    return number;
}

static void write_number(long number)
{
    if (write(STDOUT_FILENO, &number, sizeof(number)) != (ssize_t)sizeof(number)) {
        exit(1);
    }
}

static int work(const char *servers, const char *kind, const char *file)
{
    struct pawl_client *c = connect_to(servers);
    struct hand_lock hand = {.client = c, .path = "/shop/by-hand"};
    struct pawl_double_barrier *door, *moment;
    struct pawl_lock *lock;
    long number;

    sem_init(&hand.changed, 0, 0);
    check(pawl_lock_new(c, "/shop/library", NULL, &lock), "lock");
    check(pawl_double_barrier_new(c, "/shop/door", WORKERS, &door), "door");
    check(pawl_double_barrier_new(c, "/shop/moment", WORKERS, &moment), "moment");
    check(pawl_double_barrier_enter(door, PATIENCE_MS), "enter"); /* all begin together */
    for (int i = 0; i < ROUNDS; i++) {
        if (strcmp(kind, "by hand") == 0) {
            hand_acquire(&hand);
            number = next_number(file, NULL);
            hand_release(&hand);
        } else if (strcmp(kind, "library") == 0) {
            check(pawl_lock_acquire(lock, PATIENCE_MS), "acquire");
            number = next_number(file, NULL);
            check(pawl_lock_release(lock), "release");
        } else {
            number = next_number(file, i == 0 ? moment : NULL);
        }
        write_number(number);
    }
    check(pawl_double_barrier_leave(door, PATIENCE_MS), "leave");
    pawl_double_barrier_free(moment);
    pawl_double_barrier_free(door);
    pawl_lock_free(lock);
    pawl_client_close(c); /* before `hand` goes: a watch may still point to it */
    return 0;
}

/* ---- the shop ---- */

/* Reads all numbers that the workers give out; how many of them came more than once? */
static int count_doubles(int from)
{
    static int seen[WORKERS * ROUNDS + 1];
    long number;
    int doubles = 0, n = 0;

    memset(seen, 0, sizeof(seen));
    while (read(from, &number, sizeof(number)) == (ssize_t)sizeof(number)) {
        doubles += seen[number]++ > 0;
        n++;
    }
    return n == WORKERS * ROUNDS ? doubles : -1;
}

/* The numbers that were given out twice, or -1 when a worker failed. */
static int run_shop(const char *self, const char *servers, const char *directory, const char *kind)
{
    char file[128];
    int ends[2], doubles;

    snprintf(file, sizeof(file), "%s/%s", directory, kind);
    setenv("KIND", kind, 1);
    if (pipe(ends) != 0) {
        perror("pipe");
        return -1;
    }
    for (int i = 1; i <= WORKERS; i++) {
        start_worker(self, i, servers, file, ends[1]);
    }
    close(ends[1]);
    doubles = count_doubles(ends[0]);
    close(ends[0]);
    doubles = wait_for_workers() == 0 ? doubles : -1;
    printf("%-8s %d orders, %d of them with a number that another has, too\n", kind,
           WORKERS * ROUNDS, doubles);
    return doubles;
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/lock-by-hand-XXXXXX", local[64];
    struct pawl_client *c;
    const char *servers;
    int none, hand, library;

    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        return work(argv[3], getenv("KIND"), argv[4]);
    }
    check_arguments(argc, argv, 1, "lock_by_hand [SERVERS]");
    make_directory(directory);
    snprintf(local, sizeof(local), "local:%s/coordination", directory);
    servers = argc > 1 ? argv[1] : local;
    c = connect_to(servers); /* with local: this process is the server */
    none = run_shop(argv[0], servers, directory, "no lock");
    hand = run_shop(argv[0], servers, directory, "by hand");
    library = run_shop(argv[0], servers, directory, "library");
    pawl_client_close(c);
    remove_directory(directory);
    if (none > 0 && hand == 0 && library == 0) {
        printf("CORRECT: wrong numbers without a lock, none with either\n");
        return 0;
    }
    return 1;
}
