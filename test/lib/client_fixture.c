/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lib/client_fixture.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "client/engine.h"
#include "client/handle.h"
#include "lib/test.h"

const char *client_fixture_properties[FIXTURE_PROPERTIES];

static struct pawl_server *server;
static char address[64], root[64];
static int port;

int client_fixture_start(void **state)
{
    const char *properties[6 + FIXTURE_PROPERTIES] = {
        "tickTime=200",     "minSessionTimeout=400",     "maxSessionTimeout=600000",
        "maxClientCnxns=0", "extendedTypesEnabled=true", "4lw.commands.whitelist=*"};
    const char *given = getenv("PAWL_TEST_SERVER");
    struct pawl_server_options o;
    char why[256] = "";

    (void)state;
    snprintf(root, sizeof(root), "/client-%d", (int)getpid());
    if (given != NULL) {
        snprintf(address, sizeof(address), "%s", given);
        port = atoi(strrchr(given, ':') + 1);
        return 0;
    }
    pawl_server_options_init(&o);
    o.in_memory = 1;
    o.properties = properties;
    o.n_properties = 6;
    for (int i = 0; i < FIXTURE_PROPERTIES && client_fixture_properties[i] != NULL; i++) {
        properties[o.n_properties++] = client_fixture_properties[i];
    }
    if (pawl_server_start(&o, &server, why, sizeof(why)) != PAWL_OK) {
        print_error("no server: %s\n", why);
        return -1;
    }
    snprintf(address, sizeof(address), "%s", pawl_server_address(server));
    port = pawl_server_port(server);
    return 0;
}

int client_fixture_stop(void **state)
{
    (void)state;
    return pawl_server_stop(server);
}

int client_fixture_port(void)
{
    return port;
}

struct pawl_client_options client_fixture_options(void)
{
    struct pawl_client_options o;

    pawl_client_options_init(&o);
    o.servers = address;
    o.session_timeout_ms = SOON_MS / 2; /* a link that is tried in vain costs a third of it */
    o.timeout_ms = SOON_MS;
    o.name_space = root;
    return o;
}

struct pawl_client *client_fixture_open(const struct pawl_client_options *options)
{
    struct pawl_client_options usual = client_fixture_options();
    struct pawl_client *c = NULL;

    assert_int_equal(pawl_client_open(options == NULL ? &usual : options, &c), PAWL_OK);
    assert_int_equal(pawl_client_wait_connected(c, SOON_S * 1000), PAWL_OK);
    return c;
}

void address_that_refuses(char *out, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    snprintf(out, size, "127.0.0.1:%d", ntohs(at.sin_port)); /* it stays bound */
}

struct pawl_bytes text_bytes(const char *s)
{
    return (struct pawl_bytes){s, strlen(s)};
}

void wait_semaphore(sem_t *s)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += SOON_S;
    assert_int_equal(sem_timedwait(s, &t), 0);
}

static void note_state(struct pawl_client *c, enum pawl_state state, void *arg)
{
    struct state_log *s = arg;

    (void)c;
    pthread_mutex_lock(&s->lock);
    ASSERT(s->n < (int)(sizeof(s->list) / sizeof(s->list[0])));
    s->list[s->n++] = state;
    pthread_mutex_unlock(&s->lock);
    sem_post(&s->some);
}

void expect_next_state(struct behind_proxy *b, int i, enum pawl_state state)
{
    wait_semaphore(&b->states.some);
    assert_int_equal(b->states.list[i], state);
}

void behind_proxy_open(struct behind_proxy *b, struct pawl_client_options *options)
{
    b->proxy = tcp_proxy_new(port);
    memset(&b->states, 0, sizeof(b->states));
    sem_init(&b->states.some, 0, 0);
    pthread_mutex_init(&b->states.lock, NULL);
    snprintf(b->servers, sizeof(b->servers), "%s127.0.0.1:%d", options->tls == NULL ? "" : "zks://",
             tcp_proxy_port(b->proxy));
    options->servers = b->servers;
    options->on_state = note_state;
    options->on_state_arg = &b->states;
    b->c = client_fixture_open(options);
    expect_next_state(b, 0, PAWL_STATE_CONNECTED);
}

static bool has_told_the_end(struct state_log *s)
{
    bool has;

    pthread_mutex_lock(&s->lock);
    has = s->n > 0 && s->list[s->n - 1] == PAWL_STATE_CLOSED;
    pthread_mutex_unlock(&s->lock);
    return has;
}

void behind_proxy_free(struct behind_proxy *b)
{
    wait_until(has_told_the_end(&b->states));
    tcp_proxy_free(b->proxy);
}

void behind_proxy_close(struct behind_proxy *b)
{
    pawl_client_close(b->c);
    tcp_proxy_free(b->proxy);
}

bool somebody_is_blocked(struct pawl_client *c)
{
    bool yes;

    engine_lock(c->e);
    yes = !list_empty(&c->e->waiters);
    engine_unlock(c->e);
    return yes;
}

int number_on_server(const char *word, const char *before)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)client_fixture_port()),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char text[512];
    size_t len = 0;
    ssize_t n;

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(write(fd, word, 4), 4);
    while (len < sizeof(text) - 1 && (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
        len += (size_t)n;
    }
    close(fd);
    text[len] = '\0';
    assert_non_null(strstr(text, before));
    return atoi(strstr(text, before) + strlen(before));
}

int watches_on_server(void)
{
    return number_on_server("wchs", "Total watches:");
}
