/* SPDX-License-Identifier: Apache-2.0 */
/* stranded_holder.c - takes a lock and says until when it is certain to hold it.
 *
 *   stranded_holder SERVERS SESSION_MS PATH
 *
 * until its standard input ends. Times are microseconds of CLOCK_BOOTTIME, which all processes of a
 * machine share and which does not stand still while it sleeps.
 *
 *   granted TIME    it held the lock at that time, or sooner
 *   certain TIME    the grant promises it until then; said when that is later than what was said
 *   over TIME       it is not certain any more, at that time or sooner */
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <pawl/lock.h>

#include "base/broken.h"

#ifdef PAWL_BREAKABLE /* to see that the test would notice */
enum broken_rule broken_rule = BROKEN_CERTAIN_BY_LEADER;
#endif

enum { LOOK_MS = 10, ANSWER_MS = 300000 };

static void check(int rc, const char *what)
{
    if (rc != PAWL_OK) {
        fprintf(stderr, "stranded_holder: %s: %s\n", what, pawl_error_name(rc));
        exit(1);
    }
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void say(const char *what, int64_t at_us)
{
    printf("%s %" PRId64 "\n", what, at_us);
    fflush(stdout);
}

/* Until when it is promised; 0: not at all. The time is taken before the grant is asked: what is
 * promised is that long, or longer. */
static int64_t promise(const struct pawl_grant *g)
{
    int64_t before_us = now_us();

    return pawl_grant_held(g) ? before_us + pawl_grant_certain_ms(g) * 1000 : 0;
}

static void watch(const struct pawl_grant *g)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int64_t said_us = 0;
    bool is_over = true;

    while (poll(&input, 1, LOOK_MS) == 0) {
        int64_t until_us = promise(g);

        if (until_us > said_us) {
            say("certain", until_us);
            said_us = until_us;
        }
        if (until_us == 0 && !is_over) {
            say("over", now_us());
        }
        is_over = until_us == 0;
    }
}

int main(int argc, char **argv)
{
    struct pawl_client_options co = {.size = sizeof(co)};
    struct pawl_lock_options lo = {.size = sizeof(lo), .doubt = PAWL_DOUBT_GO_ON};
    struct pawl_client *client;
    struct pawl_lock *lock;

    if (argc != 4) {
        return 2;
    }
    co.servers = argv[1];
    co.session_timeout_ms = atoi(argv[2]);
    check(pawl_client_open(&co, &client), "client");
    check(pawl_client_wait_connected(client, ANSWER_MS), "session");
    check(pawl_lock_new(client, argv[3], &lo, &lock), "lock");
    check(pawl_lock_acquire(lock, ANSWER_MS), "acquire");
    say("granted", now_us());
    watch(pawl_lock_grant(lock));
    return 0; /* who is stranded cannot close its session */
}
