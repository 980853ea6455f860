/* SPDX-License-Identifier: Apache-2.0 */
/* locks.c - who holds a lock or a lease, and who waits for it. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <pawl/grant.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/lock_queue.h"
#include "cli/text.h"

static void print_participant(const struct cli *cli, const struct pawl_participant *p,
                              const char *part)
{
    char since[40];

    if (cli->json) {
        json_open(NULL, '{');
        json_text("does", part);
        json_text("path", p->path);
        json_hex("token", p->token);
        json_hex("session", (uint64_t)p->session_id);
        json_number("since", p->since_ms);
        json_data("data", p->data);
        json_close('{');
        return;
    }
    text_time(p->since_ms, since, sizeof(since));
    printf("%s since %s token 0x%" PRIx64 " session 0x%" PRIx64 " %s ", part, since, p->token,
           (uint64_t)p->session_id, p->path);
    text_line(p->data);
}

static int run_locks(struct cli *cli, const struct args *args)
{
    struct lock_queue q;
    int err = lock_queue_read(cli->client, args->words[0], &q);

    if (err != PAWL_OK) {
        return cli_report(cli, args->words[0], err);
    }
    if (cli->json) {
        json_open(NULL, '[');
    }
    for (size_t i = 0; i < q.n; i++) {
        print_participant(cli, q.items[i], lock_queue_holds(&q, i) ? "holds" : "waits");
    }
    if (cli->json) {
        json_close('[');
    }
    lock_queue_fini(&q);
    return EXIT_OK;
}

static const struct option_spec locks_options[] = {{0, NULL, NULL, NULL}};

const struct command command_locks = {.name = "locks",
                                      .synopsis = "PATH",
                                      .summary = "show who holds a lock and who waits for it",
                                      .options = locks_options,
                                      .min_words = 1,
                                      .max_words = 1,
                                      .run = run_locks};
