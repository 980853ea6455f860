/* SPDX-License-Identifier: Apache-2.0 */
/* locks.c - who holds a lock or a lease, and who waits for it; once, or as long as one likes to
 * look. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <pawl/grant.h>

#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/owners.h"
#include "cli/screen.h"
#include "cli/text.h"
#include "look/lock_queue.h"
#include "os/clock.h"

static void print_owner(const struct owner *o)
{
    if (o != NULL && o->timeout_ms >= 0) {
        printf(" from ");
        text_escaped(pawl_str(o->client));
        printf(" timeout %" PRId64 "ms", o->timeout_ms);
    }
    if (o != NULL && o->left_ms >= 0) {
        printf(" left %" PRId64 "ms", o->left_ms);
    }
}

static void print_owner_json(const struct owner *o)
{
    if (o != NULL && o->timeout_ms >= 0) {
        json_text("from", o->client);
        json_number("timeout_ms", o->timeout_ms);
    }
    if (o != NULL && o->left_ms >= 0) {
        json_number("left_ms", o->left_ms);
    }
}

static void print_participant(const struct cli *cli, const struct pawl_participant *p,
                              const char *part, const struct owner *owner)
{
    char since[40];

    if (cli->json) {
        json_open(NULL, '{');
        json_text("does", part);
        json_text("path", p->path);
        json_hex("token", p->token);
        json_hex("session", (uint64_t)p->session_id);
        json_number("since", p->since_ms);
        print_owner_json(owner);
        json_data("data", p->data);
        json_close('{');
        return;
    }
    text_time(p->since_ms, since, sizeof(since));
    printf("%s since %s token 0x%" PRIx64 " session 0x%" PRIx64, part, since, p->token,
           (uint64_t)p->session_id);
    print_owner(owner);
    putchar(' ');
    text_escaped(pawl_str(p->path));
    putchar(' ');
    text_line(p->data);
}

static const char *part_of(const struct lock_queue *q, size_t i)
{
    return lock_queue_holds(q, i) ? "holds" : "waits";
}

static int show_once(struct cli *cli, const char *path)
{
    struct lock_queue q;
    struct owners owners = {0};
    int err = lock_queue_read(cli->client, path, &q);

    if (err != PAWL_OK) {
        return cli_report(cli, path, err);
    }
    if (q.n > 0) {
        owners_ask(cli, &owners);
    }
    if (cli->json) {
        json_open(NULL, '[');
    }
    for (size_t i = 0; i < q.n; i++) {
        print_participant(cli, q.items[i], part_of(&q, i),
                          owners_find(&owners, q.items[i]->session_id));
    }
    if (cli->json) {
        json_close('[');
    }
    owners_fini(&owners);
    lock_queue_fini(&q);
    return EXIT_OK;
}

/* ---- --watch ---- */

struct looking {
    struct cli *cli;
    const char *path;
    int changed_fd; /* written by the thread of callbacks */
    bool is_on_screen;
    struct screen screen; /* then */
    struct lock_queue seen;
};

static void looking_on_event(const struct pawl_event *event, void *arg)
{
    const struct looking *l = arg;

    (void)event;
    eventfd_write(l->changed_fd, 1);
}

/* What has happened while the link was down is not told: it is read again. */
static void looking_on_state(struct pawl_client *c, enum pawl_state state, void *arg)
{
    const struct looking *l = arg;

    (void)c;
    if (state == PAWL_STATE_RECONNECTED || state == PAWL_STATE_CONNECTED ||
        state == PAWL_STATE_LOST) {
        eventfd_write(l->changed_fd, 1);
    }
}

/* ---- as lines: what has changed ---- */

