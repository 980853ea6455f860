/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/console.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin_internal.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "http/origin.h"
#include "os/clock.h"
#include "os/thread.h"
#include "server/report_text.h"

enum { TIMEOUT_MS = 5000, WORD_MS = 2000, WORD_MAX = 8 << 20 };

/* A word that the server's thread is asked, one at a time. */
struct admin_console {
    struct front *front;
    char self[320];
    struct lock lock; /* guards what follows */
    struct condition news;
    struct host *host; /* NULL: it is being opened again */
    struct host_call call;
    void (*report)(const struct server *s, struct strbuf *out);
    const struct command *command; /* that tells the same */
    bool is_asked;                 /* and not answered: `call` and `out` are the server's */
    bool is_taken;                 /* somebody waits for it, or has not taken it yet */
    bool is_stopped;
    struct strbuf out;
    int64_t ask_again_us;
};

/* ---- words ---- */

static void report_cons(const struct server *s, struct strbuf *out)
{
    report_text_cons(s, NULL, out);
}

static const struct word {
    const char *name;
    void (*report)(const struct server *s, struct strbuf *out);
} words[] = {{"srvr", report_text_srvr}, {"mntr", report_text_mntr}, {"conf", report_text_conf},
             {"cons", report_cons},      {"dump", report_text_dump}, {"wchp", report_text_wchp}};

static const struct word *find_word(const char *name)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].name, name) == 0) {
            return &words[i];
        }
    }
    return NULL;
}

/* On the server's thread. What it takes is made up for by leaving it alone. */
static void on_word(struct host_call *call, struct server *s)
{
    struct admin_console *c = container_of(call, struct admin_console, call);
    int64_t began_us = clock_monotonic_us(), now_us;

    strbuf_clear(&c->out);
    if (server_takes_clients(s) && !command_is_too_long(c->command, s)) {
        c->report(s, &c->out);
    }
    now_us = clock_monotonic_us();
    lock_take(&c->lock);
    c->ask_again_us = now_us + (now_us - began_us) * (ADMIN_SHARE - 1);
    c->is_asked = false;
    condition_broadcast(&c->news);
    lock_give(&c->lock);
}

/* Until `*flag` is false, or the time is up; with the lock. */
static bool wait_while(struct admin_console *c, const bool *flag, int64_t until_us)
{
    while (*flag && !c->is_stopped && clock_monotonic_us() < until_us) {
        condition_wait(&c->news, &c->lock, (until_us - clock_monotonic_us()) / 1000 + 1);
    }
    return !*flag && !c->is_stopped;
}

static void rest(struct admin_console *c, int64_t until_us)
{
    const bool always = true;

    wait_while(c, &always, c->ask_again_us < until_us ? c->ask_again_us : until_us);
}

/* Whoever comes while one is asked waits for its turn. */
static bool ask_word(struct admin_console *c, const struct word *word, struct strbuf *answer)
{
    int64_t until_us = clock_monotonic_us() + WORD_MS * 1000;
    bool is_answered;

    if (!wait_while(c, &c->is_taken, until_us) || !wait_while(c, &c->is_asked, until_us)) {
        return false;
    }
    c->is_taken = true;
    rest(c, until_us);
    if (c->host == NULL) {
        c->is_taken = false;
        condition_broadcast(&c->news);
        return false;
    }
    c->report = word->report;
    c->command = command_find(word->name);
    c->call = (struct host_call){.fn = on_word};
    c->is_asked = true;
    host_do(c->host, &c->call);
    is_answered = wait_while(c, &c->is_asked, until_us) && c->out.len > 0 && !c->out.failed;
    if (is_answered) {
        strbuf_append_bytes(answer, strbuf_bytes(&c->out));
    }
    c->is_taken = false;
    condition_broadcast(&c->news);
    return is_answered;
}

static enum ask_outcome ask_self(void *arg, const char *name, struct strbuf *answer, char *why,
                                 size_t why_size)
{
    const struct word *word = find_word(name);
    struct admin_console *c = arg;
    bool is_answered;

    if (word == NULL) {
        snprintf(why, why_size, "this word is not asked here");
        return ASK_FORBIDDEN;
    }
    lock_take(&c->lock);
    is_answered = ask_word(c, word, answer);
    lock_give(&c->lock);
    if (!is_answered) {
        snprintf(why, why_size, "it does not serve clients now, or has too much to tell");
    }
    return is_answered ? ASK_ANSWERED : ASK_UNREACHABLE;
}

/* ---- where it finds its server ---- */

/* An address that is all of them is this machine's own. */
static void place_of(const struct config *config, int port, char *out, size_t size)
{
    const char *address = config->net.client_address;

    if (address == NULL || strcmp(address, "0.0.0.0") == 0) {
        address = "127.0.0.1";
    } else if (strcmp(address, "::") == 0) {
        address = "::1";
    }
    snprintf(out, size, strchr(address, ':') != NULL ? "[%s]:%d" : "%s:%d", address, port);
}

static bool find_self(struct admin_console *c, const struct config *config)
{
    int port = host_port(c->host);

    if (port > 0) {
        place_of(config, port, c->self, sizeof(c->self));
    } else if (config->net.unix_socket != NULL) {
        snprintf(c->self, sizeof(c->self), "unix:%s", config->net.unix_socket);
    } else {
        log_warn("console: there is none: it needs clientPort or clientUnixSocket, and this server "
                 "has TLS for all its clients");
        return false;
    }
    return true;
}

struct admin_console *admin_console_new(const struct config *config, struct host *host,
                                        void (*wake)(void *arg), void *arg)
{
    struct console_options options = {.timeout_ms = TIMEOUT_MS,
                                      .is_open_to_others =
                                          !origin_is_loopback(config->admin.address),
                                      .ask_self = ask_self};
    struct admin_console *c;

    if (!config->admin.enabled || !config->admin.console) {
        return NULL;
    }
    c = must_zalloc(sizeof(*c));
    c->host = host;
    lock_init(&c->lock);
    condition_init(&c->news);
    strbuf_init(&c->out, WORD_MAX);
    options.self = c->self;
    options.ask_self_arg = c;
    if (find_self(c, config)) {
        options.servers = c->self;
        options.others = config->admin.console_servers;
        c->front = front_new(&options, wake, arg);
    }
    if (c->front == NULL) {
        admin_console_free(c);
        return NULL;
    }
    return c;
}

struct front *admin_console_front(struct admin_console *c)
{
    return c->front;
}

void admin_console_use(struct admin_console *c, struct host *host)
{
    if (c == NULL) {
        return;
    }
    lock_take(&c->lock);
    c->host = host;
    if (c->is_asked) { /* of the one before, who will never come to it */
        strbuf_clear(&c->out);
        c->is_asked = false;
    }
    condition_broadcast(&c->news);
    lock_give(&c->lock);
}

void admin_console_stop(struct admin_console *c)
{
    if (c != NULL) {
        lock_take(&c->lock);
        c->is_stopped = true;
        condition_broadcast(&c->news);
        lock_give(&c->lock);
        front_stop(c->front);
    }
}

void admin_console_free(struct admin_console *c)
{
    if (c != NULL) {
        if (c->front != NULL) {
            front_free(c->front);
        }
        strbuf_fini(&c->out);
        condition_fini(&c->news);
        lock_fini(&c->lock);
        free(c);
    }
}
