/* SPDX-License-Identifier: Apache-2.0 */
/* client_fixture.h - what tests of the client share: a server in this process (or, with
 * PAWL_TEST_SERVER=HOST:PORT in the environment, any other) and a link to it that can be cut. */
#ifndef PAWL_TEST_CLIENT_FIXTURE_H
#define PAWL_TEST_CLIENT_FIXTURE_H

#include <pawl/pawl.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "lib/patience.h"
#include "lib/tcp_proxy.h"

/* More settings of the server, "key=value", up to the first NULL; before the set-up. */
enum { FIXTURE_PROPERTIES = 8 };
extern const char *client_fixture_properties[FIXTURE_PROPERTIES];

/* Of a session that is to end in a test, and to live until then on a busy machine. */
enum { SHORT_SESSION_MS = 4000 };

/* The time of a call that is to be over after it was sent. */
enum { SENT_MS = 2000 };

/* Group set-up and tear-down. */
int client_fixture_start(void **state);
int client_fixture_stop(void **state);
int client_fixture_port(void);

/* What stands behind `before` in the server's answer to a word of four letters. */
int number_on_server(const char *word, const char *before);
/* "Total watches:N" of wchs, of everybody. */
int watches_on_server(void);

/* Whether a thread is inside a blocking call of this client, or of a recipe that uses it. */
bool somebody_is_blocked(struct pawl_client *c);

/* A session of half of SOON_MS in a namespace of this process's own; calls have all of it. */
struct pawl_client_options client_fixture_options(void);

/* Fails the test when it does not connect. NULL: the usual options. */
struct pawl_client *client_fixture_open(const struct pawl_client_options *options);

/* "127.0.0.1:PORT" of a port that nobody listens on, nor can as long as this process lives. */
void address_that_refuses(char *out, size_t size);

struct pawl_bytes text_bytes(const char *s);
void wait_semaphore(sem_t *s);

/* States, as they come. */
struct state_log {
    sem_t some;
    pthread_mutex_t lock;
    enum pawl_state list[512];
    int n;
};

/* A client behind a proxy; with TLS if its options have some for that. */
struct behind_proxy {
    struct tcp_proxy *proxy;
    struct pawl_client *c;
    struct state_log states;
    char servers[32];
};

void behind_proxy_open(struct behind_proxy *b, struct pawl_client_options *options);
void behind_proxy_close(struct behind_proxy *b);

/* Its client has been closed already, within a short time: the last callback may still be to come,
 * and is waited for. */
void behind_proxy_free(struct behind_proxy *b);
void expect_next_state(struct behind_proxy *b, int i, enum pawl_state state);

#endif
