/* SPDX-License-Identifier: Apache-2.0 */
/* order_numbers.c - ten processes give out order numbers, and no number twice.
 *
 *   order_numbers [SERVERS [WORKERS [ROUNDS]]]
 *
 * The numbers come from a plain file that knows nothing of locking: read the last one, add one,
 * write it back. Without the lock two workers would soon do that at the same time.
 *
 * SERVERS is where the lock lives: "local:DIR" (the default is a directory that is removed at the
 * end) needs no server at all; "host:2181" is pawld or ZooKeeper. The program is the same. */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <string.h>

enum { WORKERS = 10, ROUNDS = 50, MAX_ORDERS = 100000 };

struct order {
    int worker;
    long number;
    unsigned long long token;
};

/* ---- the file, as it would be without any lock ---- */

static long next_number(const char *file)
{
    long number = 0;
    FILE *f = fopen(file, "r");

    if (f != NULL) {
        if (fscanf(f, "%ld", &number) != 1) {
            number = 0;
        }
        fclose(f);
    }
    number++;
    f = fopen(file, "w");
    if (f == NULL || fprintf(f, "%ld\n", number) < 0 || fclose(f) != 0) {
        perror(file);
        exit(1);
    }
    return number;
}

/* ---- one worker ---- */

static int work(int worker, const char *servers, const char *directory)
{
    struct pawl_client *c = connect_to(servers);
    struct pawl_lock *lock;
    char file[128];
    int rounds = atoi(getenv("ROUNDS"));

    snprintf(file, sizeof(file), "%s/last-order", directory);
    check(pawl_lock_new(c, "/shop/orders", NULL, &lock), "lock");
    for (int i = 0; i < rounds; i++) {
        struct order order = {.worker = worker};

        check(pawl_lock_acquire(lock, PATIENCE_MS), "acquire");
        order.number = next_number(file);
        order.token = pawl_lock_token(lock);
        check(pawl_lock_release(lock), "release");
        if (write(STDOUT_FILENO, &order, sizeof(order)) != (ssize_t)sizeof(order)) {
            return 1;
        }
    }
    pawl_lock_free(lock);
    pawl_client_close(c);
    return 0;
}

/* ---- the shop ---- */

/* Every number once, and the later number with the larger token. */
static int verdict(const struct order *orders, long n)
{
    unsigned long long *tokens = calloc((size_t)n + 1, sizeof(*tokens));
    int faults = 0;

    for (long i = 0; i < n; i++) {
        if (orders[i].number < 1 || orders[i].number > n || tokens[orders[i].number] != 0) {
            printf("order %ld was given out twice\n", orders[i].number);
            faults++;
            continue;
        }
        tokens[orders[i].number] = orders[i].token;
    }
    for (long i = 2; i <= n; i++) {
        faults += tokens[i] <= tokens[i - 1];
    }
    free(tokens);
    return faults;
}

static int run_shop(const char *self, const char *servers, const char *directory, int workers,
                    int rounds)
{
    static struct order orders[MAX_ORDERS];
    struct pawl_client *c = connect_to(servers); /* with local: this process is the server */
    double began = seconds(), took;
    long n = 0;
    int ends[2], faults;

    if (pipe(ends) != 0) {
        perror("pipe");
        return 1;
    }
    printf("%d workers, %d orders each, one lock on %s\n", workers, rounds, servers);
    for (int i = 1; i <= workers; i++) {
        start_worker(self, i, servers, directory, ends[1]);
    }
    close(ends[1]);
    while (n < MAX_ORDERS &&
           read(ends[0], &orders[n], sizeof(orders[n])) == (ssize_t)sizeof(orders[n])) {
        if (n < 3 || (n + 1) % 100 == 0) {
            printf("  order %4ld by worker %2d, fencing token 0x%llx\n", orders[n].number,
                   orders[n].worker, orders[n].token);
        }
        n++;
    }
    took = seconds() - began;
    faults = wait_for_workers() + verdict(orders, n) + (n != (long)workers * rounds);
    printf("%ld orders in %.2f s: %.0f per second\n", n, took, (double)n / took);
    printf("%s: %ld of %d orders, %d faults\n", faults == 0 ? "CORRECT" : "WRONG", n,
           workers * rounds, faults);
    pawl_client_close(c);
    close(ends[0]);
    return faults == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/order-numbers-XXXXXX", local[64], text[16];
    int workers = argc > 2 ? atoi(argv[2]) : WORKERS, rounds = argc > 3 ? atoi(argv[3]) : ROUNDS;
    int rc;

    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        return work(atoi(argv[2]), argv[3], argv[4]);
    }
    check_arguments(argc, argv, 3, "order_numbers [SERVERS [WORKERS [ROUNDS]]]");
    if (workers < 1 || rounds < 1 || workers > MAX_ORDERS / rounds) {
        fprintf(stderr, "usage: order_numbers [SERVERS [WORKERS [ROUNDS]]]; %d orders at most\n",
                MAX_ORDERS);
        return 2;
    }
    snprintf(text, sizeof(text), "%d", rounds);
    setenv("ROUNDS", text, 1);
    make_directory(directory);
    snprintf(local, sizeof(local), "local:%s/coordination", directory);
    rc = run_shop(argv[0], argc > 1 ? argv[1] : local, directory, workers, rounds);
    remove_directory(directory);
    return rc;
}
