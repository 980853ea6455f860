/* SPDX-License-Identifier: Apache-2.0 */
/* stock.c - a shop with a hundred things and twelve tills must not sell a hundred and one.
 *
 *   stock [SERVERS]
 *
 * How many are left stands in a node. Each till takes the lock, reads, and writes one less; it
 * writes in a multi with the lock's guard, so that a till which was stopped in between and has lost
 * the lock meanwhile cannot write what it once read. */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <string.h>

enum { TILLS = 12, IN_STOCK = 100 };

static const char stock_path[] = "/shop/stock";

static int read_stock(struct pawl_client *c)
{
    struct pawl_reply *reply;
    char text[16] = "";
    int left;

    check(pawl_get(c, stock_path, NULL, &reply), "read the stock");
    memcpy(text, reply->data.data, reply->data.len < 15 ? reply->data.len : 15);
    left = atoi(text);
    pawl_reply_free(reply);
    return left;
}

/* Only if the lock is still ours. */
static int write_stock(struct pawl_client *c, struct pawl_lock *lock, int left)
{
    struct pawl_multi *m = pawl_multi_new(c);
    char text[16];
    int rc;

    snprintf(text, sizeof(text), "%d", left);
    rc = pawl_grant_guard(pawl_lock_grant(lock), m);
    pawl_multi_set(m, PAWL_SET(.path = stock_path, .data = {text, strlen(text)}));
    if (rc == PAWL_OK) {
        rc = pawl_multi_run(c, m, NULL);
    }
    pawl_multi_free(m);
    return rc;
}

/* Sells until nothing is left; its output is what it sold. */
static int sell(int till, const char *servers)
{
    struct pawl_client *c = connect_to(servers);
    struct pawl_lock *lock;
    int sold = 0, left;

    check(pawl_lock_new(c, "/shop/lock", NULL, &lock), "lock");
    do {
        check(pawl_lock_acquire(lock, PATIENCE_MS), "acquire");
        left = read_stock(c);
        if (left > 0) {
            check(write_stock(c, lock, left - 1), "write the stock");
            sold++;
        }
        check(pawl_lock_release(lock), "release");
    } while (left > 0);
    printf("till %d sold %d\n", till, sold);
    pawl_lock_free(lock);
    pawl_client_close(c);
    return 0;
}

static int run_shop(const char *self, const char *servers)
{
    struct pawl_client *c = connect_to(servers);
    char line[64], text[16];
    int ends[2], total = 0, sold, left, failed;
    FILE *tills;

    snprintf(text, sizeof(text), "%d", IN_STOCK);
    check(pawl_create(c,
                      PAWL_CREATE(.path = stock_path, .data = {text, strlen(text)},
                                  .flags = PAWL_OP_PARENTS | PAWL_OP_OR_SET),
                      NULL),
          "fill the stock");
    if (pipe(ends) != 0) {
        perror("pipe");
        return 1;
    }
    for (int i = 1; i <= TILLS; i++) {
        start_worker(self, i, servers, "", ends[1]);
    }
    close(ends[1]);
    tills = fdopen(ends[0], "r");
    while (fgets(line, sizeof(line), tills) != NULL) {
        if (sscanf(line, "till %*d sold %d", &sold) == 1) {
            total += sold;
        }
        fputs(line, stdout);
    }
    fclose(tills);
    failed = wait_for_workers();
    left = read_stock(c);
    printf("%s: %d in stock, %d sold, %d left\n",
           failed == 0 && total == IN_STOCK && left == 0 ? "CORRECT" : "WRONG", IN_STOCK, total,
           left);
    pawl_client_close(c);
    return failed == 0 && total == IN_STOCK && left == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/stock-XXXXXX", local[64];
    int rc;

    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        return sell(atoi(argv[2]), argv[3]);
    }
    check_arguments(argc, argv, 1, "stock" USAGE_SERVERS);
    make_directory(directory);
    snprintf(local, sizeof(local), "local:%s", directory);
    rc = run_shop(argv[0], argc > 1 ? argv[1] : local);
    remove_directory(directory);
    return rc;
}
