/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/event.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/memory.h"
#include "cli/json.h"
#include "cli/text.h"

/* Nobody reads more of them at once; others are counted. */
enum { KEPT_MAX = 1000 };

struct kept {
    enum pawl_event_type type;
    int64_t zxid;
    char *path;
};

static struct {
    struct kept items[KEPT_MAX];
    size_t n, n_left_out;
    pthread_mutex_t lock; /* guards the above */
    int fd;               /* readable: there are some */
} events = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

const char *event_name(enum pawl_event_type type)
{
    switch (type) {
    case PAWL_EVENT_CREATED:
        return "CREATED";
    case PAWL_EVENT_DELETED:
        return "DELETED";
    case PAWL_EVENT_DATA_CHANGED:
        return "CHANGED";
    case PAWL_EVENT_CHILDREN_CHANGED:
        return "CHILDREN";
    case PAWL_EVENT_GAP:
        return "GAP";
    default:
        return NULL;
    }
}

void event_print(const struct cli *cli, const char *name, const char *path, int64_t zxid)
{
    if (cli->json) {
        json_open(NULL, '{');
        json_text("event", name);
        json_text("path", path);
        if (zxid >= 0) {
            json_hex("zxid", (uint64_t)zxid);
        }
        json_close('{');
    } else {
        printf("%s%s ", cli->in_colour ? "\033[33m" : "", name);
        text_escaped(pawl_str(path));
        puts(cli->in_colour ? "\033[0m" : "");
    }
    fflush(stdout);
}

static void keep_event(const struct pawl_event *event, void *arg)
{
    (void)arg;
    pthread_mutex_lock(&events.lock);
    if (events.n < KEPT_MAX) {
        events.items[events.n++] = (struct kept){
            event->type, event->zxid, must_strdup(event->path != NULL ? event->path : "")};
    } else {
        events.n_left_out++;
    }
    eventfd_write(events.fd, 1); /* under the lock: readable means that there are some */
    pthread_mutex_unlock(&events.lock);
}

const struct pawl_watch *events_watch(void)
{
    static const struct pawl_watch watch = {.fn = keep_event};

    if (events.fd < 0) {
        events.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    return &watch;
}

int events_fd(void)
{
    return events.fd;
}

static void print_kept(const struct cli *cli, const struct kept *k)
{
    const char *name = event_name(k->type);

    if (name == NULL) {
        name = k->type == PAWL_EVENT_WATCH_REMOVED ? "REMOVED" : "ENDED";
    }
    event_print(cli, name, k->path, k->zxid);
}

void events_print(const struct cli *cli, bool is_hidden)
{
    eventfd_t n;

    pthread_mutex_lock(&events.lock);
    if (events.n + events.n_left_out > 0) {
        eventfd_read(events.fd, &n);
    }
    for (size_t i = 0; i < events.n; i++) {
        if (!is_hidden) {
            print_kept(cli, &events.items[i]);
        }
        free(events.items[i].path);
    }
    if (events.n_left_out > 0 && !is_hidden) {
        cli_error(cli, "%zu more events were left out", events.n_left_out);
    }
    events.n = events.n_left_out = 0;
    pthread_mutex_unlock(&events.lock);
}

int events_wait(struct cli *cli)
{
    bool is_over;

    fflush(stdout);
    cli_wait(events.fd);
    if (cli_signal() != 0) {
        return EXIT_SIGNAL + cli_signal();
    }
    pthread_mutex_lock(&events.lock);
    is_over = events.n > 0 && event_name(events.items[0].type) == NULL;
    pthread_mutex_unlock(&events.lock);
    events_print(cli, is_over);
    if (is_over) {
        cli_error(cli, "the session has ended, and the watch with it");
    }
    return is_over ? EXIT_LOST : EXIT_OK;
}