static bool find(const struct lock_queue *q, const char *path, size_t *out)
{
    for (size_t i = 0; i < q->n; i++) {
        if (strcmp(q->items[i]->path, path) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static void print_changes(struct looking *l, const struct lock_queue *now)
{
    size_t at;

    for (size_t i = 0; i < l->seen.n; i++) {
        if (!find(now, l->seen.items[i]->path, &at)) {
            print_participant(l->cli, l->seen.items[i], "gone", NULL);
        }
    }
    for (size_t i = 0; i < now->n; i++) {
        if (!find(&l->seen, now->items[i]->path, &at) ||
            strcmp(part_of(&l->seen, at), part_of(now, i)) != 0) {
            print_participant(l->cli, now->items[i], part_of(now, i), NULL);
        }
    }
}

/* ---- on a terminal: a screen ---- */

/* Nothing in it is obeyed by a terminal. */
static void append_plain(struct strbuf *out, struct pawl_bytes data)
{
    const unsigned char *p = data.data;

    for (size_t i = 0, n; i < data.len; i += n) {
        n = text_plain(p + i, data.len - i);
        strbuf_append(out, n > 0 ? (const char *)p + i : "?", n > 0 ? n : 1);
        n += n == 0;
    }
}

/* What does not fit is cut off, between two characters. */
static void print_row(struct strbuf *row, size_t columns)
{
    size_t len = row->len < columns ? row->len : columns;

    while (len < row->len && len > 0 && (row->data[len] & 0xc0) == 0x80) {
        len--;
    }
    printf("%.*s\033[K\r\n", (int)len, strbuf_cstr(row));
    strbuf_clear(row);
}

static void append_participant(struct strbuf *row, const struct lock_queue *q, size_t i)
{
    const struct pawl_participant *p = q->items[i];
    char since[40];

    text_time(p->since_ms, since, sizeof(since));
    strbuf_printf(row, "%-5s %-23s %-18" PRIx64 " %-18" PRIx64 " ", part_of(q, i), since, p->token,
                  (uint64_t)p->session_id);
    append_plain(row, p->data);
}

static void draw(struct looking *l, const struct lock_queue *now)
{
    struct winsize size = {0};
    struct strbuf row;
    size_t columns, n_fit, n_shown, n_hold = 0;
    char time[40];

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    columns = size.ws_col > 0 ? size.ws_col : 80;
    n_fit = (size.ws_row > 3 ? size.ws_row : 24) - 3; /* two of titles; the last has the cursor */
    n_shown = now->n <= n_fit ? now->n : n_fit - 1;
    for (size_t i = 0; i < now->n; i++) {
        n_hold += lock_queue_holds(now, i);
    }
    text_time(clock_wall_ms(), time, sizeof(time));
    strbuf_init(&row, STRBUF_NO_LIMIT);
    screen_begin(&l->screen);
    append_plain(&row, pawl_str(l->path));
    strbuf_printf(&row, "  %zu hold, %zu wait  %s  (^C ends)", n_hold, now->n - n_hold, time);
    print_row(&row, columns);
    strbuf_printf(&row, "%-5s %-23s %-18s %-18s %s", "", "since", "token", "session", "who");
    print_row(&row, columns);
    for (size_t i = 0; i < n_shown; i++) {
        append_participant(&row, now, i);
        print_row(&row, columns);
    }
    if (now->n > n_shown) {
        strbuf_printf(&row, "and %zu more", now->n - n_shown);
        print_row(&row, columns);
    }
    screen_end(&l->screen);
    strbuf_fini(&row);
}

/* ---- */

static int look(struct looking *l)
{
    struct lock_queue now;
    int err = lock_queue_read(l->cli->client, l->path, &now);

    if (err == PAWL_ERR_CONNECTION_LOSS || err == PAWL_ERR_SESSION_EXPIRED ||
        err == PAWL_ERR_OPERATION_TIMEOUT) {
        return EXIT_OK; /* when the link is back we are told */
    }
    if (err != PAWL_OK) {
        return cli_report(l->cli, l->path, err);
    }
    (l->is_on_screen ? draw : print_changes)(l, &now);
    fflush(stdout);
    lock_queue_fini(&l->seen);
    l->seen = now;
    return EXIT_OK;
}

static int look_until_ended(struct looking *l)
{
    struct pawl_watch watch = {.fn = looking_on_event, .arg = l};
    int64_t session_id = 0;
    int status = EXIT_OK;

    while (status == EXIT_OK && cli_signal() == 0 && !ferror(stdout)) {
        eventfd_t n;

        eventfd_read(l->changed_fd, &n); /* before looking: what comes meanwhile counts again */
        if (session_id != pawl_client_session_id(l->cli->client)) {
            struct pawl_reply *reply; /* a watch goes with its session */

            session_id = pawl_client_session_id(l->cli->client);
            pawl_watch(l->cli->client, l->path, PAWL_WATCH_RECURSIVE, &watch, &reply);
            status = cli_check_read(l->cli, l->path, reply);
            pawl_reply_free(reply);
        }
        if (status == EXIT_OK) {
            status = look(l);
        }
        if (status == EXIT_OK && !ferror(stdout)) {
            cli_wait(l->changed_fd);
        }
    }
    return cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : status;
}

static int show_on_and_on(struct cli *cli, const char *path)
{
    struct looking l = {.cli = cli,
                        .path = path,
                        .changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                        .is_on_screen = isatty(STDOUT_FILENO) && !cli->json};
    int status;

    pawl_client_add_listener(cli->client, looking_on_state, &l);
    if (l.is_on_screen) {
        screen_open(&l.screen, cli);
    }
    status = look_until_ended(&l);
    if (l.is_on_screen) {
        screen_close(&l.screen);
    }
    pawl_client_remove_listener(cli->client, looking_on_state, &l);
    cli_disconnect(cli); /* no event any more */
    lock_queue_fini(&l.seen);
    close(l.changed_fd);
    return status;
}

static int run_locks(struct cli *cli, const struct args *args)
{
    const char *path = args->words[0];

    return args_has(args, 'w') ? show_on_and_on(cli, path) : show_once(cli, path);
}

static const struct option_spec locks_options[] = {
    {'w', "watch", NULL, "go on: a screen that is kept current, or a line for each change"},
    {0, NULL, NULL, NULL}};

const struct command command_locks = {.name = "locks",
                                      .synopsis = "[-w] PATH",
                                      .summary = "show who holds a lock and who waits for it",
                                      .options = locks_options,
                                      .min_words = 1,
                                      .max_words = 1,
                                      .is_apart = true,
                                      .run = run_locks};
