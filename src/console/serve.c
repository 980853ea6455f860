/* SPDX-License-Identifier: Apache-2.0 */
#include "console/serve.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "console/front.h"
#include "os/clock.h"
#include "os/socket.h"
#include "pawl/error.h"

/* What all who ask together can make it hold, beside what front.c and console.h say. */
enum {
    LINKS_MAX = 128,
    LINKS_PER_ADDRESS = 96,
    LINK_BYTES = 16 * 1024, /* of a request's line and headers */
    IDLE_MS = 30 * 1000,    /* without a whole request */
    REQUEST_MS = 60 * 1000, /* from its headers to the end of its answer */
    LOOK_MS = 500,
};

struct serve {
    struct front *front;
    struct MHD_Daemon *daemon;
    int wake_fd;       /* any thread writes to it */
    struct list links; /* the oldest first */
};

/* ---- connections, and those who take too long: libmicrohttpd waits as long as a byte comes ----
 */

struct serve_link {
    struct list link;
    int fd;
    int64_t since_ms;
    bool is_asking;
};

static void note(struct serve *s, struct serve_link *l, bool is_asking)
{
    l->since_ms = clock_monotonic_ms();
    l->is_asking = is_asking;
    list_remove(&l->link);
    list_push_back(&s->links, &l->link);
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct serve_link *l = *context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        l = must_zalloc(sizeof(*l));
        l->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        list_init(&l->link);
        note(arg, l, false);
        *context = l;
    } else if (l != NULL) {
        list_remove(&l->link);
        free(l);
        *context = NULL;
    }
}

static struct serve_link *link_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void cut_off_slow(struct serve *s)
{
    int64_t now_ms = clock_monotonic_ms();
    struct list *item;

    list_for_each (item, &s->links) {
        struct serve_link *l = container_of(item, struct serve_link, link);

        if (l->fd >= 0 && now_ms - l->since_ms > (l->is_asking ? REQUEST_MS : IDLE_MS)) {
            shutdown(l->fd, SHUT_RDWR); /* it sees the end, and closes it */
            l->fd = -1;
        }
    }
}

/* ---- requests ---- */

static enum MHD_Result not_here(struct MHD_Connection *c)
{
    static char text[] = "there is nothing here; the console is at /console\n";
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        strlen(text), must_strdup(text), free, NULL);
    enum MHD_Result rc;

    if (response == NULL) {
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    rc = MHD_queue_response(c, 404, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **context)
{
    struct serve *s = arg;

    (void)version;
    if (*context == NULL) {
        url = strcmp(url, "/") == 0 ? "/console" : url; /* nothing else is here */
        note(s, link_of(c), true);
        *context = console_has(url) ? front_begin(s->front, c, url, method) : NULL;
        return *context != NULL ? MHD_YES : not_here(c);
    }
    if (*len > 0) {
        front_take(*context, data, *len);
        *len = 0;
        return MHD_YES;
    }
    return front_answer(*context);
}

static void on_completed(void *arg, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode how)
{
    (void)how;
    note(arg, link_of(c), false);
    if (*context != NULL) {
        front_end(*context);
        *context = NULL;
    }
}

static struct MHD_Daemon *start(struct serve *s, int fd)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, s,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)LINKS_MAX,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)LINKS_PER_ADDRESS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LINK_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(REQUEST_MS / 1000), MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_END);
}

/* ---- from outside ---- */

static void wake(void *arg)
{
    const struct serve *s = arg;

    eventfd_write(s->wake_fd, 1);
}

struct serve *serve_open(const char *address, int port, const struct console_options *options,
                         int *bound, char *why, size_t why_size)
{
    struct serve *s = must_zalloc(sizeof(*s));
    const char *reason = "no thread can be started";
    int fd = -1;

    list_init(&s->links);
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!mhd_load(&reason) || (s->front = front_new(options, wake, s)) == NULL) {
        snprintf(why, why_size, "%s", reason);
    } else if (socket_listen_tcp(address, port, -1, &fd, bound) != PAWL_OK) {
        snprintf(why, why_size, "%s", socket_last_error());
    } else if ((s->daemon = start(s, fd)) == NULL) {
        snprintf(why, why_size, "HTTP cannot be served");
        close(fd);
    } else {
        return s;
    }
    serve_close(s);
    return NULL;
}

static int wait_ms(const struct serve *s)
{
    MHD_UNSIGNED_LONG_LONG wanted;

    return MHD_get_timeout(s->daemon, &wanted) == MHD_YES && wanted < LOOK_MS ? (int)wanted
                                                                              : LOOK_MS;
}

void serve_until(struct serve *s, int end_fd)
{
    struct pollfd fds[] = {
        {.fd = end_fd, .events = POLLIN},
        {.fd = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
         .events = POLLIN},
        {.fd = s->wake_fd, .events = POLLIN}};
    eventfd_t n;

    while (fds[0].revents == 0) {
        cut_off_slow(s);
        MHD_run(s->daemon);
        poll(fds, 3, wait_ms(s));
        eventfd_read(s->wake_fd, &n);
    }
}

void serve_close(struct serve *s)
{
    if (s->front != NULL) {
        front_stop(s->front);
    }
    if (s->daemon != NULL) {
        MHD_run(s->daemon); /* who was resumed is answered */
        MHD_stop_daemon(s->daemon);
    }
    if (s->front != NULL) {
        front_free(s->front);
    }
    close(s->wake_fd);
    free(s);
}
